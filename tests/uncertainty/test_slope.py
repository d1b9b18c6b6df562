"""The slope's interval: against an optimiser's profile, standard errors, and what it must hold."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logit
from scipy.stats import t

from calib.data.predictions import Predictions
from calib.metrics import calibration_slope_intercept
from calib.numerics.intervals import best_intercept, profile_bounds
from calib.uncertainty import fit_line, slope_estimate
from tests.rare import rare


def drawn(n, seed=0, slope=0.7, mean=0.0, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(mean, 1.5, n)
    return Predictions.from_arrays(rng.random(n) < expit(0.3 + slope * x), expit(x), **more).view()


def test_bounds_are_where_an_optimiser_finds_the_fall():
    rows = drawn(60, seed=3)
    x, y = logit(rows.score), rows.outcome

    def height(b):
        def loss(a):
            return -np.sum(np.where(y, log_expit(a + b * x), log_expit(-a - b * x)))

        return -minimize_scalar(loss, options={"xtol": 1e-12}).fun

    fit = calibration_slope_intercept(rows.cells())
    ones, order = np.ones(60), np.argsort(x)
    positive = y[order].astype(float)
    bounds = profile_bounds(x[order], positive, ones, fit.slope, fit.slope_error, 1.92)
    for bound in bounds:
        assert height(fit.slope) - height(bound) == pytest.approx(1.92, rel=1e-6)
    assert bounds[0] < fit.slope < bounds[1]


def test_many_rows_have_the_models_standard_error():
    rows = drawn(20_000)
    fit = calibration_slope_intercept(rows.cells())
    estimate = slope_estimate(rows)
    assert estimate.value == pytest.approx(fit.slope, abs=1e-9)
    assert estimate.low == pytest.approx(fit.slope_low, abs=0.03 * fit.slope_error)
    assert estimate.high == pytest.approx(fit.slope_high, abs=0.03 * fit.slope_error)


def test_a_model_that_does_not_fit_has_the_sandwich():
    """Outcomes bend against the line, and the influence of the far rows is not the model's."""
    rng = np.random.default_rng(4)
    x = rng.standard_t(3, 40_000)
    outcome = rng.random(40_000) < expit(np.clip(2.0 * x, -1.0, 1.0))
    rows = Predictions.from_arrays(outcome, expit(x)).view()
    slopes = [
        fit_line(rows.rows(rng.integers(40_000, size=40_000)).cells()).coefficients[1]
        for _ in range(150)
    ]
    estimate = slope_estimate(rows)
    assert estimate.high - estimate.low == pytest.approx(3.92 * np.std(slopes), rel=0.15)
    fit = calibration_slope_intercept(rows.cells())
    assert abs(fit.slope_error / np.std(slopes) - 1.0) > 0.2


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    single = drawn(800)
    five = np.repeat(np.arange(800), 5)
    copies = Predictions.from_arrays(single.outcome[five], single.score[five], group=five).view()
    one, clustered = slope_estimate(single), slope_estimate(copies)
    unnamed = slope_estimate(Predictions.from_arrays(copies.outcome, copies.score).view())
    assert width(clustered) == pytest.approx(width(one), rel=0.05)
    assert width(unnamed) == pytest.approx(width(one) / math.sqrt(5), rel=0.1)


def test_weights_that_differ_widen_and_equal_ones_do_nothing():
    rows = drawn(4000)
    equal = drawn(4000, sample_weight=np.full(4000, 3.0))
    assert slope_estimate(equal).low == pytest.approx(slope_estimate(rows).low, abs=1e-7)
    uneven = np.random.default_rng(0).exponential(size=4000) + 1e-3
    weighted = drawn(4000, sample_weight=uneven)
    fit = calibration_slope_intercept(weighted.cells())
    assert width(slope_estimate(weighted)) == pytest.approx(fit.slope_high - fit.slope_low, rel=0.1)


@rare
def test_three_positives_among_200_rows_hold_what_is_promised():
    held = []
    for seed in range(300):
        rows = drawn(200, seed, slope=1.0, mean=-6.0)
        estimate = slope_estimate(rows) if 0 < rows.outcome.sum() <= 3 else None
        if estimate is not None and not math.isnan(estimate.low):
            held.append(estimate.low <= 1.0 <= estimate.high)
    assert len(held) > 100
    # Percentiles of resamples would cover only two thirds.
    assert np.mean(held) > 0.88


def test_what_cannot_be_estimated_is_nan():
    separated = Predictions.from_arrays([0] * 20 + [1] * 20, np.linspace(0.1, 0.9, 40)).view()
    assert math.isnan(slope_estimate(separated).value)
    assert fit_line(separated.cells()) is None
    # Clipped as for the log loss, all these scores have the same log-odds.
    certain = Predictions.from_arrays([0, 1, 0, 1], [0.0, 1e-17, 1e-18, 0.0]).view()
    assert fit_line(certain.cells()) is None
    assert math.isnan(slope_estimate(certain).value)


def width(estimate):
    return estimate.high - estimate.low


X, TEN = np.array([0.0, 1.0]), np.array([10.0, 10.0])


def test_the_likelihood_of_separated_rows_never_falls_towards_steeper_slopes():
    """Ten negatives, then ten positives: of slope b it is 20 log(expit(b / 2))."""
    low, high = profile_bounds(X, np.array([0.0, 10.0]), TEN, 60.0, 1.0, 1.92)
    assert low == pytest.approx(-2.0 * math.log(math.expm1(1.92 / 20.0)), rel=1e-8)
    assert high == math.inf
    low, high = profile_bounds(X, np.array([10.0, 0.0]), TEN, -60.0, 1.0, 1.92)
    assert high == pytest.approx(2.0 * math.log(math.expm1(1.92 / 20.0)), rel=1e-8)
    assert low == -math.inf


def test_the_intercept_is_found_with_weights_and_offsets_of_any_size():
    """The heavy row is positive: what it lacks to 1 is the weight of the light negative."""
    weight = np.array([2209.46643, 7.2e-06])
    intercept = best_intercept(np.array([797.0, 883.0]), np.array([weight[0], 0.0]), weight)
    assert intercept == pytest.approx(math.log(weight[0] / weight[1]) - 797.0, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(50):
        offset, weight = rng.normal(size=40) * 1e21, 10.0 ** rng.uniform(-4, 4, 40)
        positive = np.where(np.arange(40) < 20, weight, 0.0)
        rate = expit(best_intercept(offset, positive, weight) + offset)
        # At such distances rows are certain, except for a row at the intercept.
        assert ((rate < 1e-9) | (rate > 1.0 - 1e-9)).sum() >= 39


@pytest.mark.parametrize("error", [1e-6, 1.1, 40.0])
def test_bounds_are_found_from_any_first_step(error):
    low, high = profile_bounds(X, np.array([2.0, 8.0]), TEN, 2.0 * math.log(4.0), error, 1.92)

    def height(b):
        # By symmetry the intercept is -b / 2.
        return 16.0 * log_expit(b / 2.0) + 4.0 * log_expit(-b / 2.0)

    top = height(2.0 * math.log(4.0))
    assert top - height(low) == pytest.approx(1.92, rel=1e-7)
    assert top - height(high) == pytest.approx(1.92, rel=1e-7)
    assert low < 2.0 * math.log(4.0) < high


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_fall_of_the_likelihood_by_hand(weighted, grouped):
    """Of few rows, whose own variance counts by its degrees of freedom and the model's for 20."""
    rng = np.random.default_rng(2)
    n, more = 90, {}
    w = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    group = rng.integers(0, 30, n)
    if weighted:
        more["sample_weight"] = w
    if grouped:
        more["group"] = group
    rows = drawn(n, 5, **more)
    x, y = logit(rows.score), rows.outcome.astype(float)
    fit = calibration_slope_intercept(rows.outcome, rows.score, sample_weight=w)
    p = expit(fit.intercept + fit.slope * x)
    features = np.column_stack([np.ones(n), x])
    covariance = np.linalg.inv((features.T * (w * p * (1 - p))) @ features)
    toward = features @ covariance[1]
    influence = w * (y - p) * toward
    model = (w * toward) ** 2 @ (p * (1 - p))
    units, effect = influence, 1.0
    if grouped:
        units = np.array([influence[group == c].sum() for c in np.unique(group)])
        k = len(units)
        effect = max(1.0, units @ units / (influence @ influence) * k / (k - 1) * (n - 1) / n)
    ratio = influence @ influence / model
    freedom = (units @ units) ** 2 / np.sum(units**4) - 1.0
    moderated = effect * (20.0 + freedom * ratio) / (20.0 + freedom)
    drop = model * moderated * t.ppf(0.95, 20.0 + freedom) ** 2 / covariance[1, 1] / 2.0

    def height(b):
        def loss(a):
            return -np.sum(w * np.where(y > 0, log_expit(a + b * x), log_expit(-a - b * x)))

        return -minimize_scalar(loss, options={"xtol": 1e-12}).fun

    estimate = slope_estimate(rows, confidence_level=0.9)
    for bound in (estimate.low, estimate.high):
        assert height(fit.slope) - height(bound) == pytest.approx(drop, rel=1e-6)
    assert estimate.low < estimate.value < estimate.high
