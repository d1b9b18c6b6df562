"""Bins of sorted cells: their edges, and the sums of the rows between them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray, Locked
from calib.numerics.cells import Cells

Strategy = Literal["uniform", "quantile", "fd"]
STRATEGIES = ("uniform", "quantile", "fd")
# If half of the scores nearly coincide, the rule of Freedman and Diaconis has no upper limit.
MAX_FD_BINS = 10_000
RELATIVE_ROUNDING = 1e-12  # Prefix sums that differ by less are equal.
# A score that is above an edge by at most 4 units of rounding is the edge. A computed score, such
# as the mean 1/5 of a block of isotonic regression, differs by as much if its rows are added up
# in another order.
EDGE_FACTOR = 1.0 + 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Bins(Locked):
    """The occupied bins of some cells, in increasing order of score; arrays of shape (b,)."""

    # Bins are right-closed, and the first bin is closed on both sides.
    low_edge: FloatArray
    high_edge: FloatArray
    # A bin has the cells ``first:last``.
    first: IntArray
    last: IntArray
    # These are sums over the rows of the bin.
    rows: FloatArray
    weight: FloatArray
    weight_sq: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    n_empty: int  # Bins without rows are only counted.

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def gap(self) -> FloatArray:
        """Observed minus predicted."""
        return self.observed - self.mean_score

    @property
    def effective_rows(self) -> FloatArray:
        """Number of equally weighted rows that would vary as much: (sum w)^2 / sum w^2."""
        square = self.weight**2
        # Differences of prefix sums lose weights that are far smaller than others. No number of
        # rows varies less than equally weighted rows.
        least = np.maximum(self.weight_sq, square / self.rows)
        return np.divide(square, least, out=np.ones(len(self)), where=least > 0.0)


def bin_cells(cells: Cells, n_bins: int, strategy: Strategy) -> Bins:
    """Cut cells into bins and sum each; costs O(bins log cells) once the prefix sums are there."""
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
        # Prefix sums are rounded, so a mean of their differences may leave [0, 1] by 1e-16.
        mean_score=np.clip(total(cells.cumulative_score) / weight, 0.0, 1.0),
        observed=np.clip(positive / weight, 0.0, 1.0),
        n_empty=int((~kept).sum()),
    )


def bin_edges(cells: Cells, n_bins: int, strategy: Strategy) -> FloatArray:
    """Edges of bins over [0, 1].

    "uniform" cuts [0, 1] in equal parts. "quantile" cuts at the inverse of the weighted ECDF (see
    `quantiles`); equal edges merge, the first is 0 and the last is 1. "fd" are the edges of
    ``numpy.histogram_bin_edges(s, "fd")`` (Freedman and Diaconis) with these quantiles, from the
    lowest to the highest score, at most 10,000 bins; only "fd" finds its own number of bins.
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


def edge_ends(edges: FloatArray) -> FloatArray:
    """The largest score that counts as each edge, up to rounding.

    >>> edge_ends(np.array([0.2])) >= 0.2 + 4 * np.spacing(0.2)
    array([ True])
    """
    return edges * EDGE_FACTOR


def bin_starts(score: FloatArray, edges: FloatArray) -> IntArray:
    """Index of the first cell of each bin, and the number of cells: bin b is ``[b]:[b + 1]``.

    Bins are right-closed: a score's bin is the number of interior edges below it. A score that is
    an edge up to rounding is not above it.

    >>> bin_starts(np.array([0.0, 0.5, 0.5000000000000001, 0.7]), np.array([0.0, 0.5, 1.0]))
    array([0, 3, 4])
    """
    starts = np.searchsorted(score, edge_ends(edges[1:-1]), side="right")
    return np.concatenate([[0], starts, [len(score)]]).astype(np.int64)


def quantiles(cells: Cells, level: FloatArray) -> FloatArray:
    """Quantiles of the score over rows: the scores at which the weighted ECDF reaches each level.

    If it reaches a level exactly, the quantile is the mean of that score and the next one, as in
    NumPy's method "averaged_inverted_cdf". In contrast to NumPy's default, a weight of 2 has the
    same effect as two rows, and the unit of the weights does not matter.

    See Hyndman and Fan 1996, doi:10.1080/00031305.1996.10473566, definition 2.

    >>> from calib.data.cells import ScoreCells
    >>> quantiles(ScoreCells.from_arrays([0, 1, 1], [0.2, 0.4, 0.8], [2, 1, 1]), np.array([0.5]))
    array([0.3])
    """
    reached = cells.cumulative_weight[1:]
    low = quantile_cells(cells, level)
    # A level is met exactly if the prefix sum equals it up to rounding.
    met = reached[low] <= level * reached[-1] * (1.0 + RELATIVE_ROUNDING)
    high = np.where(met & (level > 0.0), np.minimum(low + 1, len(reached) - 1), low)
    return 0.5 * (cells.score[low] + cells.score[high])


def quantile_cells(cells: Cells, level: FloatArray) -> IntArray:
    """Positions of the first cells at which the weighted ECDF reaches each level."""
    reached = cells.cumulative_weight[1:]
    # Without the factor, rounding could move a level that is met exactly to the next score.
    wanted = level * reached[-1] * (1.0 - RELATIVE_ROUNDING)
    at = np.searchsorted(reached, wanted, side="left")
    return np.minimum(at, len(reached) - 1).astype(np.int64)


def equal_weights(cells: Cells) -> bool:
    """Whether all rows have the same weight: only then (sum w)^2 / sum w^2 is their number."""
    effective = cells.total_weight**2 / cells.total_weight_sq
    return math.isclose(effective, cells.cumulative_rows[-1], rel_tol=1e-11)


def _freedman_diaconis(cells: Cells) -> FloatArray:
    low, high = float(cells.score[0]), float(cells.score[-1])
    if low == high:
        return np.array([low - 0.5, high + 0.5])
    upper, lower = quantiles(cells, np.array([0.75, 0.25]))
    width = 2.0 * (upper - lower) * cells.cumulative_rows[-1] ** (-1.0 / 3.0)
    n_bins = min(math.ceil((high - low) / width), MAX_FD_BINS) if width > 0.0 else 1
    return np.linspace(low, high, n_bins + 1)


N_HISTOGRAM_BINS = 50


def score_histogram(score: FloatArray, weight: FloatArray) -> FloatArray:
    """Weight of increasing scores in 50 equal, right-closed intervals of [0, 1].

    >>> score_histogram(np.array([0.0, 0.01, 0.99]), np.array([1.0, 2.0, 4.0]))[[0, 1, -1]]
    array([3., 0., 4.])
    """
    prefix = np.concatenate([[0.0], np.cumsum(weight)])
    return np.diff(prefix[bin_starts(score, np.linspace(0.0, 1.0, N_HISTOGRAM_BINS + 1))])
