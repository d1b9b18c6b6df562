"""Masses on [0, 1] smoothed by a Gaussian kernel that both ends reflect, with all its images."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from calib.numerics.arrays import FloatArray

# Factors exp(-x^2/2) beyond are below 1e-19: a smoothed curve has no such fast waves.
LARGEST_EXPONENT = 9.5


def spread_on_grid(x: FloatArray, mass: FloatArray, n_steps: int) -> FloatArray:
    """Share each mass between the two grid points beside it, by nearness.

    Sum and mean stay, and the sum of absolute masses does not grow.

    Parameters
    ----------
    x : ndarray of shape (k,), in [0, 1]
    mass : ndarray of shape (k,)
    n_steps : int
        The grid is 0, 1/n_steps, ..., 1.

    Returns
    -------
    ndarray of shape (n_steps + 1,)

    Examples
    --------
    Masses of 4 at 0.25 and of 1 at 1:

    >>> import numpy as np
    >>> spread_on_grid(np.array([0.25, 1.0]), np.array([4.0, 1.0]), 2)
    array([2., 2., 1.])
    """
    left = np.minimum((x * n_steps).astype(np.int64), n_steps - 1)
    to_the_right = mass * (x * n_steps - left)
    grid = np.zeros(n_steps + 1)
    grid[:-1] = np.bincount(left, mass - to_the_right, n_steps)
    grid[1:] += np.bincount(left, to_the_right, n_steps)
    return grid


def cosine_sums(grid: FloatArray) -> FloatArray:
    """Sums of mass times cos(pi k x) over a grid of [0, 1], for every wave k that the grid has.

    Parameters
    ----------
    grid : ndarray of shape (m + 1,)
        Masses at 0, 1/m, ..., 1.

    Returns
    -------
    ndarray of shape (m + 1,)

    Examples
    --------
    >>> import numpy as np
    >>> cosine_sums(np.array([0.0, 0.0, 3.0])).round(12)
    array([ 3., -3.,  3.])
    """
    halved = 0.5 * grid
    halved[[0, -1]] = grid[[0, -1]]
    return np.asarray(dct(halved, type=1))


def smooth_reflected(sums: FloatArray, bandwidth: float) -> FloatArray:
    """The density of masses convolved with a Gaussian that comes back from both ends for ever.

    Reflected, the Gaussian is even and of period 2, and its cosine series has the weights
    exp(-(pi k bandwidth)^2 / 2): no image is left out, and a mass at an end, which is its own
    image, counts in full.

    Parameters
    ----------
    sums : ndarray of shape (m + 1,)
        Of `cosine_sums`.
    bandwidth : float
        Standard deviation of the Gaussian; at least 3 steps of the grid, which then has all waves
        that matter.

    Returns
    -------
    ndarray of shape (m + 1,)
        Density at 0, 1/m, ..., 1; its integral is the sum of the masses.
    """
    n_waves = min(len(sums), int(LARGEST_EXPONENT / (np.pi * bandwidth)) + 2)
    factor = np.exp(-0.5 * (np.pi * bandwidth * np.arange(n_waves)) ** 2)
    waves = np.zeros(len(sums))
    waves[:n_waves] = sums[:n_waves] * factor
    return np.asarray(dct(waves, type=1))


def absolute_integral(values: FloatArray) -> float:
    """Integral over [0, 1] of the absolute value of the lines between values on a grid.

    Examples
    --------
    >>> import numpy as np
    >>> absolute_integral(np.array([1.0, -1.0, 0.0]))
    0.5
    """
    size = np.abs(values)
    total = size[:-1] + size[1:]
    # Lines that cross 0: two triangles in place of a trapezium.
    crossing = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    lost = size[crossing] * size[crossing + 1] / total[crossing]
    return float(total.sum() / 2.0 - lost.sum()) / (len(values) - 1)
