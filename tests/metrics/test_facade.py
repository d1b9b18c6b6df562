"""The scikit-learn-style facade around every metric."""

import inspect
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from calib import metrics
from calib.cells import ScoreCells
from calib.metrics import METRICS

RNG = np.random.default_rng(8)
SCORE = RNG.random(150).round(2)
OUTCOME = RNG.random(150) < SCORE
WEIGHT = RNG.random(150) + 0.5


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("key", METRICS)
def test_arrays_and_cells_agree(key, weight):
    facade = getattr(metrics, key)
    cells = ScoreCells.from_arrays(OUTCOME, SCORE, weight)
    assert facade(cells) == facade(OUTCOME, SCORE, sample_weight=weight)


@pytest.mark.parametrize("key", METRICS)
def test_a_single_row_has_an_answer(key):
    getattr(metrics, key)([1], [0.25])
    getattr(metrics, key)([0], [1.0])


@pytest.mark.parametrize("key", METRICS)
def test_signature(key):
    parameters = inspect.signature(getattr(metrics, key)).parameters
    assert list(parameters)[:3] == ["y_true", "y_prob", "sample_weight"]
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[2:])


@pytest.mark.parametrize("key", METRICS)
def test_a_parameter_that_does_not_exist_is_refused(key):
    with pytest.raises(TypeError, match="n_bin_s"):
        getattr(metrics, key)(OUTCOME, SCORE, n_bin_s=3)


def test_half_of_the_arguments_is_refused():
    with pytest.raises(TypeError, match=r"ks_error\(\) needs y_prob as well, got only y_true\."):
        metrics.ks_error(OUTCOME)


def test_cells_and_arrays_together_are_refused():
    cells = ScoreCells.from_arrays(OUTCOME, SCORE)
    with pytest.raises(TypeError, match=r"takes either one ScoreCells or .* got both\."):
        metrics.ks_error(cells, SCORE)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: metrics.expected_calibration_error(OUTCOME, SCORE, norm="l3"),
            r"norm must be one of l1, l2, max, got 'l3'\.",
        ),
        (
            lambda: metrics.expected_calibration_error(OUTCOME, SCORE, debiased=True),
            r"debiased needs norm='l2', got norm='l1'\.",
        ),
        (
            lambda: metrics.expected_calibration_error(OUTCOME, SCORE, n_bins=0),
            r"n_bins must be at least 1, got 0\.",
        ),
        (
            lambda: metrics.thresholded_calibration_error(OUTCOME, SCORE, threshold=0.5),
            r"threshold must fulfil 0 <= threshold < 0\.5, got 0\.5\.",
        ),
        (
            lambda: metrics.calibration_slope_intercept(OUTCOME, SCORE, confidence_level=95),
            r"confidence_level must fulfil 0 < level < 1, got 95\.",
        ),
    ],
)
def test_errors_are_sentences(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_scikit_learn_makes_scorers():
    features = RNG.normal(size=(200, 3))
    labels = (features[:, 0] + RNG.normal(size=200) > 0).astype(int)
    model = LogisticRegression().fit(features, labels)
    score = model.predict_proba(features)[:, 1]
    for metric in (metrics.log_loss, metrics.ks_error, metrics.expected_calibration_error):
        scorer = make_scorer(metric, response_method="predict_proba", greater_is_better=False)
        assert scorer(model, features, labels) == -metric(labels, score)
    scorer = make_scorer(
        metrics.expected_calibration_error, response_method="predict_proba", n_bins=5
    )
    assert scorer(model, features, labels) == metrics.expected_calibration_error(
        labels, score, n_bins=5
    )
    assert np.isfinite(cross_val_score(model, features, labels, scoring=scorer, cv=3)).all()


def test_one_class_has_no_auc_and_no_slope():
    assert math.isnan(metrics.auc([1, 1], [0.2, 0.3]))
    assert not metrics.calibration_slope_intercept([1, 1], [0.2, 0.3]).estimable
