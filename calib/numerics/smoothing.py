"""Residuals on a grid of [0, 1], smoothed by a Gaussian kernel that the ends reflect."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve

from calib.numerics.arrays import FloatArray


def spread_on_grid(x: FloatArray, value: FloatArray, n_points: int) -> FloatArray:
    """Share each value between the two grid points beside it, by nearness.

    Parameters
    ----------
    x : ndarray of shape (k,), in [0, 1]
    value : ndarray of shape (k,)
    n_points : int
        Points of the grid from 0 to 1.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> spread_on_grid(np.array([0.25, 1.0]), np.array([4.0, 1.0]), 3)
    array([2., 2., 1.])
    """
    position = x * (n_points - 1)
    left = np.minimum(position.astype(np.int64), n_points - 2)
    right_share = (position - left) * value
    grid = np.bincount(left, value - right_share, minlength=n_points).astype(np.float64)
    grid[1:] += np.bincount(left, right_share, minlength=n_points)[:-1]
    return grid


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
