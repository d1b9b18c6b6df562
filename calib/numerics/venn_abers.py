"""Inductive Venn-Abers predictors for all scores at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray
from calib.numerics.isotonic import increasing_blocks


def upper_probabilities(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Isotonic fit at a new row of outcome 1, for every place it can take among sorted cells.

    The fit's value at the new row is the slope of the cumulative-sum diagram's convex minorant
    there. A new positive lifts all that is to its right by (1, 1), so that its block keeps its
    left end or shortens, and can only pool blocks to its right. With P_j the points of the diagram
    and B the block of cell j, the value is

        min over block ends b of B and after, max over a in B with a <= j,
            of the slope from P_a to P_b + (1, 1).

    The running maximum over a serves every j of a block, so that a fit per place is not needed:
    the cost is a few passes over the cells.

    Parameters
    ----------
    positive, weight : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (k + 1,)
        Entry j holds for a new score equal to that of cell j, or between those of cells j - 1 and
        j; entry k for a score above all. Non-decreasing; the last is 1.

    References
    ----------
    Vovk, Petej, Fedorova 2015, "Large-scale probabilistic predictors with and without guarantees
    of validity", arXiv:1511.00213.

    Examples
    --------
    >>> import numpy as np
    >>> upper_probabilities(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(3)
    array([0.5, 1. , 1. ])
    """
    ends = increasing_blocks(positive / weight, weight)
    x = np.concatenate([[0.0], np.cumsum(weight)])
    y = np.concatenate([[0.0], np.cumsum(positive)])
    upper = np.ones(len(x))
    for block in range(len(ends) - 1):
        inside = slice(ends[block], ends[block + 1])
        upper[inside] = _block(x, y, inside, ends[block + 1 :])
    # Slopes are rounded one by one, and fits that should be equal may differ in the last digit.
    return np.minimum(np.maximum.accumulate(upper), 1.0)


def lower_probabilities(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Isotonic fit at a new row of outcome 0: the same with both classes and the order exchanged.

    Returns
    -------
    ndarray of shape (k + 1,)
        Entry j holds for a new score equal to that of cell j - 1, or between those of cells j - 1
        and j; entry 0 for a score below all. Non-decreasing; the first is 0.

    Examples
    --------
    >>> import numpy as np
    >>> lower_probabilities(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(3)
    array([0. , 0. , 0.5])
    """
    return 1.0 - upper_probabilities((weight - positive)[::-1], weight[::-1])[::-1]


def _block(x: FloatArray, y: FloatArray, inside: slice, ends: NDArray[np.intp]) -> FloatArray:
    least: FloatArray | None = None
    for end in ends:
        slope = (y[end] + 1.0 - y[inside]) / (x[end] + 1.0 - x[inside])
        reached = np.maximum.accumulate(slope)
        if least is None:
            least = reached
            continue
        # The last place has the steepest fit and so pools furthest.
        if reached[-1] > least[-1]:
            break
        np.minimum(least, reached, out=least)
    assert least is not None
    return least
