"""Counted rows against loops over the rows."""

import numpy as np
import pytest

from calib.numerics.cells import (
    KEYS_PER_CELL,
    MAX_COUNTED_CODES,
    MAX_METRIC_CHANGE,
    _without_gaps,
    cell_scores,
    count_rows,
    cut_cells,
    heavy_cells,
    merge_entries,
)
from calib.numerics.score_grid import cell_bounds, grid_keys

RNG = np.random.default_rng(7)
# Half of the rows lie in one cell of the grid, and a tenth have the same score.
SCORE = np.concatenate([RNG.random(800), 0.50001 + 2e-5 * RNG.random(1000), np.full(200, 0.25)])
OUTCOME = RNG.random(2000) < 0.4
WEIGHT = RNG.integers(1, 9, 2000) / 8.0
STRATUM = RNG.integers(0, 3, 2000)


def counted(max_scores):
    return count_rows(SCORE, OUTCOME, WEIGHT, STRATUM, max_scores=max_scores)


def by_hand(key):
    """Sums by stratum, key and outcome."""
    rows_of_cell = {}
    for row in zip(STRATUM, key, OUTCOME, WEIGHT, SCORE, strict=True):
        rows_of_cell.setdefault(row[:3], []).append(row[3:])
    rows = []
    for (stratum, cell, outcome), of in sorted(rows_of_cell.items()):
        w, s = np.array(of).T
        rows.append((stratum, cell, outcome, len(w), w.sum(), w @ w, w @ s, s.min(), s.max()))
    return rows


NAMES = ("stratum", "key", "outcome", "rows", "weight", "weight_sq", "score_sum", "low", "high")


def entries(table):
    return list(zip(*(getattr(table, name).tolist() for name in NAMES), strict=True))


def test_rows_are_added_up_by_score():
    table = counted(2000)
    assert table.exact
    np.testing.assert_allclose(entries(table), by_hand(SCORE.view(np.int64)), rtol=1e-12)


@pytest.mark.parametrize("after", [False, True])
def test_rows_are_added_up_by_cell_and_a_heavy_cell_is_cut(after):
    table = counted(2000).bounded() if after else counted(100)
    key = grid_keys(SCORE) * KEYS_PER_CELL
    heavy = key == np.bincount(key).argmax()
    assert heavy.sum() >= 1000
    low, high = cell_bounds(grid_keys(SCORE[heavy]))
    key[heavy] += 1 + np.floor(64 * (SCORE[heavy] - low) / (high - low)).astype(int)
    assert not table.exact
    np.testing.assert_array_equal(
        cut_cells(table), np.unique(key[heavy] // KEYS_PER_CELL * KEYS_PER_CELL)
    )
    np.testing.assert_allclose(entries(table), by_hand(key), rtol=1e-12)
    assert table.bounded() is table
    # The cell's score is the mean over both outcomes and all strata.
    for k in np.unique(key)[::50]:
        inside = key == k
        mean = np.average(SCORE[inside], weights=WEIGHT[inside])
        np.testing.assert_allclose(cell_scores(table)[table.key == k], mean, rtol=1e-12)


def test_a_cell_is_cut_where_its_rows_could_move_auc_or_ks():
    cells = (0.30001, 0.30002), (0.5, 0.5), (0.70001, 0.70002), (0.90001, 0.900011)
    score = np.repeat(np.ravel(cells), [1, 1, 9, 9, 2, 2, 1, 1])
    outcome = np.repeat([0, 0, 0, 1, 1, 1, 0, 1], [1, 1, 9, 9, 2, 2, 1, 1]) == 1
    table = count_rows(score, outcome, max_scores=1, cut=np.empty(0, dtype=np.int64))
    key = grid_keys(score) * KEYS_PER_CELL
    expected = []
    for k in np.unique(key):
        inside = key == k
        pairs = 0.5 * outcome[inside].sum() * (~outcome[inside]).sum()
        pairs /= outcome.sum() * (~outcome).sum()
        moved = inside.mean() * np.ptp(score[inside])
        if np.ptp(score[inside]) > 0.0 and max(pairs, moved) > MAX_METRIC_CHANGE:
            expected.append(k)
    # The two negatives at 0.3 are too few, and the 18 rows at 0.5 have one score.
    np.testing.assert_array_equal(np.isin(np.unique(key), expected), [False, False, True, True])
    np.testing.assert_array_equal(heavy_cells(table), expected)


def test_a_table_without_entries_stays_one():
    table = counted(2000)
    assert len(merge_entries(table.pick(np.zeros(len(table), dtype=bool)))) == 0


# With 100 scores are put on the grid, and with 2,000 they are exact.
@pytest.mark.parametrize("max_scores", [100, 2000])
def test_rows_of_an_entry_have_its_sums_of_weights_and_squares(max_scores):
    table = counted(max_scores)
    rows = table.as_rows()
    assert len(rows) == 2000
    assert (rows.rows == 1).all()
    np.testing.assert_allclose(rows.weight_sq, rows.weight**2)
    score = np.repeat(table.score_sum / table.weight, table.rows)
    np.testing.assert_allclose(rows.score_sum / rows.weight, score)
    assert rows.weight.min() > 0.0
    merged = merge_entries(rows)
    np.testing.assert_allclose(merged.weight, table.weight)
    np.testing.assert_allclose(merged.weight_sq, table.weight_sq)
    np.testing.assert_allclose(merged.score_sum, table.score_sum)


@pytest.mark.parametrize("largest", [8, MAX_COUNTED_CODES + 1])
def test_codes_without_gaps_keep_their_order(largest):
    code = np.array([5, largest, 5, 0, 7])
    dense, codes = _without_gaps(code)
    np.testing.assert_array_equal(codes, [0, 5, 7, largest])
    np.testing.assert_array_equal(dense, [1, 3, 1, 0, 2])
