"""The reliability diagram's bins against scikit-learn's, and its intervals' meaning."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from calib.cells import ScoreCells
from calib.curves.reliability import reliability_curve

RNG = np.random.default_rng(21)
SCORE = RNG.beta(0.6, 1.5, 3000)
OUTCOME = RNG.random(3000) < SCORE
CELLS = ScoreCells.from_arrays(OUTCOME, SCORE)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [2, 15, 100])
def test_scikit_learns_dots(strategy, n_bins):
    curve = reliability_curve(CELLS, n_bins=n_bins, strategy=strategy)
    observed, mean = calibration_curve(OUTCOME, SCORE, n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(curve.observed, observed, atol=1e-12)
    np.testing.assert_allclose(curve.mean_score, mean, atol=1e-12)
    np.testing.assert_allclose(curve.gap, observed - mean, atol=1e-12)


def test_bins_account_for_every_row():
    curve = reliability_curve(CELLS, n_bins=7)
    assert curve.rows.sum() == 3000
    assert curve.positive.sum() == OUTCOME.sum()
    assert len(curve.rows) + curve.n_empty == 7
    assert (curve.low_edge[0], curve.high_edge[-1]) == (0.0, 1.0)


def test_empty_bins_are_left_out_and_counted():
    cells = ScoreCells.from_arrays([0, 1], [0.05, 0.95])
    curve = reliability_curve(cells, n_bins=10, strategy="uniform")
    np.testing.assert_array_equal(curve.low_edge, [0.0, 0.9])
    assert curve.n_empty == 8
    assert curve.few.all()


def test_intervals_hold_their_dot():
    curve = reliability_curve(CELLS, n_bins=30)
    assert (curve.low <= curve.observed).all()
    assert (curve.observed <= curve.high).all()
    assert (curve.band_low <= curve.mean_score).all()
    assert (curve.mean_score <= curve.band_high).all()
    wide = reliability_curve(CELLS, n_bins=30, confidence_level=0.999)
    assert (wide.low <= curve.low).all()
    assert (wide.high - wide.low > curve.high - curve.low).all()
    assert (wide.band_high > curve.band_high).all()


def test_weighted_bars_use_the_effective_rows():
    weight = np.where(np.arange(3000) % 2 == 0, 1.0, 3.0)
    weighted = reliability_curve(ScoreCells.from_arrays(OUTCOME, SCORE, weight), n_bins=4)
    plain = reliability_curve(CELLS, n_bins=4)
    # (1 + 3)^2 / (2 (1 + 9)) = 0.8 of the rows count: the bars are wider by about sqrt(1/0.8).
    ratio = (weighted.high - weighted.low) / (plain.high - plain.low)
    np.testing.assert_allclose(ratio, np.sqrt(1 / 0.8), rtol=0.05)


def test_frame():
    frame = reliability_curve(CELLS, n_bins=5).frame()
    assert frame["rows"].sum() == 3000
    assert frame["rows"].dtype == np.int64
    assert list(frame.columns[:4]) == ["low_edge", "high_edge", "rows", "weight"]
