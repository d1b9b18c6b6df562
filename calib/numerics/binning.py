"""Bins over sorted cells: where the edges lie, and what falls between them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray, lock

Strategy = Literal["uniform", "quantile", "fd"]
STRATEGIES = ("uniform", "quantile", "fd")
# Freedman and Diaconis ask for any number of bins when half of the scores nearly coincide.
MOST_FD_BINS = 10_000


class Cells(Protocol):
    """What is read of sorted cells: arrays of shape (k,), and prefix sums of shape (k + 1,)."""

    @property
    def score(self) -> FloatArray: ...

    @property
    def rows(self) -> FloatArray: ...

    @property
    def weight(self) -> FloatArray: ...

    @property
    def weight_sq(self) -> FloatArray: ...

    @property
    def total_weight(self) -> float: ...

    @property
    def total_weight_sq(self) -> float: ...

    @property
    def cumulative_rows(self) -> FloatArray: ...

    @property
    def cumulative_weight(self) -> FloatArray: ...

    @property
    def cumulative_weight_sq(self) -> FloatArray: ...

    @property
    def cumulative_positive(self) -> FloatArray: ...

    @property
    def cumulative_score(self) -> FloatArray: ...

    @property
    def cumulative_variance(self) -> FloatArray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The occupied bins of some cells, in increasing order of score; arrays of shape (b,).

    Attributes
    ----------
    low_edge, high_edge : ndarray
        Bounds of each bin: right-closed, the first bin closed on both sides.
    first, last : ndarray of int
        A bin holds the cells ``first:last``.
    rows, weight, weight_sq, positive : ndarray
        Sums over the bin.
    mean_score, observed : ndarray
        Mean score, and observed frequency.
    n_empty : int
        Bins without rows, which are left out.
    """

    low_edge: FloatArray
    high_edge: FloatArray
    first: IntArray
    last: IntArray
    rows: FloatArray
    weight: FloatArray
    weight_sq: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    n_empty: int

    def __post_init__(self) -> None:
        lock(self)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def gap(self) -> FloatArray:
        """Observed minus predicted."""
        return self.observed - self.mean_score

    @property
    def effective_rows(self) -> FloatArray:
        """Number of equally weighted rows that would vary as much: (sum w)^2 / sum w^2."""
        return self.weight**2 / self.weight_sq


def bin_cells(cells: Cells, n_bins: int, strategy: Strategy) -> Bins:
    """Cut cells into bins and sum each; costs O(bins log cells) once the prefix sums are there.

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
        At least 1. Ignored by the strategy "fd", which finds its own.
    strategy : {"uniform", "quantile", "fd"}
        See `bin_edges`.

    Raises
    ------
    ValueError
        If `n_bins` or `strategy` is not allowed.
    """
    return bin_between(cells, bin_edges(cells, n_bins, strategy))


def bin_between(cells: Cells, edges: FloatArray) -> Bins:
    """Cut cells at given edges, increasing and of shape (b + 1,), and sum each bin."""
    starts = bin_starts(cells.score, edges)
    kept = starts[1:] > starts[:-1]
    first, last = starts[:-1][kept], starts[1:][kept]

    def total(prefix: FloatArray) -> FloatArray:
        return prefix[last] - prefix[first]

    weight, positive = total(cells.cumulative_weight), total(cells.cumulative_positive)
    return Bins(
        low_edge=edges[:-1][kept],
        high_edge=edges[1:][kept],
        first=first,
        last=last,
        rows=total(cells.cumulative_rows),
        weight=weight,
        weight_sq=total(cells.cumulative_weight_sq),
        positive=positive,
        # Differences of prefix sums carry their rounding: a mean may leave [0, 1] by 1e-16.
        mean_score=np.clip(total(cells.cumulative_score) / weight, 0.0, 1.0),
        observed=np.clip(positive / weight, 0.0, 1.0),
        n_empty=int((~kept).sum()),
    )


def bin_edges(cells: Cells, n_bins: int, strategy: Strategy) -> FloatArray:
    """Edges of bins over [0, 1].

    "uniform" cuts [0, 1] in equal parts. "quantile" cuts where `numpy.quantile` of the rows does,
    or, where rows have different weights, at the inverse of the weighted ECDF; equal edges merge,
    the first is 0 and the last is 1. "fd" are the edges of ``numpy.histogram_bin_edges(s, "fd")``
    (Freedman and Diaconis), from the lowest to the highest score, at most 10,000 bins.

    Returns
    -------
    ndarray of shape (b + 1,)
        Increasing; b is at most `n_bins`, but for "fd".

    Raises
    ------
    ValueError
        If `n_bins` is not a whole number above 0, or the strategy is not one of the three.
    """
    if operator.index(n_bins) < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}.")
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        inner = quantiles(cells, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
        inner = inner[(inner > 0.0) & (inner < 1.0)]
        return np.concatenate([[0.0], np.unique(inner), [1.0]])
    if strategy == "fd":
        return _freedman_diaconis(cells)
    raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}.")


def bin_starts(score: FloatArray, edges: FloatArray) -> IntArray:
    """Index of the first cell of each bin, and the number of cells: bin b is ``[b]:[b + 1]``.

    Bins are right-closed: a score's bin is the number of interior edges below it.

    Examples
    --------
    >>> import numpy as np
    >>> bin_starts(np.array([0.0, 0.5, 0.7]), np.array([0.0, 0.5, 1.0]))
    array([0, 2, 3])
    """
    starts = np.searchsorted(score, edges[1:-1], side="right")
    return np.concatenate([[0], starts, [len(score)]]).astype(np.int64)


def quantiles(cells: Cells, level: FloatArray) -> FloatArray:
    """Quantiles of the score over rows: the floats of `numpy.quantile`, without unfolding the rows.

    Where rows have different weights: the lowest score at which the weighted ECDF reaches it.

    Parameters
    ----------
    cells : ScoreCells
    level : ndarray of shape (q,), in [0, 1]
    """
    if not equal_weights(cells):
        reached = cells.cumulative_weight[1:]
        # The prefix sums' rounding must not push a level that is met exactly to the next score.
        wanted = level * reached[-1] * (1.0 - 1e-12)
        at = np.searchsorted(reached, wanted, side="left")
        return cells.score[np.minimum(at, len(reached) - 1)]
    last = cells.cumulative_rows[-1] - 1.0
    position = last * level
    below = np.floor(position)
    low, high = _order_statistic(cells, below), _order_statistic(cells, np.minimum(below + 1, last))
    share = position - below
    # Written as NumPy's own interpolation is: other orders of the operations round otherwise.
    upper_half = high - (high - low) * (1.0 - share)
    return np.where(share >= 0.5, upper_half, low + (high - low) * share)


def equal_weights(cells: Cells) -> bool:
    """Whether all rows have the same weight: only then (sum w)^2 / sum w^2 is their number."""
    effective = cells.total_weight**2 / cells.total_weight_sq
    return math.isclose(effective, cells.cumulative_rows[-1], rel_tol=1e-11)


def _order_statistic(cells: Cells, rank: FloatArray) -> FloatArray:
    return cells.score[np.searchsorted(cells.cumulative_rows[1:], rank, side="right")]


def _freedman_diaconis(cells: Cells) -> FloatArray:
    low, high = float(cells.score[0]), float(cells.score[-1])
    if low == high:
        return np.array([low - 0.5, high + 0.5])
    upper, lower = quantiles(cells, np.array([0.75, 0.25]))
    width = 2.0 * (upper - lower) * cells.cumulative_rows[-1] ** (-1.0 / 3.0)
    n_bins = min(math.ceil((high - low) / width), MOST_FD_BINS) if width > 0.0 else 1
    return np.linspace(low, high, n_bins + 1)
