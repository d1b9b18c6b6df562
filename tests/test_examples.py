"""The built-in examples are what their stories say, measured by scikit-learn."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from calib.examples import EXAMPLES
from calib.slices import slice_by, slice_gaps


def slope(key: str) -> float:
    """Calibration slope: logistic regression of the outcome on the log-odds, without penalty."""
    predictions = EXAMPLES[key].load()
    p = np.clip(predictions.scores, 1e-15, 1 - 1e-15)
    model = LogisticRegression(C=np.inf, max_iter=1000)
    return model.fit(np.log(p / (1 - p))[:, None], predictions.outcome).coef_[0, 0]


def gain(key: str) -> float:
    """Log loss that a cross-fitted isotonic regression saves."""
    predictions = EXAMPLES[key].load()
    y, p = predictions.outcome, predictions.scores
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    repaired = cross_val_predict(IsotonicRegression(out_of_bounds="clip"), p, y, cv=folds)
    # Half a row on either side, for isotonic regression is certain of pure blocks.
    return log_loss(y, p) - log_loss(y, np.clip(repaired, 0.5 / len(y), 1 - 0.5 / len(y)))


def test_the_first_is_overconfident_and_a_calibrator_helps() -> None:
    assert next(iter(EXAMPLES)) == "naive_bayes"
    assert slope("naive_bayes") < 0.6
    assert gain("naive_bayes") > 0.05


@pytest.mark.parametrize("key", ["boosting", "svm", "random_forest"])
def test_timid_scores(key: str) -> None:
    assert slope(key) > 2.0
    assert gain(key) > 0.02


def test_the_logistic_regression_is_nearly_right() -> None:
    assert 0.85 < slope("logistic") < 1.15
    assert gain("logistic") < 0.01


def test_figures_of_the_stories() -> None:
    forest = EXAMPLES["random_forest"].load()
    assert forest.outcome[forest.scores > 0.5].all()
    svm = EXAMPLES["svm"].load()
    around = np.abs(svm.scores - 2 / 3) < 0.05
    assert 0.85 < svm.outcome[around].mean() < 0.95


@pytest.mark.parametrize("key", list(EXAMPLES))
def test_enough_rows_and_slices(key: str) -> None:
    example = EXAMPLES[key]
    predictions = example.load()
    assert np.bincount(predictions.outcome).min() >= 100
    assert predictions is example.load()
    assert len(predictions.columns) >= 2
    for name in predictions.columns:
        gaps = slice_gaps(
            predictions.view(), predictions.scores, slice_by(predictions.columns, [name])
        )
        # No slice gives the outcome away, and each has rows to say something.
        assert ((gaps.positives > 0) & (gaps.positives < gaps.rows)).all()
        assert not gaps.few.any()
    assert example.story.endswith(".")
    assert predictions.name == key == example.key
