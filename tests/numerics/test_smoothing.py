"""Smoothing on a grid against the kernel written out."""

import numpy as np
from scipy.stats import norm

from calib.numerics.smoothing import smooth_reflected, spread_on_grid


def spread(x, value, n_points):
    total, moment = (np.append(0.0, np.cumsum(values)) for values in (value, value * x))
    return spread_on_grid(x, total, moment, n_points)


def test_each_value_is_shared_by_nearness():
    x, value = np.array([0.0, 0.1, 0.26, 0.5, 1.0]), np.array([1.0, 2.0, -3.0, 5.0, 7.0])
    expected = [np.sum(value * np.maximum(0.0, 1.0 - 4.0 * abs(x - at))) for at in np.arange(5) / 4]
    np.testing.assert_allclose(spread(x, value, 5), expected, atol=1e-12)


def test_spreading_keeps_the_sum_and_the_mean():
    rng = np.random.default_rng(6)
    x, value = np.sort(rng.random(100)), rng.normal(size=100)
    grid = spread(x, value, 31)
    np.testing.assert_allclose(grid.sum(), value.sum())
    np.testing.assert_allclose(grid @ np.linspace(0, 1, 31), value @ x)


def test_the_kernel_is_reflected_at_both_ends():
    t = np.linspace(0.0, 1.0, 1001)
    for at in (0, 30, 970):
        grid = np.zeros(1001)
        grid[at] = 1.0
        images = [t[at], -t[at], 2.0 - t[at]]
        expected = sum(norm.pdf(t, image, 0.05) for image in images)
        if at == 0:
            expected -= norm.pdf(t, 0.0, 0.05)  # a point on the mirror is its own image
        np.testing.assert_allclose(smooth_reflected(grid, 0.05), expected, atol=1e-12)
