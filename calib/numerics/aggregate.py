"""Many cells into few: buckets along an axis that keep what a smooth fit needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray, Locked

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Buckets(Locked):
    """Runs of neighbouring cells.

    Attributes
    ----------
    x : ndarray of shape (m,)
        Weighted mean position.
    weight, positive : ndarray of shape (m,)
        Total and positive weight.
    starts : ndarray of shape (m,)
        First cell of each bucket.
    """

    x: FloatArray
    weight: FloatArray
    positive: FloatArray
    starts: IntArray

    def row_weight(self, weight_sq: FloatArray) -> FloatArray:
        """Weight of a typical row of each bucket, from the sums of squared row weights by cell."""
        return np.add.reduceat(weight_sq, self.starts) / self.weight


def into_buckets(
    x: FloatArray, weight: FloatArray, positive: FloatArray, most: int = 1024
) -> Buckets:
    """Sum cells into at most about `most` buckets; few cells stay as they are.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Position of each cell, not decreasing.
    weight, positive : ndarray of shape (k,)
    most : int
        At least 2.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.ones(10)
    >>> into_buckets(np.arange(10.0), ones, ones, 4).x
    array([2., 7.])
    """
    starts = bucket_starts(x, weight, most)
    if len(starts) == len(x):
        return Buckets(x, weight, positive, starts)
    total = np.add.reduceat(weight, starts)
    # The mean of equal numbers may round to one just beyond them.
    mean = np.clip(np.add.reduceat(weight * x, starts) / total, x[0], x[-1])
    alone = np.diff(starts, append=len(x)) == 1
    mean[alone] = x[starts[alone]]
    return Buckets(mean, total, np.add.reduceat(positive, starts), starts)


def bucket_starts(x: FloatArray, weight: FloatArray, most: int) -> IntArray:
    """First cell of each bucket when sorted cells are cut into at most about `most` buckets.

    Half of the cuts are even on the axis, half hold equal weight: a tail is not lumped together and
    neither is a peak.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Position of each cell, not decreasing.
    weight : ndarray of shape (k,)
    most : int
        At least 2.

    Examples
    --------
    >>> import numpy as np
    >>> bucket_starts(np.linspace(0.0, 1.0, 100), np.ones(100), 4)
    array([ 0, 50])
    """
    if len(x) <= most:
        return np.arange(len(x))
    half = most // 2
    even = np.searchsorted(x, np.linspace(x[0], x[-1], half, endpoint=False))
    cumulative = np.cumsum(weight)
    # Sums that meet a share do so up to rounding, whatever the unit of the weights.
    shares = np.arange(half) * (cumulative[-1] / half) * (1.0 + ROUNDING)
    heavy = np.searchsorted(cumulative, shares, side="right")
    return np.unique(np.concatenate([even, heavy]))
