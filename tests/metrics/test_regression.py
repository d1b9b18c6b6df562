"""Slope and intercept: the score equations, their standard errors, and where no fit exists."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2

from calib import metrics
from calib.data.cells import ScoreCells
from tests.rare import rare

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
    assert fit.p_value == pytest.approx(rao_scott(fit.statistic, SCORE, weight), rel=1e-9)


def rao_scott(statistic, score, weight):
    """P(a chi-square with the mean and variance of the weighted squares is above the statistic)."""
    x, variance = np.column_stack([np.ones(len(score)), logit(score)]), score * (1.0 - score)
    assumed = (weight @ weight) / weight.sum() * x.T @ (x * (weight * variance)[:, None])
    rows = x.T @ (x * (weight**2 * variance)[:, None])
    spread = np.linalg.eigvals(np.linalg.solve(assumed, rows)).real
    freedom = spread.sum() ** 2 / (spread @ spread)
    return chi2.sf(freedom * statistic / spread.sum(), freedom)


def test_weights_that_depend_on_the_score_are_no_evidence():
    # 10 of 40 rows are positive at 0.15, which is no surprise; with weight 10 they count as 60
    # effective rows in the middle of 4,000 others, but they are still 40.
    y = np.repeat([1, 0, 1, 0], [10, 30, 2000, 2000])
    score, weight = np.repeat([0.15, 0.5], [40, 4000]), np.repeat([10.0, 1.0], [40, 4000])
    plain = metrics.calibration_slope_intercept(y, score)
    weighted = metrics.calibration_slope_intercept(y, score, sample_weight=weight)
    assert plain.p_value == pytest.approx(0.258, abs=0.001)
    assert math.exp(-weighted.statistic / 2) < 0.001
    assert weighted.p_value == pytest.approx(rao_scott(weighted.statistic, score, weight))
    assert 0.05 < weighted.p_value < plain.p_value


def test_weights_of_certain_scores_have_no_spread():
    line = metrics.calibration_slope_intercept(
        [0, 0, 1, 0, 1, 1], [0.0] * 3 + [1.0] * 3, sample_weight=np.arange(1.0, 7.0)
    )
    assert line.p_value < 1e-9


DESIGNS = {
    "unrelated": lambda s, rng: rng.lognormal(0.0, 1.0, len(s)),
    "inverse": lambda s, _: 1.0 / np.clip(s, 0.02, 1.0),
    "tenfold below 0.1": lambda s, _: np.where(s < 0.1, 10.0, 1.0),
    "twentyfold below 0.05": lambda s, _: np.where(s < 0.05, 20.0, 1.0),
    "proportional": lambda s, _: s,
    "inverse variance": lambda s, _: 1.0 / np.clip(s * (1.0 - s), 0.01, 1.0),
    "variance": lambda s, _: s * (1.0 - s),
    "tenfold above 0.9": lambda s, _: np.where(s > 0.9, 10.0, 1.0),
}


@rare
@pytest.mark.parametrize("design", DESIGNS)
def test_calibrated_scores_are_rejected_as_often_as_is_said_whatever_the_weights(design):
    rejected = 0
    rng = np.random.default_rng(11)
    for _ in range(400):
        score = expit(rng.normal(-0.5, 1.5, 2000))
        weight = DESIGNS[design](score, rng)
        fit = metrics.calibration_slope_intercept(
            rng.random(2000) < score, score, sample_weight=weight
        )
        rejected += fit.p_value < 0.05
    # 5% are 20 +- 4.4.
    assert 8 <= rejected <= 33


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]),  # The classes are separated.
        ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]),  # They are separated in the wrong order.
        ([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.4]),  # They share one score.
        ([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4]),  # There is one class.
    ],
)
def test_not_estimable(outcome, score):
    fit = metrics.calibration_slope_intercept(outcome, score)
    assert not fit.estimable
    for name in ("slope", "slope_low", "slope_error", "intercept", "statistic", "p_value"):
        assert math.isnan(getattr(fit, name))


@pytest.mark.parametrize("spread", [0.0, 1e-14])
@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_of_equal_scores_the_intercept_is_tested_with_one_degree(spread, weight):
    score = 0.3 + spread * np.arange(100)
    fit = metrics.calibration_slope_intercept(
        np.arange(100) < 42, score, sample_weight=np.full(100, weight)
    )
    # The likelihood ratio of 42 positives of 100 at 0.3.
    statistic = 2.0 * (42 * np.log(0.42 / 0.3) + 58 * np.log(0.58 / 0.7))
    assert not fit.estimable
    assert np.isnan([fit.slope, fit.intercept]).all()
    assert fit.statistic == pytest.approx(statistic, rel=1e-9)
    assert fit.p_value == pytest.approx(chi2.sf(statistic, 1), rel=1e-9)


def test_scores_that_clipping_makes_equal_have_no_slope():
    fit = metrics.calibration_slope_intercept([0, 1, 0, 1], [0.0, 1e-17, 1e-18, 0.0])
    assert not fit.estimable
    assert fit.p_value < 1e-9


def test_calibrated_equal_scores_are_rejected_in_about_5_percent():
    rng = np.random.default_rng(3)
    rejected = sum(
        metrics.calibration_slope_intercept(rng.random(400) < 0.3, np.full(400, 0.3)).p_value < 0.05
        for _ in range(400)
    )
    # 5% are 20 +- 4.4.
    assert 8 <= rejected <= 33


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
