"""Built-in examples: real out-of-fold predictions on data that scikit-learn ships.

Each example is deterministic. It is made in a fraction of a second at first use and then cached.

Examples
--------
>>> EXAMPLES["naive_bayes"].title, len(EXAMPLES["naive_bayes"].load())
('Naive Bayes (overconfident)', 1797)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from calib.data.file_options import Columns
from calib.data.origin import Origin
from calib.data.predictions import Predictions
from calib.data.registry import Registry
from calib.numerics.arrays import FloatArray, single_thread
from calib.numerics.transforms import sigmoid

__all__ = ["EXAMPLES", "Example"]

N_FOLDS = 5
EVENT_WEIGHT = 40.0
BOOSTING_ROUNDS = (1, 3, 10, 30, 100)
CHURN_FIRST_DAY, CHURN_CHANGE = np.datetime64("2025-09-01"), np.datetime64("2026-05-01")
CHURN_DAYS, CHURN_ROWS_PER_DAY = 365, 100
CHURN_SHIFT = 0.7  # Log-odds: about 14 percentage points of prepaid customers.


@dataclass(frozen=True, slots=True)
class Example:
    """A built-in data set with the predictions of one or more models.

    `key` is its name in code, and `name` that on the pages. `kind` says in a few words what it
    shows. `story` describes the model, and what to look for. `load_models` returns the predictions
    of each model by its name; every call returns the same objects. Outcomes are final `horizon`
    days after the prediction.
    """

    key: str
    name: str
    kind: str
    story: str
    load_models: Callable[[], Mapping[str, Predictions]]
    horizon: int = 0

    @property
    def title(self) -> str:
        return f"{self.name} ({self.kind})"

    def load(self) -> Predictions:
        """Return the predictions. If there are several models, those of the first."""
        return next(iter(self.load_models().values()))


EXAMPLES: Registry[Example] = Registry("example")


def _example(
    key: str, name: str, kind: str, story: str, horizon: int = 0
) -> Callable[[Callable[[], Predictions | Mapping[str, Predictions]]], None]:
    def register(make: Callable[[], Predictions | Mapping[str, Predictions]]) -> None:
        def models() -> dict[str, Predictions]:
            loaded = make()
            if isinstance(loaded, Mapping):
                return {
                    model: replace(rows, origin=Origin(Columns(model_value=model), example=key))
                    for model, rows in loaded.items()
                }
            return {example.title: replace(loaded, name=key, origin=Origin(example=key))}

        example = Example(key, name, kind, story, cache(models), horizon)
        EXAMPLES.add(key, example)

    return register


@_example(
    "naive_bayes",
    "Naive Bayes",
    "overconfident",
    "The model predicts whether a handwritten digit is even. Naive Bayes treats correlated "
    "pixels as independent, so its scores are too extreme. See how often predictions near 0 or 1 "
    "are wrong, and how much calibration helps.",
)
def _naive_bayes() -> Predictions:
    pixels, digit = load_digits(return_X_y=True)
    even = digit % 2 == 0
    score = _held_out(BernoulliNB(binarize=8), pixels, even)
    return Predictions.from_arrays(even, score, columns=_ink(pixels))


@_example(
    "boosting",
    "AdaBoost",
    "underconfident",
    "The model predicts whether a handwritten digit is even. Boosted stumps rank the digits "
    "well, but their scores are all close to 0.5. Look for the S-shaped curve, which is steeper "
    "than the diagonal.",
)
def _boosting() -> Predictions:
    pixels, digit = load_digits(return_X_y=True)
    even = digit % 2 == 0
    stumps = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0
    )
    return Predictions.from_arrays(even, _held_out(stumps, pixels, even), columns=_ink(pixels))


@_example(
    "svm",
    "Linear SVM",
    "underconfident",
    "The model predicts whether a handwritten digit is 5 or more. Its margins were passed "
    "through a sigmoid, which does not make them probabilities. Look at scores near 0.67: about "
    "90% of those rows are positive.",
)
def _svm() -> Predictions:
    pixels, digit = load_digits(return_X_y=True)
    high = digit >= 5
    margin = _held_out(LinearSVC(), pixels / 16.0, high, method="decision_function")
    return Predictions.from_arrays(high, sigmoid(margin), columns=_ink(pixels))


@_example(
    "random_forest",
    "Random forest",
    "underconfident",
    "The model predicts whether a handwritten digit is an 8 (about 10% are). An average over "
    "trees is rarely close to 1. Look at scores above 0.5: some of these rows should be "
    "negative, but all are positive.",
)
def _random_forest() -> Predictions:
    pixels, digit = load_digits(return_X_y=True)
    eight = digit == 8
    forest = RandomForestClassifier(30, max_depth=6, min_samples_leaf=5, random_state=0)
    return Predictions.from_arrays(eight, _held_out(forest, pixels, eight), columns=_ink(pixels))


@_example(
    "logistic",
    "Logistic regression",
    "well calibrated",
    "The model predicts whether a breast tumour is malignant from its mean radius and texture. "
    "With 569 rows there is no sign of miscalibration. See whether any calibrator is "
    "significantly better than the uncalibrated scores.",
)
def _logistic() -> Predictions:
    cells, benign = load_breast_cancer(return_X_y=True)
    malignant = benign == 0
    score = _held_out(LogisticRegression(max_iter=1000), cells[:, :2], malignant)
    large = cells[:, 0] > np.median(cells[:, 0])
    # The model does not use smoothness, so it may be miscalibrated in slices of it.
    columns = {"smoothness": cells[:, 4], "radius": np.where(large, "large", "small")}
    return Predictions.from_arrays(malignant, score, columns=columns)


@_example(
    "digits",
    "Ten digits",
    "multiclass",
    "A naive Bayes model predicts which of ten digits an image shows, with one score per digit. "
    "Look at the top score first: it is nearly always close to 1, but too often wrong. Then open "
    "Slices by class to see which digits are miscalibrated.",
)
def _digits() -> Predictions:
    pixels, digit = load_digits(return_X_y=True)
    scores = _held_out(BernoulliNB(binarize=8), pixels, digit)
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return Predictions.from_arrays(digit, scores, class_names=names, columns=_ink(pixels))


@_example(
    "rare_event",
    "Rare event",
    "reweighted model",
    "About one row in forty is an event. In training each event was weighted forty times, as is "
    "common for rare events. The model ranks well, but its scores are far too high: all dots lie "
    "well below the diagonal. Any calibrator corrects this.",
)
def _rare_event() -> Predictions:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60_000, 3))
    # A logistic regression cannot fit the quadratic term.
    log_odds = features @ [1.0, 0.8, 0.5] + 0.25 * features[:, 0] ** 2 - 4.9
    event = rng.random(len(features)) < sigmoid(log_odds)
    train, scored = slice(0, 30_000), slice(30_000, None)
    model = LogisticRegression(class_weight={False: 1.0, True: EVENT_WEIGHT})
    with single_thread():
        score = model.fit(features[train], event[train]).predict_proba(features[scored])[:, 1]
    return Predictions.from_arrays(
        event[scored],
        score,
        test=np.arange(len(score)) >= 15_000,
        columns={
            "amount": features[scored, 0],
            "channel": np.where(rng.random(len(score)) < 0.5, "app", "web"),
        },
    )


@_example(
    "rounds",
    "Five models",
    "boosting rounds",
    "Gradient boosting predicts whether a patient's diabetes progresses faster than the median. "
    "After one round its scores are underconfident; after 100 rounds it overfits and is "
    "overconfident. On Calibrators, log loss falls and rises again, while "
    "calibrated scores stay about equally good.",
)
def _rounds() -> dict[str, Predictions]:
    features, progress = load_diabetes(return_X_y=True)
    fast = progress > np.median(progress)
    scores = {number: np.empty(len(fast)) for number in BOOSTING_ROUNDS}
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with single_thread():
        for train, held_out in folds.split(features, fast):
            model = GradientBoostingClassifier(
                n_estimators=max(BOOSTING_ROUNDS), learning_rate=0.3, max_depth=2, random_state=0
            ).fit(features[train], fast[train])
            stages = enumerate(model.staged_predict_proba(features[held_out]), 1)
            for number, stage_scores in stages:
                if number in scores:
                    scores[number][held_out] = stage_scores[:, 1]
    columns = {
        "age": features[:, 0],
        "sex": np.where(features[:, 1] > 0.0, "one", "other"),
        "weight": np.where(features[:, 2] > 0.0, "heavy", "light"),
    }
    return {
        f"round {number}": Predictions.from_arrays(
            fast, score, columns=columns, name=f"rounds: {number}"
        )
        for number, score in scores.items()
    }


@_example(
    "churn",
    "Churn by day",
    "changes in May",
    "A model predicts every day which customers leave within 30 days. The rows are simulated. From "
    "1 May on, prepaid customers leave more often than predicted, after a competitor's offer. Open "
    "Monitor to see when this could be known, and Slices for each plan.",
    horizon=30,
)
def _churn() -> Predictions:
    rng = np.random.default_rng(5)
    day = CHURN_FIRST_DAY + np.repeat(np.arange(CHURN_DAYS), CHURN_ROWS_PER_DAY)
    plan = rng.choice(["yearly", "monthly", "prepaid"], len(day), p=[0.2, 0.4, 0.4])
    usual = np.select([plan == "yearly", plan == "monthly"], [-2.6, -1.7], -1.2)
    log_odds = usual + rng.normal(0.0, 0.8, len(day))
    after = (plan == "prepaid") & (day >= CHURN_CHANGE)
    left = rng.random(len(day)) < sigmoid(log_odds + np.where(after, CHURN_SHIFT, 0.0))
    device = rng.choice(["android", "ios", "web"], len(day), p=[0.5, 0.3, 0.2])
    columns = {"plan": plan, "device": device, "predicted_at": day}
    return Predictions.from_arrays(left, sigmoid(log_odds).round(4), columns=columns)


@_example(
    "ten_rows",
    "Ten rows",
    "worked ECE example",
    "Ten rows in three equal-width bins, with the counts and gaps of a worked example whose "
    "expected calibration error is 0.241. Look at the intervals too: with ten rows, a calibrated "
    "model often has an error this large.",
)
def _ten_rows() -> Predictions:
    # The bins have 2, 5 and 3 rows, mean scores of 0.235, 0.514 and 0.837, and observed rates of 0,
    # 4/5 and 2/3.
    score = [0.19, 0.28, 0.38, 0.44, 0.52, 0.58, 0.65, 0.72, 0.84, 0.95]
    outcome = [0, 0, 1, 0, 1, 1, 1, 1, 0, 1]
    return Predictions.from_arrays(outcome, score)


@_example(
    "ten_labels",
    "Ten predicted labels",
    "worked ECE example",
    "The confidence of a multiclass model in ten predicted labels, and whether each was correct, "
    "with the counts and gaps of a worked example whose expected calibration error is 0.194. See "
    "how much of it comes from three underconfident rows.",
)
def _ten_labels() -> Predictions:
    # The bins have 3, 3 and 4 rows, sums of confidence of 0.82, 1.51 and 3.25, and 2, 1 and 3
    # correct labels.
    confidence = [0.25, 0.27, 0.30, 0.42, 0.50, 0.59, 0.70, 0.78, 0.86, 0.91]
    right = [1, 0, 1, 0, 0, 1, 1, 0, 1, 1]
    return Predictions.from_arrays(right, confidence)


def _ink(pixels: FloatArray) -> dict[str, NDArray[Any]]:
    """Slices of the digits that do not reveal the outcome: the amount of ink, and its position."""
    images = pixels.reshape(-1, 8, 8)
    upper, left = images[:, :4].sum(axis=(1, 2)), images[:, :, :4].sum(axis=(1, 2))
    ink = images.sum(axis=(1, 2))
    return {
        "ink": pixels.mean(axis=1),
        "half": np.where(2 * upper > ink, "upper", "lower"),
        "side": np.where(2 * left > ink, "left", "right"),
    }


def _held_out(
    model: ClassifierMixin,
    features: FloatArray,
    outcome: NDArray[Any],
    method: str = "predict_proba",
) -> FloatArray:
    """Each row's score, or its scores of many classes, by a model not trained on the row."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with single_thread():
        scores = cross_val_predict(model, features, outcome, cv=folds, method=method)
    return scores[:, 1] if scores.shape[1:] == (2,) else scores


def __dir__() -> list[str]:
    return __all__
