"""Calibrated scores of rows: out-of-fold where a calibrator could have seen the row."""

import numpy as np
import pytest

import calib
from calib.analysis.from_model import OUT_OF_FOLD, SEEN, UNSEEN, calibrated_scores
from calib.data.predictions import Predictions
from calib.metrics import log_loss

METHODS = ("uncalibrated", "platt", "isotonic", "beta", "spline")


def made(n=3000, seed=0, decimals=3, **parts):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.7, 1.2, n).round(decimals)
    outcome = rng.random(n) < score**1.5
    return Predictions.from_arrays(outcome, score, **parts)


@pytest.mark.parametrize("decimals", [2, 12])
def test_the_scores_are_those_that_the_analysis_has_measured(decimals):
    predictions = made(1000, decimals=decimals)
    analysis = calib.analyze(predictions, {"methods": METHODS})
    for key in METHODS:
        frame = calibrated_scores(analysis, predictions, key)
        assert set(frame["calibrated_by"]) == {OUT_OF_FOLD}
        loss = log_loss(predictions.outcome, frame["calibrated"])
        assert loss == pytest.approx(analysis.methods[key].metrics["log_loss"].value, abs=1e-12)


def test_groups_and_named_folds_are_kept_whole():
    group = np.arange(3000) // 5
    grouped = made(group=group)
    analysis = calib.analyze(grouped, {"methods": ("isotonic",)})
    loss = log_loss(grouped.outcome, calibrated_scores(analysis, grouped, "isotonic")["calibrated"])
    assert loss == pytest.approx(analysis.methods["isotonic"].metrics["log_loss"].value, abs=1e-12)
    fold = np.arange(3000) % 3
    # Scores of few digits have a step, which a calibrator of arrays alone does not know.
    predictions = made(fold=fold, decimals=12)
    analysis = calib.analyze(predictions, {"methods": ("platt",)})
    calibrated = calibrated_scores(analysis, predictions, "platt")["calibrated"].to_numpy()
    for number in range(3):
        alone = calib.calibrator("platt").fit(
            predictions.scores[fold != number], predictions.outcome[fold != number]
        )
        in_fold = fold == number
        np.testing.assert_allclose(
            calibrated[in_fold], alone.predict(predictions.scores[in_fold]), rtol=1e-12
        )


def test_calibration_rows_are_said_to_have_been_fitted_on():
    test = np.arange(3000) >= 2000
    predictions = made(test=test, decimals=12)
    analysis = calib.analyze(predictions, {"methods": ("beta",)})
    frame = calibrated_scores(analysis, predictions, "beta")
    assert (frame["calibrated_by"] == np.where(test, UNSEEN, SEEN)).all()
    alone = calib.calibrator("beta").fit(predictions.scores[~test], predictions.outcome[~test])
    np.testing.assert_allclose(frame["calibrated"], alone.predict(predictions.scores), atol=1e-12)


@pytest.mark.parametrize("split", [False, True])
def test_a_matrix_has_a_column_per_class(split):
    rng = np.random.default_rng(1)
    scores = rng.dirichlet([1.0, 2.0, 3.0], 900)
    label = np.array([rng.choice(3, p=row) for row in scores])
    test = rng.random(900) < 0.5 if split else None
    predictions = Predictions.from_arrays(label, scores, class_names=("a", "b", "c"), test=test)
    analysis = calib.analyze(predictions, {"methods": ("temperature",)})
    frame = calibrated_scores(analysis, predictions, "temperature")
    assert list(frame) == ["calibrated_a", "calibrated_b", "calibrated_c", "calibrated_by"]
    np.testing.assert_allclose(frame.iloc[:, :3].sum(axis=1), 1.0, atol=1e-12)
    if test is not None:
        assert (frame["calibrated_by"] == np.where(test, UNSEEN, SEEN)).all()
        alone = calib.multiclass_calibrator("temperature").fit(scores[~test], label[~test])
        np.testing.assert_allclose(frame.iloc[:, :3], alone.predict(scores), atol=1e-12)


def test_no_row_is_scored_by_a_calibrator_that_has_seen_it():
    predictions = made(400, decimals=12)
    analysis = calib.analyze(predictions, {"methods": ("isotonic",)})
    calibrated = calibrated_scores(analysis, predictions, "isotonic")["calibrated"]
    fitted = analysis.held_out.calibrators["isotonic"].predict(predictions.scores)
    assert log_loss(predictions.outcome, calibrated) > log_loss(predictions.outcome, fitted)


def test_other_rows_and_unknown_methods_are_refused(texts):
    predictions = made(500)
    analysis = calib.analyze(predictions, {"methods": ("platt",)})
    with pytest.raises(ValueError, match="another fingerprint"):
        calibrated_scores(analysis, made(500, seed=1))
    with texts.raises(ValueError):
        calibrated_scores(analysis, predictions, "beta")
