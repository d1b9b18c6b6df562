"""Analysis of arrays, or of a model and held-out data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.analysis import LiveAnalysis
from calib.analysis.run import analyze
from calib.crossfit.settings import Settings
from calib.data.checks import check_score_matrix
from calib.data.class_names import label_key, read_classes
from calib.data.predictions import Predictions

# Messages list at most this many labels.
MAX_LISTED_LABELS = 5


class Classifier(Protocol):
    """A fitted classifier in the sense of scikit-learn."""

    classes_: Any

    def predict_proba(self, features: Any) -> Any:
        """Probabilities, one column per class in the order of `classes_`."""


def from_predictions(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    classes: Sequence[object] | None = None,
    group: ArrayLike | None = None,
    name: str = "predictions",
    settings: Settings | None = None,
) -> LiveAnalysis:
    """Analyse predicted probabilities and outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels: 0 and 1 (or booleans), class indices 0..m-1, or values of `classes`. Lists, arrays,
        and the series of pandas and Polars are accepted.
    y_prob : array-like of shape (n,) or (n, m)
        Probabilities of the positive class, or one column per class, as from `predict_proba`. If
        there are two columns, only the second is used. The columns of a DataFrame are taken by
        the labels in their names, in any order.
    sample_weight : array-like of shape (n,), optional
        Weights, all above 0. Default: every row has weight 1.
    classes : sequence, optional
        The labels in the order of the columns. If there is one probability per row: the negative
        label, then the positive label. A DataFrame whose columns are not named after the labels
        needs it.
    group : array-like of shape (n,), optional
        Cluster of each row, if rows are not independent.
    name : str
        Name of the data in reports and charts.
    settings : Settings, optional
        Default: `calib.default_settings`.

    Returns
    -------
    LiveAnalysis

    Raises
    ------
    ValueError
        If a label or a probability is not allowed, or there are too few rows.

    Examples
    --------
    >>> y, p = ["no", "yes", "no"] * 100, [0.1, 0.8, 0.3] * 100
    >>> analysis = from_predictions(y, p, classes=["no", "yes"])
    >>> analysis.data.n_rows, analysis.data.positive_name, round(analysis.data.base_rate, 4)
    (300, 'yes', 0.3333)
    """
    scores, outcome = np.asarray(y_prob), np.asarray(y_true)
    if scores.ndim == 2 and (columns := getattr(y_prob, "columns", None)) is not None:
        scores, classes = _by_name([str(name) for name in columns], scores, outcome, classes)
    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = check_score_matrix(scores)[:, 1]
    names = None
    if classes is not None:
        n_classes = scores.shape[1] if scores.ndim == 2 else 2
        outcome, names = _codes(outcome, classes, n_classes), [str(label) for label in classes]
    rows = Predictions.from_arrays(
        outcome, scores, sample_weight, group=group, class_names=names, name=name
    )
    return analyze(rows, settings)


def from_estimator(
    model: Classifier,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    group: ArrayLike | None = None,
    name: str | None = None,
    settings: Settings | None = None,
) -> LiveAnalysis:
    """Analyse a fitted classifier on held-out rows.

    Parameters
    ----------
    model : classifier
        A classifier or pipeline with `predict_proba` and `classes_`, as in scikit-learn.
    X : array-like or DataFrame of shape (n, n_features)
        Rows on which the model was not fitted.
    y : array-like of shape (n,)
        Labels of these rows, from the classes of the model.
    sample_weight, group : array-like of shape (n,), optional
        Weights, all above 0, and the cluster of each row if rows are not independent.
    name : str, optional
        Name of the data in reports and charts. Default: the class name of the model.
    settings : Settings, optional
        Default: `calib.default_settings`.

    Returns
    -------
    LiveAnalysis

    Raises
    ------
    ValueError
        If the model has no probabilities or is not fitted, or a label is not one of its classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> analysis = from_estimator(GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> analysis.data.name, analysis.verdict.kind
    ('GaussianNB', 'overconfident')
    """
    kind = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"model must have predict_proba, and {kind} has none. Calibrate it first, as with "
            "calib.CalibratedModel, or give its scores to calib.from_predictions."
        )
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"model must be fitted, with its labels in classes_, and this {kind} is not. "
            "Call its fit first."
        )
    return from_predictions(
        y,
        model.predict_proba(X),
        sample_weight,
        classes=list(model.classes_),
        group=group,
        name=name or kind,
        settings=settings,
    )


def _by_name(
    columns: Sequence[str],
    scores: NDArray[Any],
    outcome: NDArray[Any],
    classes: Sequence[object] | None,
) -> tuple[NDArray[Any], Sequence[object]]:
    """Scores in the order of their classes, and the classes, by the labels that columns hold."""
    labels = outcome.ravel().tolist() if classes is None else classes
    values = {_text(label): label for label in labels}
    first = next(iter(read_classes(columns, list(values))), None)
    is_by_name = first is not None and first.match == "name" and first.complete
    if classes is not None:
        if is_by_name and first is not None and list(first.places) != list(range(len(columns))):
            raise ValueError(
                f"classes must be in the order of the columns of y_prob, {_listed(columns)}, got "
                f"{_listed(classes)}."
            )
        return scores, classes
    if first is None or not is_by_name:
        raise ValueError(
            f"the columns of y_prob must be named after the labels of y_true, got the columns "
            f"{_listed(columns)} and the labels {_listed(list(values.values()))}. Give classes, "
            "the labels in the order of the columns."
        )
    keys = [label_key(label) for label in first.labels]
    are_codes = all(key.isdecimal() for key in keys)
    order = sorted(range(len(keys)), key=lambda i: int(keys[i]) if are_codes else keys[i])
    return scores[:, order], [values.get(first.labels[i], first.labels[i]) for i in order]


def _text(label: object) -> str:
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if isinstance(label, float) and whole else str(label)


def _codes(labels: NDArray[Any], classes: Sequence[object], n_classes: int) -> NDArray[np.int64]:
    """Position of each label among the classes."""
    if len(classes) != n_classes:
        raise ValueError(
            f"classes must name {n_classes} labels, one per class, got {len(classes)}: "
            f"{_listed(classes)}."
        )
    places = {label: place for place, label in enumerate(classes)}
    if len(places) < n_classes:
        raise ValueError(f"classes must be different labels, got {_listed(classes)}.")
    if labels.ndim != 1:
        raise ValueError(f"y_true must have one dimension, got shape {labels.shape}.")
    codes = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(
            f"y_true must hold only the labels {_listed(classes)}, got {labels.tolist()[row]!r} "
            f"at index {row}."
        )
    return codes


def _listed(classes: Sequence[object]) -> str:
    # NumPy would print scalars with their types.
    names = [repr(label.item() if isinstance(label, np.generic) else label) for label in classes]
    more = len(names) - MAX_LISTED_LABELS
    return ", ".join(names[:MAX_LISTED_LABELS]) + (f" and {more} more" if more > 0 else "")
