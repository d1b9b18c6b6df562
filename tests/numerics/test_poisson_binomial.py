"""The consistency band against the binomial law and against plain convolution."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from calib.data.cells import ScoreCells
from calib.numerics.binning import bin_cells
from calib.numerics.poisson_binomial import (
    calibrated_gap,
    calibrated_rate_interval,
    calibrated_spread,
    poisson_binomial_pmf,
)
from tests.rare import rare

RNG = np.random.default_rng(3)


def band(score, weight=None, n_bins=1, level=0.95):
    cells = ScoreCells.from_arrays(np.arange(len(score)) % 2, score, weight)
    return calibrated_rate_interval(cells, bin_cells(cells, n_bins, "uniform"), level)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 64, 1000])
def test_equal_trials_are_binomial(n):
    pmf = poisson_binomial_pmf(np.full(n, 0.3))
    np.testing.assert_allclose(pmf[: n + 1], binom.pmf(np.arange(n + 1), n, 0.3), atol=1e-14)
    np.testing.assert_allclose(pmf[n + 1 :], 0.0, atol=1e-15)


def test_unequal_trials_by_plain_convolution():
    p = RNG.random(77)
    expected = np.ones(1)
    for q in p:
        expected = np.convolve(expected, [1.0 - q, q])
    np.testing.assert_allclose(poisson_binomial_pmf(p)[:78], expected, atol=1e-15)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 10, 333, 1000])
def test_band_of_one_score_is_binomial(n, level):
    low, high = band(np.full(n, 0.37), level=level)
    tail = (1.0 - level) / 2.0
    assert low[0] * n == pytest.approx(binom.ppf(tail, n, 0.37))
    assert high[0] * n == pytest.approx(binom.ppf(1.0 - tail, n, 0.37))


def test_bins_of_different_sizes_do_not_disturb_each_other():
    small, large = RNG.random(5) * 0.5, 0.5 + RNG.random(800) * 0.5
    together = band(np.concatenate([small, large]), n_bins=2)
    alone = [band(small, n_bins=2), band(large, n_bins=2)]
    for bound in (0, 1):
        np.testing.assert_array_equal(together[bound], [alone[0][bound][0], alone[1][bound][0]])


def test_more_bins_than_are_computed_at_once():
    score = RNG.random(900)
    low, high = band(score, n_bins=100)
    number = np.minimum((score * 100).astype(int), 99)
    for b in (0, 63, 64, 99):
        inside = score[number == b]
        n = len(inside)
        pmf = np.ones(1)
        for q in inside:
            pmf = np.convolve(pmf, [1.0 - q, q])
        cdf = pmf.cumsum()
        assert low[b] * n == pytest.approx(np.searchsorted(cdf, 0.025))
        assert high[b] * n == pytest.approx(np.searchsorted(cdf, 0.975))


def test_large_and_weighted_bins_are_normal():
    score = RNG.random(1001)
    weight = RNG.random(1001) + 0.5
    for w in (np.ones(1001), weight):
        low, high = band(score, w)
        mean = w @ score / w.sum()
        sd = np.sqrt(w**2 @ (score * (1 - score))) / w.sum()
        np.testing.assert_allclose(
            [low[0], high[0]], [mean - 1.959964 * sd, mean + 1.959964 * sd], atol=1e-7
        )


def test_the_normal_band_is_near_the_exact_one():
    score = RNG.random(1000)
    exact = np.concatenate(band(score))
    spread = np.sqrt(score @ (1 - score)) / 1000
    np.testing.assert_allclose(exact, score.mean() + np.array([-1.96, 1.96]) * spread, atol=1.1e-3)


def test_certain_scores_have_no_band():
    low, high = band(np.array([0.0, 0.0, 1.0]), n_bins=2)
    np.testing.assert_array_equal(low, [0.0, 1.0])
    np.testing.assert_array_equal(high, [0.0, 1.0])


@pytest.mark.parametrize("p", [0.0008, 0.4, 0.9992])
def test_large_bins_of_few_positives_or_negatives_are_binomial(p):
    low, high = band(np.full(5000, p), level=0.99)
    if p == 0.4:  # With many rows of both outcomes the band is normal.
        assert high[0] == pytest.approx(p + 2.5758 * np.sqrt(p * (1 - p) / 5000), abs=1e-6)
    else:
        assert low[0] * 5000 == pytest.approx(binom.ppf(0.005, 5000, p))
        assert high[0] * 5000 == pytest.approx(binom.ppf(0.995, 5000, p))


def test_large_bins_of_unequal_rare_scores_by_plain_convolution():
    score = 0.02 * RNG.random(3000) ** 3
    pmf = np.ones(1)
    for q in score:
        pmf = np.convolve(pmf, [1.0 - q, q])[:200]
    cdf = pmf.cumsum()
    low, high = band(score)
    assert low[0] * 3000 == pytest.approx(np.searchsorted(cdf, 0.025))
    assert high[0] * 3000 == pytest.approx(np.searchsorted(cdf, 0.975))


@rare
@pytest.mark.parametrize("factor", [1.0, 0.05])
def test_simultaneous_bounds_hold_all_bins_together_as_often_as_asked(factor):
    cells = ScoreCells.from_arrays(np.arange(300) % 2, factor * RNG.random(300))
    bins = bin_cells(cells, 12, "quantile")
    rng = np.random.default_rng(0)
    drawn = rng.random((100_000, 300), dtype=np.float32) < cells.score.astype(np.float32)
    observed = np.add.reduceat(drawn, bins.first, axis=1, dtype=float) / bins.rows

    def share(simultaneous):
        low, high = calibrated_rate_interval(cells, bins, 0.95, simultaneous=simultaneous)
        return ((observed >= low - 1e-9) & (observed <= high + 1e-9)).all(axis=1).mean()

    assert 0.948 <= share(True) <= 0.97
    assert share(False) < 0.9


def test_simultaneous_bounds_of_one_bin_are_its_own():
    cells = ScoreCells.from_arrays(np.arange(50) % 2, RNG.random(50))
    bins = bin_cells(cells, 1, "uniform")
    for ours, expected in zip(
        calibrated_rate_interval(cells, bins, 0.9, simultaneous=True),
        calibrated_rate_interval(cells, bins, 0.9),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, expected)


def test_simultaneous_normal_bounds_are_sidaks():
    score, weight = RNG.random(2000), RNG.random(2000) + 0.5
    cells = ScoreCells.from_arrays(np.arange(2000) % 2, score, weight)
    bins = bin_cells(cells, 5, "quantile")
    low, high = calibrated_rate_interval(cells, bins, 0.95, simultaneous=True)
    z = norm.ppf(0.5 + 0.95 ** (1 / 5) / 2)
    alone = calibrated_rate_interval(cells, bins, 0.95)
    np.testing.assert_allclose(high - low, (alone[1] - alone[0]) * z / norm.ppf(0.975), rtol=1e-6)


@rare
@pytest.mark.parametrize(("n", "factor"), [(60, 1.0), (300, 1.0), (300, 0.02), (20_000, 0.002)])
def test_expected_gaps_are_those_of_draws(n, factor):
    score = factor * RNG.beta(2, 2, n)
    cells = ScoreCells.from_arrays(np.arange(n) % 2, score)
    bins = bin_cells(cells, 10, "quantile")
    drawn = np.random.default_rng(1).random((4000, n), dtype=np.float32) < cells.score
    gap = np.add.reduceat(drawn - cells.score, bins.first, axis=1) / bins.rows
    expected = np.abs(gap).mean(axis=0)
    np.testing.assert_allclose(calibrated_gap(cells, bins), expected, rtol=0.08)
    assert bins.rows @ calibrated_gap(cells, bins) == pytest.approx(bins.rows @ expected, rel=0.015)


def test_expected_gaps_of_weighted_rows_are_of_normal_numbers():
    score, weight = RNG.random(500), RNG.random(500) + 0.1
    cells = ScoreCells.from_arrays(np.arange(500) % 2, score, weight)
    gap = calibrated_gap(cells, bin_cells(cells, 1, "uniform"))
    spread = np.sqrt(weight**2 @ (score * (1 - score))) / weight.sum()
    assert gap[0] == pytest.approx(np.sqrt(2 / np.pi) * spread)


@pytest.mark.parametrize("score", [0.001, 0.999])
def test_a_weighted_gap_is_at_most_twice_the_mean_of_the_rarer_outcome(score):
    """Exactly it is 2 s (1 - s) of one row, and less of several; the normal one would be 0.012."""
    weight = np.array([1.0, 1.5, 2.0, 0.5, 1.0])
    cells = ScoreCells.from_arrays(np.arange(5) % 2, np.full(5, score), weight)
    spread = np.sqrt(2 / np.pi * weight @ weight * score * (1 - score)) / weight.sum()
    gap = calibrated_gap(cells, bin_cells(cells, 1, "uniform"))
    assert gap[0] == pytest.approx(0.002)
    assert spread > 0.01


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_spread_of_a_few_weighted_rows_is_theirs_in_any_unit(unit):
    score, weight = (
        np.array([0.1, 0.2, 0.3, 0.0, 0.6, 1.0]),
        np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0]),
    )
    cells = ScoreCells.from_arrays(np.arange(6) % 2, score, unit * weight)
    bins = bin_cells(cells, 2, "uniform")
    spread = calibrated_spread(cells, bins)
    variance = weight**2 * score * (1 - score)
    expected = [np.sqrt(variance[:4].sum()) / 4.5, np.sqrt(variance[4:].sum()) / 4.0]
    np.testing.assert_allclose(spread, expected)
    low, high = calibrated_rate_interval(cells, bins, 0.5)
    half = norm.ppf(0.75) * np.array(expected)
    np.testing.assert_allclose(low, np.maximum(bins.mean_score - half, 0.0))
    np.testing.assert_allclose(high, np.minimum(bins.mean_score + half, 1.0))
    gap = np.sqrt(2 / np.pi) * np.array(expected)
    rarer = np.minimum(bins.mean_score, 1 - bins.mean_score)
    np.testing.assert_allclose(calibrated_gap(cells, bins), np.minimum(gap, 2 * rarer))
