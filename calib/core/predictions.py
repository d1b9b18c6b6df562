"""Predictions: the validated rows, and the binary views of them that everything else reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib.core.cells import (
    ScoreCells,
    check_outcomes,
    check_same_length,
    check_scores,
    check_weights,
    unboxed,
)
from calib.core.origin import Origin
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, lock
from calib.numerics.ranking import binary_problem

VIEW = re.compile(r"(?P<kind>class|top|within):(?P<index>[0-9]{1,6})")
ROW_SUM_TOLERANCE = 1e-3
MAX_FOLDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class BinaryView:
    """One binary problem: rows, or entries that each count several rows alike in all that is named.

    Attributes
    ----------
    outcome : ndarray of bool, shape (n,)
    score : ndarray of shape (n,), in [0, 1]
    weight : ndarray of shape (n,) or None
        Of each row; of an entry, the sum over its rows.
    test : ndarray of bool, shape (n,), or None
        True on the rows that a split named as test rows.
    group : ndarray of int, shape (n,), or None
        Cluster code of each row.
    fold : ndarray of int, shape (n,), or None
        Named cross-validation fold of each row.
    count : ndarray of shape (n,), or None
        Rows of each entry; None where each is one row.
    weight_sq : ndarray of shape (n,), or None
        Sum of the squared weights of an entry's rows; None where each is one row, or all weights
        are 1.
    """

    outcome: BoolArray
    score: FloatArray
    weight: FloatArray | None = None
    test: BoolArray | None = None
    group: IntArray | None = None
    fold: IntArray | None = None
    count: FloatArray | None = None
    weight_sq: FloatArray | None = None

    def __post_init__(self) -> None:
        lock(self)

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def n_rows(self) -> int:
        """Number of rows, however they are counted."""
        return len(self) if self.count is None else int(self.count.sum())

    @property
    def counts(self) -> FloatArray:
        """Rows of each entry."""
        return np.ones(len(self)) if self.count is None else self.count

    @property
    def weights(self) -> FloatArray:
        """Weight of each row, or of each entry's rows together."""
        return self.counts if self.weight is None else self.weight

    @property
    def squared_weights(self) -> FloatArray:
        """Squared weight of each row, or the sum over each entry's rows."""
        if self.weight_sq is not None:
            return self.weight_sq
        return self.counts if self.weight is None else np.square(self.weight)

    @property
    def multiplicity(self) -> FloatArray | None:
        """Equally weighted rows per entry; None where units are rows, or clusters."""
        if self.count is None or self.group is not None:
            return None
        return self.weights**2 / self.squared_weights

    def cells(self) -> ScoreCells:
        """The rows counted into cells, with the design effect of their groups."""
        if self.count is None:
            return ScoreCells.from_arrays(self.outcome, self.score, self.weight, self.group)
        return ScoreCells.from_entries(
            self.outcome,
            self.score,
            self.count,
            self.weights,
            self.squared_weights,
            self.group,
        )

    def rows(self, chosen: NDArray[Any]) -> BinaryView:
        """Some rows or entries, chosen by a mask or by indices."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        picked: dict[str, Any] = {k: None if v is None else v[chosen] for k, v in own.items()}
        return BinaryView(**picked)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Rows of predictions and outcomes, validated once; trusted after.

    Made by `calib.load`, or by `Predictions.from_arrays`.

    Attributes
    ----------
    outcome : ndarray of int, shape (n,)
        Class index of each row.
    scores : ndarray of shape (n,) or (n, m), in [0, 1]
        Score of class 1, or one column per class.
    class_names : tuple of str, length m
        For a binary problem: (negative, positive).
    weight : ndarray of shape (n,) or None
    test : ndarray of bool, shape (n,), or None
        True on test rows, False on calibration rows; None where the data name no split.
    group : ndarray of int, shape (n,), or None
    fold : ndarray of int, shape (n,), or None
        Cross-validation fold of each row, as the data name it: a position in `fold_names`.
    columns : mapping of str to ndarray of shape (n,)
        Slice and time columns, by name.
    name : str
        What the data are called on pages and in reports.
    score_name, outcome_name : str
        Names of the columns that were read.
    set_aside : mapping of str to int
        Reason -> number of rows of the file that are not among these rows.
    time_name : str
        Which of `columns` is time, "" where none is.
    origin : Origin or None
        How their file was read; None where the rows were arrays.
    fold_names : tuple of str
        In alphabetical order; empty where the data name no folds.
    fingerprint : str
        SHA-256 over all bytes of all columns; computed.
    """

    outcome: IntArray
    scores: FloatArray
    class_names: tuple[str, ...] = ("0", "1")
    weight: FloatArray | None = None
    test: BoolArray | None = None
    group: IntArray | None = None
    fold: IntArray | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    name: str = "predictions"
    score_name: str = "score"
    outcome_name: str = "outcome"
    set_aside: Mapping[str, int] = field(default_factory=dict)
    time_name: str = ""
    origin: Origin | None = None
    fold_names: tuple[str, ...] = ()
    fingerprint: str = field(default="", init=False)

    def __post_init__(self) -> None:
        lock(self)
        object.__setattr__(self, "fingerprint", _fingerprint(self))

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        test: ArrayLike | None = None,
        group: ArrayLike | None = None,
        fold: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "predictions",
        score_name: str = "score",
        outcome_name: str = "outcome",
        set_aside: Mapping[str, int] | None = None,
        time_name: str = "",
        origin: Origin | None = None,
    ) -> Predictions:
        """Validate arrays.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            0/1 (or booleans) for binary scores; class indices 0..m-1 for a matrix.
        y_prob : array-like of shape (n,) or (n, m)
            Scores in [0, 1]; rows of a matrix must sum to 1 within 1e-3.
        sample_weight : array-like of shape (n,), optional
        test : array-like of bool, shape (n,), optional
            True on test rows.
        group : array-like of shape (n,), optional
            Cluster of each row, any hashable values.
        fold : array-like of shape (n,), optional
            Cross-validation fold of each row, any hashable values: 2 to 100 different ones. Methods
            are then cross-fitted in these folds. Not together with `test`.
        columns : mapping of str to array-like of shape (n,), optional
            Slice and time columns.
        class_names : sequence of str, optional
        name, score_name, outcome_name : str
        set_aside : mapping of str to int, optional
            Reason -> number of rows that were left out.
        time_name : str
            Which of `columns` is time, "" where none is.
        origin : Origin, optional
            How their file was read.

        Raises
        ------
        ValueError
            If an array has another length, or holds a value that is not allowed.

        Examples
        --------
        >>> predictions = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.9])
        >>> len(predictions), predictions.class_names, predictions.view("class:1").score
        (3, ('0', '1'), array([0.2, 0.7, 0.9]))
        """
        scores = np.asarray(y_prob)
        if scores.ndim == 2:
            scores = check_score_matrix(scores)
            outcome = check_classes(y_true, scores.shape[1])
            n_classes = scores.shape[1]
        else:
            scores = check_scores(scores).copy()
            outcome = check_outcomes(y_true).astype(np.int64)
            n_classes = 2
        check_same_length(y_true=outcome, y_prob=scores)
        names = tuple(class_names) if class_names else tuple(map(str, range(n_classes)))
        if len(names) != n_classes:
            raise ValueError(f"class_names must have length {n_classes}, got {len(names)}.")
        weight = None if sample_weight is None else check_weights(sample_weight).copy()
        mask = None if test is None else np.array(test, dtype=np.bool_)
        codes = None if group is None else pd.factorize(np.asarray(group))[0].astype(np.int64)
        extra = {key: np.array(values) for key, values in (columns or {}).items()}
        folds, fold_names = (None, ()) if fold is None else _named_folds(fold)
        if folds is not None and mask is not None:
            raise ValueError(
                "Give folds or test rows, not both: cross-fitting is not used with test rows. "
                f"Leave out `test` or `fold`, got {int(mask.sum())} test rows and "
                f"{len(fold_names)} folds."
            )
        optional = {"sample_weight": weight, "test": mask, "group": codes, "fold": folds, **extra}
        for column, values in optional.items():
            if values is not None:
                check_same_length(**{"y_true": outcome, column: values})
        return cls(
            outcome,
            scores,
            names,
            weight,
            mask,
            codes,
            folds,
            extra,
            name,
            score_name,
            outcome_name,
            dict(set_aside or {}),
            time_name,
            origin,
            fold_names,
        )

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of the file that these rows come from."""
        n_rows = len(self) + sum(self.set_aside.values())
        return () if self.origin is None else self.origin.remarks(n_rows)

    @property
    def is_matrix(self) -> bool:
        """Whether there is one score per class, and not one score per row."""
        return self.scores.ndim == 2

    @property
    def n_classes(self) -> int:
        """Number of classes; 2 for one score column."""
        return len(self.class_names)

    def view(self, view: str = "class:1") -> BinaryView:
        """One binary problem of these predictions.

        Parameters
        ----------
        view : str
            "class:k" (score of class k against "is it k"), "top:r" (r-th largest score against "is
            it that class") or "within:r" (sum of the r largest against "is it among them").

        Raises
        ------
        ValueError
            If the view is not of that form, or its index is out of range.
        """
        kind, index = check_view(view, self.n_classes)
        score, outcome = self._binary(kind, index)
        return BinaryView(outcome, score, self.weight, self.test, self.group, self.fold)

    def one_score(self, view: str) -> Predictions:
        """The binary problem of a view, as predictions of one score per row.

        Parameters
        ----------
        view : str

        Raises
        ------
        ValueError
            As `view` does.

        Examples
        --------
        >>> predictions = Predictions.from_arrays([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
        >>> predictions.one_score("top:1").scores, predictions.one_score("top:1").outcome
        (array([0.5, 0.6]), array([1, 0]))
        """
        binary = self.view(view)
        return replace(
            self,
            outcome=binary.outcome.astype(np.int64),
            scores=binary.score,
            class_names=("other", self.view_label(view)),
            origin=None,
        )

    def view_label(self, view: str = "class:1") -> str:
        """What a positive row is in a view, in words."""
        kind, index = check_view(view, self.n_classes)
        if kind == "class":
            return self.class_names[index]
        if kind == "top":
            return "the predicted class" if index == 1 else f"the class ranked {index}"
        return f"one of the {index} classes ranked first"

    def _binary(self, kind: str, index: int) -> tuple[FloatArray, BoolArray]:
        if self.scores.ndim == 1:
            if kind == "class" and index == 1:
                return self.scores, self.outcome == 1
            matrix = np.column_stack([1.0 - self.scores, self.scores])
        else:
            matrix = self.scores
        return binary_problem(matrix, self.outcome, kind, index)


def parse_view(view: str) -> tuple[str, int]:
    """Return (kind, index) of a view's name; refuse what is none, whatever the classes are."""
    match = VIEW.fullmatch(view)
    if match is None:
        raise ValueError(f"view must look like 'class:1', 'top:1' or 'within:2', got {view!r}.")
    return match["kind"], int(match["index"])


def check_view(view: str, n_classes: int) -> tuple[str, int]:
    """Return (kind, index) of a view's name; refuse one that these classes do not have."""
    kind, index = parse_view(view)
    low, high = (0, n_classes - 1) if kind == "class" else (1, n_classes)
    if not low <= index <= high:
        raise ValueError(
            f"view {kind}:r must fulfil {low} <= r <= {high} with {n_classes} classes, "
            f"got {view!r}."
        )
    return kind, index


def check_score_matrix(scores: NDArray[Any]) -> FloatArray:
    """Return class scores whose rows sum to exactly 1; refuse rows that are not near it."""
    matrix = np.array(scores, dtype=np.float64, order="C")
    if matrix.shape[1] < 2:
        raise ValueError(f"y_prob must have at least 2 class columns, got {matrix.shape[1]}.")
    _check_entries(matrix)
    sums = matrix.sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)
    if len(bad):
        first = ", ".join(f"{i} ({sums[i]:.4g})" for i in bad[:3])
        raise ValueError(
            f"each row of y_prob must sum to 1 within {ROW_SUM_TOLERANCE}, "
            f"got {len(bad)} rows that do not, first: {first}."
        )
    return np.divide(matrix, sums[:, None], out=matrix)


def _check_entries(matrix: FloatArray) -> None:
    if not matrix.size:
        raise ValueError(f"y_prob must hold at least one row, got shape {matrix.shape}.")
    # One comparison finds NaN too: it fails every comparison.
    if not (matrix.min() >= 0.0 and matrix.max() <= 1.0):
        row, column = np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))[0].tolist()
        raise ValueError(
            f"y_prob must be within [0, 1], got {matrix[row, column]} in row {row}, "
            f"column {column}."
        )


def check_classes(y_true: ArrayLike, n_classes: int) -> IntArray:
    """Return class indices as integers; refuse anything that is not one of 0..m-1."""
    values = unboxed(np.asarray(y_true))
    rule = f"y_true must hold class indices 0..{n_classes - 1}"
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ValueError(f"{rule}, got {values.dtype} values of shape {values.shape}.")
    whole = np.isfinite(values) & (values == np.floor(values))
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        raise ValueError(f"{rule}, got {values[row]} at index {row}.")
    outcome = values.astype(np.int64)
    known = (outcome >= 0) & (outcome < n_classes)
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(f"{rule}, got {outcome[row]} at index {row}.")
    return outcome


def _named_folds(fold: ArrayLike) -> tuple[IntArray, tuple[str, ...]]:
    """Codes and names of folds; refuse missing ones, and too few or too many."""
    codes, values = pd.factorize(pd.Series(fold))
    if (codes < 0).any():
        raise ValueError(
            f"fold must name the fold of every row, got {int((codes < 0).sum())} missing values."
        )
    if not 2 <= len(values) <= MAX_FOLDS:
        raise ValueError(
            f"fold must hold 2 to {MAX_FOLDS} different values, got {len(values)}. "
            "Name other folds, or none."
        )
    names = np.array([str(value) for value in values])
    # Numbered by name, so that the order of the rows makes no difference.
    order = np.argsort(names, kind="stable")
    return np.argsort(order)[codes], tuple(names[order].tolist())


def _fingerprint(predictions: Predictions) -> str:
    digest = hashlib.sha256()
    named: dict[str, NDArray[Any] | None] = {
        "outcome": predictions.outcome,
        "scores": predictions.scores,
        "weight": predictions.weight,
        "test": predictions.test,
        "group": predictions.group,
        "fold": predictions.fold,
        **{f"column {name}": values for name, values in predictions.columns.items()},
    }
    digest.update(repr(predictions.class_names).encode())
    for name, values in named.items():
        if values is None:
            continue
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        if values.dtype.hasobject:
            values = pd.util.hash_array(values.astype(str).astype(object))
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.hexdigest()
