"""The classes that a row ranks first, and the binary problems that a score matrix poses."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.blocks import row_blocks

# Up to here as many searches for the largest cost less than sorting a row of any length.
FEW = 5


def leading_classes(scores: FloatArray, n_first: int) -> IntArray:
    """The classes with the largest scores of each row; equal scores rank by lower class index.

    Parameters
    ----------
    scores : ndarray of shape (n, m), in [0, 1]
    n_first : int
        From 1 to m.

    Returns
    -------
    ndarray of shape (n, n_first)
        The largest first.

    Examples
    --------
    >>> import numpy as np
    >>> leading_classes(np.array([[0.2, 0.4, 0.4], [0.5, 0.2, 0.3]]), 2)
    array([[1, 2],
           [0, 2]])
    """
    if n_first == 1:
        return scores.argmax(axis=1)[:, None]
    if n_first > FEW:
        return np.argsort(-scores, axis=1, kind="stable")[:, :n_first]
    ranked = np.empty((len(scores), n_first), dtype=np.int64)
    for part in row_blocks(*scores.shape):
        rest, rows = scores[part].copy(), np.arange(part.stop - part.start)
        for place in range(n_first):
            first = rest.argmax(axis=1)
            ranked[part, place] = first
            rest[rows, first] = -1.0
    return ranked


def binary_problem(
    scores: FloatArray, label: IntArray, kind: str, index: int
) -> tuple[FloatArray, BoolArray]:
    """Score and outcome of one binary view of a score matrix.

    Parameters
    ----------
    scores : ndarray of shape (n, m), in [0, 1]
    label : ndarray of int, shape (n,)
    kind : {"class", "top", "within"}
    index : int
        The class, or r of top-r and within-top-r.

    Returns
    -------
    score : ndarray of shape (n,), in [0, 1]
    outcome : ndarray of bool, shape (n,)

    References
    ----------
    Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.
    """
    if kind == "class":
        return np.ascontiguousarray(scores[:, index]), label == index
    ranked = leading_classes(scores, index)
    hit = ranked == label[:, None]
    values = np.take_along_axis(scores, ranked, axis=1)
    if kind == "top":
        return np.ascontiguousarray(values[:, -1]), hit[:, -1]
    return np.minimum(values.sum(axis=1), 1.0), hit.any(axis=1)
