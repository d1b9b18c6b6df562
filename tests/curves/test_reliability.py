"""The reliability diagram's bins against scikit-learn's, and its intervals' meaning."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.calibration import calibration_curve

from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.uncertainty import replicate, resample_rows
from tests.rare import rare

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
    # The bars are wider by about sqrt(1/0.8), because (1 + 3)^2 / (2 (1 + 9)) = 0.8 of the rows
    # count.
    ratio = (weighted.high - weighted.low) / (plain.high - plain.low)
    np.testing.assert_allclose(ratio, np.sqrt(1 / 0.8), rtol=0.05)


def copied(times):
    """Each row several times over, named as one cluster, and its resamples."""
    group = np.repeat(np.arange(3000), times)
    rows = Predictions.from_arrays(OUTCOME[group], SCORE[group], group=group).view()
    return rows.cells(), replicate(resample_rows(rows, rows.cells()), rows.score)


def test_bars_and_band_of_copies_are_those_of_the_rows_that_were_copied():
    cells, clusters = copied(6)
    plain, bold = reliability_curve(CELLS, n_bins=6), reliability_curve(cells, n_bins=6)
    by_cluster = reliability_curve(cells, n_bins=6, clusters=clusters)
    for low, high in (("low", "high"), ("band_low", "band_high")):
        width, single, unaware = (
            getattr(curve, high) - getattr(curve, low) for curve in (by_cluster, plain, bold)
        )
        np.testing.assert_allclose(width, single, rtol=0.12)
        np.testing.assert_allclose(width, np.sqrt(6) * unaware, rtol=0.12)


def test_a_bin_of_one_outcome_takes_the_design_effect_of_the_others():
    score, outcome = np.r_[SCORE, np.full(50, 0.999)], np.r_[OUTCOME, np.full(50, True)]
    group = np.repeat(np.arange(3050), 6)
    rows = Predictions.from_arrays(outcome[group], score[group], group=group).view()
    edges = {"n_bins": 500, "strategy": "uniform"}
    by_cluster = reliability_curve(
        rows.cells(), **edges, clusters=replicate(resample_rows(rows, rows.cells()), rows.score)
    )
    # Wilson's lower bound for n of n is n / (n + z^2), and a bin has about n / 6 rows.
    n = 3.8415 * by_cluster.low[-1] / (1 - by_cluster.low[-1])
    assert by_cluster.observed[-1] == 1.0
    assert n == pytest.approx(by_cluster.rows[-1] / 6, rel=0.3)


def test_a_band_by_cluster_holds_what_is_expected_where_hardly_any_row_is():
    score = np.full(400, 0.00004)
    group = np.repeat(np.arange(80), 5)
    outcome = np.arange(400) < 5
    rows = Predictions.from_arrays(outcome, score, group=group).view()
    clusters = replicate(resample_rows(rows, rows.cells()), rows.score)
    curve = reliability_curve(rows.cells(), n_bins=1, clusters=clusters)
    alone = reliability_curve(rows.cells(), n_bins=1)
    assert (curve.band_low[0], curve.band_high[0]) == (alone.band_low[0], alone.band_high[0])
    assert curve.band_high[0] == 0.0


def test_the_simultaneous_band_holds_the_one_per_bin():
    cells, clusters = copied(6)
    for resamples in (None, clusters):
        alone = reliability_curve(cells, n_bins=15, clusters=resamples)
        together = reliability_curve(cells, n_bins=15, clusters=resamples, band="simultaneous")
        assert (alone.band, together.band) == ("per_bin", "simultaneous")
        assert (together.band_low <= alone.band_low).all()
        assert (together.band_high >= alone.band_high).all()
        assert (together.low == alone.low).all()


def test_the_simultaneous_band_of_copies_is_that_of_the_rows_that_were_copied():
    cells, clusters = copied(6)
    plain = reliability_curve(CELLS, n_bins=6, band="simultaneous")
    by_cluster = reliability_curve(cells, n_bins=6, clusters=clusters, band="simultaneous")
    np.testing.assert_allclose(
        by_cluster.band_high - by_cluster.band_low, plain.band_high - plain.band_low, rtol=0.15
    )


@rare
@pytest.mark.parametrize("clustered", [False, True])
def test_calibrated_dots_lie_in_the_simultaneous_band_together(clustered):
    outside = 0
    for rng in np.random.default_rng(8).spawn(200):
        group = np.repeat(np.arange(100), 4)
        common = np.sqrt(0.5) * rng.normal(size=100)[group]
        noise = common + np.sqrt(0.5) * rng.normal(size=400) if clustered else rng.normal(size=400)
        score = rng.beta(1, 2, 400)
        rows = Predictions.from_arrays(norm.cdf(noise) < score, score, group=group).view()
        cells, clusters = rows.cells(), None
        if clustered:
            drawn = resample_rows(rows, cells, n_replicates=400, random_state=1)
            clusters = replicate(drawn, rows.score)
        curve = reliability_curve(cells, n_bins=10, clusters=clusters, band="simultaneous")
        low, high = curve.band_low - 1e-9, curve.band_high + 1e-9
        outside += ((curve.observed < low) | (curve.observed > high)).any()
    assert outside <= 19  # This holds for 200 draws at 5% with probability 0.996.


def test_frame():
    frame = reliability_curve(CELLS, n_bins=5).frame()
    assert frame["rows"].sum() == 3000
    assert frame["rows"].dtype == np.int64
    assert list(frame.columns[:4]) == ["low_edge", "high_edge", "rows", "weight"]
