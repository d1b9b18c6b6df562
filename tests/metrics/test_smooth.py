"""Smooth ECE and the sweep against their definitions, written plainly."""

import numpy as np
import pytest
from scipy.stats import norm

from calib import metrics

RNG = np.random.default_rng(14)


def smooth_error(outcome, score, sigma):
    """Integral of abs(mean of (y - s) K(t, s)), K reflected, by the midpoint rule."""
    t = (np.arange(1000) + 0.5) / 1000
    images = np.stack([score, -score, 2.0 - score], axis=1)
    kernel = norm.pdf(t[:, None, None], images, sigma).sum(axis=2)
    return np.abs(kernel @ (outcome - score)).mean() / len(score)


@pytest.mark.parametrize("power", [1.6, 3.0])
def test_the_bandwidth_agrees_with_its_own_error(power):
    score = RNG.random(100)
    outcome = RNG.random(100) < score**power
    found = metrics.smooth_calibration_error(outcome, score)
    sigmas = np.arange(1, 1024) / 1024
    agreed = next(sigma for sigma in sigmas if smooth_error(outcome, score, sigma) <= sigma)
    # The definition's integral against 200 readings of a grid.
    assert found == pytest.approx(smooth_error(outcome, score, agreed), rel=5e-3)


def test_a_constant_gap_is_found_whole():
    assert metrics.smooth_calibration_error([0] * 50, [0.3] * 50) == pytest.approx(0.3, abs=1e-3)


def sweep(outcome, score):
    """Algorithm 1 of Roelofs et al. on scores without ties, bins at numpy.quantile."""
    kept = None
    for n_bins in range(1, len(score) + 1):
        inner = np.quantile(score, np.linspace(0, 1, n_bins + 1))[1:-1]
        number = (inner < score[:, None]).sum(axis=1)
        used = np.unique(number)
        rates = [outcome[number == b].mean() for b in used]
        if any(np.diff(rates) < 0):
            return kept
        kept = sum(abs((outcome - score)[number == b].sum()) for b in used) / len(score)
    return kept


@pytest.mark.parametrize("n", [1, 2, 30, 300])
def test_sweep(n):
    score = RNG.random(n)
    outcome = RNG.random(n) < score**2
    expected = sweep(outcome, score)
    assert metrics.sweep_calibration_error(outcome, score) == pytest.approx(expected, abs=1e-12)


def test_sweep_of_separated_classes_ends():
    score = np.linspace(0.0, 1.0, 5000)
    assert 0.2 < metrics.sweep_calibration_error(score > 0.5, score) < 0.26
