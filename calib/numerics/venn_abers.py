"""Inductive Venn-Abers predictors for all scores at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray

Places = NDArray[np.intp]


def upper_steps(x: FloatArray, y: FloatArray, ends: Places) -> tuple[Places, FloatArray]:
    """Isotonic fit at a new row of outcome 1, for every place it can take among sorted cells.

    Place j is the score of cell j, or between those of cells j - 1 and j; place k is above all.
    The fit at the new row is the slope of the convex minorant of the cumulative-sum diagram there.
    A new positive lifts all points to its right by (1, 1): its block may lose cells on the left
    and pool blocks on the right. With P_j the points of the diagram and B the block of place j,
    the value is

        min over block ends b of B and after, max over a in B with a <= j,
            of the slope from P_a to P_b + (1, 1).

    A running maximum serves all places of a block. It rises at few a, and where a further block is
    pooled no other a can matter: the slope to its end is lower, so it touches P further left.

    Parameters
    ----------
    x, y : ndarray of shape (k + 1,)
        Prefix sums of weight and of positive weight, from 0.
    ends : ndarray of int, shape (b + 1,)
        Edges of the blocks of the isotonic fit, as of `increasing_blocks`.

    Returns
    -------
    first : ndarray of int, shape (u,)
    value : ndarray of shape (u,)
        The fit is ``value[i]`` from place ``first[i]`` to the place before ``first[i + 1]``; it
        increases, and ends at 1.

    References
    ----------
    Vovk, Petej, Fedorova 2015, "Large-scale probabilistic predictors with and without guarantees
    of validity", arXiv:1511.00213.

    Examples
    --------
    Scores with outcomes 0 and 1: a new 1 at or below the first score joins its 0.

    >>> import numpy as np
    >>> upper_steps(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0]), np.array([0, 1, 2]))
    (array([0, 1]), array([0.5, 1. ]))
    """
    rates = np.diff(y[ends]) / np.diff(x[ends])
    steps = [
        _block_steps(x, y, int(ends[b]), ends[b + 1 :], rates[b + 1 :]) for b in range(len(rates))
    ]
    first = np.concatenate([*(places for places, _ in steps), [len(x) - 1]])
    value = np.concatenate([*(values for _, values in steps), [1.0]])
    # Equal fits may differ in the last digit, since each slope is rounded by itself.
    value = np.minimum(np.maximum.accumulate(value), 1.0)
    rises = np.concatenate([[True], value[1:] > value[:-1]])
    return first[rises], value[rises]


def _block_steps(
    x: FloatArray, y: FloatArray, start: int, ends: Places, rates: FloatArray
) -> tuple[Places, FloatArray]:
    """Steps within one block; `ends` begins with its own end, `rates` with that of the next."""

    def slope(places: Places | slice, end: int) -> FloatArray:
        return (y[end] + 1.0 - y[places]) / (x[end] + 1.0 - x[places])

    slopes = slope(slice(start, ends[0]), ends[0])
    record = np.flatnonzero(slopes >= np.maximum.accumulate(slopes))
    value, places = slopes[record], record + start
    for end, rate in zip(ends[1:], rates, strict=True):
        pooled = int(np.searchsorted(value, rate, side="right"))
        if pooled == len(value):
            break
        value[pooled:] = np.maximum.accumulate(slope(places, end))[pooled:]
    return places, value
