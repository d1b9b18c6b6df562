"""Grouped scores change no metric by more than is certified, on populations of many shapes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.metrics import auc, brier_score, ks_error, log_loss
from calib.metrics.resolution import resolutions

METRICS = {"log_loss": log_loss, "brier_score": brier_score, "ks_error": ks_error, "auc": auc}
SHAPES = ("smooth", "spikes", "naive Bayes", "ties", "tails")


def rows_of(shape: str, rng: np.random.Generator) -> BinaryView:
    n = int(rng.integers(200, 6000))
    score = rng.beta(*rng.uniform(0.3, 3.0, 2), n)
    if shape == "spikes":
        score = np.where(rng.random(n) < 0.4, rng.choice([1 / 3, 0.7, 0.123456789], n), score)
    if shape == "naive Bayes":
        score = expit(rng.normal(0.0, 12.0, n))
    if shape == "ties":
        score = score.round(int(rng.integers(1, 5)))
    if shape == "tails":
        score = np.where(score < 0.5, score ** rng.uniform(1.0, 400.0), score)
    outcome = rng.random(n) < np.clip(0.8 * score + 0.1, 0.0, 1.0)
    outcome[:2] = (False, True)
    weight = rng.gamma(2.0, 1.0, n) if rng.random() < 0.3 else None
    return BinaryView(outcome, score, weight)


def shrunk(score: np.ndarray) -> np.ndarray:
    """A calibrator: log-odds times 0.6, plus 0.2."""
    return expit(0.6 * logit(np.clip(score, 1e-16, 1 - 1e-16)) + 0.2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("calibrate", [lambda s: s, shrunk], ids=["as they are", "calibrated"])
def test_no_metric_is_off_by_more_than_its_bound(shape, calibrate):
    for rng in np.random.default_rng(SHAPES.index(shape)).spawn(40):
        rows = rows_of(shape, rng)
        counted = CountedRows.of_rows(rows, max_scores=1)
        spread = counted.spread
        entries = replace(counted.entries, score=calibrate(counted.entries.score))
        exact = ScoreCells.from_arrays(rows.outcome, calibrate(rows.score), rows.weight)
        for cells in (entries.cells(), entries.cells().on_grid()):
            bounds = resolutions(
                entries,
                cells,
                (calibrate(spread.low), calibrate(spread.high)),
                spread.middle,
                spread.aside,
            )
            for name, metric in METRICS.items():
                # Losses are means over the entries, and the other metrics are read from cells.
                few = entries.cells() if name in ("log_loss", "brier_score") else cells
                off = abs(metric(few) - metric(exact))
                assert off <= bounds[name] * (1 + 1e-9) + 1e-11, (name, off, bounds[name])


def test_exact_cells_have_no_resolution():
    rows = rows_of("ties", np.random.default_rng(0))
    assert CountedRows.of_rows(rows).spread is None


def test_the_bounds_of_a_million_rows_are_small():
    rng = np.random.default_rng(1)
    score = expit(rng.normal(0.4, 1.5, 1_000_000))
    rows = BinaryView(rng.random(len(score)) < score, score)
    counted = CountedRows.of_rows(rows)
    spread = counted.spread
    bounds = resolutions(
        counted.entries,
        counted.entries.cells(),
        (spread.low, spread.high),
        spread.middle,
        spread.aside,
    )
    assert bounds["log_loss"] < 2e-7
    assert bounds["ks_error"] < 2e-5
    assert bounds["auc"] < 2e-5


def loss_bound(loss, rows, ends, middle, aside):
    """By entry: what its rows lean to a side, and the gap between tangent and chord."""
    leaning = gaps = 0.0
    share = rows.weights / rows.weights.sum()
    for i, y in enumerate(rows.outcome):
        first, last, at = (loss(y, float(s)) for s in (ends[0][i], ends[1][i], rows.score[i]))
        gap = abs(first + middle[i] * (last - first) - at)
        gap *= 1.0 + abs(aside[i]) / max(middle[i] * (1.0 - middle[i]), 1e-12)
        gaps += share[i] * min(gap, abs(last - first))
        leaning += share[i] * aside[i] * (last - first)
    return abs(leaning) + gaps


def cell_bounds(rows, of_cell, ends):
    """By cell: how far outcomes and scores can part within it, and the pairs without an order."""
    share = rows.weights / rows.weights.sum()
    edge = beyond = loose = 0.0
    for cell in np.unique(of_cell):
        members = np.flatnonzero(of_cell == cell)
        exact = [i for i in members if ends[0][i] == ends[1][i]]
        # The rows of the exact score with the largest weight are one step.
        heaviest = max(
            {rows.score[i] for i in exact},
            key=lambda s: sum(share[i] for i in exact if rows.score[i] == s),
            default=None,
        )
        moved, free, pairs = np.zeros((3, 2))
        for i in members:
            y = int(rows.outcome[i])
            low, high = sorted((ends[0][i], ends[1][i]))
            step = share[i] * (1.0 - low if y else high)
            moved[y] += step
            pairs[y] += share[i]
            free[y] += 0.0 if i in exact and rows.score[i] == heaviest else step
        edge = max(edge, *free)
        beyond = max(beyond, min(*moved, max(free)))
        tied = [
            sum(share[i] for i in exact if rows.score[i] == heaviest and rows.outcome[i] == y)
            for y in (0, 1)
        ]
        loose += pairs.prod() - np.prod(tied)
    positive = share[rows.outcome].sum()
    return edge, beyond, 0.5 * loose / (positive * (1.0 - positive))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_those_of_loops_over_entries_and_cells(seed):
    rng = np.random.default_rng(seed)
    # Each cell is 0.1 wide and has some exact scores and one group, whose values fall or rise.
    score = np.concatenate([np.arange(10) / 10 + 0.05, rng.integers(1, 99, 30) / 100 + 0.001])
    score = np.repeat(score, 2)
    wide = np.repeat(np.arange(40) < 10, 2)
    width = np.where(wide, rng.uniform(-0.05, 0.05, 80), 0.0)
    ends = score - 0.4 * width, score + 0.6 * width
    middle, aside = np.where(wide, 0.3, 0.0), np.where(wide, rng.normal(0.0, 0.1, 80), 0.0)
    rows = BinaryView(np.arange(80) % 2 == 1, score, rng.uniform(0.5, 3.0, 80))
    middles = np.arange(10) / 10 + 0.05
    cells = ScoreCells.from_arrays(np.arange(10) % 2, middles)
    of_cell = np.abs(score[:, None] - middles).argmin(axis=1)
    score_change = loss_bound(lambda _, s: s, rows, ends, middle, aside)
    edge, beyond, auc_bound = cell_bounds(rows, of_cell, ends)
    bounds = resolutions(rows, cells, ends, middle, aside)
    losses = {
        "log_loss": lambda y, s: -np.log(s if y else 1.0 - s),
        "brier_score": lambda y, s: (y - s) ** 2,
    }
    for name, loss in losses.items():
        assert bounds[name] == pytest.approx(loss_bound(loss, rows, ends, middle, aside)), name
    assert bounds["mean_score"] == pytest.approx(score_change)
    assert bounds["edge"] == pytest.approx(edge)
    assert bounds["ks_error"] == pytest.approx(beyond + score_change)
    assert bounds["auc"] == pytest.approx(auc_bound)
