"""Cells of at least ten rows each, from which a guarded report is recomputed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from calib.core.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.cell_table import STRIDE, CellTable, merge_entries
from calib.numerics.score_grid import grid_keys, refined_keys
from calib.reports.disclosure import SCORE_DIGITS
from calib.reports.grouping import MIN_ROWS, merge_small
from calib.text import count

MOST_CELLS = 8192


def entry_table(view: BinaryView, stratum: IntArray | None = None) -> CellTable:
    """Rows, or entries that count some, by stratum, score and outcome; each cell is one score."""
    score, weight = view.score + 0.0, view.weights
    return merge_entries(
        CellTable(
            exact=True,
            stratum=np.zeros(len(view), dtype=np.int64) if stratum is None else stratum,
            key=score.view(np.int64),
            outcome=view.outcome,
            rows=view.counts.astype(np.int64),
            weight=weight,
            weight_sq=view.squared_weights,
            score_sum=weight * score,
            low=score,
            high=score,
        )
    )


def guarded_table(table: CellTable, cuts: FloatArray | None = None) -> CellTable:
    """Merge neighbouring cells of each stratum until each has at least ten rows.

    Both outcomes of a cell get its mean score and its bounds, which have three digits: nothing of
    it is a single row's. Cells are those of the grid that their mean scores lie in, so that tables
    of several reports add up.

    Parameters
    ----------
    table : CellTable
    cuts : ndarray, optional
        Scores at which cells end, where that leaves ten rows on both sides.

    Raises
    ------
    ValueError
        If a stratum holds fewer than ten rows.
    """
    parts = [
        _guarded_stratum(
            table.pick(table.stratum == number), np.array([]) if cuts is None else cuts
        )
        for number in np.unique(table.stratum)
    ]
    names = parts[0].columns()
    joined = {name: np.concatenate([part.columns()[name] for part in parts]) for name in names}
    return merge_entries(CellTable(exact=False, **joined))


def _guarded_stratum(table: CellTable, cuts: FloatArray) -> CellTable:
    score = table.score_sum / table.weight
    order = np.lexsort((table.outcome, table.key))
    table, score = table.pick(order), score[order]
    first_of = np.flatnonzero(np.diff(table.key, prepend=table.key[0] - 1))
    at = np.searchsorted(score[first_of], cuts, side="right")
    starts = first_of[groups(np.add.reduceat(table.rows, first_of).astype(np.float64), at)]
    own = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(table)))
    mean = np.add.reduceat(table.score_sum, starts) / np.add.reduceat(table.weight, starts)
    low = outward(np.minimum.reduceat(table.low, starts), up=False)
    high = outward(np.maximum.reduceat(table.high, starts), up=True)
    mean = np.clip(mean, low, high)
    key = grid_keys(mean)
    key = key * STRIDE + 1 + refined_keys(mean, key)
    return merge_entries(
        replace(
            table,
            exact=False,
            key=key[own],
            score_sum=mean[own] * table.weight,
            low=low[own],
            high=high[own],
        )
    )


def groups(rows: FloatArray, cuts: IntArray, most: int = MOST_CELLS) -> IntArray:
    """Where groups of neighbours start that hold at least ten rows each.

    Examples
    --------
    >>> groups(np.array([4.0, 4.0, 4.0, 9.0, 9.0, 20.0, 3.0]), np.array([5]))
    array([0, 3, 5])
    """
    total = np.concatenate([[0.0], np.cumsum(rows)])
    if total[-1] < MIN_ROWS:
        raise ValueError(f"Guarded cells need at least {MIN_ROWS} rows, got {count(total[-1])}.")
    firsts = np.union1d([0], cuts[(cuts > 0) & (cuts < len(rows))]).astype(np.int64)
    runs = merge_small(np.diff(total[firsts], append=total[-1]))
    ends = [*(int(firsts[run.start]) for run in runs), len(rows)]
    size = max(MIN_ROWS, math.ceil(total[-1] / max(most - len(runs), 1)))
    starts = []
    for first, last in pairwise(ends):
        while True:
            starts.append(first)
            first = int(np.searchsorted(total, total[first] + size))
            if total[last] - total[min(first, last)] < size:
                break
    return np.array(starts, dtype=np.int64)


def outward(score: FloatArray, *, up: bool) -> FloatArray:
    """Scores with three digits of their distance from 0 or 1, none of them further inward.

    Examples
    --------
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
