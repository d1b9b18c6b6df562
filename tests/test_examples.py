"""The built-in examples are what their stories say, measured by scikit-learn."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from calib.analysis.slices import slice_by, slice_gaps
from calib.loading.examples import EXAMPLES

# Worked examples of ten rows say themselves that they have too few rows.
WORKED = {"ten_rows": (0.241, [2, 5, 3]), "ten_labels": (0.194, [3, 3, 4])}


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
    # Isotonic regression gives 0 and 1 in pure blocks, so half a row is added on either side.
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


def test_the_rare_event_is_as_rare_as_told() -> None:
    predictions = EXAMPLES["rare_event"].load()
    y, p = predictions.outcome, predictions.scores
    assert 1 / 45 < y.mean() < 1 / 35
    # The odds are forty times too high (Elkan 2001), except for what the model cannot know.
    repaired = p / (p + 40.0 * (1.0 - p))
    assert repaired.mean() == pytest.approx(y.mean(), rel=0.15)
    assert log_loss(y, repaired) < log_loss(y, p) - 0.3


def test_churn_changes_on_the_first_of_may_for_prepaid_customers() -> None:
    rows = EXAMPLES["churn"].load()
    late = rows.columns["predicted_at"] >= np.datetime64("2026-05-01")
    for plan in ("yearly", "monthly", "prepaid"):
        for after in (False, True):
            chosen = (rows.columns["plan"] == plan) & (late == after)
            p = rows.scores[chosen]
            error = rows.outcome[chosen].mean() - p.mean()
            standard_error = np.sqrt((p * (1 - p)).sum()) / chosen.sum()
            changed = after and plan == "prepaid"
            assert (abs(error) > 10 * standard_error) == changed, (plan, after)
            assert changed or abs(error) < 3 * standard_error, (plan, after)


@pytest.mark.parametrize("key", list(WORKED))
def test_worked_examples_have_the_printed_counts_and_error(key: str) -> None:
    predictions = EXAMPLES[key].load()
    y, p = predictions.outcome, predictions.scores
    error, counts = WORKED[key]
    place = np.digitize(p, [1 / 3, 2 / 3], right=True)
    assert np.bincount(place).tolist() == counts
    gaps = [abs(y[place == b].sum() - p[place == b].sum()) for b in range(3)]
    assert sum(gaps) / len(y) == pytest.approx(error, abs=1e-12)


def test_ten_rows_of_a_calibrated_model_often_err_as_much() -> None:
    p = EXAMPLES["ten_rows"].load().scores
    place = np.digitize(p, [1 / 3, 2 / 3], right=True)
    drawn = np.random.default_rng(0).random((5_000, 10)) < p
    gaps = [np.abs((drawn - p)[:, place == b].sum(axis=1)) for b in range(3)]
    share = (np.sum(gaps, axis=0) / 10 >= 0.241).mean()
    assert 0.2 < share < 0.6


@pytest.mark.parametrize("key", [key for key in EXAMPLES if key not in WORKED])
def test_enough_rows_and_slices(key: str) -> None:
    example = EXAMPLES[key]
    predictions = example.load()
    assert np.bincount(predictions.outcome).min() >= 100
    assert predictions is example.load()
    assert len(predictions.columns) >= 2
    view = predictions.view("top:1" if predictions.is_matrix else "class:1")
    for name in predictions.columns:
        gaps = slice_gaps(view, view.score, slice_by(predictions.columns, [name]))
        # No slice has only one outcome, and each has enough rows.
        assert ((gaps.positives > 0) & (gaps.positives < gaps.rows)).all()
        assert not gaps.few.any()
    assert example.story.endswith(".")
    # If there are several models, the name of the model follows the colon.
    assert predictions.name.split(":")[0] == key == example.key


def test_boosting_is_timid_first_right_then_too_sure() -> None:
    models = EXAMPLES["rounds"].load_models()
    measured_slopes = {}
    for name, predictions in models.items():
        p = predictions.scores
        model = LogisticRegression(C=np.inf, max_iter=1000)
        log_odds = np.log(p / (1 - p))[:, None]
        measured_slopes[name] = (
            model.fit(log_odds, predictions.outcome).coef_[0, 0],
            log_loss(predictions.outcome, p),
        )
        np.testing.assert_array_equal(predictions.outcome, models["round 1"].outcome)
    slopes, losses = zip(*measured_slopes.values(), strict=True)
    assert slopes[0] > 2.0
    assert slopes[-1] < 0.6
    assert list(slopes) == sorted(slopes, reverse=True)
    assert losses[0] > losses[2] < losses[-1]
