"""Analysis of arrays, or of a model and held-out data; calibrated scores of given rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib.analysis.analysis import LiveAnalysis
from calib.analysis.run import analyze
from calib.calibrators import Calibrator
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix import create
from calib.crossfit.settings import Settings
from calib.data.checks import check_score_matrix
from calib.data.class_names import label_key, read_classes
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray

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


OUT_OF_FOLD = "out-of-fold"
UNSEEN = "fitted on other rows"
SEEN = "fitted on this row"


def calibrated_scores(
    analysis: LiveAnalysis, predictions: Predictions, method: str = ""
) -> pd.DataFrame:
    """Calibrated scores of the rows of an analysis, in their order.

    If methods were cross-fitted, each row is scored by the calibrator that was fitted on the other
    folds. If there are calibration and test rows, all rows are scored by the calibrator that was
    fitted on the calibration rows.

    Parameters
    ----------
    analysis : LiveAnalysis
    predictions : Predictions
        The rows that were analysed.
    method : str
        Key of a method of the analysis. Default: the recommended method.

    Returns
    -------
    DataFrame of n rows
        Column `calibrated`, or `calibrated_NAME` for each class of a matrix, with values in [0, 1].
        Column `calibrated_by`: "out-of-fold", "fitted on other rows" or "fitted on this row".

    Raises
    ------
    ValueError
        If the predictions are not those of the analysis, or the analysis does not have the method.

    Examples
    --------
    >>> import calib
    >>> predictions = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(predictions, {"methods": ("platt",)})
    >>> calibrated_scores(analysis, predictions, "platt").round(4).head(2)
       calibrated calibrated_by
    0      0.9081   out-of-fold
    1      0.2120   out-of-fold
    """
    if predictions.fingerprint != analysis.data.fingerprint:
        raise ValueError(
            "predictions must be those of the analysis, got rows with another fingerprint. "
            "Analyse these rows first, or use `predict` of a fitted calibrator for new scores."
        )
    held_out, matrix = analysis.held_out, analysis.held_out.matrix
    method = method or analysis.recommendation.method or "uncalibrated"
    if method not in held_out.calibrators:
        methods = ", ".join(held_out.calibrators)
        raise ValueError(f"method must be one of {methods}, got {method!r}.")
    test = predictions.test
    if matrix is None:
        rows = predictions.view(analysis.settings.view)
        values = _of_scores(held_out, rows, method)[:, None]
        names = ["calibrated"]
    else:
        values = np.empty_like(predictions.scores)
        values[slice(None) if test is None else test] = matrix.matrix(method)
        if test is not None:
            values[~test] = matrix.calibrators[method].predict(predictions.scores[~test])
        names = [f"calibrated_{name}" for name in predictions.class_names]
    frame = pd.DataFrame(values, columns=names)
    code = np.zeros(len(frame), dtype=np.int8) if test is None else np.where(test, 1, 2)
    labels = pd.Categorical.from_codes(code, [OUT_OF_FOLD, UNSEEN, SEEN])
    return frame.assign(calibrated_by=labels)


def _of_scores(held_out: CrossFitted, rows: BinaryView, method: str) -> FloatArray:
    if held_out.protocol != "folds":
        calibrator = held_out.calibrators[method]
        assert isinstance(calibrator, Calibrator)
        return calibrator.predict(rows.score, rows.log_odds)
    entries, fold = held_out.rows, _fold_of_rows(held_out, rows)
    assert entries.fold is not None
    calibrated = np.empty(len(rows))
    for number in np.unique(entries.fold):
        cells = entries.rows(entries.fold != number).cells()
        in_fold = fold == number
        fitted = create(method, held_out.settings).fit_cells(cells)
        left_out = rows.rows(in_fold)
        calibrated[in_fold] = fitted.predict(left_out.score, left_out.log_odds)
    return calibrated


def _fold_of_rows(held_out: CrossFitted, rows: BinaryView) -> IntArray:
    """The fold of each row.

    Folds split the counts of rows with equal scores and outcomes. Which of these rows belongs to
    which fold is random, with the seed of the settings.
    """
    if rows.fold is not None:
        return rows.fold
    entries = held_out.rows
    assert entries.fold is not None
    entry = CountedRows.of_rows(rows).find(rows)
    shuffled = np.random.default_rng(held_out.settings.seed).permutation(len(rows))
    in_entries = shuffled[np.argsort(entry[shuffled], kind="stable")]
    by_source = np.argsort(held_out.source, kind="stable")
    dealt = np.repeat(entries.fold[by_source], entries.counts[by_source].astype(np.int64))
    fold = np.empty(len(rows), dtype=np.int64)
    fold[in_entries] = dealt
    return fold
