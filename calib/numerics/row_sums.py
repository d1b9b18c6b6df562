"""Rows of class probabilities that are made to sum to 1."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray


def divide_by_sum(calibrated: FloatArray, scores: FloatArray) -> FloatArray:
    """One-vs-rest: divide each calibrated row by its sum; a row of zeros keeps its scores.

    Parameters
    ----------
    calibrated, scores : ndarray of shape (n, m)
        At least 0. Rows of `scores` need not sum to 1.

    Returns
    -------
    ndarray of shape (n, m)
        Rows sum to 1; a row that is zero in both is even.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", Algorithm 3, arXiv:1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> divide_by_sum(np.array([[0.3, 0.3], [0.0, 0.0]]), np.array([[0.7, 0.3], [0.2, 0.8]]))
    array([[0.5, 0.5],
           [0.2, 0.8]])
    """
    rows = np.where(calibrated.sum(axis=1, keepdims=True) > 0.0, calibrated, scores)
    total = rows.sum(axis=1, keepdims=True)
    even = np.full_like(rows, 1.0 / rows.shape[1])
    return np.divide(rows, total, out=even, where=total > 0.0)
