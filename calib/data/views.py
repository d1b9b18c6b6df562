"""Binary problems, multiclass problems, and the views that make the former of the latter."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.data.cells import ScoreCells
from calib.data.checks import check_classes, check_same_length, check_score_matrix, check_weights
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.class_scores import leading_classes
from calib.numerics.score_grid import middles
from calib.numerics.transforms import FarLogOdds, certain_logit

VIEW = re.compile(r"(?P<kind>class|top|within):(?P<index>[0-9]{1,6})")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class BinaryView(Locked):
    """One binary problem: rows, or entries that each count several identical rows.

    Attributes
    ----------
    outcome : ndarray of bool, shape (n,)
    score : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
        Weight of each row, or sum of the weights of an entry's rows.
    test : ndarray of bool, shape (n,), or None
        True for test rows.
    group : ndarray of int, shape (n,), or None
        Cluster code of each row.
    fold : ndarray of int, shape (n,), or None
        Cross-validation fold of each row.
    count : ndarray of shape (n,) or None
        Number of rows of each entry. None if each entry is one row.
    weight_sq : ndarray of shape (n,) or None
        Sum of the squared weights of an entry's rows. None if each entry is one row, or all weights
        are 1.
    far : FarLogOdds or None
        Log-odds of scores that are 0 or 1 up to rounding, if the scores were given as log-odds.
    step : float
        The step of which all scores are multiples, see `ScoreCells`; 0 if there is none.
    """

    outcome: BoolArray
    score: FloatArray
    weight: FloatArray | None = None
    test: BoolArray | None = None
    group: IntArray | None = None
    fold: IntArray | None = None
    count: FloatArray | None = None
    weight_sq: FloatArray | None = None
    far: FarLogOdds | None = None
    step: float = 0.0

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def log_odds(self) -> FloatArray | None:
        """Log-odds of each row, if some of them are too far from 0 to be those of its score."""
        return None if self.far is None else self.far.of(self.score)

    def with_score(self, score: FloatArray, outcome: BoolArray | None = None) -> BinaryView:
        """The same rows with the scores of a method. Other scores have other log-odds, and no step.

        Scores that were predicted can be a copy of those that have the step.
        """
        far = self.far if score is self.score else None
        step = self.step if self.step and np.array_equal(score, self.score) else 0.0
        outcome = self.outcome if outcome is None else outcome
        return replace(self, outcome=outcome, score=score, far=far, step=step)

    @property
    def n_rows(self) -> int:
        """Number of rows, summed over the entries."""
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
        """Number of equally weighted rows per entry. None if entries are rows or have clusters."""
        if self.count is None or self.group is not None:
            return None
        # The ratio would be rounded; without weights it is exactly the number of rows.
        return self.count if self.weight is None else self.weight**2 / self.squared_weights

    def cells(self) -> ScoreCells:
        """Count the rows into cells, with the design effect of their groups."""
        if self.count is None:
            cells = ScoreCells.from_arrays(self.outcome, self.score, self.weight, self.group)
        else:
            sums = self.count, self.weights, self.squared_weights
            cells = ScoreCells.from_entries(self.outcome, self.score, *sums, self.group)
        if self.far is None and not self.step:
            return cells
        return replace(cells, far=self.far, step=self.step)

    def at_middles(self) -> BinaryView:
        """The same rows, with scores of 0 and 1 as the middle of what they stand for."""
        return replace(self, score=middles(self.score, self.step)) if self.step else self

    def rows(self, chosen: NDArray[Any]) -> BinaryView:
        """Select rows or entries by a mask or by indices."""
        return BinaryView(**_picked(self, chosen))

    @property
    def scored(self) -> BinaryView:
        """The rows or entries that are scored: the test rows, or all."""
        return self if self.test is None else self.rows(self.test)


def log_odds_of(scored: BinaryView | ScoreCells) -> FloatArray:
    """Log-odds of rows or cells: of a score of 0 or 1 they are -36 or 36, if they are not known.

    >>> log_odds_of(BinaryView(np.array([True, False]), np.array([0.5, 1.0]))).round(1)
    array([ 0., 36.])
    """
    return certain_logit(scored.score) if scored.log_odds is None else scored.log_odds


def rows_by_code(rows: BinaryView, codes: IntArray, n: int) -> dict[int, BinaryView]:
    """The rows of each code from 0 to n - 1 that has rows. Rows of other codes are left out."""
    # NumPy sorts integers of 16 bits in linear time.
    keys = codes.astype(np.int16) if n <= np.iinfo(np.int16).max else codes
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(n + 1))
    return {
        code: rows.rows(order[ends[code] : ends[code + 1]])
        for code in range(n)
        if ends[code] < ends[code + 1]
    }


@dataclass(frozen=True, eq=False)
class ScoreMatrix(Locked):
    """A multiclass problem: one score per row and class.

    Attributes
    ----------
    scores : ndarray of shape (n, m)
    label : ndarray of int, shape (n,)
        Class index of each row.
    weight : ndarray of shape (n,) or None
    group, fold : ndarray of int, shape (n,), or None
        Cluster and named fold of each row.
    """

    scores: FloatArray
    label: IntArray
    weight: FloatArray | None = None
    group: IntArray | None = None
    fold: IntArray | None = None

    @classmethod
    def from_arrays(
        cls, y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ScoreMatrix:
        """Check arrays and make a problem of them.

        `y_true` holds class indices 0..m-1, and each row of `y_prob` must sum to 1 within 1e-3.
        Without weights, every row has weight 1. Raises ValueError if the arrays differ in length or
        contain a value that is not allowed.
        """
        scores = check_score_matrix(np.asarray(y_prob))
        label = check_classes(y_true, scores.shape[1])
        check_same_length(y_true=label, y_prob=scores)
        weight = None if sample_weight is None else check_weights(sample_weight).copy()
        if weight is not None:
            check_same_length(y_true=label, sample_weight=weight)
        return cls(scores, label, weight)

    def of(self, chosen: IntArray) -> ScoreMatrix:
        """Select rows by position."""
        return ScoreMatrix(**_picked(self, chosen))

    def unseen(self) -> set[int]:
        """Classes that have no row."""
        counts = np.bincount(self.label, minlength=self.scores.shape[1])
        return set(np.flatnonzero(counts == 0).tolist())

    @cached_property
    def leading(self) -> dict[str, BinaryView]:
        """The views top-1, top-2 and within-top-2, from one search for the highest scores."""
        ranked = leading_classes(self.scores, 2)
        values = np.take_along_axis(self.scores, ranked, axis=1)
        hit = ranked == self.label[:, None]
        views = {
            "top:1": (hit[:, 0], values[:, 0]),
            "top:2": (hit[:, 1], values[:, 1]),
            "within:2": (hit.any(axis=1), np.minimum(values.sum(axis=1), 1.0)),
        }
        return {
            name: BinaryView(outcome, score, self.weight, group=self.group)
            for name, (outcome, score) in views.items()
        }

    @cached_property
    def leading_cells(self) -> dict[str, ScoreCells]:
        """The same views, counted into cells."""
        return {name: view.cells() for name, view in self.leading.items()}


def _picked(rows: BinaryView | ScoreMatrix, chosen: NDArray[Any]) -> dict[str, Any]:
    columns = {column.name: getattr(rows, column.name) for column in fields(rows)}
    # Positions are faster: a mask would be searched again for every column.
    chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
    return {
        name: column[chosen] if isinstance(column, np.ndarray) else column
        for name, column in columns.items()
    }


def parse_view(view: str) -> tuple[str, int]:
    """Return (kind, index) of a view. A name that is not a view is refused."""
    match = VIEW.fullmatch(view) if isinstance(view, str) else None
    if match is None:
        raise ValueError(f"view must look like 'class:1', 'top:1' or 'within:2', got {view!r}.")
    return match["kind"], int(match["index"])


def check_view(view: str, n_classes: int) -> tuple[str, int]:
    """Return (kind, index) of a view. A view that these classes do not have is refused."""
    kind, index = parse_view(view)
    low, high = (0, n_classes - 1) if kind == "class" else (1, n_classes)
    if not low <= index <= high:
        raise ValueError(
            f"view {kind}:r must fulfil {low} <= r <= {high} with {n_classes} classes, "
            f"got {view!r}."
        )
    return kind, index


def default_view(*, is_matrix: bool) -> str:
    """The view of a matrix, or of one score per row, that is analysed if none is named."""
    return "top:1" if is_matrix else "class:1"
