"""Smoothing on a grid against the kernel written out."""

import numpy as np
from scipy.stats import norm

from calib.metrics.smooth import (
    absolute_integral,
    cosine_sums,
    halved,
    smooth_reflected,
    spread_on_grid,
)


def test_each_value_is_shared_by_nearness():
    x, value = np.array([0.0, 0.1, 0.26, 0.5, 1.0]), np.array([1.0, 2.0, -3.0, 5.0, 7.0])
    expected = [np.sum(value * np.maximum(0.0, 1.0 - 4.0 * abs(x - at))) for at in np.arange(5) / 4]
    np.testing.assert_allclose(spread_on_grid(x, value, 4), expected, atol=1e-12)


def test_spreading_keeps_the_sum_and_the_mean_and_adds_no_mass():
    rng = np.random.default_rng(6)
    x, value = np.sort(rng.random(100)), rng.normal(size=100)
    grid = spread_on_grid(x, value, 30)
    np.testing.assert_allclose(grid.sum(), value.sum())
    np.testing.assert_allclose(grid @ np.linspace(0, 1, 31), value @ x)
    assert np.abs(grid).sum() <= np.abs(value).sum()


def test_the_kernel_is_reflected_at_both_ends_with_all_images():
    t = np.linspace(0.0, 1.0, 1001)
    for bandwidth in (0.003, 0.05, 0.4, 1.0):
        for at in (0, 30, 970, 1000):
            grid = np.zeros(1001)
            grid[at] = 1.0
            images = [sign * t[at] + 2.0 * k for k in range(-9, 10) for sign in (1, -1)]
            expected = sum(norm.pdf(t, image, bandwidth) for image in images)
            smoothed, integral = smooth_reflected(cosine_sums(grid), bandwidth, 1000)
            np.testing.assert_allclose(smoothed, expected, atol=1e-10 / bandwidth)
            below = sum(norm.cdf(t, image, bandwidth) for image in images)
            np.testing.assert_allclose(integral, below - below[0], atol=1e-10 / bandwidth)
            assert abs(absolute_integral(smoothed, integral) - 1.0) < 1e-12


def test_lines_that_cross_zero_are_two_triangles():
    values = np.array([3.0, -1.0, -1.0, 0.0, 2.0])
    fine = np.abs(np.interp(np.linspace(0, 4, 400_001), np.arange(5), values))
    integral = np.append(0.0, np.cumsum(values[1:] + values[:-1])) / 8.0
    assert abs(absolute_integral(values, integral) - fine.mean()) < 1e-5


def test_half_of_a_grid_has_the_masses_that_were_spread_on_it():
    x, value = np.random.default_rng(1).random(50), np.random.default_rng(2).normal(size=50)
    fine, coarse = (spread_on_grid(x, value, n) for n in (64, 16))
    np.testing.assert_allclose(halved(halved(fine)), coarse, atol=1e-12)
