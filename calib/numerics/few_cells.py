"""Fewer cells: buckets for fits, and runs of cells from which bins are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray, IntArray, Locked, thin_indices
from calib.numerics.binning import quantile_cells
from calib.numerics.cells import Cells

RELATIVE_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Buckets(Locked):
    """Runs of neighbouring cells; arrays of shape (m,)."""

    x: FloatArray  # The position is the weighted mean of the cells' positions.
    weight: FloatArray
    positive: FloatArray
    starts: IntArray  # A bucket starts with this cell.

    def row_weight(self, weight_sq: FloatArray) -> FloatArray:
        """Weight of a typical row of each bucket, from the sums of squared row weights by cell."""
        return np.add.reduceat(weight_sq, self.starts) / self.weight


def into_buckets(
    x: FloatArray, weight: FloatArray, positive: FloatArray, most: int = 1024
) -> Buckets:
    """Sum cells, by position x in order, into about `most` buckets; few cells do not change.

    >>> ones = np.ones(10)
    >>> into_buckets(np.arange(10.0), ones, ones, 4).x
    array([2., 7.])
    """
    starts = bucket_starts(x, weight, most)
    if len(starts) == len(x):
        return Buckets(x, weight, positive, starts)
    total = np.add.reduceat(weight, starts)
    mean = bucket_means(x, weight, starts)
    return Buckets(mean, total, np.add.reduceat(positive, starts), starts)


def bucket_means(
    x: FloatArray, weight: FloatArray, starts: IntArray | NDArray[np.intp]
) -> FloatArray:
    """Weighted mean position of each bucket, which is never outside of the bucket.

    The positions x do not decrease. A bucket of one cell, or of equal positions, has that position.
    Rounding alone would move the mean just beyond them, where a spline on these cells has no value.

    >>> bucket_means(np.full(3, 0.1), np.ones(3), np.array([0])), (0.1 + 0.1 + 0.1) / 3.0
    (array([0.1]), 0.10000000000000002)
    """
    mean = np.add.reduceat(weight * x, starts) / np.add.reduceat(weight, starts)
    return np.clip(mean, x[starts], x[np.append(starts[1:], len(x)) - 1])


def bucket_starts(x: FloatArray, weight: FloatArray, most: int) -> IntArray:
    """First cell of each bucket when sorted cells are cut into at most about `most` buckets.

    Half of the cuts are even on the axis, half hold equal weight: a tail is not lumped together and
    neither is a peak. The positions x do not decrease, and `most` is at least 2.

    >>> bucket_starts(np.linspace(0.0, 1.0, 100), np.ones(100), 4)
    array([ 0, 50])
    """
    if len(x) <= most:
        return np.arange(len(x))
    half = most // 2
    # Steps between scores of 1e-320 are rounded, and would lead beyond the last position.
    cuts = np.minimum(np.linspace(x[0], x[-1], half, endpoint=False), x[-1])
    even = np.searchsorted(x, cuts)
    cumulative = np.cumsum(weight)
    # The factor makes sums that equal a share up to rounding independent of the weights' unit.
    shares = np.arange(half) * (cumulative[-1] / half) * (1.0 + RELATIVE_ROUNDING)
    heavy = np.searchsorted(cumulative, shares, side="right")
    return np.unique(np.concatenate([even, heavy]))


MAX_EXACT_BINS = 100
N_BRUSH_STEPS = 1000  # A brush on a linear axis moves in thousandths of the score.
MAX_CURVE_POINTS = 900


@dataclass(frozen=True, slots=True, eq=False)
class CellRuns(Locked):
    """Sums over runs of neighbouring cells, in increasing order of score; arrays of shape (r,)."""

    low: FloatArray  # The bounds are the lowest and the highest score of the run.
    high: FloatArray
    rows: FloatArray
    weight: FloatArray
    weight_sq: FloatArray
    positive: FloatArray
    score_sum: FloatArray  # The sum is that of weight times score.

    def __len__(self) -> int:
        return len(self.low)

    @property
    def are_cells(self) -> bool:
        """Whether each run is a single cell, so that nothing is lost."""
        return bool((self.low == self.high).all())


def cell_runs(cells: Cells, most: int = 8192) -> CellRuns:
    """Join neighbouring cells into at most about `most` runs. Up to `most` cells, nothing changes.

    Runs end at every edge of 2 to 100 uniform bins and of 2 to 100 quantile bins, so that the sums
    of these bins are exact. They also end at the highest and the lowest cumulative difference, so
    that the KS error is exact. If there is room, they end at thousandths of the score and at the
    points by which a curve is drawn.

    >>> from calib.data.cells import ScoreCells
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(50_000)
    >>> runs = cell_runs(ScoreCells.from_arrays(rng.random(50_000) < score, score))
    >>> len(runs) <= 8192, float(runs.rows.sum())
    (True, 50000.0)
    """
    n = len(cells.score)
    first = np.arange(n) if n <= most else _starts(cells, most)
    last = np.append(first[1:], n) - 1

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, first)

    return CellRuns(
        low=cells.score[first],
        high=cells.score[last],
        rows=total(cells.rows),
        weight=total(cells.weight),
        weight_sq=total(cells.weight_sq),
        positive=total(cells.positive),
        score_sum=total(cells.weight * cells.score),
    )


def _starts(cells: Cells, most: int) -> IntArray:
    """First cells of the runs."""
    n = len(cells.score)
    difference = (cells.cumulative_positive - cells.cumulative_score)[1:]
    needed = [np.array([0, difference.argmax() + 1, difference.argmin() + 1])]
    for n_bins in range(2, MAX_EXACT_BINS + 1):
        share = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
        needed.append(np.searchsorted(cells.score, share, side="right"))
        needed.append(quantile_cells(cells, share) + 1)
    starts = np.unique(np.concatenate(needed))
    steps = np.searchsorted(cells.score, np.linspace(0.0, 1.0, N_BRUSH_STEPS + 1), side="right")
    for more in (steps, thin_indices(difference, MAX_CURVE_POINTS) + 1):
        wider = np.union1d(starts, more)
        starts = wider if len(wider) <= most else starts
    return starts[starts < n].astype(np.int64)
