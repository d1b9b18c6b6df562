"""ScoreCells: rows counted by score. Metrics, curves and calibrators are computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib.data.checks import check_outcomes, check_same_length, check_scores, check_weights
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    increasing_order,
    run_starts,
    sort_labelled,
)
from calib.numerics.binning import equal_weights
from calib.numerics.cells import MAX_CELLS, Cells
from calib.numerics.few_cells import bucket_means
from calib.numerics.resampling import curve_design_effect
from calib.numerics.score_grid import grid_keys

# The sentences about reversed scores begin with these words, in warnings and in problems.
REVERSED = "Positive rows have lower scores"
# Chance almost never gives an AUC that is this many standard errors below 0.5.
N_ERRORS_OF_LOW_AUC = 4.0


@dataclass(frozen=True, eq=False)
class ScoreCells(Cells):
    """The cells of one binary problem, sorted by score. A cell is the set of rows with one score.

    Attributes
    ----------
    score : ndarray of shape (k,)
        Distinct scores in increasing order, in [0, 1].
    rows : ndarray of shape (k,)
        Number of rows of each cell.
    weight, positive : ndarray of shape (k,)
        Total weight of each cell, and the weight of its positive rows.
    weight_sq, positive_sq : ndarray of shape (k,)
        The same sums over squared row weights, for variances. They equal `weight` and `positive`
        if every weight is 1.
    design_effect : float
        Number of rows that contain as much information as one independent row; 1 if rows have no
        groups. Only fits and smooth curves use it.
    far : FarLogOdds or None
        Log-odds of scores that are 0 or 1 up to rounding, if the scores were given as log-odds.
    step : float
        If scores are written with few digits, the step of which all are multiples, else 0. Each
        stands for the values within half a step, and 0 and 1 are read as the middle of theirs
        (`calib.numerics.score_grid`). Tests reject only if they would for every such value.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.2, 0.8, 0.2])
    >>> cells.score, cells.weight, cells.positive
    (array([0.2, 0.8]), array([2., 1.]), array([1., 1.]))
    """

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        names: tuple[str, str] = ("y_true", "y_prob"),
    ) -> ScoreCells:
        """Count rows into cells.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes, 0 or 1 (or booleans).
        y_prob : array-like of shape (n,)
            Scores in [0, 1].
        sample_weight : array-like of shape (n,), optional
            Positive, finite weights. Default: every row has weight 1.
        groups : array-like of shape (n,), optional
            Group (cluster) of each row, any hashable values. Rows of one group are not independent.
            A row without a group (None, NaN) is one by itself.
        names : tuple of two str
            What errors call the outcomes and the scores.

        Raises
        ------
        ValueError
            If an array is empty, is not one-dimensional, differs in length from the others, or
            contains a value that is not allowed.
        """
        outcome, score, weight = check_rows(y_true, y_prob, sample_weight, names)
        cells = cls.of_rows(outcome, score, weight)
        if groups is None:
            return cells
        code = cluster_codes(groups, len(outcome))
        weights = np.ones(len(code)) if weight is None else weight
        effect = curve_design_effect(cells, score, outcome, weights, weights * weights, code)
        return replace(cells, design_effect=effect)

    @classmethod
    def of_rows(
        cls, outcome: BoolArray, score: FloatArray, weight: FloatArray | None
    ) -> ScoreCells:
        """Count rows of checked arrays, of shape (n,), into cells."""
        return cls._count(outcome, score) if weight is None else cls._sum(outcome, score, weight)

    @classmethod
    def from_entries(
        cls,
        outcome: BoolArray,
        score: FloatArray,
        rows: FloatArray,
        weight: FloatArray,
        weight_sq: FloatArray,
        group: IntArray | None = None,
    ) -> ScoreCells:
        """Add up entries that count several rows each. Arrays of shape (e,) are not checked."""
        in_order = bool((score[1:] >= score[:-1]).all())
        order = slice(None) if in_order else increasing_order(score)
        ordered = score[order] + 0.0
        starts = run_starts(ordered)
        positive = np.where(outcome, weight, 0.0)
        squares = positive if weight_sq is weight else np.where(outcome, weight_sq, 0.0)
        entries = cls(score, rows, weight, positive, weight_sq, squares)
        cells = entries._of(ordered[starts], lambda values: np.add.reduceat(values[order], starts))
        if group is None:
            return cells
        effect = curve_design_effect(cells, score, outcome, weight, weight_sq, group)
        return replace(cells, design_effect=effect)

    def bounded(self) -> ScoreCells:
        """These cells, on the grid if there are more than 50,000."""
        return self.on_grid() if len(self) > MAX_CELLS else self

    def on_grid(self) -> ScoreCells:
        """Group neighbouring cells on the fixed grid of scores, at their mean scores."""
        starts = run_starts(grid_keys(self.score))
        return self.joined(starts, bucket_means(self.score, self.weight, starts))

    def joined(self, starts: IntArray | NDArray[np.intp], score: FloatArray) -> ScoreCells:
        """Join neighbouring cells, each from its start to the next, and give them other scores."""
        return self._of(score, lambda values: np.add.reduceat(values, starts))

    def pick(self, chosen: IntArray | slice, score: FloatArray) -> ScoreCells:
        """Select or reorder cells, and give them other scores."""
        return self._of(score, lambda values: values[chosen])

    def _of(self, score: FloatArray, transform: Callable[[FloatArray], FloatArray]) -> ScoreCells:
        """Cells whose sums are made of these, at other scores."""
        # Without weights, `weight` and `weight_sq` are the same array. They must stay the same:
        # fits test identity to see whether rows are weighted.
        names = ("rows", "weight", "positive", "weight_sq", "positive_sq")
        sums: dict[str, Any] = {name: getattr(self, name) for name in names}
        transformed: dict[int, Any] = {
            id(values): transform(values) for values in {id(v): v for v in sums.values()}.values()
        }
        return replace(self, score=score, **{name: transformed[id(v)] for name, v in sums.items()})

    @classmethod
    def _count(cls, outcome: BoolArray, score: FloatArray) -> ScoreCells:
        ordered, label = sort_labelled(score, outcome)
        starts = run_starts(ordered)
        if len(starts) == len(ordered):
            ones = np.ones(len(ordered))
            return cls(ordered, ones, ones, label, ones, label)
        count = np.diff(starts, append=len(ordered)).astype(np.float64)
        positive = np.add.reduceat(label, starts)
        return cls(ordered[starts], count, count, positive, count, positive)

    @classmethod
    def _sum(cls, outcome: BoolArray, score: FloatArray, weight: FloatArray) -> ScoreCells:
        order = increasing_order(score + 0.0)
        ordered = weight[order]
        return cls.from_entries(
            outcome[order], score[order], np.ones(len(ordered)), ordered, ordered * ordered
        )

    @property
    def weight_of_a_row(self) -> float:
        """Weight with as much information as one independent row: effect * sum w^2 / sum w."""
        return self.design_effect * self.total_weight_sq / self.total_weight

    def in_effective_rows(self) -> ScoreCells:
        """The same cells with weights in effective rows, for everything that measures evidence.

        The weights sum to (sum w)^2 / sum w^2, divided by the design effect [Kish]. The unit of
        the original weights therefore has no effect. Squared weights are those of that many
        independent rows.

        Examples
        --------
        >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.2, 0.4, 0.8], [10.0, 10.0, 10.0])
        >>> cells.in_effective_rows().weight
        array([1., 1., 1.])
        """
        unit, weight, positive = self.weight_of_a_row, self.weight, self.positive
        if equal_weights(self):
            if unit == 1.0:
                return self
            # Counts are exact, so constant weights give the same bits as no weights.
            positive = np.round(positive * (self.n_rows / self.total_weight))
            unit, weight = self.design_effect, self.rows
        square = self.design_effect / self.weight_of_a_row**2
        return ScoreCells(
            score=self.score,
            rows=self.rows,
            weight=weight / unit,
            positive=positive / unit,
            weight_sq=self.weight_sq * square,
            positive_sq=self.positive_sq * square,
            far=self.far,
        )

    @property
    def auc(self) -> float:
        """Area under the ROC curve, see `calib.metrics.auc`. NaN if all rows are of one class."""
        if self.one_class:
            return math.nan
        # The mean of the negatives up to a cell and before it counts those of the cell by half.
        negative = self.cumulative_weight - self.cumulative_positive
        twice = self.positive @ (negative[1:] + negative[:-1])
        return float(0.5 * twice / (self.total_positive * negative[-1]))

    @property
    def is_reversed(self) -> bool:
        """Whether positive rows have lower scores than chance explains."""
        rows = self.in_effective_rows()
        pairs = rows.total_positive * (rows.total_weight - rows.total_positive)
        return not rows.one_class and self.auc < clearly_low_auc(rows.total_weight, pairs)

    def frame(self) -> pd.DataFrame:
        """One row per cell: score, rows, weight, positive, rate."""
        return pd.DataFrame(
            {
                "score": self.score,
                "rows": self.rows.astype(np.int64),
                "weight": self.weight,
                "positive": self.positive,
                "rate": self.rate,
            }
        )


def check_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    names: tuple[str, str] = ("y_true", "y_prob"),
) -> tuple[BoolArray, FloatArray, FloatArray | None]:
    """Outcomes, scores and weights of rows, as `ScoreCells.from_arrays` checks them.

    Examples
    --------
    >>> check_rows([0, 1], [0.2, 0.8])
    (array([False,  True]), array([0.2, 0.8]), None)
    """
    of_outcomes, of_scores = names
    outcome, score = check_outcomes(y_true, of_outcomes), check_scores(y_prob, of_scores)
    check_same_length(**{of_outcomes: outcome, of_scores: score})
    weight = None if sample_weight is None else check_weights(sample_weight)
    if weight is not None:
        check_same_length(**{of_outcomes: outcome, "sample_weight": weight})
    return outcome, score, weight


def clearly_low_auc(n_rows: float, pairs: float) -> float:
    """An AUC below this is too low for chance.

    `n_rows` are the rows of both outcomes, and `pairs` the product of their numbers.
    """
    return 0.5 - N_ERRORS_OF_LOW_AUC * math.sqrt((n_rows + 1.0) / (12.0 * pairs))


def cluster_codes(groups: Any, n_rows: int) -> IntArray:
    """Groups of rows as numbers from 0. Each row without a group is a cluster by itself.

    Examples
    --------
    >>> cluster_codes([("a", 1), None, ("a", 1), None], 4)
    array([0, 1, 0, 2])
    """
    # A list of tuples would become a matrix if NumPy read it.
    values: Any = groups if hasattr(groups, "ndim") else pd.Series(list(groups))
    if values.ndim != 1:
        raise ValueError(f"groups must be one-dimensional, got shape {values.shape}.")
    if len(values) != n_rows:
        raise ValueError(f"groups must have one value per row, {n_rows}, got {len(values)}.")
    codes = pd.factorize(values)[0].astype(np.int64)
    alone = codes < 0
    return np.where(alone, codes.max(initial=-1) + np.cumsum(alone), codes)
