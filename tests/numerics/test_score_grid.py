"""The fixed grid: increasing, mirrored, with the edges of common bins as cells of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.numerics.score_grid import (
    GRID_STEPS,
    KEY_OF_ONE,
    KEY_OF_ZERO,
    MIN_INNER_KEY,
    PARTS_PER_CELL,
    TAIL_END,
    cell_bounds,
    grid_keys,
    refined_keys,
)

SCORES = st.floats(0.0, 1.0, allow_subnormal=True)


@given(SCORES, SCORES)
def test_a_higher_score_never_has_a_lower_key(one: float, other: float) -> None:
    low, high = sorted((one, other))
    keys = grid_keys(np.array([low, high]))
    assert keys[0] <= keys[1]


@given(SCORES)
def test_every_score_lies_within_its_cell(score: float) -> None:
    key = grid_keys(np.array([score]))
    low, high = cell_bounds(key)
    # The grid rounds by 1e-9 steps.
    assert low[0] - 1e-13 <= score <= high[0] + 1e-13


@given(st.floats(TAIL_END, 0.5))
def test_keys_are_mirrored_at_one_half(score: float) -> None:
    assert grid_keys(np.array([1.0 - score])) == 2 * GRID_STEPS - grid_keys(np.array([score]))


@given(st.floats(5e-324, TAIL_END, exclude_max=True, allow_subnormal=True))
def test_near_zero_a_cell_is_a_fifth_of_a_percent_wide(score: float) -> None:
    low, high = cell_bounds(grid_keys(np.array([score])))
    assert high[0] - low[0] <= 0.002 * high[0] + 1e-300


@pytest.mark.parametrize("n_bins", [10, 12, 15, 20, 25, 50])
def test_edges_of_common_bins_are_cells_of_their_own(n_bins: int) -> None:
    edges = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    just_below, just_above = np.nextafter(edges, 0.0) - 1e-9, np.nextafter(edges, 1.0) + 1e-9
    at = grid_keys(edges)
    assert (at % 2 == 0).all()
    assert (grid_keys(just_below) < at).all()
    assert (grid_keys(just_above) > at).all()


def test_certain_scores_are_alone() -> None:
    keys = grid_keys(np.array([0.0, -0.0, 5e-324, np.nextafter(1.0, 0.0), 1.0]))
    assert keys[0] == keys[1] == KEY_OF_ZERO
    assert keys[4] == KEY_OF_ONE
    assert KEY_OF_ZERO < keys[2] < keys[3] < KEY_OF_ONE


@given(st.lists(SCORES, min_size=2, max_size=20))
def test_parts_of_a_cell_are_in_order(scores: list[float]) -> None:
    score = np.sort(np.array(scores))
    key = grid_keys(score)
    part = refined_keys(score, key)
    assert ((part >= 0) & (part < PARTS_PER_CELL)).all()
    assert (np.diff(key * PARTS_PER_CELL + part) >= 0).all()


def test_the_highest_score_of_a_cell_lies_in_its_last_part() -> None:
    keys = np.arange(MIN_INNER_KEY - 500, MIN_INNER_KEY - 1)
    high = cell_bounds(keys)[1]
    inside = grid_keys(high) == keys  # Rounding puts the other scores into the next cell.
    assert inside.sum() > 100
    assert (refined_keys(high[inside], keys[inside]) == PARTS_PER_CELL - 1).all()
