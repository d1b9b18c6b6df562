"""ScoreCells: the packed sort, the sums, and the door that refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.data.cells import ScoreCells
from calib.data.checks import check_classes

HOSTILE = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e-300, 0.5, np.nextafter(0.5, 1), 1.0]
SCORES = st.one_of(st.sampled_from([*HOSTILE, np.nextafter(1, 0)]), st.floats(0.0, 1.0))
ROWS = st.lists(st.tuples(st.booleans(), SCORES), min_size=1, max_size=50)


@given(ROWS)
def test_packed_sort_is_a_plain_sort(rows):
    outcome, score = map(np.array, zip(*rows, strict=True))
    cells = ScoreCells.from_arrays(outcome, score)
    distinct, cell = np.unique(score + 0.0, return_inverse=True)
    np.testing.assert_array_equal(cells.score, distinct)
    assert not np.signbit(cells.score).any()
    np.testing.assert_array_equal(cells.rows, np.bincount(cell))
    np.testing.assert_array_equal(cells.positive, np.bincount(cell, outcome))


@given(ROWS)
def test_weights_of_one_are_no_weights(rows):
    outcome, score = map(np.array, zip(*rows, strict=True))
    plain = ScoreCells.from_arrays(outcome, score)
    weighted = ScoreCells.from_arrays(outcome, score, np.ones(len(score)))
    for name in ("score", "rows", "weight", "positive", "weight_sq", "positive_sq"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(weighted, name))


def test_weighted_sums_by_hand():
    cells = ScoreCells.from_arrays([1, 0, 1], [0.7, 0.2, 0.2], [3.0, 0.5, 2.0])
    np.testing.assert_array_equal(cells.score, [0.2, 0.7])
    np.testing.assert_array_equal(cells.rows, [2, 1])
    np.testing.assert_array_equal(cells.weight, [2.5, 3.0])
    np.testing.assert_array_equal(cells.positive, [2.0, 3.0])
    np.testing.assert_array_equal(cells.weight_sq, [4.25, 9.0])
    np.testing.assert_array_equal(cells.positive_sq, [4.0, 9.0])
    np.testing.assert_array_equal(cells.cumulative_weight, [0.0, 2.5, 5.5])
    np.testing.assert_array_equal(cells.cumulative_weight_sq, [0.0, 4.25, 13.25])
    np.testing.assert_array_equal(cells.cumulative_rows, [0, 2, 3])
    assert cells.n_rows == 3
    assert cells.mean_score == pytest.approx((2.5 * 0.2 + 3.0 * 0.7) / 5.5)


@pytest.mark.parametrize(
    "outcomes",
    [
        [0, 1, 1],
        [False, True, True],
        [0, True, np.int64(1)],
        [np.float64(0.0), 1.0, np.bool_(True)],
    ],
)
def test_objects_that_are_outcomes_are_outcomes(outcomes):
    boxed = np.array(outcomes, dtype=object)
    cells = ScoreCells.from_arrays(boxed, np.array([0.2, 0.4, 0.6], dtype=object))
    np.testing.assert_array_equal(cells.positive, [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(check_classes(boxed, 2), [0, 1, 1])


def test_scores_given_are_left_alone():
    score = np.array([0.7, 0.2])
    ScoreCells.from_arrays([1, 0], score)
    np.testing.assert_array_equal(score, [0.7, 0.2])


def test_cells_are_read_only(texts):
    cells = ScoreCells.from_arrays([1, 0], [0.7, 0.2])
    with texts.raises(ValueError):
        cells.weight[0] = 2.0


@pytest.mark.parametrize(
    "arguments",
    [
        ([0, 2], [0.1, 0.2]),
        (np.array([0, "1"], object), [0.1, 0.2]),
        (["0", "1"], [0.1, 0.2]),
        ([0, 1], [0.1, 1.5]),
        ([0, 1], [0.1, np.nan]),
        ([0, 1], [0.1]),
        ([], []),
        ([0, 1], [[0.1], [0.2]]),
        ([0, 1], ["a", "b"]),
        ([0, 1], [0.1, 0.2], [1.0, 0.0]),
        ([0, 1], [0.1, 0.2], [1.0, np.inf]),
        ([0, 1], [0.1, 0.2], [1.0, 1e300]),
        ([0, 1], [0.1, 0.2], [1.0, 1e-300]),
        ([0, 1], [0.1, 0.2], [1e9, 1e-9]),
    ],
)
def test_errors_are_sentences(arguments, texts):
    with texts.raises(ValueError):
        ScoreCells.from_arrays(*arguments)


def test_the_variance_prefix_is_that_of_the_null():
    cells = ScoreCells.from_arrays([0, 1, 1, 0], [0.1, 0.1, 0.4, 1.0], [1.0, 2.0, 3.0, 4.0])
    expected = [0.0, (1 + 4) * 0.1 * 0.9, (1 + 4) * 0.1 * 0.9 + 9 * 0.4 * 0.6]
    np.testing.assert_allclose(cells.cumulative_variance, [*expected, expected[-1]], rtol=1e-14)
    assert cells.total_weight_sq == 30.0


def test_on_the_grid_equal_weights_stay_one_array():
    rng = np.random.default_rng(3)
    score = rng.random(60_000)
    cells = ScoreCells.from_arrays(rng.random(60_000) < score, score).on_grid()
    assert cells.rows is cells.weight is cells.weight_sq
    assert cells.positive is cells.positive_sq
    weighted = ScoreCells.from_arrays([0, 1, 1], [0.2, 0.2, 0.4], [1.0, 2.0, 3.0]).on_grid()
    np.testing.assert_allclose(weighted.rows, [2.0, 1.0])
    np.testing.assert_allclose(weighted.weight_sq, [5.0, 9.0])
    np.testing.assert_allclose(weighted.positive_sq, [4.0, 9.0])
