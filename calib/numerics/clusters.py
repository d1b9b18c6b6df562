"""Sums over the clusters that rows come in, part by part."""

from __future__ import annotations

import numpy as np

from calib.numerics.aggregate import into_buckets
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import Cells
from calib.numerics.isotonic import pool_adjacent_violators

STRETCHES = 10  # of scores, of equal weight
# Beyond a straight line over the stretches: what a smooth curve must be told from noise by.
_LINE = np.linalg.qr(np.vander(np.arange(STRETCHES), 2).astype(np.float64))[0]
BENDS = np.eye(STRETCHES) - _LINE @ _LINE.T


def cluster_squares(
    values: FloatArray, part: IntArray, group: IntArray, n_parts: int
) -> tuple[FloatArray, FloatArray]:
    """Squared sums of each cluster's rows in each part, added up by part.

    Parameters
    ----------
    values : ndarray of shape (n,)
    part, group : ndarray of int, shape (n,)
        Part and cluster of each row.
    n_parts : int

    Returns
    -------
    squares, n_clusters : ndarray of shape (n_parts,)
        The sums, and how many clusters have rows in the part.

    Examples
    --------
    >>> import numpy as np
    >>> part, group = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> cluster_squares(np.array([1.0, 2.0, 5.0, 7.0]), part, group, 2)
    (array([34., 49.]), array([2., 1.]))
    """
    n_groups = int(group.max()) + 1
    pairs, code = np.unique(part * n_groups + group, return_inverse=True)
    total, owner = np.bincount(code, values).astype(np.float64), pairs // n_groups
    squares = np.bincount(owner, total * total, minlength=n_parts).astype(np.float64)
    return squares, np.bincount(owner, minlength=n_parts).astype(np.float64)


def mean_design_effects(
    residual: FloatArray, part: IntArray, group: IntArray | None, n_parts: int
) -> FloatArray:
    """How many times as much as with independent rows each part's mean varies, at least once.

    Parameters
    ----------
    residual : ndarray of shape (n,)
        Weight times (value - mean of the part) of each row.
    part : ndarray of int, shape (n,)
    group : ndarray of int, shape (n,), or None
        None where rows are independent: 1 for every part.
    n_parts : int

    Returns
    -------
    ndarray of shape (n_parts,)
        A part that shows no spread, or has one cluster, takes the mean of the others; 1 if there
        are none.

    References
    ----------
    Kish 1965, Survey Sampling.

    Examples
    --------
    >>> import numpy as np
    >>> residual = np.repeat([1.0, -1.0, 1.0, -1.0], 3)
    >>> mean_design_effects(residual, np.zeros(12, int), np.arange(12) // 3, 1).round(1)
    array([4.])
    """
    effect = np.ones(n_parts)
    if group is None:
        return effect
    squares, n = cluster_squares(residual, part, group, n_parts)
    alone = np.bincount(part, residual * residual, minlength=n_parts)
    known = (alone > 0.0) & (n > 1.0)
    effect[known] = np.maximum(1.0, squares[known] / alone[known] * n[known] / (n[known] - 1.0))
    if known.any():
        effect[~known] = np.average(effect[known], weights=n[known])
    return effect


def curve_design_effect(
    cells: Cells,
    score: FloatArray,
    outcome: BoolArray,
    weight: FloatArray,
    weight_sq: FloatArray,
    group: IntArray,
) -> float:
    """How many times as much as with independent rows the bends of a fitted curve vary.

    Rows of a group say the same thing about a curve only where their scores are alike: an outcome
    that is common to a group whose scores are spread moves the whole curve and bends it little. The
    residuals of the best non-decreasing curve are summed by group and tenth of the rows, and what
    is linear over the tenths is taken away. Rows repeated k times as a group give exactly k.

    Parameters
    ----------
    cells : Cells
        Of the rows.
    score, outcome, weight, weight_sq : ndarray of shape (n,)
        The rows, with their weights and squared weights; or entries, with the sums over their rows.
    group : ndarray of int, shape (n,)
        From 0.

    Returns
    -------
    float
        At least 1.
    """
    buckets = into_buckets(cells.score, cells.weight, cells.positive)
    curve = pool_adjacent_violators(buckets.positive / buckets.weight, buckets.weight)
    bucket = np.searchsorted(cells.score[buckets.starts], score, side="right") - 1
    middle = np.cumsum(buckets.weight) - 0.5 * buckets.weight
    stretch = (STRETCHES * middle / cells.total_weight).astype(np.int64)[bucket]
    residual = outcome - curve[bucket]
    if np.abs(residual).max() < 1e-9:  # scores separate the outcomes
        residual = outcome - outcome.mean()
    size = (int(group.max()) + 1, STRETCHES)
    total = np.bincount(group * STRETCHES + stretch, weight * residual, minlength=size[0] * size[1])
    together = np.einsum(
        "gi,ij,gj->", total.reshape(size), BENDS, total.reshape(size), optimize=True
    )
    alone = (weight_sq * np.square(residual)) @ np.diag(BENDS)[stretch]
    return max(1.0, float(together / alone)) if alone > 0.0 else 1.0
