"""Residuals on a grid of [0, 1], smoothed by a Gaussian kernel that the ends reflect."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve

from calib.numerics.arrays import FloatArray


def spread_on_grid(
    x: FloatArray, total: FloatArray, moment: FloatArray, n_points: int
) -> FloatArray:
    """Share each value between the two grid points beside it, by nearness.

    From prefix sums, so that another grid costs its points and not the values.

    Parameters
    ----------
    x : ndarray of shape (k,), in [0, 1], increasing
    total, moment : ndarray of shape (k + 1,)
        Prefix sums of the values, and of the values times x, with the leading 0.
    n_points : int
        Points of the grid from 0 to 1; at least 2.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    Values of 4 at 0.25 and of 1 at 1:

    >>> import numpy as np
    >>> x, total, moment = np.array([0.25, 1.0]), np.array([0.0, 4, 5]), np.array([0.0, 1, 2])
    >>> spread_on_grid(x, total, moment, 3)
    array([2., 2., 1.])
    """
    left = np.arange(n_points - 1)
    inner = np.searchsorted(x, left[1:] / (n_points - 1))
    ends = np.concatenate([[0], inner, [len(x)]])
    value = np.diff(total[ends])
    to_the_right = (n_points - 1) * np.diff(moment[ends]) - left * value
    return np.append(value - to_the_right, 0.0) + np.append(0.0, to_the_right)


def smooth_reflected(grid: FloatArray, bandwidth: float) -> FloatArray:
    """Convolve values on a grid of [0, 1] with a Gaussian; what leaves an end comes back.

    Parameters
    ----------
    grid : ndarray of shape (m,)
    bandwidth : float
        Standard deviation of the Gaussian, which is cut at a distance of 1/2.

    Returns
    -------
    ndarray of shape (m,)
        A density: its mean is the sum of `grid`, but for the cut.
    """
    m = len(grid)
    t = np.linspace(-0.5, 0.5, m)
    kernel = np.exp(-0.5 * (t / bandwidth) ** 2) / (np.sqrt(2.0 * np.pi) * bandwidth)
    mirrored = np.concatenate([grid[:0:-1], grid, grid[-2::-1]])
    return fftconvolve(mirrored, kernel, "valid")[m // 2 : m // 2 + m]
