"""Counts that are split into folds: exact totals, and the spread that shuffled rows have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.numerics import resampling
from calib.numerics.resampling import split_counts


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(2, 20), st.integers(0, 5))
def test_every_row_is_dealt_once_and_folds_differ_by_one(
    count: list[int], n_folds: int, seed: int
) -> None:
    cells = np.array(count)
    parts = split_counts(cells, n_folds, np.random.default_rng(seed))
    assert (parts >= 0).all()
    assert (parts.sum(axis=0) == cells).all()
    assert np.ptp(parts.sum(axis=1)) <= 1


def test_the_extra_rows_of_both_outcomes_go_to_different_folds() -> None:
    rng = np.random.default_rng(0)
    first = split_counts(np.array([7]), 5, rng).sum(axis=1)
    last = split_counts(np.array([8]), 5, rng, extra_first=False).sum(axis=1)
    assert first.tolist() == [2, 2, 1, 1, 1]
    assert last.tolist() == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("few", [0, 1000])
def test_a_cell_varies_over_folds_as_shuffled_rows_do(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mean and variance of a hypergeometric number, from their textbook formulas."""
    monkeypatch.setattr(resampling, "MAX_SHUFFLED_ROWS_PER_CELL", few)
    count, n_folds, repeats = np.array([30, 70, 100]), 4, 4000
    rng = np.random.default_rng(1)
    drawn = np.array([split_counts(count, n_folds, rng) for _ in range(repeats)])
    total, size = 200, 50
    share = count / total
    variance = size * share * (1 - share) * (total - size) / (total - 1)
    assert drawn.mean(axis=0) == pytest.approx(np.tile(count / n_folds, (4, 1)), abs=0.25)
    assert drawn.var(axis=0) == pytest.approx(np.tile(variance, (4, 1)), rel=0.1)


def test_more_rows_than_one_urn_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_URN_ROWS", 100)
    count = np.array([500, 3, 1001])
    parts = split_counts(count, 4, np.random.default_rng(0))
    assert (parts.sum(axis=0) == count).all()
    assert np.ptp(parts.sum(axis=1)) <= 1
