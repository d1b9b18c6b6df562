"""The spread between groups and the interval of a new one, against published values."""

import math

import numpy as np
import pytest
from scipy.stats import gamma

from calib.uncertainty.new_group import _tau_squares, between_groups

N = np.array([412, 350, 981, 268, 640, 155, 820, 503])
O = np.array([49, 28, 131, 41, 52, 24, 77, 66])  # noqa: E741
E = np.array([44.1, 35.7, 108.9, 33.2, 60.4, 17.6, 80.8, 55.0])
SLOPE = np.array([0.92, 1.08, 0.85, 0.78, 1.12, 0.70, 1.03, 0.95])
SLOPE_ERROR = np.array([0.13, 0.17, 0.08, 0.15, 0.14, 0.22, 0.10, 0.12])


def ends(estimate):
    return [estimate.value, estimate.low, estimate.high]


def test_ratios_of_eight_centres():
    found = between_groups(np.log(O / E), (1 - O / N) / O)
    assert found.tau == pytest.approx(0.109699, abs=1e-6)
    assert found.tau**2 == pytest.approx(0.01203379, abs=1e-8)
    assert [found.q, found.p_value] == pytest.approx([12.350637, 0.089602], abs=1e-6)
    assert found.i_squared == pytest.approx(0.4332, abs=1e-4)
    assert found.mean.value == pytest.approx(0.076702, abs=1e-6)
    back = found.transformed(math.exp)
    assert ends(back.mean) == pytest.approx([1.079720, 0.959636, 1.214832], abs=1e-6)
    assert ends(back.usual)[1:] == pytest.approx([0.794986, 1.466437], abs=1e-6)
    # The published ends have three digits and come of draws; with 4,000 quantiles of tau^2 the
    # lower end is 0.7472.
    assert ends(back.new_group)[1:] == pytest.approx([0.750, 1.548], abs=4e-3)


def test_slopes_of_eight_centres():
    found = between_groups(SLOPE, SLOPE_ERROR**2)
    assert found.tau == 0.0
    assert [found.mean.value, found.q] == pytest.approx([0.933291, 6.741253], abs=1e-6)
    assert ends(found.usual)[1:] == pytest.approx([0.827560, 1.039022], abs=1e-6)
    assert ends(found.new_group)[1:] == pytest.approx([0.712, 1.159], abs=4e-3)


def test_quantiles_of_tau_solve_their_equation():
    v, q, level = SLOPE_ERROR**2, 20.0, np.array([0.01, 0.3, 0.5, 0.975])
    tau_sq = _tau_squares(v, q, level)
    w = 1 / v
    matrix = np.diag(w) - np.outer(w, w) / w.sum()
    for u, t in zip(level, tau_sq, strict=True):
        # Mean and variance of a quadratic form y'Ay of normal y with variances v + t.
        product = matrix @ np.diag(v + t)
        mean, variance = np.trace(product), 2 * np.trace(product @ product)
        tail = gamma.sf(q, mean**2 / variance, scale=variance / mean)
        assert tail == pytest.approx(u, abs=1e-9) if t > 0 else tail >= u


def test_below_five_groups_there_is_no_interval():
    found = between_groups(SLOPE[:4], SLOPE_ERROR[:4] ** 2)
    assert math.isnan(found.new_group.low)
    assert not math.isnan(found.tau)
    assert math.isnan(between_groups(SLOPE[:1], SLOPE_ERROR[:1] ** 2).tau)


def test_the_interval_is_that_of_draws():
    y, v, n = np.log(O / E), (1 - O / N) / O, 400_000
    rng = np.random.default_rng(0)
    tau_sq = _tau_squares(v, between_groups(y, v).q, rng.random(n))
    w = 1 / (v + tau_sq[:, None])
    mean = (w * y).sum(1) / w.sum(1)
    error = np.sqrt((w * (y - mean[:, None]) ** 2).sum(1) / (7 * w.sum(1)))
    drawn = mean + np.sqrt(tau_sq) * rng.normal(size=n) - rng.standard_t(7, n) * error
    found = between_groups(y, v).new_group
    assert ends(found)[1:] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=4e-3)


def test_equal_estimates_have_no_interval():
    assert math.isnan(between_groups(np.full(6, 0.5), np.full(6, 0.1)).new_group.low)


def test_groups_without_an_estimate_are_refused(texts):
    for value, variance in ((SLOPE * np.nan, SLOPE), (SLOPE, 0 * SLOPE), (SLOPE[:0], SLOPE[:0])):
        with texts.raises(ValueError):
            between_groups(value, variance)
