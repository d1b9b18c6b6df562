import numpy as np
import pytest
from scipy.special import expit, logit

from calib.analysis.slices import calibrate_slices
from calib.core.predictions import Predictions
from calib.crossfit.fitting import cross_fit
from calib.crossfit.settings import Settings
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
    held_out = cross_fit(view, SETTINGS)
    found = calibrate_slices(view, south, held_out, "isotonic")
    # No two rows share a score: each is in one fold.
    own, fold = np.empty(len(view)), held_out.row_values(held_out.rows.fold).round()
    for number in range(4):
        train, test = south & (fold != number), south & (fold == number)
        own[test] = shrunken(view.score[train], view.outcome[train], view.score[test])
    common = held_out.row_scores("isotonic")
    losses = [row_log_loss(view.outcome, score)[south] for score in (own, common)]
    assert found.apart.value == pytest.approx(losses[0].mean(), rel=1e-9)
    assert found.together.value == pytest.approx(losses[1].mean(), rel=1e-9)
    assert found.difference.value == pytest.approx((losses[0] - losses[1]).mean(), rel=1e-9)
    assert found.rows == south.sum()


def test_a_slice_that_differs_gains_and_one_at_random_does_not():
    view, south = two_sites()
    held_out = cross_fit(view, SETTINGS)
    assert calibrate_slices(view, south, held_out, "platt").difference.high < 0
    anyone = np.random.default_rng(2).random(len(view)) < 0.25
    assert calibrate_slices(view, anyone, held_out, "platt").difference.high > 0


def test_named_test_rows_are_scored_and_never_fitted_on():
    test = np.arange(4000) % 3 == 0
    view, south = two_sites(test=test)
    found = calibrate_slices(view, south, cross_fit(view, SETTINGS), "isotonic")
    fit_on = south & ~test
    scored = south & test
    peer = shrunken(view.score[fit_on], view.outcome[fit_on], view.score[scored])
    loss = row_log_loss(view.outcome[scored], peer).mean()
    assert found.apart.value == pytest.approx(loss, rel=1e-9)
    assert found.rows == scored.sum()


def test_a_slice_that_cannot_be_fitted_says_so(texts):
    view, _ = two_sites()
    held_out = cross_fit(view, SETTINGS)
    with texts.raises(ValueError):
        calibrate_slices(view, ~view.outcome, held_out, "platt")
    with texts.raises(ValueError):
        calibrate_slices(view, view.outcome, held_out, "beta")
