"""Wilson's interval against Newcombe's published table, and Hall's against his cubic."""

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

import calib
from calib.analysis.decisions import Costs, decide
from calib.analysis.slices import Slicing, slice_gaps
from calib.crossfit.fitting import cross_fit_scores
from calib.data.counted import CountedRows
from calib.metrics.ranking import auc_estimate
from calib.numerics.intervals import binomial_p_value, mean_interval, wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_newcombe_1998_table_1_method_3(successes, n, low, high):
    bounds = wilson_interval(np.array([successes / n]), np.array([float(n)]), 0.95)
    np.testing.assert_allclose(np.concatenate(bounds), [low, high], atol=5e-5)


def test_bounds_solve_the_score_equation():
    rate, n, z = np.array([0.1, 0.5, 0.93]), np.array([7.0, 12.5, 900.0]), 2.5758293035489004
    for bound in wilson_interval(rate, n, 0.99):
        np.testing.assert_allclose((rate - bound) ** 2, z**2 * bound * (1 - bound) / n)


def test_rates_of_0_and_1_touch_their_end():
    low, high = wilson_interval(np.array([0.0, 1.0]), np.array([3.0, 3.0]), 0.95)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] == pytest.approx(1.0 - low[1])


@pytest.mark.parametrize("power", [1, 2, 6])
@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_of_a_mean_solve_halls_cubic(power, sign):
    values = sign * np.random.default_rng(power).exponential(size=40) ** power
    n, error = 40, values.std(ddof=1) / np.sqrt(40)
    k = ((values - values.mean()) ** 3).mean() / values.std() ** 3 / np.sqrt(n)
    for bound, t in zip(
        mean_interval(values.mean(), values - values.mean(), n, 0.95),
        student.ppf([0.975, 0.025], n - 1),
        strict=True,
    ):
        x = (values.mean() - bound) / error
        assert x + k * x**2 / 3 + k**2 * x**3 / 27 + k / 6 == pytest.approx(t)


def test_a_mean_of_symmetric_values_has_students_interval():
    values = np.random.default_rng(0).normal(size=10)
    values = np.concatenate([values, -values])
    half = student.ppf(0.95, 19) * values.std(ddof=1) / np.sqrt(20)
    assert mean_interval(3.0, values, 20.0, 0.9) == pytest.approx((3.0 - half, 3.0 + half))


def test_means_of_skewed_values_are_missed_as_often_on_either_side():
    rng, missed = np.random.default_rng(3), np.zeros(2)
    for values in rng.exponential(size=(4000, 50)):
        low, high = mean_interval(values.mean(), values - values.mean(), 50.0, 0.95)
        missed += [low > 1.0, high < 1.0]
    # A correct count is 100 with a standard error of 10; without the correction it is 30 or 240.
    assert (missed > 60).all()
    assert (missed < 160).all()


def test_means_without_spread_or_rows():
    assert np.isnan(mean_interval(1.0, np.zeros(1), 1.0, 0.95)).all()
    assert mean_interval(1.0, np.zeros(5), 5.0, 0.95) == (1.0, 1.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, float("nan")])
def test_a_level_is_between_0_and_1(level):
    rows = calib.Predictions.from_arrays([0, 1] * 20, np.linspace(0.1, 0.9, 40))
    view = rows.view()
    held_out = cross_fit_scores(CountedRows.of_rows(view), calib.Settings(methods=("beta",)))
    for interval in (
        lambda: wilson_interval(np.array([0.5]), np.array([10.0]), level),
        lambda: mean_interval(1.0, np.array([-1.0, 1.0]), 2.0, level),
        lambda: decide(held_out, Costs(), confidence_level=level),
        lambda: slice_gaps(view, view.score, Slicing.whole(40), confidence_level=level),
        lambda: auc_estimate(view, confidence_level=level),
    ):
        with pytest.raises(ValueError, match="confidence_level must fulfil 0 < level < 1"):
            interval()


def test_rates_of_0_and_1_touch_their_end_exactly_for_any_number_of_rows():
    n = np.arange(1.0, 400.0) / 3.0
    low, _ = wilson_interval(np.zeros(len(n)), n, 0.95)
    _, high = wilson_interval(np.ones(len(n)), n, 0.95)
    assert set(low) == {0.0}
    assert set(high) == {1.0}


@pytest.mark.parametrize("expected", [0.03, 0.5, 0.8])
def test_p_values_of_a_rate_are_twice_the_smaller_binomial_tail(expected):
    k, n = np.arange(14), np.full(14, 13.0)
    tails = np.minimum(binom.sf(k - 1, 13, expected), binom.cdf(k, 13, expected))
    p = binomial_p_value(k / 13, n, np.full(14, expected))
    np.testing.assert_allclose(p, np.minimum(2.0 * tails, 1.0), rtol=1e-10)
