"""Smooth ECE and the sweep against their definitions, written plainly."""

import time

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import erf
from scipy.stats import norm

from calib import metrics
from calib.data.cells import ScoreCells
from tests.rare import rare

RNG = np.random.default_rng(14)


def smooth_error(outcome, score, sigma, n_points=4_000):
    """Integral of abs(mean of (y - s) K(t, s)) by the midpoint rule; K has eight images an end."""
    t = (np.arange(n_points) + 0.5) / n_points
    at, where = np.unique(score, return_inverse=True)
    residual = np.bincount(where, outcome - score)
    density = np.zeros(n_points)
    for shift in range(-8, 10, 2):
        for sign in (1.0, -1.0):
            density += norm.pdf(t[:, None], sign * at + shift, sigma) @ residual
    return np.abs(density).mean() / len(score)


def plain_smooth_error(outcome, score):
    return brentq(lambda sigma: smooth_error(outcome, score, sigma) - sigma, 1e-3, 1.0, xtol=1e-7)


def exact_cells_error(outcome, score):
    _, where = np.unique(score, return_inverse=True)
    return np.abs(np.bincount(where, outcome - score)).sum() / len(score)


def with_ties_at_the_ends(rng, n):
    score = np.where(rng.random(n) < 0.4, rng.choice([0.0, 0.5, 1.0], n), rng.random(n))
    return rng.random(n) < score ** rng.uniform(0.5, 2.0), score


@rare
@pytest.mark.parametrize("power", [1.6, 3.0])
def test_the_bandwidth_agrees_with_its_own_error(power):
    score = RNG.random(100)
    outcome = RNG.random(100) < score**power
    value = metrics.smooth_calibration_error(outcome, score)
    assert value == pytest.approx(plain_smooth_error(outcome, score), abs=1e-5)


def test_masses_at_the_ends_count_in_full():
    for seed in range(2):
        outcome, score = with_ties_at_the_ends(np.random.default_rng(seed), 60)
        # More rows with scores 1 and 0 are wrong than right rows could cancel.
        outcome, score = np.append(outcome, [0] * 9), np.append(score, [1.0] * 6 + [0.9] * 3)
        value = metrics.smooth_calibration_error(outcome, score)
        assert value == pytest.approx(plain_smooth_error(outcome, score), abs=1e-5)


def test_residuals_of_one_sign_are_found_whole():
    outcome, score = [1] * 50 + [0] * 50, [1.0] * 50 + [0.5] * 50
    assert metrics.smooth_calibration_error(outcome, score) == 0.25
    assert smooth_error(np.array(outcome), np.array(score), 0.25) == pytest.approx(0.25, abs=1e-9)
    assert metrics.smooth_calibration_error([0] * 50, [0.3] * 50) == pytest.approx(0.3, abs=1e-12)
    score = RNG.random(500)
    wrong = metrics.smooth_calibration_error(np.ones(500), score)
    assert wrong == pytest.approx(1.0 - score.mean(), abs=1e-12)


def test_never_above_the_error_of_exact_cells_nor_below_the_mean_gap():
    rng = np.random.default_rng(7)
    for n in (1, 2, 5, 50, 300) * 40:
        outcome, score = with_ties_at_the_ends(rng, n)
        value = metrics.smooth_calibration_error(outcome, score)
        assert value <= exact_cells_error(outcome, score) * (1.0 + 1e-12)
        assert value >= abs(np.mean(outcome - score)) - 1e-12


@pytest.mark.parametrize(
    ("error", "distance"), [(0.3, 1e-4), (0.1, 0.01), (1e-2, 1e-3), (1e-3, 1e-4), (1e-4, 1e-5)]
)
def test_two_scores_that_cancel_in_part_have_a_closed_form(error, distance):
    score = np.repeat([0.5 - distance / 2, 0.5 + distance / 2], 2)
    rate = score + np.array([error, error, -error, -error])
    outcome = np.array([1, 0, 1, 0])
    weight = np.where(outcome == 1, rate, 1.0 - rate)
    expected = brentq(lambda x: error * erf(distance / (x * 8**0.5)) - x, 1e-9, 1.0, xtol=1e-12)
    value = metrics.smooth_calibration_error(outcome, score, sample_weight=weight)
    assert value == pytest.approx(expected, abs=max(1.5e-5 * error, 1e-8))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_many_rows_is_that_of_every_wave(weighted):
    rng = np.random.default_rng(11)
    score = rng.beta(0.5, 2.0, 20_000)
    residual = (rng.random(20_000) < score) - score
    weight = rng.random(20_000) + 0.2 if weighted else np.ones(20_000)
    value = metrics.smooth_calibration_error(
        residual > 0.0, score, sample_weight=weight if weighted else None
    )
    share = residual * weight / weight.sum()
    waves = np.pi * np.arange(1, int(9.5 / np.pi / value) + 2)
    kept = np.array([share @ np.cos(wave * score) for wave in waves])
    kept *= np.exp(-0.5 * (waves * value) ** 2)
    at = (np.arange(20_000) + 0.5) / 20_000
    density = share.sum() + 2.0 * sum(k * np.cos(w * at) for k, w in zip(kept, waves, strict=True))
    assert value == pytest.approx(np.abs(density).mean(), abs=1.5e-5 * np.abs(share).sum())


def test_the_error_of_many_rows_is_that_of_their_cells():
    rng = np.random.default_rng(12)
    score = np.where(rng.random(60_000) < 0.3, rng.random(60_000).round(1), rng.random(60_000))
    outcome, weight = rng.random(60_000) < score**1.1, rng.random(60_000) + 0.2
    value = metrics.smooth_calibration_error(outcome, score, sample_weight=weight)
    cells = ScoreCells.from_arrays(outcome, score, weight)
    assert metrics.smooth_calibration_error(cells) == pytest.approx(value, abs=1e-12)


def test_calibrated_to_the_last_row():
    outcome, score = np.repeat([1, 0, 1, 0], [1, 3, 3, 1]), np.repeat([0.25, 0.75], 4)
    assert metrics.smooth_calibration_error(outcome, score) == 0.0


def test_a_million_scores_take_a_moment():
    score = np.random.default_rng(3).random(1_000_000)
    outcome = np.random.default_rng(4).random(1_000_000) < score
    start = time.perf_counter()
    value = metrics.smooth_calibration_error(outcome, score)
    assert time.perf_counter() - start < 2.0
    assert 0.002 < value < 0.005


def sweep(outcome, score):
    """Algorithm 1 of Roelofs et al. on scores without ties."""
    kept = None
    for n_bins in range(1, len(score) + 1):
        levels = np.linspace(0, 1, n_bins + 1)[1:-1]
        inner = np.quantile(score, levels, method="averaged_inverted_cdf")
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
