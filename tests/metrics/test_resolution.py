"""Grouped scores change no metric by more than is certified, on populations of many shapes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.core.cells import ScoreCells
from calib.core.counted import CountedRows
from calib.core.views import BinaryView
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
                # Losses are means over the entries, the others are read from cells.
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
    found = resolutions(
        counted.entries,
        counted.entries.cells(),
        (spread.low, spread.high),
        spread.middle,
        spread.aside,
    )
    assert found["log_loss"] < 2e-7
    assert found["ks_error"] < 2e-5
    assert found["auc"] < 2e-5
