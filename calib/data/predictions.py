"""Predictions: the rows of outcomes and scores, checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib.data.base import Data
from calib.data.checks import (
    check_classes,
    check_outcomes,
    check_same_length,
    check_score_matrix,
    check_scores,
    check_weights,
)
from calib.data.counted import CountedRows
from calib.data.origin import Origin, Remark, are_copies
from calib.data.slicing import Slicing, slice_by
from calib.data.views import BinaryView, check_view, default_view
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.class_scores import binary_problem, softmax_of_logits
from calib.numerics.score_grid import step_of
from calib.numerics.transforms import FarLogOdds, probabilities

MAX_FOLDS = 100
# The fields that have one value per row, besides `columns`.
ARRAYS = ("outcome", "scores", "weight", "test", "group", "fold")
# The fingerprint covers these fields.
COVERED = (*ARRAYS, "columns", "class_names", "far")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictions(Data, Locked):
    """Rows of outcomes and scores, which were checked when they were made.

    Make them with `calib.load` or `Predictions.from_arrays`.

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
        True for test rows, False for calibration rows. None if the data do not name test rows.
    group : ndarray of int, shape (n,), or None
        Cluster of each row.
    fold : ndarray of int, shape (n,), or None
        Cross-validation fold of each row that the data name, as a position in `fold_names`.
    columns : mapping of str to ndarray of shape (n,)
        Slice and time columns, by name.
    name : str
        Name of the data on pages and in reports.
    score_name, outcome_name : str
        Names of the columns that were read.
    set_aside : mapping of str to int
        Number of rows of the file that are not among these rows, by reason.
    time_name : str
        Name of the time column among `columns`, or "" if there is none.
    origin : Origin or None
        How the file was read. None if the rows came from arrays.
    fold_names : tuple of str
        Names of the named folds in alphabetical order, empty if the data name no folds.
    far : FarLogOdds or None
        Log-odds of the scores that are 0 or 1 up to rounding, if there is one score per row and it
        was given as log-odds. Different log-odds have different scores.
    fingerprint : str
        SHA-256 of all columns. It is computed from the data.
    """

    has_rows: ClassVar[bool] = True
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
    far: FarLogOdds | None = None
    fingerprint: str = field(default="", init=False)

    def __post_init__(self) -> None:
        Locked.__post_init__(self)
        object.__setattr__(self, "fingerprint", _fingerprint(self))

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        log_odds: ArrayLike | None = None,
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
        """Check arrays and make predictions of them.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes 0 and 1 (or booleans) for binary scores, class indices 0..m-1 for a matrix.
        y_prob : array-like of shape (n,) or (n, m)
            Scores in [0, 1]. Each row of a matrix must sum to 1 within 1e-3.
        log_odds : array-like of shape (n,) or (n, m), optional
            Log-odds of class 1, or logits of all classes, in place of `y_prob`. Those beyond about
            36, which have no probabilities in float64, keep their values and their order.
        sample_weight : array-like of shape (n,), optional
            Weights, all above 0. Default: every row has weight 1.
        test : array-like of bool, shape (n,), optional
            True or 1 for test rows, False or 0 for calibration rows.
        group : array-like of shape (n,), optional
            Cluster of each row, any hashable values.
        fold : array-like of shape (n,), optional
            Cross-validation fold of each row, 2 to 100 different hashable values. Calibrators are
            then cross-fitted in these folds. It cannot be combined with `test`.
        columns : mapping of str to array-like of shape (n,), optional
            Slice and time columns.
        class_names : sequence of str, optional
            Default: "0", "1", ...
        name, score_name, outcome_name : str
            Names of the data and of the two columns.
        set_aside : mapping of str to int, optional
            Number of rows that were left out, by reason.
        time_name : str
            Name of the time column among `columns`, or "" if there is none.
        origin : Origin, optional
            How the file was read.

        Raises
        ------
        ValueError
            If the arrays differ in length or contain a value that is not allowed.

        Examples
        --------
        >>> predictions = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.9])
        >>> len(predictions), predictions.class_names, predictions.view("class:1").score
        (3, ('0', '1'), array([0.2, 0.7, 0.9]))
        """
        far = None
        if log_odds is None:
            scores = np.asarray(y_prob)
        elif y_prob is None:
            scores, far = _scores_of(log_odds)
        else:
            raise ValueError("Give y_prob or log_odds, not both, got both.")
        if scores.ndim == 2:
            scores = check_score_matrix(scores)
            outcome = check_classes(y_true, scores.shape[1])
            n_classes = scores.shape[1]
        else:
            scores = check_scores(scores).copy()
            outcome = check_outcomes(y_true).astype(np.int64)
            n_classes = 2
        check_same_length(y_true=outcome, y_prob=scores)
        if isinstance(class_names, str):
            raise TypeError(f"class_names must be a list of names, got {class_names!r}.")
        names = tuple(class_names) if class_names else tuple(map(str, range(n_classes)))
        if len(names) != n_classes:
            raise ValueError(f"class_names must have length {n_classes}, got {len(names)}.")
        weight = None if sample_weight is None else check_weights(sample_weight).copy()
        mask = None if test is None else check_outcomes(test, "test").copy()
        codes = None if group is None else _groups(group)
        if not isinstance(columns, Mapping | None):
            raise TypeError(
                "columns must map names to arrays, such as {'region': regions}, got "
                f"{type(columns).__name__}."
            )
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
            far,
        )

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self)

    @property
    def sources(self) -> tuple[str, ...]:
        """The fingerprint, as counts of these rows name it."""
        return (self.fingerprint,)

    @property
    def identity(self) -> Hashable:
        """The fingerprint, and all fields that it does not cover."""
        others = (getattr(self, one.name) for one in fields(self) if one.name not in COVERED)
        values = (tuple(one.items()) if isinstance(one, Mapping) else one for one in others)
        # Origins are equal whether an argument was guessed or stated; reports say which.
        guessed = () if self.origin is None else (self.origin.guesses, self.origin.guessed)
        return (*values, *guessed)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Remarks about the file from which the rows were read."""
        n_rows = len(self) + sum(self.set_aside.values())
        if self.origin is None:
            return ()
        repeated = self.origin.repeated_rows > 0 and self.group is None
        copied = repeated and are_copies(self.outcome, self.scores)
        return self.origin.remarks(n_rows, copied=copied)

    @property
    def is_split(self) -> bool:
        """Whether there are calibration rows and test rows."""
        return self.test is not None

    @property
    def is_matrix(self) -> bool:
        """Whether there is one score per class instead of one score per row."""
        return self.scores.ndim == 2

    @property
    def score_matrix(self) -> FloatArray:
        """The scores with one column per class, also if there is one score per row."""
        return self.scores if self.is_matrix else np.column_stack([1.0 - self.scores, self.scores])

    @property
    def default_view(self) -> str:
        """The top label of a matrix, or class 1 of one score per row."""
        return default_view(is_matrix=self.is_matrix)

    @property
    def crossings(self) -> tuple[tuple[str, str], ...]:
        """Rows are not counted, so no columns were counted together."""
        return ()

    def check_view(self, view: str) -> None:
        """Raise a ValueError if the classes do not have this view."""
        check_view(view, self.n_classes)

    def counted(self, view: str) -> CountedRows:
        """Count the rows of a view into entries."""
        return CountedRows.of_rows(self.view(view))

    def crossable_with(self, column: str) -> list[str]:
        """All other columns."""
        return [name for name in self.columns if name != column]

    def holds_dates(self, column: str) -> bool:
        """Whether the values of a column are dates."""
        return self.columns[column].dtype.kind == "M"

    def sliced(
        self, columns: Sequence[str], view: str, n_ranges: int
    ) -> tuple[Slicing, BinaryView]:
        """The slices of one column, or of two that are crossed, and all rows."""
        return slice_by(self.columns, columns, n_ranges=n_ranges), self.view(view)

    def timed(self, column: str, view: str) -> tuple[NDArray[Any], BinaryView]:
        """The values of a time column, and all rows."""
        return self.columns[column], self.view(view)

    def view(self, view: str = "class:1") -> BinaryView:
        """One binary problem of these predictions.

        Parameters
        ----------
        view : str
            "class:k": the score of class k; the outcome is whether k is the true class.
            "top:r": the r-th largest score; the outcome is whether its class is the true class.
            "within:r": the sum of the r largest scores; the outcome is whether the true class is
            one of these.

        Raises
        ------
        ValueError
            If the view does not have one of these forms, or its index is out of range.
        """
        kind, index = check_view(view, self.n_classes)
        columns = self.weight, self.test, self.group, self.fold
        if not self.is_matrix and (kind, index) == ("class", 1):
            step = 0.0 if self.far is not None else step_of(self.scores)
            return BinaryView(self.outcome == 1, self.scores, *columns, far=self.far, step=step)
        score, outcome = binary_problem(self.score_matrix, self.outcome, kind, index)
        # A sum of rounded scores is off by as much as all of them together.
        step = step_of(score) * (index if kind == "within" else 1)
        return BinaryView(outcome, score, *columns, step=step)

    def one_score(self, view: str) -> Predictions:
        """The binary problem of a view, as predictions with one score per row.

        Parameters
        ----------
        view : str

        Raises
        ------
        ValueError
            If the view does not exist; see `view`.

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
            far=binary.far,
            class_names=("other", self.view_label(view)),
            origin=None,
        )

    def view_label(self, view: str = "class:1") -> str:
        """Description of the positive rows of a view."""
        kind, index = check_view(view, self.n_classes)
        if kind == "class":
            return self.class_names[index]
        if kind == "top":
            return "the predicted class" if index == 1 else f"the class ranked {index}"
        return f"one of the {index} classes ranked first"


def rows_of(data: Data) -> Predictions:
    """The rows of data. Raises ValueError if only their counts are known."""
    if not isinstance(data, Predictions):
        raise ValueError("These data are counts without rows.")
    return data


def are_same_rows(first: Data, second: Data) -> bool:
    """Whether two sets of rows are equal in everything except the scores.

    Counts do not identify rows, so theirs are never the same.
    """
    if not (isinstance(first, Predictions) and isinstance(second, Predictions)):
        return False
    columns = ("outcome", "weight", "test", "group", "fold")
    pairs = ((getattr(first, name), getattr(second, name)) for name in columns)
    # Two columns that are missing are equal too.
    return all(np.array_equal(one, other) for one, other in pairs)


def _groups(group: ArrayLike) -> IntArray:
    codes = pd.factorize(pd.Series(group))[0].astype(np.int64)
    if (codes < 0).any():
        raise ValueError(
            f"group must name the group of every row, got {int((codes < 0).sum())} missing values. "
            "Give a row that belongs to no group a name of its own."
        )
    return codes


def _scores_of(log_odds: ArrayLike) -> tuple[FloatArray, FarLogOdds | None]:
    """Probabilities of the log-odds of one class, or of the logits of all classes."""
    values = np.array(log_odds, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("log_odds must be numbers, got nan.")
    if values.ndim == 2:
        return softmax_of_logits(values), None
    return probabilities(values)


def _named_folds(fold: ArrayLike) -> tuple[IntArray, tuple[str, ...]]:
    """Codes and names of folds. Missing names, and too few or too many folds, are refused."""
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
    # Folds are numbered by name, so that the order of the rows makes no difference.
    order = np.argsort(names, kind="stable")
    return np.argsort(order)[codes], tuple(names[order].tolist())


def _fingerprint(predictions: Predictions) -> str:
    """SHA-256 of every value of every column.

    Names are quoted, and lengths come before values, so that no name and no text can stand for the
    beginning of another column.
    """
    digest = hashlib.sha256()
    columns: dict[str, NDArray[Any] | None] = {name: getattr(predictions, name) for name in ARRAYS}
    columns |= {f"column {name!r}": values for name, values in predictions.columns.items()}
    if predictions.far is not None:
        columns["log-odds"] = predictions.far.log_odds
    digest.update(repr(predictions.class_names).encode())
    for name, values in columns.items():
        if values is None:
            continue
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        if values.dtype.hasobject:
            values = _codes_of_objects(values, digest.update)
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.hexdigest()


def _codes_of_objects(values: NDArray[Any], update: Callable[[bytes], None]) -> IntArray:
    """A number for each value. `update` receives the list of the different values, with types."""
    texts = values
    if pd.api.types.infer_dtype(values, skipna=False) != "string":
        # Python counts 1, 1.0 and True as equal, and pandas all missing values.
        texts = np.array([f"{type(value).__name__} {value}" for value in values], dtype=object)
    codes, different = pd.factorize(texts)
    listed = repr((texts is values, different.tolist()))
    update(f"{len(listed)} {listed}".encode())
    return codes.astype(np.int64)
