import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.model_selection import PredefinedSplit

from calib.analysis.slices import calibrate_slices
from calib.crossfit.fitting import cross_fit
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions

SETTINGS = Settings(methods=("uncalibrated", "temperature"), n_folds=4, seed=3)


def two_sites(n: int = 3000, **more):
    """Three classes whose scores are right at one site and three times too sure at the other."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1.5, (n, 3))
    label = (rng.random((n, 1)) > softmax(logits, axis=1).cumsum(axis=1)).sum(axis=1)
    south = np.arange(n) % 3 == 0
    scores = softmax(np.where(south[:, None], 3.0, 1.0) * logits, axis=1)
    return Predictions.from_arrays(label, scores, **more), south


def loss_at(temperature, scores, label):
    tempered = log_softmax(np.log(scores) / temperature, axis=1)
    return -tempered[np.arange(len(label)), label]


def loss_of_a_peer(data, train, test):
    """Temperature scaling by scipy, fitted on some rows; losses of others."""
    scores, label = data.scores, data.outcome
    minimum = minimize_scalar(
        lambda t: loss_at(np.exp(t), scores[train], label[train]).mean(), bounds=(-3, 3)
    )
    return loss_at(np.exp(minimum.x), scores[test], label[test])


def test_own_scores_are_those_of_a_peer_fitted_on_the_slices_training_rows():
    data, south = two_sites()
    held_out = cross_fit(data, SETTINGS)
    calibration = calibrate_slices(data.view(), south, held_out, "temperature")
    separate, common = np.empty(len(data)), np.empty(len(data))
    for train, test in PredefinedSplit(held_out.matrix.fold).split():
        separate[test] = loss_of_a_peer(data, train[south[train]], test)
        common[test] = loss_of_a_peer(data, train, test)
    assert calibration.apart.value == pytest.approx(separate[south].mean(), rel=1e-4)
    assert calibration.together.value == pytest.approx(common[south].mean(), rel=1e-4)
    assert calibration.difference.value == pytest.approx(
        (separate - common)[south].mean(), rel=1e-3
    )
    assert calibration.difference.high < 0
    assert calibration.rows == south.sum()
    right = data.scores.argmax(axis=1) == data.outcome
    assert calibration.positives == (right & south).sum()


def test_named_test_rows_are_scored_and_never_fitted_on():
    test = np.arange(3000) % 4 == 0
    data, south = two_sites(test=test)
    held_out = cross_fit(data, SETTINGS)
    calibration = calibrate_slices(data.view(), south, held_out, "temperature")
    separate = loss_of_a_peer(data, south & ~test, south & test)
    assert calibration.apart.value == pytest.approx(separate.mean(), rel=1e-4)
    assert calibration.rows == (south & test).sum()


def test_a_slice_at_random_does_not_gain():
    data, _ = two_sites()
    anyone = np.random.default_rng(2).random(len(data)) < 0.3
    held_out = cross_fit(data, SETTINGS)
    assert calibrate_slices(data.view(), anyone, held_out, "temperature").difference.high > 0


def test_a_slice_that_cannot_be_fitted_says_so(texts):
    data, south = two_sites()
    held_out = cross_fit(data, SETTINGS)
    with texts.raises(ValueError):
        calibrate_slices(data.view(), data.outcome == 1, held_out, "temperature")
    with texts.raises(ValueError):
        calibrate_slices(data.view(), south, held_out, "vector")
    with texts.raises(ValueError):
        calibrate_slices(data.view(), np.zeros_like(south), held_out, "temperature")


def test_two_classes_of_three_are_enough():
    data, _ = two_sites()
    held_out = cross_fit(data, SETTINGS)
    member = data.outcome != 2
    calibration = calibrate_slices(data.view(), member, held_out, "temperature")
    assert calibration.rows == member.sum()


def test_rows_of_a_slice_keep_their_weights():
    weight = np.random.default_rng(4).exponential(size=3000) + 0.1
    data, south = two_sites(sample_weight=weight)
    held_out = cross_fit(data, SETTINGS)
    calibration = calibrate_slices(data.view(), south, held_out, "temperature")
    separate = np.empty(len(data))
    scores, label = data.scores, data.outcome
    for train, test in PredefinedSplit(held_out.matrix.fold).split():
        at = train[south[train]]
        fitted = minimize_scalar(
            lambda t, at=at: weight[at] @ loss_at(np.exp(t), scores[at], label[at]), bounds=(-3, 3)
        )
        separate[test] = loss_at(np.exp(fitted.x), scores[test], label[test])
    mean = np.average(separate[south], weights=weight[south])
    assert calibration.apart.value == pytest.approx(mean, rel=1e-4)
