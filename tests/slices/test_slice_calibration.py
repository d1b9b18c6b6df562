import numpy as np
import pytest
from scipy.special import expit, logit

from calib.analysis.slices import calibrate_slices
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.metrics.proper import row_log_loss
from tests.isotonic_peer import shrunken

SETTINGS = Settings(methods=("platt", "isotonic"), n_folds=4, seed=3)


def two_sites(n: int = 4000, **more):
    """Scores that are right at one site and overconfident at the other."""
    rng = np.random.default_rng(1)
    truth = expit(rng.normal(0, 1.5, n))
    south = np.arange(n) % 4 == 0
    score = np.where(south, expit(3 * logit(truth)), truth)
    return Predictions.from_arrays(rng.random(n) < truth, score, **more).view(), south


def test_own_scores_are_those_of_a_peer_fitted_on_the_slices_training_rows():
    view, south = two_sites()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    calibration = calibrate_slices(view, south, held_out, "isotonic")
    # No two rows share a score, so each row is in one fold.
    separate, fold = np.empty(len(view)), held_out.row_values(held_out.rows.fold).round()
    for number in range(4):
        train, test = south & (fold != number), south & (fold == number)
        separate[test] = shrunken(view.score[train], view.outcome[train], view.score[test])
    common = held_out.row_scores("isotonic")
    losses = [row_log_loss(view.outcome, score)[south] for score in (separate, common)]
    assert calibration.apart.value == pytest.approx(losses[0].mean(), rel=1e-9)
    assert calibration.together.value == pytest.approx(losses[1].mean(), rel=1e-9)
    assert calibration.difference.value == pytest.approx((losses[0] - losses[1]).mean(), rel=1e-9)
    assert calibration.rows == south.sum()


def test_a_slice_that_differs_gains_and_one_at_random_does_not():
    view, south = two_sites()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    assert calibrate_slices(view, south, held_out, "platt").difference.high < 0
    anyone = np.random.default_rng(2).random(len(view)) < 0.25
    assert calibrate_slices(view, anyone, held_out, "platt").difference.high > 0


def test_named_test_rows_are_scored_and_never_fitted_on():
    test = np.arange(4000) % 3 == 0
    view, south = two_sites(test=test)
    calibration = calibrate_slices(
        view, south, cross_fit_scores(CountedRows.of_rows(view), SETTINGS), "isotonic"
    )
    fit_on = south & ~test
    scored = south & test
    peer = shrunken(view.score[fit_on], view.outcome[fit_on], view.score[scored])
    loss = row_log_loss(view.outcome[scored], peer).mean()
    assert calibration.apart.value == pytest.approx(loss, rel=1e-9)
    assert calibration.rows == scored.sum()


def test_a_slice_that_cannot_be_fitted_says_so(texts):
    view, _ = two_sites()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    with texts.raises(ValueError):
        calibrate_slices(view, ~view.outcome, held_out, "platt")
    with texts.raises(ValueError):
        calibrate_slices(view, view.outcome, held_out, "beta")


def weighted_sites(n: int = 4000, digits: int = 16):
    weight = np.random.default_rng(5).exponential(size=n) + 0.1
    view, south = two_sites(n, sample_weight=weight)
    score = view.score.round(digits)
    return Predictions.from_arrays(view.outcome, score, weight).view(), south, weight


@pytest.mark.parametrize("digits", [2, 16])
def test_a_slice_of_all_rows_has_the_calibrator_of_all_rows(digits):
    """Every row in its own fold again, with its own weight: also where rows share a score."""
    view, _, _ = weighted_sites(digits=digits)
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    calibration = calibrate_slices(view, np.ones(len(view), dtype=bool), held_out, "platt")
    rows = held_out.view("platt")
    loss = np.average(row_log_loss(rows.outcome, rows.score), weights=rows.weights)
    assert calibration.difference.value == pytest.approx(0.0, abs=1e-9)
    assert calibration.together.value == pytest.approx(loss, rel=1e-9)
    assert (calibration.rows, calibration.positives) == (4000, view.outcome.sum())


def test_rows_of_a_slice_keep_their_weights_in_its_folds():
    view, south, weight = weighted_sites()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    calibration = calibrate_slices(view, south, held_out, "platt")
    loss = row_log_loss(view.outcome, held_out.row_scores("platt"))[south]
    weights = weight[south]
    mean = weights @ loss / weights.sum()
    assert calibration.together.value == pytest.approx(mean, rel=1e-9)
    # The sandwich estimator gives 1.96 times the root of the sum of squared contributions.
    half = 1.96 * np.sqrt(((weights * (loss - mean)) ** 2).sum()) / weights.sum()
    assert calibration.together.high - calibration.together.low == pytest.approx(2 * half, rel=0.02)


def test_rows_that_share_a_score_weigh_as_much_in_a_slice_as_they_do():
    """Two of three rows of each score and outcome are the slice's: they weigh 2 each, others 5."""
    score, outcome = np.meshgrid([0.2, 0.4, 0.7], [0, 0, 1, 1, 1])
    view = Predictions.from_arrays(
        np.tile(outcome.ravel(), 30),
        np.tile(score.ravel(), 30),
        np.tile(np.repeat([2.0, 2.0, 5.0], 15), 10),
    ).view()
    south = view.weights == 2.0
    held_out = cross_fit_scores(
        CountedRows.of_rows(view), Settings(methods=("uncalibrated", "platt"), n_folds=4)
    )
    calibration = calibrate_slices(view, south, held_out, "uncalibrated")
    alone = Predictions.from_arrays(view.outcome[south], view.score[south]).view()
    loss = row_log_loss(alone.outcome, alone.score)
    assert calibration.rows == south.sum()
    assert calibration.together.value == pytest.approx(loss.mean(), rel=1e-9)
    half = 1.96 * loss.std() / np.sqrt(len(loss))
    assert calibration.together.high - calibration.together.low == pytest.approx(2 * half, rel=0.02)


def test_one_training_row_of_the_rarer_outcome_is_enough():
    test = np.arange(400) % 2 == 0
    outcome = np.arange(400) % 4 < 2
    score = np.linspace(0.1, 0.9, 400)
    view = Predictions.from_arrays(outcome, score, test=test).view()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    for rare in (True, False):
        first = np.flatnonzero(~test & (outcome == rare))[0]
        member = test | (outcome != rare)
        member[first] = True
        calibration = calibrate_slices(view, member, held_out, "platt")
        assert calibration.rows == 200
        assert calibration.apart.value > 0.0


def test_intervals_have_95_percent_unless_another_level_is_asked_for():
    view, south = two_sites()
    held_out = cross_fit_scores(CountedRows.of_rows(view), SETTINGS)
    calibration = calibrate_slices(view, south, held_out, "platt")
    narrow = calibrate_slices(view, south, held_out, "platt", confidence_level=0.5)
    assert (calibration.confidence_level, narrow.confidence_level) == (0.95, 0.5)
    wide, short = (result.together.high - result.together.low for result in (calibration, narrow))
    # These are quantiles of the normal distribution.
    assert wide / short == pytest.approx(1.9600 / 0.6745, rel=0.02)
