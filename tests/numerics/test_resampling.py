"""Draws against the laws that they follow, and intervals against their definitions."""

import numpy as np
import pytest
from scipy.stats import binom, poisson

from calib.numerics.resampling import (
    MAX_CLUSTERS,
    draw_cluster_sums,
    draw_noise,
    draw_sums,
    error_interval,
    percentile_interval,
    reflected_interval,
    student_factor,
)
from tests.rare import rare

N = 20_000


def test_counts_of_equal_rows_are_poisson():
    n = np.array([3.0])
    drawn = draw_sums(n, n, N, np.random.default_rng(0))[0]
    for k in range(8):
        share = poisson.pmf(k, 3.0)
        assert np.mean(drawn == k) == pytest.approx(share, abs=4 * np.sqrt(share / N))


@pytest.mark.parametrize("least", [0.0, 1e-300, 0.1])
def test_noise_of_single_rows_is_that_of_binomial_numbers(least):
    chance = np.array([least, 0.3, 0.5, 0.5 + 1e-12, 0.9, 1.0])
    drawn = draw_noise(chance, np.ones(6), np.ones(6), N, np.random.default_rng(5))
    numbers = np.random.default_rng(5).binomial(1, chance[:, None], (6, N))
    np.testing.assert_array_equal(drawn, numbers - chance[:, None])


@pytest.mark.parametrize(("n", "chance"), [(120, 0.35), (400, 0.07), (400, 0.93), (10_000, 0.5)])
def test_noise_of_many_rows_has_the_tails_of_binomial_counts(n, chance):
    rows = np.array([float(n)])
    drawn = draw_noise(np.array([chance]), rows, rows, 50 * N, np.random.default_rng(5))[0]
    law = binom(n, chance)
    for share in (0.001, 0.025, 0.5, 0.975, 0.999):
        # The numbers are not whole, so a count is compared with all numbers within half a row.
        at = float(np.quantile(drawn, share)) + n * chance
        assert law.cdf(np.ceil(at - 0.5) - 1) - 0.002 < share < law.cdf(np.ceil(at + 0.5)) + 0.002
    skewness = np.mean(drawn**3) / np.mean(drawn**2) ** 1.5
    assert np.var(drawn) == pytest.approx(law.var(), rel=0.01)
    assert skewness == pytest.approx(float(law.stats("s")), abs=0.01)


def test_weighted_sums_have_the_mean_and_variance_of_drawn_rows():
    w = np.array([0.5, 1.0, 4.0])
    by_rows = np.random.default_rng(1).poisson(1.0, (N, 3)) @ w
    drawn = draw_sums(w.sum(keepdims=True), (w @ w)[None], N, np.random.default_rng(0))[0]
    assert drawn.mean() == pytest.approx(w.sum(), rel=0.03)
    assert drawn.var() == pytest.approx(w @ w, rel=0.05)
    assert drawn.var() == pytest.approx(by_rows.var(), rel=0.06)


@rare
@pytest.mark.parametrize("n_clusters", [50, 3 * MAX_CLUSTERS])
def test_a_mean_by_cluster_varies_as_its_sandwich_variance(n_clusters):
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(n_clusters), 4)
    outcome = (rng.random(4 * n_clusters) < np.repeat(rng.random(n_clusters), 4)).astype(np.int64)
    weight = rng.random(4 * n_clusters) + 0.5
    drawn = draw_cluster_sums(cluster, outcome, weight, 2, N, np.random.default_rng(3))
    mean = weight @ outcome / weight.sum()
    residual = np.bincount(cluster, weight * (outcome - mean))
    error = np.sqrt(residual @ residual) / weight.sum()
    rate = drawn[1] / drawn.sum(axis=0)
    # If clusters are merged at random, the variance changes by up to 5%.
    tolerance = 0.03 if n_clusters <= MAX_CLUSTERS else 0.08
    assert rate.std() == pytest.approx(error, rel=tolerance)
    assert rate.mean() == pytest.approx(mean, abs=error / 5)


def test_the_same_seed_draws_the_same():
    n = np.full(5, 10.0)
    draws = [draw_sums(n, n, 7, np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_an_error_as_large_as_its_noise_may_be_zero_and_a_larger_one_may_not():
    spread = np.linspace(-0.02, 0.02, 101)
    noise = 0.1 + spread
    assert error_interval(0.1, 0.04 + spread, noise, 0.9) == pytest.approx((0.0, 0.118))
    assert error_interval(0.2, 0.04 + spread, noise, 0.9) == pytest.approx((0.084, 0.218))


def test_an_error_lies_in_its_interval_however_few_the_resamples():
    low, high = error_interval(0.1, np.array([0.3]), np.array([0.05]), 0.95)
    assert (low, high) == pytest.approx((0.05, 0.1))


def test_reflected_and_percentile_intervals_mirror_each_other():
    deviation = np.random.default_rng(0).exponential(size=1001)
    low, high = percentile_interval(5.0, deviation, 0.9)
    assert (low, high) == tuple(5.0 + np.quantile(deviation, [0.05, 0.95]))
    mirrored = reflected_interval(5.0, deviation, 0.9)
    assert mirrored == pytest.approx((10.0 - high, 10.0 - low), abs=1e-12)


@pytest.mark.parametrize("unit", [1.0, 0.1, 0.3, 7e-5, 1e5 / 3])
def test_half_a_row_is_rounded_up_in_any_unit_of_the_weights(unit):
    """Weights 1, 1, 1, 1 and 2 count as 36 / 8 = 4.5 equal rows: as 5, with 0 to 5 positives."""
    weight, weight_sq = np.array([6.0 * unit]), np.array([8.0 * unit**2])
    noise = draw_noise(np.array([0.5]), weight, weight_sq, 2000, np.random.default_rng(0))
    values = np.unique((noise / unit).round(9))
    np.testing.assert_allclose(values, (np.arange(6) - 2.5) * np.sqrt(8 / 5), rtol=1e-8)


def test_two_clusters_show_a_spread_and_one_shows_none():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(student_factor(1, 50, rng), np.ones(50))
    assert student_factor(2, 50, rng).std() > 0.5


def test_more_clusters_than_are_drawn_have_the_tails_of_those_that_are():
    drawn = [student_factor(n, 50, np.random.default_rng(0)) for n in (MAX_CLUSTERS, 5000)]
    np.testing.assert_array_equal(*drawn)
    fewer = student_factor(MAX_CLUSTERS - 1, 50, np.random.default_rng(0))
    assert (fewer != drawn[0]).any()
