"""Cells of at least ten rows, for the counts of a guarded report."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.analysis import LiveAnalysis
from calib.data.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import bin_edges, bin_starts, edge_ends
from calib.numerics.cell_table import (
    KEYS_PER_CELL,
    MAX_CELLS,
    CellTable,
    join_tables,
    merge_entries,
)
from calib.numerics.few_cells import bucket_means
from calib.numerics.score_grid import grid_keys, refined_keys
from calib.reports.contents.disclosure import MIN_ROWS, SCORE_DIGITS, merge_small
from calib.text import count

# This limits the cells of each method, slice and period, and so the size of the file.
MAX_GUARDED_CELLS = 8192
# The arrays are rows, weights and squared weights of each cell, by outcome.
Sums = tuple[NDArray[Any], ...]


def guarded_table(table: CellTable) -> CellTable:
    """Merge neighbouring cells of each stratum until each has at least ten rows.

    Both outcomes of a cell get its mean score and its bounds, which have three digits: nothing of
    it is a single row's. Cells are those of the grid that their mean scores lie in, so that tables
    of several reports add up.

    Raises ValueError if a stratum holds fewer than ten rows.
    """
    numbers = np.unique(table.stratum).tolist()
    parts = [_guarded_stratum(table.pick(table.stratum == number), number) for number in numbers]
    return join_tables(parts)


def _guarded_stratum(table: CellTable, number: int) -> CellTable:
    table = table.pick(np.lexsort((table.outcome, table.key)))
    first_of = np.flatnonzero(np.diff(table.key, prepend=table.key[0] - 1))
    starts = first_of[group_starts(np.add.reduceat(table.rows, first_of).astype(np.float64))]
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(table)))
    return _merged_table(
        number,
        mean=np.add.reduceat(table.score_sum, starts) / np.add.reduceat(table.weight, starts),
        low=outward(np.minimum.reduceat(table.low, starts), up=False),
        high=outward(np.maximum.reduceat(table.high, starts), up=True),
        sums=_by_outcome(group, table.outcome, table.rows, table.weight, table.weight_sq),
    )


def _by_outcome(group: IntArray, outcome: BoolArray, *values: NDArray[Any]) -> Sums:
    """Sums of each group: those of its negative rows, and those of its positive rows."""
    code, size = 2 * group + outcome, 2 * (int(group[-1]) + 1)
    return tuple(np.bincount(code, of_row, size).reshape(-1, 2) for of_row in values)


def _merged_table(
    stratum: int, *, mean: FloatArray, low: FloatArray, high: FloatArray, sums: Sums
) -> CellTable:
    """The table of merged cells; `sums` are rows, weights and squared weights by outcome."""
    mean = np.clip(mean, low, high)
    grid = grid_keys(mean)
    group, outcome = np.nonzero(sums[0])
    rows, weight, weight_sq = (of_cell[group, outcome] for of_cell in sums)
    return merge_entries(
        CellTable(
            exact=False,
            stratum=np.full(len(group), stratum, dtype=np.int64),
            key=(grid * KEYS_PER_CELL + 1 + refined_keys(mean, grid))[group],
            outcome=outcome == 1,
            rows=rows.astype(np.int64),
            weight=weight,
            weight_sq=weight_sq,
            score_sum=mean[group] * weight,
            low=low[group],
            high=high[group],
        )
    )


def guarded_cells(analysis: LiveAnalysis, key: str) -> CellTable:
    """The held-out cells of a method, merged until each has at least ten rows.

    Bins of the report end where cells end, if that leaves ten rows on both sides.
    """
    cells, view = analysis.held_out.cells[key], analysis.held_out.view(key)
    starts = group_starts(cells.rows, *_preferred_ends(analysis, key))
    on_grid = len(view) > MAX_CELLS and bool((np.diff(grid_keys(cells.score)) > 0).all())
    weight = np.add.reduceat(cells.weight, starts)
    low, high = _bounds_of(cells, starts, analysis.settings.n_bins, on_grid=on_grid)
    if view.weight is None:
        positive = np.add.reduceat(cells.positive, starts)
        sums: Sums = (np.column_stack([weight - positive, positive]),) * 3
    else:
        score, first = view.score, cells.score[starts]
        if on_grid:
            group = np.searchsorted(grid_keys(first), grid_keys(score), side="right") - 1
        else:
            group = np.searchsorted(first, score, side="right") - 1
        order = np.argsort(group, kind="stable")
        values = (view.counts, view.weights, view.squared_weights)
        sums = _by_outcome(group[order], view.outcome[order], *(of_row[order] for of_row in values))
    return _merged_table(
        0,
        mean=bucket_means(cells.score, cells.weight, starts),
        low=low,
        high=high,
        sums=sums,
    )


def _bounds_of(
    cells: ScoreCells, starts: IntArray, n_bins: int, *, on_grid: bool
) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest score of each run of cells."""
    low, high = cells.score[starts], cells.score[np.append(starts[1:], len(cells)) - 1]
    if on_grid:
        # The score of a cell is the mean of its rows, which lie between the cells beside it.
        padded = np.concatenate([[0.0], cells.score, [1.0]])
        low, high = padded[starts], padded[np.append(starts[1:], len(cells)) + 1]
        return outward(low, up=False), outward(high, up=True)
    # Bounds of three digits must not reach into another uniform bin. Bins are right-closed.
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    ends = edge_ends(edges)
    after = np.append(0.0, np.nextafter(ends[1:], 1.0))
    least = after[np.maximum(np.searchsorted(ends, low) - 1, 0)]
    most = np.maximum(edges[np.searchsorted(ends, high)], high)
    return (
        np.maximum(outward(low, up=False), least),
        np.minimum(outward(high, up=True), most),
    )


def group_starts(rows: FloatArray, *cuts: int) -> IntArray:
    """Starts of groups of neighbours that have at least ten rows each.

    Groups end at the cuts, the first ones first, if that leaves ten rows on both sides.

    >>> group_starts(np.array([4.0, 4.0, 4.0, 9.0, 9.0, 20.0, 3.0]), 5)
    array([0, 3, 5])
    """
    total = np.concatenate([[0.0], np.cumsum(rows)]).tolist()
    if total[-1] < MIN_ROWS:
        raise ValueError(f"Guarded cells need at least {MIN_ROWS} rows, got {count(total[-1])}.")
    ends = [0, len(rows)]
    for cut in cuts:
        at = bisect_left(ends, cut)
        if ends[at] != cut and total[ends[at - 1]] + MIN_ROWS <= total[cut] <= (
            total[ends[at]] - MIN_ROWS
        ):
            ends.insert(at, cut)
    size = max(MIN_ROWS, math.ceil(total[-1] / (MAX_GUARDED_CELLS - len(ends))))
    starts = []
    for first, last in pairwise(ends):
        while True:
            starts.append(first)
            first = bisect_left(total, total[first] + size, first)
            if total[last] - total[min(first, last)] < size:
                break
    return np.array(starts, dtype=np.int64)


def outward(score: FloatArray, *, up: bool) -> FloatArray:
    """Scores with three digits of their distance from 0 or 1, none of them further inward.

    >>> outward(np.array([0.123456, 0.9998761]), up=True)
    array([0.124   , 0.999877])
    >>> outward(np.array([0.123456, 0.9998761]), up=False)
    array([0.123   , 0.999876])
    """
    distance = np.minimum(score, 1.0 - score)
    certain = distance <= 0.0
    digits = SCORE_DIGITS - 1 - np.floor(np.log10(np.where(certain, 1.0, distance)))
    scale = 10.0 ** np.minimum(digits, 15.0)
    step = np.ceil if up else np.floor
    rounded = step(score * scale) / scale
    # The rounding of the product must not move a bound inward.
    moved = np.maximum(rounded, score) if up else np.minimum(rounded, score)
    return np.where(certain, score, np.clip(moved, 0.0, 1.0))


def _preferred_ends(analysis: LiveAnalysis, key: str) -> Iterator[int]:
    """Preferred ends of the cells of a method: edges of bins, and the ends of the largest gap."""
    cells, bins = analysis.held_out.cells[key], analysis.methods[key].reliability
    edges = [bins.high_edge[run][-1] for run in merge_small(bins.rows)]
    yield from np.searchsorted(cells.score, edge_ends(np.array(edges)), side="right").tolist()
    gap = cells.cumulative_positive - cells.cumulative_score
    yield from (int(gap.argmin()), int(gap.argmax()))
    for strategy in ("uniform", "quantile"):
        inner = bin_edges(cells, analysis.settings.n_bins, strategy)
        yield from bin_starts(cells.score, inner).tolist()
