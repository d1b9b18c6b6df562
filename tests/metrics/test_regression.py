"""Slope and intercept: the score equations, their standard errors, and where no fit exists."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

from calib import metrics
from calib.data.cells import ScoreCells

RNG = np.random.default_rng(9)
SCORE = RNG.random(400).round(2).clip(0.01, 0.99)
OUTCOME = RNG.random(400) < expit(0.4 + 0.6 * logit(SCORE))
WEIGHT = RNG.random(400) * 3 + 0.1


@pytest.mark.parametrize("weight", [np.ones(400), WEIGHT])
def test_score_equations(weight):
    fit = metrics.calibration_slope_intercept(OUTCOME, SCORE, sample_weight=weight)
    x = logit(SCORE)
    residual = weight * (OUTCOME - expit(fit.intercept + fit.slope * x))
    np.testing.assert_allclose([residual.sum(), residual @ x], 0.0, atol=1e-8)
    assert (weight * (OUTCOME - expit(fit.intercept_only + x))).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("weight", [np.ones(400), WEIGHT])
def test_standard_errors_are_those_of_the_estimating_equations(weight):
    fit = metrics.calibration_slope_intercept(OUTCOME, SCORE, sample_weight=weight)
    x = np.column_stack([np.ones(400), logit(SCORE)])
    p = expit(x @ [fit.intercept, fit.slope])
    outer = np.linalg.inv(x.T @ (x * (weight * p * (1 - p))[:, None]))
    inner = x.T @ (x * (weight**2 * p * (1 - p))[:, None])
    errors = np.sqrt(np.diag(outer @ inner @ outer))
    np.testing.assert_allclose([fit.intercept_error, fit.slope_error], errors, rtol=1e-9)
    assert fit.slope_high - fit.slope == pytest.approx(1.959963985 * fit.slope_error)
    assert fit.intercept - fit.intercept_low == pytest.approx(1.959963985 * fit.intercept_error)

    # If the slope is fixed at 1, the intercept has a single equation.
    p = expit(fit.intercept_only + logit(SCORE))
    alone = np.sqrt(weight**2 @ (p * (1 - p))) / (weight @ (p * (1 - p)))
    assert fit.intercept_only_error == pytest.approx(alone)
    assert fit.intercept_only_high - fit.intercept_only == pytest.approx(1.959963985 * alone)


def test_confidence_level():
    narrow = metrics.calibration_slope_intercept(OUTCOME, SCORE, confidence_level=0.5)
    assert narrow.slope_high - narrow.slope == pytest.approx(0.67448975 * narrow.slope_error)


@pytest.mark.parametrize("weight", [np.ones(400), WEIGHT])
def test_likelihood_ratio(weight):
    fit = metrics.calibration_slope_intercept(OUTCOME, SCORE, sample_weight=weight)
    fitted = expit(fit.intercept + fit.slope * logit(SCORE))
    before, after = (metrics.log_loss(OUTCOME, s, sample_weight=weight) for s in (SCORE, fitted))
    effective = weight.sum() ** 2 / (weight @ weight)
    assert fit.statistic == pytest.approx(2 * effective * (before - after), rel=1e-9)
    # The p-value is that of chi-square with 2 degrees of freedom.
    assert fit.p_value == pytest.approx(math.exp(-fit.statistic / 2))


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]),  # The classes are separated.
        ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]),  # They are separated in the wrong order.
        ([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.4]),  # They share one score.
        ([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.3]),  # There is one score.
        ([0, 1, 0, 1], [0.0, 1e-17, 1e-18, 0.0]),  # Clipping leaves one score.
        ([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4]),  # There is one class.
    ],
)
def test_not_estimable(outcome, score):
    fit = metrics.calibration_slope_intercept(outcome, score)
    assert not fit.estimable
    for name in ("slope", "slope_low", "slope_error", "intercept", "statistic", "p_value"):
        assert math.isnan(getattr(fit, name))


def test_scores_that_differ_by_rounding_have_no_slope():
    # The information matrix is singular, or its inverse is rounding error.
    for score in (0.67405382, 0.17105167):
        scores = np.repeat(score + np.spacing(score) * np.arange(3), 20)
        outcome = np.arange(60) % 3 == 0
        value = metrics.calibration_slope_intercept(outcome, scores)
        assert np.isnan([value.slope_low, value.slope_high]).all()


def test_the_intercept_alone_survives_separation():
    fit = metrics.calibration_slope_intercept([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    p = expit(fit.intercept_only + logit([0.1, 0.2, 0.3, 0.4]))
    assert p.sum() == pytest.approx(2.0)
    assert fit.intercept_only_low < fit.intercept_only < fit.intercept_only_high


def test_nearly_separated_scores_are_still_fitted():
    score = np.linspace(0.01, 0.99, 200)
    outcome = score > 0.5
    outcome[[99, 100]] = outcome[[100, 99]]
    fit = metrics.calibration_slope_intercept(outcome, score)
    assert fit.estimable
    assert fit.slope > 10.0


def test_certain_scores_are_clipped_as_for_the_log_loss():
    cells = ScoreCells.from_arrays([0, 1, 0, 1, 1, 0], [0.0, 1.0, 0.6, 0.4, 0.5, 0.7])
    eps = np.finfo(float).eps
    moved = ScoreCells.from_arrays([0, 1, 0, 1, 1, 0], [eps, 1 - eps, 0.6, 0.4, 0.5, 0.7])
    one, two = map(metrics.calibration_slope_intercept, (cells, moved))
    assert one.slope == pytest.approx(two.slope)
