"""The CORP curve against scikit-learn's isotonic regression, and its band's meaning."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from calib.curves.rate import corp_curve, smooth_curve
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.uncertainty import replicate, resample_rows
from tests.rare import rare

RNG = np.random.default_rng(3)
SCORE = RNG.beta(0.8, 1.5, 2000)
OUTCOME = RNG.random(2000) < SCORE**1.4
CELLS = ScoreCells.from_arrays(OUTCOME, SCORE)


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 3.0, 2000)], ids=["plain", "weighted"])
def test_it_is_scikit_learns_isotonic_regression(weight):
    curve = corp_curve(ScoreCells.from_arrays(OUTCOME, SCORE, weight), n_replicates=20)
    peer = IsotonicRegression().fit(SCORE, OUTCOME, sample_weight=weight)
    np.testing.assert_allclose(curve.observed, peer.predict(curve.score), atol=1e-12)


def test_every_step_of_the_fit_is_among_the_points():
    curve = corp_curve(CELLS, n_replicates=20)
    steps = IsotonicRegression().fit(SCORE, OUTCOME)
    np.testing.assert_allclose(
        np.interp(SCORE, curve.score, curve.observed), steps.predict(SCORE), atol=1e-12
    )


def test_band_of_scores_far_apart_is_that_of_their_binomial_rates():
    # No resample pools these two cells, so the bootstrap is binomial with known quantiles.
    score = np.repeat([0.2, 0.8], 1000)
    outcome = np.concatenate([np.arange(1000) < 200, np.arange(1000) < 800])
    curve = corp_curve(ScoreCells.from_arrays(outcome, score), confidence_level=0.9)
    expected = binom.ppf([0.05, 0.95], 1000, 0.2) / 1000
    np.testing.assert_allclose([curve.low[0], curve.high[0]], expected, atol=0.004)


def test_a_block_of_one_outcome_still_has_a_band():
    score = np.repeat([0.1, 0.9], 50)
    curve = corp_curve(ScoreCells.from_arrays(score > 0.5, score))
    # Wilson's bound for 0 of 50 is z^2 / (n + z^2).
    assert curve.high[0] == pytest.approx(3.8415 / 53.8415, abs=1e-4)
    assert curve.low[-1] == pytest.approx(1 - 3.8415 / 53.8415, abs=1e-4)


def test_band_holds_the_curve_and_grows_with_the_level():
    narrow, wide = (corp_curve(CELLS, confidence_level=level) for level in (0.8, 0.99))
    assert (narrow.low <= narrow.observed).all()
    assert (narrow.observed <= narrow.high).all()
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()


def test_band_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(60):
        score = rng.beta(1, 2, 600)
        cells = ScoreCells.from_arrays(rng.random(600) < score, score)
        curve = corp_curve(cells, n_replicates=150)
        low, high = (np.interp(score, curve.score, end) for end in (curve.low, curve.high))
        covered.append(np.mean((low <= score) & (score <= high)))
    # The share of a repetition varies by about 0.05, so the mean of 60 is known to 0.01.
    assert 0.93 <= np.mean(covered) <= 0.99


def test_band_covers_the_truth_of_rare_events():
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(60):
        score = expit(rng.normal(-5.0, 1.0, 2000))
        cells = ScoreCells.from_arrays(rng.random(2000) < score, score)
        curve = corp_curve(cells, n_replicates=150)
        low, high = (np.interp(score, curve.score, end) for end in (curve.low, curve.high))
        covered.append(np.mean((low <= score) & (score <= high)))
    # The share of a repetition varies by about 0.08. Resamples alone cover 0.91.
    assert 0.93 <= np.mean(covered) <= 0.99


def test_units_of_weight_do_not_matter_and_unequal_weights_cost_certainty():
    tripled = corp_curve(ScoreCells.from_arrays(OUTCOME, SCORE, np.full(2000, 3.0)))
    plain = corp_curve(CELLS)
    np.testing.assert_allclose(tripled.low, plain.low, atol=1e-12)
    uneven = ScoreCells.from_arrays(OUTCOME, SCORE, np.where(np.arange(2000) % 2, 0.1, 1.9))
    assert np.ptp(np.vstack([plain.low, plain.high]), axis=0).mean() < 0.9 * np.mean(
        corp_curve(uneven).high - corp_curve(uneven).low
    )


@rare
@pytest.mark.parametrize("curve", [corp_curve, smooth_curve])
def test_bands_of_copies_named_as_clusters_are_those_of_the_rows(curve):
    group = np.repeat(np.arange(2000), 5)
    rows = Predictions.from_arrays(OUTCOME[group], SCORE[group], group=group).view()
    clusters = replicate(resample_rows(rows, rows.cells()), rows.score)
    by_cluster = curve(rows.cells(), clusters=clusters)
    unaware = curve(replace(rows, group=None).cells())
    at = np.linspace(0.05, 0.9, 50)

    def width(of):
        return np.mean(np.interp(at, of.score, of.high) - np.interp(at, of.score, of.low))

    assert width(by_cluster) == pytest.approx(width(curve(CELLS)), rel=0.15)
    # Without clusters the band of CORP is too narrow, and the spline follows noise that is there
    # five times.
    assert abs(np.log(width(unaware) / width(by_cluster))) > np.log(1.5)


def test_the_seed_decides():
    first, again, other = (corp_curve(CELLS, n_replicates=50, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.low, again.low)
    assert (first.low != other.low).any()


def test_points_stay_few_where_every_cell_is_a_step():
    score = np.repeat(np.linspace(0.001, 0.999, 900), 1000)
    outcome = (np.arange(len(score)) % 1000) < 1000 * score
    curve = corp_curve(ScoreCells.from_arrays(outcome, score), n_replicates=20)
    assert len(curve.score) <= 900
    np.testing.assert_allclose(curve.observed, curve.score, atol=1e-3)
    assert (curve.score[0], curve.score[-1]) == (score[0], score[-1])


def test_frame_and_refusal(texts):
    frame = corp_curve(CELLS, n_replicates=20).frame()
    assert list(frame.columns) == ["score", "observed", "low", "high"]
    with texts.raises(ValueError):
        corp_curve(CELLS, confidence_level=1.5)
