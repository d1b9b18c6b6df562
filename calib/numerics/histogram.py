"""The histogram of scores that a reliability diagram shows on its shared axis."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray
from calib.numerics.binning import bin_starts

N_BARS = 50


def score_histogram(score: FloatArray, weight: FloatArray) -> FloatArray:
    """Weight of the scores in 50 equal, right-closed intervals of [0, 1].

    Parameters
    ----------
    score : ndarray of shape (k,), increasing, in [0, 1]
    weight : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (50,)

    Examples
    --------
    >>> import numpy as np
    >>> score_histogram(np.array([0.0, 0.01, 0.99]), np.array([1.0, 2.0, 4.0]))[[0, 1, -1]]
    array([3., 0., 4.])
    """
    prefix = np.concatenate([[0.0], np.cumsum(weight)])
    return np.diff(prefix[bin_starts(score, np.linspace(0.0, 1.0, N_BARS + 1))])
