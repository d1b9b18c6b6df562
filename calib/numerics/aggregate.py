"""Many cells into few: buckets along an axis that keep what a smooth fit needs."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray


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
    shares = np.arange(half) * (cumulative[-1] / half)
    heavy = np.searchsorted(cumulative, shares, side="right")
    return np.unique(np.concatenate([even, heavy]))


def bucket_sums(starts: IntArray, *values: FloatArray) -> list[FloatArray]:
    """Sum of each array over each bucket."""
    if len(starts) == len(values[0]):
        return list(values)
    return [np.add.reduceat(array, starts) for array in values]
