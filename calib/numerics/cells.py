"""Rows counted by score, outcome and stratum, their sums and prefix sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Locked,
    arrays_of,
    chunks,
    increasing_order,
    run_starts,
    sort_labelled,
)
from calib.numerics.score_grid import (
    MIN_NAMED_STEP,
    PARTS_PER_CELL,
    grid_keys,
    ranges,
    refined_keys,
    written,
)
from calib.numerics.transforms import FarLogOdds


@dataclass(frozen=True, eq=False)
class Cells(Locked):
    """The sums of `calib.data.cells.ScoreCells`, where the attributes are described."""

    score: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    weight_sq: FloatArray
    positive_sq: FloatArray
    design_effect: float = 1.0
    far: FarLogOdds | None = None
    step: float = 0.0

    def __len__(self) -> int:
        return len(self.score)

    @property
    def negative(self) -> FloatArray:
        """Weight of each cell's negative rows."""
        return self.weight - self.positive

    @property
    def rate(self) -> FloatArray:
        """Observed frequency of each cell."""
        return self.positive / self.weight

    @cached_property
    def log_odds(self) -> FloatArray | None:
        """Log-odds of each cell, if some of them are too far from 0 to be those of its score."""
        return None if self.far is None else self.far.of(self.score)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @cached_property
    def total_weight(self) -> float:
        """Sum of all weights; the number of rows if there are none."""
        return float(self.weight.sum())

    @cached_property
    def total_weight_sq(self) -> float:
        """Sum of all squared weights."""
        return float(self.weight_sq.sum())

    @cached_property
    def total_positive(self) -> float:
        """Weight of all positive rows."""
        return float(self.positive.sum())

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest value that each score stands for, see `step`."""
        return ranges(self.score, self.step) if self.step else (self.score, self.score)

    @cached_property
    def cautious(self) -> Self:
        """The same cells at the values of their ranges that vary most: those next to 1/2.

        A test that allows for every value in the ranges has its null distribution at these.
        """
        return replace(self, score=np.clip(0.5, *self.ranges), step=0.0) if self.step else self

    @property
    def named_step(self) -> float:
        """The step if sentences name it, else 0."""
        return self.step if self.step >= MIN_NAMED_STEP else 0.0

    @property
    def precision(self) -> str:
        """What follows the null distribution of a test that allows for the `step` of scores."""
        step = self.named_step
        return f", every value within {written(step / 2.0)} of the scores" if step else ""

    @property
    def base_rate(self) -> float:
        """Observed frequency of the positive class."""
        return self.total_positive / self.total_weight

    @cached_property
    def mean_score(self) -> float:
        """Weighted mean of the scores."""
        return float(self.weight @ self.score) / self.total_weight

    @property
    def one_class(self) -> bool:
        """Whether all rows have the same outcome."""
        return self.total_positive <= 0.0 or self.total_positive >= self.total_weight

    @cached_property
    def cumulative_weight(self) -> FloatArray:
        """Prefix sums of `weight`, with the leading 0: shape (k + 1,)."""
        return self.cumulative_rows if self.weight is self.rows else _prefix(self.weight)

    @cached_property
    def cumulative_positive(self) -> FloatArray:
        """Prefix sums of `positive`, with the leading 0: shape (k + 1,)."""
        return _prefix(self.positive)

    @cached_property
    def cumulative_score(self) -> FloatArray:
        """Prefix sums of weight times score, with the leading 0: shape (k + 1,)."""
        return _prefix(self.weight * self.score)

    @cached_property
    def cumulative_weight_sq(self) -> FloatArray:
        """Prefix sums of `weight_sq`, with the leading 0: shape (k + 1,)."""
        return self.cumulative_weight if self.weight_sq is self.weight else _prefix(self.weight_sq)

    @cached_property
    def cumulative_rows(self) -> FloatArray:
        """Prefix sums of `rows`, with the leading 0: shape (k + 1,)."""
        return _prefix(self.rows)

    @cached_property
    def cumulative_variance(self) -> FloatArray:
        """Prefix sums of the variance of `positive` under y ~ Bernoulli(s): shape (k + 1,)."""
        return _prefix(self.weight_sq * self.score * (1.0 - self.score))


def _prefix(values: FloatArray) -> FloatArray:
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, out=sums[1:])
    sums.flags.writeable = False
    return sums


# With more distinct scores, rows are counted in the cells of the grid.
MAX_EXACT_SCORES = 200_000
# An analysis reads at most this many cells; if there are more, they are joined on the grid.
MAX_CELLS = 50_000
# If the rows of a cell could change AUC or KS by more than this, the cell is cut into 64 parts.
MAX_METRIC_CHANGE = 1e-6
# Codes are counted in one array of this length; larger codes are sorted.
MAX_COUNTED_CODES = 20_000_000
# Key 0 is the cell as a whole, and the others are its parts.
KEYS_PER_CELL = PARTS_PER_CELL + 1
# Weights with a smaller relative variance differ only by rounding.
RELATIVE_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class CellTable(Locked):
    """Rows summed by stratum, score cell and outcome; arrays of shape (e,)."""

    exact: bool  # If True, each cell has one score.
    stratum: IntArray  # The stratum is the part of the data to which the entry belongs.
    # If cells are exact, the key has the bits of the score. Otherwise it is 65 times the key of the
    # grid, plus 1 + the number of the part if the cell is cut into 64 parts.
    key: IntArray
    outcome: BoolArray
    rows: IntArray
    weight: FloatArray
    weight_sq: FloatArray
    score_sum: FloatArray  # The sum is that of weight times score.
    # The bounds are the entry's lowest and highest score. Entries of `calib.scan` have the bounds
    # of their whole cell.
    low: FloatArray
    high: FloatArray

    def __len__(self) -> int:
        return len(self.key)

    @property
    def n_cells(self) -> int:
        """Number of cells over all outcomes and strata."""
        return len(np.unique(self.key))

    def pick(self, chosen: NDArray[Any]) -> CellTable:
        """Some entries, by a mask or by indices."""
        return CellTable(self.exact, **{k: v[chosen] for k, v in arrays_of(self).items()})

    def bounded(self) -> CellTable:
        """The same entries on the grid. Cells with too many rows are cut into parts."""
        if not self.exact:
            return self
        key = grid_keys(self.low)
        whole = merge_entries(replace(self, exact=False, key=key * KEYS_PER_CELL))
        fine = np.flatnonzero(np.isin(key * KEYS_PER_CELL, heavy_cells(whole)))
        if not len(fine):
            return whole
        parts = key * KEYS_PER_CELL
        parts[fine] += 1 + refined_keys(self.low[fine], key[fine])
        return merge_entries(replace(self, exact=False, key=parts))

    def as_rows(self) -> CellTable:
        """One entry per row. The rows of an entry have its sums of weights and squared weights.

        The first of them has a larger weight than the others, which are equal.
        """
        entry = np.repeat(np.arange(len(self)), self.rows)
        rows, n = self.pick(entry), self.rows[entry]
        mean = rows.weight / n
        variance = rows.weight_sq / n - np.square(mean)
        spread = np.sqrt(np.where(variance > RELATIVE_ROUNDING * np.square(mean), variance, 0.0))
        others = np.sqrt(np.maximum(n - 1, 1))
        is_first = np.diff(entry, prepend=-1) > 0
        small = np.maximum(mean - spread / others, RELATIVE_ROUNDING * mean)
        weight = np.where(is_first, mean + spread * others, small)
        return replace(
            rows,
            rows=np.ones_like(rows.rows),
            weight=weight,
            weight_sq=np.square(weight),
            score_sum=weight * (rows.score_sum / rows.weight),
        )


def count_rows(
    score: FloatArray,
    outcome: BoolArray,
    weight: FloatArray | None = None,
    stratum: IntArray | None = None,
    *,
    max_scores: int,
    cut: IntArray | None = None,
) -> CellTable:
    """Count rows by stratum, score and outcome.

    Up to `max_scores` distinct scores, every cell is one score. Otherwise scores are grouped in the
    cells of the grid, and cells with too many rows are cut in 64 parts; `cut` are the keys of these
    cells if they are known (`cut_cells` of another table). Strata are 0, 1, ...; by default all
    rows are of stratum 0. The table is sorted by stratum, key and outcome, and does not depend on
    the order of the rows, to the last bit.

    >>> table = count_rows(np.array([0.7, 0.2, 0.7]), np.array([True, False, True]), max_scores=10)
    >>> table.low, table.outcome, table.rows
    (array([0.2, 0.7]), array([False,  True]), array([1, 2]))
    """
    rows = _in_order(score, outcome, weight, stratum)
    score, starts = rows[0], run_starts(rows[0])
    if len(starts) <= max_scores:
        return _count(True, score.view(np.int64), starts, rows)
    key = np.empty(len(score), dtype=np.int64)
    for part in chunks(len(score)):
        np.multiply(grid_keys(score[part]), KEYS_PER_CELL, out=key[part])
    whole = _count(False, key, run_starts(key), rows)
    heavy = heavy_cells(whole) if cut is None else cut
    if not len(heavy):
        return whole
    chosen = np.flatnonzero(np.isin(key, heavy))
    key[chosen] += 1 + refined_keys(score[chosen], key[chosen] // KEYS_PER_CELL)
    return _count(False, key, run_starts(key), rows)


Rows = tuple[FloatArray, BoolArray, FloatArray | None, IntArray | None]


def _in_order(
    score: FloatArray, outcome: BoolArray, weight: FloatArray | None, stratum: IntArray | None
) -> Rows:
    """Rows by score, so that sums round in one way whatever order the rows came in."""
    if weight is None and stratum is None:
        ordered, label = sort_labelled(score, outcome)
        return ordered, label.astype(np.bool_), None, None
    score = score + 0.0
    order = increasing_order(score)
    if weight is not None:
        order = _ties_in_order(order, score, outcome, weight)
    return (
        score[order],
        outcome[order],
        None if weight is None else weight[order],
        None if stratum is None else stratum[order],
    )


def _ties_in_order(
    order: IntArray, score: FloatArray, outcome: BoolArray, weight: FloatArray
) -> IntArray:
    """Rows of equal scores by outcome and weight."""
    starts = run_starts(score[order])
    length = np.diff(starts, append=len(order))
    tied = np.flatnonzero(np.repeat(length > 1, length))
    rows = order[tied]
    run = _numbered(starts, len(order))[tied]
    order[tied] = rows[np.lexsort((weight[rows], outcome[rows], run))]
    return order


def _numbered(starts: NDArray[np.intp], n: int) -> IntArray:
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=n))


def _count(exact: bool, key: IntArray, starts: NDArray[np.intp], rows: Rows) -> CellTable:
    """Add up sorted rows by their key, of which a run begins at each start."""
    score, outcome, weight, stratum = rows
    keys, code = key[starts], 2 * _numbered(starts, len(key))
    code += outcome
    if stratum is not None:
        code += 2 * len(keys) * stratum
    code, codes = _without_gaps(code)
    count = np.bincount(code)
    low, high = np.empty(len(codes)), np.empty(len(codes))
    high[code] = score  # NumPy keeps the last value of equal codes, which is the highest score.
    low[code[::-1]] = score[::-1]

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(code, values).astype(np.float64)

    weights = count.astype(np.float64) if weight is None else total(weight)
    sums = low * weights if exact else total(score if weight is None else weight * score)
    return CellTable(
        exact=exact,
        stratum=codes // (2 * len(keys)),
        key=keys[(codes // 2) % len(keys)],
        outcome=(codes % 2).astype(np.bool_),
        rows=count,
        weight=weights,
        weight_sq=weights if weight is None else total(weight * weight),
        score_sum=sums,
        low=low,
        high=high,
    )


def _without_gaps(code: IntArray) -> tuple[IntArray, IntArray]:
    """Codes 0, 1, ... in the same order, and the old code of each."""
    top = int(code.max()) + 1
    if top > max(MAX_COUNTED_CODES, 4 * len(code)):
        codes, dense = np.unique(code, return_inverse=True)
        return dense, codes
    present = np.zeros(top, dtype=np.bool_)
    present[code] = True
    codes = np.flatnonzero(present)
    if len(codes) == top:
        return code, codes
    rank = np.cumsum(present) - 1
    return rank[code], codes


def cut_cells(table: CellTable) -> IntArray:
    """Keys, as whole cells, of the cells that were cut into parts."""
    return np.unique(table.key[table.key % KEYS_PER_CELL > 0] // KEYS_PER_CELL) * KEYS_PER_CELL


def heavy_cells(table: CellTable) -> IntArray:
    """Keys of the whole cells whose rows could change AUC or KS by more than 1e-6."""
    keys, cell = np.unique(table.key, return_inverse=True)

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(cell, values, minlength=len(keys)).astype(np.float64)

    positive = np.where(table.outcome, table.weight, 0.0)
    one, both = total(positive), total(table.weight)
    low, high = cell_ends(table, cell)
    pairs = 0.5 * one * (both - one) / max(one.sum() * (both - one).sum(), 1e-300)
    moved = both * (high - low) / both.sum()
    return keys[(high > low) & (np.maximum(pairs, moved) > MAX_METRIC_CHANGE)]


def cell_scores(table: CellTable) -> FloatArray:
    """Weighted mean score of each entry's cell, over all entries of the cell."""
    if table.exact:
        return table.low
    keys, cell = np.unique(table.key, return_inverse=True)
    weight = np.bincount(cell, table.weight, minlength=len(keys))
    mean = np.bincount(cell, table.score_sum, minlength=len(keys)) / weight
    return np.clip(mean, *cell_ends(table, cell))[cell]


def cell_ends(table: CellTable, cell: IntArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest score of each cell, of which `cell` has the number of every entry."""
    n = int(cell.max(initial=-1)) + 1
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, cell, table.low)
    np.maximum.at(high, cell, table.high)
    return low, high


def add_tables(first: CellTable, second: CellTable) -> CellTable:
    """The entries of both tables. Entries with equal stratum, cell and outcome are added up."""
    if first.exact != second.exact:
        first, second = first.bounded(), second.bounded()
    both = join_tables([first, second])
    return merge_entries(both if both.exact else _of_equal_depth(both))


def join_tables(tables: Sequence[CellTable]) -> CellTable:
    """The entries of all tables, one after another."""
    columns = [arrays_of(table) for table in tables]
    joined = {name: np.concatenate([arrays[name] for arrays in columns]) for name in columns[0]}
    return CellTable(tables[0].exact, **joined)


def _of_equal_depth(table: CellTable) -> CellTable:
    """Cells that are whole in one table and cut in another become whole."""
    cell, part = np.divmod(table.key, KEYS_PER_CELL)
    whole = np.unique(cell[part == 0])
    return replace(table, key=np.where(np.isin(cell, whole), cell * KEYS_PER_CELL, table.key))


def merge_entries(table: CellTable) -> CellTable:
    """Add up entries of the same stratum, key and outcome; sorted by these."""
    if not len(table):
        return table
    table = table.pick(np.lexsort((table.outcome, table.key, table.stratum)))
    same = (
        (np.diff(table.stratum) == 0)
        & (np.diff(table.key) == 0)
        & (table.outcome[1:] == table.outcome[:-1])
    )
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    add = {
        name: np.add.reduceat(getattr(table, name), starts)
        for name in ("rows", "weight", "weight_sq", "score_sum")
    }
    merged = CellTable(
        exact=table.exact,
        stratum=table.stratum[starts],
        key=table.key[starts],
        outcome=table.outcome[starts],
        low=np.minimum.reduceat(table.low, starts),
        high=np.maximum.reduceat(table.high, starts),
        **add,
    )
    # `count_rows` multiplies too, and a sum of products would be rounded differently.
    return replace(merged, score_sum=merged.low * merged.weight) if merged.exact else merged
