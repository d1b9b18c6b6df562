"""The ranked probability score: against published parts, scoringrules and another formula."""

import numpy as np
import pytest

import calib
from calib.data.predictions import Predictions
from calib.features.automate.levels import at_least, ordered_levels, row_rps

SCORES = np.array(
    [
        *([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]),
        *([0.05, 0.15, 0.8], [0.5, 0.4, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]),
    ]
)
LEVEL = np.array([0, 1, 2, 0, 2, 1, 1, 1])
ROWS = [0.17, 0.13, 0.1, 0.58, 0.0425, 0.26, 0.37, 0.5]


def drawn(n=400, n_levels=5, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(n_levels), n)
    return scores, (rng.random(n)[:, None] > scores.cumsum(axis=1)).sum(axis=1)


def test_the_parts_of_a_small_table_are_those_by_hand():
    np.testing.assert_allclose(row_rps(SCORES, LEVEL), ROWS, rtol=0, atol=1e-15)
    parts = ordered_levels(Predictions.from_arrays(LEVEL, SCORES))
    assert parts.ranked_probability_score == pytest.approx(0.2690625, abs=1e-15)
    frame = parts.frame()
    first = frame.loc["at least 1", ["score", "reliability", "resolution", "uncertainty"]]
    np.testing.assert_allclose(first, [0.1653125, 0.1028125, 0.125, 0.1875], atol=1e-14)
    second = frame.loc["at least 2", ["score", "reliability", "resolution", "uncertainty"]]
    np.testing.assert_allclose(second, [0.10375, 0.04125, 0.125, 0.1875], atol=1e-14)
    total = frame.loc["sum", ["reliability", "resolution", "uncertainty"]]
    np.testing.assert_allclose(total, [0.1440625, 0.25, 0.375], atol=1e-14)
    isotonic = frame.loc["sum", ["miscalibration", "discrimination"]]
    np.testing.assert_allclose(isotonic, [0.0815625, 0.1875], atol=1e-14)


@pytest.mark.parametrize("n_levels", [2, 3, 10])
def test_the_score_is_an_expected_distance_less_half_of_that_of_two_draws(n_levels):
    """RPS = E|X - y| - E|X - X'| / 2 for independent X and X' of the stated distribution."""
    scores, level = drawn(n_levels=n_levels)
    place = np.arange(n_levels)
    to_outcome = np.einsum("ij,ij->i", scores, np.abs(place - level[:, None]))
    between = np.einsum("ij,jk,ik->i", scores, np.abs(place[:, None] - place), scores)
    expected = to_outcome - between / 2.0
    np.testing.assert_allclose(row_rps(scores, level), expected, rtol=0, atol=1e-12)
    parts = ordered_levels(Predictions.from_arrays(level, scores))
    assert parts.ranked_probability_score == pytest.approx(expected.mean(), abs=1e-12)


def test_the_score_is_that_of_scoringrules():
    rules = pytest.importorskip("scoringrules", reason="scoringrules is not installed")
    scores, level = drawn()
    # Levels are counted from 1 there.
    expected = rules.rps_score(level + 1, scores)
    np.testing.assert_allclose(row_rps(scores, level), expected, rtol=0, atol=1e-12)


def test_each_decomposition_adds_up():
    scores, level = drawn()
    rng = np.random.default_rng(1)
    for digits, weight in ((1, None), (2, rng.uniform(0.5, 2.0, 400)), (16, None)):
        rounded = scores.round(digits)
        rounded /= rounded.sum(axis=1, keepdims=True)
        parts = ordered_levels(Predictions.from_arrays(level, rounded, weight))
        by_equal = parts.reliability - parts.resolution + parts.uncertainty
        by_fit = parts.miscalibration - parts.discrimination + parts.uncertainty
        np.testing.assert_allclose(by_equal, parts.score, rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_fit, parts.score, rtol=0, atol=1e-12)
        expected = np.average(row_rps(rounded, level), weights=weight)
        assert parts.ranked_probability_score == pytest.approx(expected, abs=1e-12)


def test_of_two_levels_it_is_the_brier_score():
    scores, level = drawn(n_levels=2)
    parts = ordered_levels(Predictions.from_arrays(level, scores))
    brier = calib.metrics.brier_score(level, scores[:, 1])
    assert parts.ranked_probability_score == pytest.approx(brier, abs=1e-14)


def test_shares_of_annotators_are_rows_of_one_cluster():
    """Three of five annotators say the highest level, and two the one below."""
    scores, level = np.tile([[0.1, 0.2, 0.7]], (5, 1)), np.array([2, 2, 2, 1, 1])
    rows = Predictions.from_arrays(level, scores, group=np.zeros(5))
    parts = ordered_levels(rows)
    expected = (0.9 - 1.0) ** 2 + (0.7 - 0.6) ** 2 + 0.6 * 0.4
    assert parts.ranked_probability_score == pytest.approx(expected, abs=1e-14)
    assert at_least(rows, 2).group.tolist() == [0] * 5


def test_an_event_is_analysed_as_any_predictions():
    scores, level = drawn(2000)
    rows = Predictions.from_arrays(level, scores, class_names=("a", "b", "c", "d", "e"))
    event = at_least(rows, 3)
    np.testing.assert_allclose(event.scores, scores[:, 3:].sum(axis=1), atol=1e-14)
    np.testing.assert_array_equal(event.outcome, level >= 3)
    assert event.class_names[1].split()[-1] == "d"
    assert calib.metrics.spiegelhalter_test(event.outcome, event.scores).p_value > 0.05


@pytest.mark.parametrize("level", [0, 5])
def test_the_lowest_level_and_unknown_ones_have_no_event(level, texts):
    scores, outcome = drawn()
    with texts.raises(ValueError):
        at_least(Predictions.from_arrays(outcome, scores), level)
