"""The consistency band against the binomial law and against plain convolution."""

import numpy as np
import pytest
from scipy.stats import binom

from calib.cells import ScoreCells
from calib.numerics.binning import bin_cells
from calib.numerics.poisson_binomial import calibrated_rate_interval, poisson_binomial_pmf

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
