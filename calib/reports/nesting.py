"""Nested slices: one less those inside it must not leave fewer than ten rows.

North less "north, young" is "north, old": where those are too few to be shown, the others must not
show them by subtraction. The same holds for cities and their country, or months and their quarter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray

# Slice, slice of another cut, and how many rows are in both.
Pairs = tuple[IntArray, IntArray, FloatArray]


def pairs_of(codes: IntArray, other: IntArray) -> Pairs:
    """How many rows every two slices of two cuts share.

    Parameters
    ----------
    codes, other : ndarray of int, shape (n,)
        Slice of each row in either cut; rows that are in none of the other's have -1 there.
    """
    width = int(other.max()) + 2
    both, rows = np.unique(codes * width + other + 1, return_counts=True)
    return both // width, both % width, rows.astype(np.float64)


def exposing(group: IntArray, pairs: Sequence[Pairs], least: int) -> int | None:
    """A group of slices by which another cut would show fewer than `least` rows; None if none does.

    Parameters
    ----------
    group : ndarray of int
        Number of the group that each slice is in; groups are what is shown.
    pairs : sequence of (ndarray, ndarray, ndarray)
        Of the slices with those of every other cut that is shown.
    least : int

    Examples
    --------
    >>> sites, cells = np.repeat([0, 1], [50, 40]), np.repeat([0, 1, 2], [46, 12, 32])
    >>> exposing(np.arange(3), [pairs_of(cells, sites)], 10)
    2
    >>> exposing(np.array([0, 1, 1]), [pairs_of(cells, sites)], 10)
    0
    >>> exposing(np.array([0, 0, 0]), [pairs_of(cells, sites)], 10) is None
    True
    """
    for slices, others, rows in pairs:
        mine, theirs, shared = _summed(group[slices], others, rows)
        sizes = np.bincount(mine, shared)
        # What is shown here, taken from a slice of the other cut ...
        inside = shared == sizes[mine]
        bad = _remainders(theirs, shared, inside, least)[theirs] & inside
        if bad.any():
            return int(mine[bad][sizes[mine[bad]].argmin()])
        # ... and the other way round.
        inside = shared == np.bincount(theirs, shared)[theirs]
        remainders = _remainders(mine, shared, inside, least)
        if remainders.any():
            return int(np.flatnonzero(remainders)[0])
    return None


def _summed(mine: IntArray, theirs: IntArray, rows: FloatArray) -> Pairs:
    width = int(theirs.max()) + 1
    both, place = np.unique(mine * width + theirs, return_inverse=True)
    return both // width, both % width, np.bincount(place, rows).astype(np.float64)


def _remainders(of: IntArray, shared: FloatArray, inside: BoolArray, least: int) -> BoolArray:
    """Which slices have few rows left, but some, without those that lie inside them."""
    left = np.bincount(of, shared)
    left -= np.bincount(of[inside], shared[inside], minlength=len(left))
    return (left > 0.0) & (left < least)
