from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.metrics import (
    auc,
    brier_decomposition,
    brier_score,
    expected_calibration_error,
    ks_error,
    smooth_calibration_error,
)
from calib.numerics.resampling import draw_cluster_sums, draw_noise, student_factor
from calib.uncertainty import Bootstrap
from tests.rare import common_first, rare


def made(n=3000, factor=1.5):
    rng = np.random.default_rng(0)
    truth = expit(rng.normal(-0.5, 1.5, n))
    return rng.random(n) < truth, expit(factor * logit(truth))


ROWS = Predictions.from_arrays(*made(200)).view()
SOURCES = {
    "cells": partial(Bootstrap, ROWS.cells()),
    "rows": partial(Bootstrap.of_rows, ROWS),
    "arrays": partial(Bootstrap.from_arrays, *made(200)),
}


def test_the_interval_of_a_mean_score_is_the_normal_one():
    y, s = made()
    estimate = Bootstrap.from_arrays(y, s).estimate(brier_score)
    half = 1.96 * np.std((s - y) ** 2) / np.sqrt(len(y))
    assert estimate.value == pytest.approx(np.mean((s - y) ** 2), abs=1e-12)
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.08)


def test_weights_are_drawn_with_their_rows():
    y, s = made()
    w = np.random.default_rng(1).random(len(y)) + 0.1
    estimate = Bootstrap.from_arrays(y, s, w).estimate(brier_score)
    loss = (s - y) ** 2
    mean = np.average(loss, weights=w)
    half = 1.96 * np.sqrt(np.sum((w * (loss - mean)) ** 2)) / w.sum()
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.1)


@pytest.mark.parametrize("source", SOURCES)
def test_the_default_draw_is_that_of_seed_0(source):
    default, seeded, other = (
        SOURCES[source](n_replicates=20, **seed).estimate(auc).low
        for seed in ({}, {"random_state": 0}, {"random_state": 1})
    )
    assert default == seeded != other


def test_clusters_are_drawn_whole():
    y, s = made(500)
    copied = Bootstrap.from_arrays(
        np.repeat(y, 4), np.repeat(s, 4), group=np.repeat(np.arange(500), 4)
    ).estimate(auc)
    single = Bootstrap.from_arrays(y, s).estimate(auc)
    assert copied.high - copied.low == pytest.approx(single.high - single.low, rel=0.1)


@pytest.mark.parametrize(
    "metric",
    common_first([expected_calibration_error, ks_error, smooth_calibration_error], [ks_error]),
)
def test_errors_exclude_zero_only_where_there_is_one(metric):
    wrong = Bootstrap.from_arrays(*made(), n_replicates=200).estimate(metric, kind="error")
    right = Bootstrap.from_arrays(*made(factor=1.0), n_replicates=200)
    assert 0.0 < wrong.low < wrong.value < wrong.high
    assert right.estimate(metric, kind="error").low == 0.0


def test_any_number_of_any_result_has_an_interval():
    y, s = made()
    bootstrap = Bootstrap(ScoreCells.from_arrays(y, s), n_replicates=100)
    estimate = bootstrap.estimate(lambda cells: brier_decomposition(cells).discrimination)
    assert estimate.low < estimate.value < estimate.high
    assert np.isnan(bootstrap.estimate(lambda _: float("nan")).low)


def test_refusals_are_sentences(texts):
    cells = ScoreCells.from_arrays(*made(50))
    with texts.raises(ValueError):
        Bootstrap(cells, n_replicates=0)
    with texts.raises(ValueError):
        Bootstrap(cells, n_replicates=2).estimate(auc, kind="bca")
    with texts.raises(ValueError):
        Bootstrap(cells, n_replicates=2).estimate(auc, confidence_level=95)


@rare
def test_calibration_errors_have_their_noise_floor_and_others_have_none():
    y, s = made(600, factor=1.0)
    bootstrap = Bootstrap.from_arrays(y, s, n_replicates=300)
    rng = np.random.default_rng(0)
    drawn = [smooth_calibration_error(rng.random(600) < s, s) for _ in range(300)]
    floor = bootstrap.estimate(smooth_calibration_error, kind="error").noise_floor
    assert floor == pytest.approx(np.mean(drawn), rel=0.06)
    assert np.isnan(bootstrap.estimate(auc).noise_floor)


@pytest.mark.parametrize("copies", [1, 4])
def test_the_noise_floor_of_clusters_is_that_of_their_number(copies):
    y, s = made(600, factor=1.0)
    group = np.repeat(np.arange(600), copies)
    bootstrap = Bootstrap.from_arrays(y[group], s[group], group=group, n_replicates=400)
    rng = np.random.default_rng(0)
    drawn = [ks_error(rng.random(600) < s, s) for _ in range(400)]
    # If rows counted as independent, four copies of each would halve the floor.
    floor = bootstrap.estimate(ks_error, kind="error").noise_floor
    assert floor == pytest.approx(np.mean(drawn), rel=0.1)


@pytest.mark.parametrize("source", SOURCES)
def test_a_thousand_resamples_are_drawn_unless_another_number_is_asked_for(source):
    one, other = (
        SOURCES[source](**more).estimate(ks_error, kind="error")
        for more in ({}, {"n_replicates": 1000})
    )
    assert (one.low, one.high) == (other.low, other.high)


def test_one_resample_is_allowed_and_none_is_not():
    assert Bootstrap.from_arrays(*made(), n_replicates=1).estimate(ks_error, kind="error")
    with pytest.raises(ValueError, match="n_replicates"):
        Bootstrap.from_arrays(*made(), n_replicates=0)


def test_clusters_keep_their_scores_and_outcomes():
    """Resamples of rows of which each is off by 0.1 have the Brier score 0.01, all of them."""
    group = np.repeat(np.arange(30), 4)
    outcome = np.arange(120) % 3 == 0
    score = np.where(outcome, 0.9, 0.1)
    score[:8] = 1.0 - score[:8]
    bootstrap = Bootstrap.from_arrays(outcome[8:], score[8:], group=group[8:], n_replicates=50)
    right = bootstrap.estimate(brier_score)
    assert (right.low, right.high) == pytest.approx((0.01, 0.01), abs=1e-9)
    # Two of thirty clusters are wrong by 0.9, and resamples have from none to a few of them.
    wrong = Bootstrap.from_arrays(outcome, score, group=group).estimate(brier_score)
    assert wrong.value == pytest.approx((28 * 0.01 + 2 * 0.81) / 30)
    copies = np.random.default_rng(0).binomial(30, 2 / 30, 100_000)
    expected = 0.01 + 0.8 * np.quantile(copies, [0.025, 0.975]) / 30
    assert (wrong.low, wrong.high) == pytest.approx(expected, abs=1e-6)


def test_noise_of_clusters_is_what_they_differ_by_from_all_rows():
    rng = np.random.default_rng(5)
    score, weight = rng.random(90).round(1), rng.uniform(0.5, 2.0, 90)
    outcome, group = rng.random(90) < score, rng.integers(0, 20, 90)
    rows = Predictions.from_arrays(outcome, score, weight, group=group).view()
    bootstrap = Bootstrap.of_rows(rows, n_replicates=40)
    floor = bootstrap.estimate(ks_error, kind="error").noise_floor
    # The test draws rows in the same order as the code.
    outcome, weight, group = rows.outcome, rows.weights, rows.group
    distinct, cell = np.unique(rows.score, return_inverse=True)
    drawn = draw_cluster_sums(
        group, 2 * cell + outcome, weight, 2 * len(distinct), 40, np.random.default_rng(0)
    ).astype(float)
    negative, positive = drawn[0::2], drawn[1::2]
    gap = positive * (1 - distinct[:, None]) - negative * distinct[:, None]
    gap_of_rows = np.bincount(cell, weight * (outcome - rows.score))
    # Gaps are relative to the weight that was drawn, and have the tails of Student's distribution.
    noise = gap / drawn.sum(axis=0) - gap_of_rows[:, None] / weight.sum()
    noise *= student_factor(20, 40, np.random.default_rng([0, 1]))
    expected = np.abs(np.cumsum(noise, axis=0)).max(axis=0).mean()
    assert floor == pytest.approx(expected, rel=1e-5)


def test_noise_of_rows_is_that_of_outcomes_drawn_from_the_scores():
    rng = np.random.default_rng(6)
    score, weight = rng.random(90).round(1), rng.uniform(0.5, 2.0, 90)
    bootstrap = Bootstrap.from_arrays(rng.random(90) < 0.5, score, weight, n_replicates=40)
    floor = bootstrap.estimate(ks_error, kind="error").noise_floor
    distinct, cell = np.unique(score, return_inverse=True)
    total, squares = np.bincount(cell, weight), np.bincount(cell, weight**2)
    noise = draw_noise(distinct, total, squares, 40, np.random.default_rng([0, 1]))
    expected = np.abs(np.cumsum(noise, axis=0)).max(axis=0).mean() / weight.sum()
    assert floor == pytest.approx(expected, rel=1e-9)


def test_cells_that_are_drawn_together_are_at_the_mean_of_their_rows():
    rng = np.random.default_rng(7)
    score = np.sort(rng.random(3000))
    bootstrap = Bootstrap.from_arrays(rng.random(3000) < score, score, n_replicates=30)
    estimate = bootstrap.estimate(lambda cells: cells.weight @ cells.score / cells.total_weight)
    assert estimate.value == pytest.approx(score.mean(), abs=1e-12)
    assert estimate.low < score.mean() < estimate.high


@pytest.mark.parametrize("unit", [0.25, 2.0])
def test_resamples_have_as_many_rows_as_their_weight_stands_for(unit):
    y, s = made(400)
    bootstrap = Bootstrap.from_arrays(y, s, np.full(400, unit), n_replicates=20)
    rows = bootstrap.estimate(lambda cells: cells.rows.sum() * unit / cells.total_weight)
    assert (rows.low, rows.high) == pytest.approx((1.0, 1.0))
    squares = bootstrap.estimate(lambda cells: cells.total_weight_sq / cells.total_weight)
    assert (squares.low, squares.high) == pytest.approx((unit, unit))
    positive = bootstrap.estimate(lambda cells: cells.positive_sq.sum() / cells.total_positive)
    assert (positive.low, positive.high) == pytest.approx((unit, unit))
