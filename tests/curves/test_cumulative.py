"""The cumulative curves, and that thinning keeps their extremes."""

import numpy as np
import pytest
from scipy.stats import binom

from calib import metrics
from calib.curves.reliability import cumulative_curve
from calib.data.cells import ScoreCells

RNG = np.random.default_rng(22)
SCORE = RNG.random(20_000)
CELLS = ScoreCells.from_arrays(RNG.random(20_000) < SCORE**1.5, SCORE)


def test_a_short_curve_is_whole():
    cells = ScoreCells.from_arrays([1, 0, 1], [0.2, 0.5, 0.5])
    curve = cumulative_curve(cells)
    np.testing.assert_allclose(curve.fractile, [0, 1 / 3, 1])
    np.testing.assert_allclose(curve.cumulative_score, [0, 0.2 / 3, 1.2 / 3])
    np.testing.assert_allclose(curve.cumulative_outcome, [0, 1 / 3, 2 / 3])
    np.testing.assert_array_equal(curve.score, [0.2, 0.2, 0.5])


def test_thinning_keeps_the_ks_and_kuiper_errors():
    curve = cumulative_curve(CELLS)
    assert len(curve.fractile) <= 900
    assert np.abs(curve.difference).max() == pytest.approx(metrics.ks_error(CELLS))
    assert np.ptp(curve.difference) == pytest.approx(metrics.kuiper_error(CELLS))
    assert (curve.fractile[0], curve.fractile[-1]) == (0.0, 1.0)


def test_recalibrated_probability_finds_the_truth():
    curve = cumulative_curve(CELLS)
    middle = (curve.fractile > 0.05) & (curve.fractile < 0.95)
    error = curve.recalibrated - curve.score**1.5
    assert np.abs(error[middle]).max() < 0.05


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_null_band_holds_what_the_test_does_not_reject(level):
    curve = cumulative_curve(CELLS, confidence_level=level)
    sigma = np.sqrt(SCORE @ (1 - SCORE)) / 20_000
    quantile = {0.9: 1.959963985, 0.95: 2.241402728}[level]  # The level is 1 - 4 P(Z > x).
    assert curve.null_half_width == pytest.approx(quantile * sigma, rel=1e-4)


def test_null_band_of_few_scores_is_that_of_their_binomial_counts():
    # With one score the gap is that of a binomial count, within 18 of 120 with probability 0.956.
    cells = ScoreCells.from_arrays(np.arange(400) < 120, np.full(400, 0.3))
    assert 400 * cumulative_curve(cells).null_half_width == pytest.approx(18, abs=1.0)
    inside = binom.cdf(138, 400, 0.3) - binom.cdf(101, 400, 0.3)
    assert inside > 0.95 > binom.cdf(137, 400, 0.3) - binom.cdf(102, 400, 0.3)


def test_frame():
    frame = cumulative_curve(CELLS).frame()
    np.testing.assert_allclose(
        frame["difference"], frame["cumulative_outcome"] - frame["cumulative_score"]
    )
