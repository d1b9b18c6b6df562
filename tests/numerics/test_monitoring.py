"""Evidence over time, against formulas and against exact expectations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.numerics.monitoring import (
    BETS,
    e_benjamini_hochberg,
    e_process,
    first_at_least,
    log_increments,
    log_recovery,
    most_likely_bet,
    shiryaev_roberts,
    start_weighted,
)

SHIFTS = (-0.8, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.8)
SLOPES = (0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)


def one_row(score, outcome):
    """The increments of one row."""
    counts = np.array([float(outcome)]), np.array([1.0 - outcome])
    return log_increments(np.zeros(1, int), np.array([float(score)]), *counts, 1)[0]


def drawn(seed, n=500, n_days=9):
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 3, n)
    y = (rng.random(n) < score).astype(float)
    return rng.integers(0, n_days, n), score, y, 1.0 - y


def test_the_bets_are_those_of_the_documentation():
    expected = [*((shift, 1.0) for shift in SHIFTS), *((0.0, slope) for slope in SLOPES)]
    assert BETS.tolist() == [list(bet) for bet in expected]


@pytest.mark.parametrize("p", [0.001, 0.3, 0.97])
def test_a_slope_bet_raises_the_odds_to_its_power(p):
    raised = np.power(p / (1 - p), SLOPES)
    np.testing.assert_allclose(one_row(p, 1)[8:], np.log(raised / (1 + raised) / p), rtol=1e-11)


@pytest.mark.parametrize("p", [0.001, 0.3, 0.5, 0.97])
def test_a_shift_bet_on_a_constant_score_is_that_of_a_known_mean(p):
    """The bet of a mean p has the increment lambda y - log(1 - p + p e^lambda)."""
    for y in (0, 1):
        expected = [shift * y - math.log(1 - p + p * math.exp(shift)) for shift in SHIFTS]
        np.testing.assert_allclose(one_row(p, y)[:8], expected, rtol=1e-11)


@given(st.floats(0.0, 1.0))
def test_each_bet_has_mean_one_if_the_score_is_right(p):
    ratios = np.exp(one_row(p, 1)), np.exp(one_row(p, 0))
    clipped = np.clip(p, np.finfo(float).eps, 1.0 - np.finfo(float).eps)
    np.testing.assert_allclose(clipped * ratios[0] + (1 - clipped) * ratios[1], 1.0, rtol=1e-12)
    # If a score is right and still clipped, the mean is not above 1 either.
    assert (p * ratios[0] + (1 - p) * ratios[1]).max() <= 1.0 + 1e-12


def test_increments_are_sums_over_the_rows_of_a_day_in_any_order():
    day, score, y, n = drawn(0)
    whole = log_increments(day, score, y, n, 10)
    rows = np.array([one_row(s, o) for s, o in zip(score, y, strict=True)])
    for position in range(10):
        np.testing.assert_allclose(whole[position], rows[day == position].sum(axis=0), atol=1e-11)
    assert (whole[9] == 0.0).all()
    order = np.random.default_rng(1).permutation(len(day))
    moved = log_increments(day[order], score[order], y[order], n[order], 10)
    np.testing.assert_array_equal(whole, moved)


def test_ties_may_be_one_cell_or_several_rows():
    counts = np.array([3.0]), np.array([5.0])
    cell = log_increments(np.zeros(1, int), np.array([0.3]), *counts, 1)
    y = np.array([1.0] * 3 + [0.0] * 5)
    rows = log_increments(np.zeros(8, int), np.full(8, 0.3), y, 1 - y, 1)
    np.testing.assert_allclose(cell, rows, rtol=1e-12)


def test_extremes_are_finite():
    for p in (0.0, 1e-300, 1.0 - 1e-16, 1.0):
        for y in (0, 1):
            assert np.isfinite(one_row(p, y)).all()
    # A certain score that is right is no evidence. One that is wrong is much evidence.
    assert np.abs(one_row(1.0, 1)).max() < 1e-6
    assert one_row(1.0, 0).max() > 15.0
    million = np.array([1e6])
    huge = log_increments(np.zeros(1, int), np.array([0.5]), million, 0 * million, 1)
    for evidence in (start_weighted, shiryaev_roberts, e_process):
        assert np.isfinite(evidence(np.repeat(huge, 1000, axis=0))).all()
        assert np.isfinite(evidence(np.repeat(-huge, 1000, axis=0))).all()


def test_without_rows_or_days():
    empty = np.zeros(0)
    assert (log_increments(np.zeros(0, int), empty, empty, empty, 3) == 0.0).all()
    assert start_weighted(np.zeros((0, 16))).shape == (0,)
    assert first_at_least(np.zeros(0), 20.0) is None


def test_evidence_follows_its_recursion():
    ratio = np.random.default_rng(2).lognormal(0.0, 0.5, (30, 4, 16))
    m, sr, product = np.zeros((4, 16)), np.zeros((4, 16)), np.ones((4, 16))
    for t in range(1, 31):
        m = ratio[t - 1] * (m + 1 / (t * (t + 1)))
        sr = (1 + sr) * ratio[t - 1]
        product = product * ratio[t - 1]
        upto = np.log(ratio[:t])
        np.testing.assert_allclose(start_weighted(upto)[-1], np.log(m.mean(-1)))
        np.testing.assert_allclose(shiryaev_roberts(upto)[-1], np.log(sr.mean(-1)))
        np.testing.assert_allclose(e_process(upto)[-1], np.log(product.mean(-1)))


def test_the_exact_mean_of_all_evidence_over_every_outcome():
    """Four days of two rows with known scores: all 256 outcomes and their probabilities."""
    score = np.array([0.1, 0.6, 0.3, 0.9, 0.02, 0.5, 0.7, 0.45])
    day = np.repeat(np.arange(4), 2)
    means = np.zeros((3, 4))
    for number in range(256):
        y = np.array([number >> i & 1 for i in range(8)], dtype=float)
        chance = np.prod(np.where(y > 0, score, 1 - score))
        increments = log_increments(day, score, y, 1 - y, 4)
        lines = [start_weighted(increments), e_process(increments), shiryaev_roberts(increments)]
        means += chance * np.exp(lines)
    # The mean of the mixture is the sum of the weights so far, t / (t + 1); that of
    # Shiryaev-Roberts is the number of days.
    np.testing.assert_allclose(means[0], [1 / 2, 2 / 3, 3 / 4, 4 / 5])
    np.testing.assert_allclose(means[1], 1.0)
    np.testing.assert_allclose(means[2], [1, 2, 3, 4])


def test_the_most_likely_bet_is_that_of_the_change():
    rng = np.random.default_rng(3)
    day = np.repeat(np.arange(60), 400)
    score = rng.beta(1, 3, len(day))
    odds = score / (1 - score) * np.where(day >= 50, math.exp(0.8), 1.0)
    y = (rng.random(len(day)) < odds / (1 + odds)).astype(float)
    increments = log_increments(day, score, y, 1 - y, 60)
    alarm = first_at_least(start_weighted(increments), 20.0)
    assert alarm is not None
    assert alarm >= 50
    assert BETS[most_likely_bet(increments[: alarm + 1])].tolist() == [0.8, 1.0]


def test_recovery_is_the_evidence_against_the_change():
    increments = np.random.default_rng(5).normal(0.0, 0.2, (20, 16))
    np.testing.assert_allclose(log_recovery(increments, 3), start_weighted(-increments[:, 3:4]))


@given(st.lists(st.floats(-5, 12), min_size=1, max_size=15), st.floats(0.01, 0.5))
def test_e_benjamini_hochberg_against_its_definition(log_evidence, alpha):
    e = np.exp(log_evidence)
    n = len(e)
    most = max(
        [k for k in range(1, n + 1) if np.sort(e)[::-1][k - 1] >= n / (alpha * k)], default=0
    )
    least = np.sort(e)[::-1][most - 1] if most else np.inf
    assert e_benjamini_hochberg(np.array(log_evidence), alpha).tolist() == (e >= least).tolist()


def test_slices_without_days_are_not_tested():
    assert e_benjamini_hochberg(np.array([np.nan, 6.0]), 0.05).tolist() == [False, True]
    assert not e_benjamini_hochberg(np.full(3, np.nan), 0.05).any()
