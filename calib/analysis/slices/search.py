"""Search of one half of the rows for segments, which the other half confirms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.data.progress import Progress
from calib.data.views import BinaryView
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    canonical_order,
    row_words,
    run_starts,
)
from calib.numerics.few_cells import bucket_starts
from calib.numerics.poisson_binomial import range_survival

# A segment needs this share of the rows in each half, and at least 30.
MIN_SHARE = 0.001
# The number of positives of a calibrated segment has at least this variance. With 5 instead, and
# rare positives, the range law rejects calibrated segments up to three times too often.
MIN_VARIANCE = 10.0
MIN_CLUSTERS = 10  # Fewer clusters do not show how much they vary.
# At most this many go to the confirming half: Holm's correction is stricter with every segment.
MAX_TESTED = 20
# Segments are examined in the order of their evidence, and at most this many.
MAX_EXAMINED = 1000
# While searching, neighbouring scores are joined into about this many runs.
MAX_RUNS = 64


@dataclass(frozen=True, slots=True)
class Cut:
    """A column of the scored rows, cut into slices."""

    column: str
    names: tuple[str, ...]
    codes: IntArray


def in_halves(
    rows: BinaryView, cuts: list[Cut], min_rows: int | None, seed: int
) -> tuple[Half, Half]:
    """The half that searches, and the half that confirms.

    Rows are first sorted by their contents, so that their order has no effect.
    """
    word = np.zeros(len(rows), dtype=np.uint64)
    for i, cut in enumerate(cuts):
        # Codes of different columns are different numbers, so that no two columns can be swapped.
        word += row_words(np.asarray(cut.codes + i * 2.0**32, dtype=np.float64)[:, None])
    # Some codes of clusters can have no row, for example those of calibration rows.
    group = rows.group if rows.group is None else np.unique(rows.group, return_inverse=True)[1]
    order, group = canonical_order([rows.score, rows.weight, word], rows.outcome, group)
    ordered = replace(rows.rows(order), group=group)
    unit = np.arange(len(rows)) if group is None else group
    n_units = int(unit.max()) + 1
    if n_units < 2:
        one = "row" if group is None else "cluster"
        raise ValueError(f"Two halves need at least 2 {one}s, got {n_units}.")
    # Neighbours are not paired: rows that are equal would then be split evenly, and the halves
    # would not be independent.
    searching = np.random.default_rng(seed).permutation(n_units) < n_units // 2
    cuts = [replace(cut, codes=cut.codes[order]) for cut in cuts]
    first = searching[unit]
    return Half(ordered, cuts, first, min_rows), Half(ordered, cuts, ~first, min_rows)


# The columns of a segment as positions among the cuts, and its code in each of them.
Place = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The segments of one column, or of two that are crossed, with enough rows."""

    columns: tuple[int, ...]
    codes: tuple[IntArray, ...]  # One array of codes for each column.
    ratio: FloatArray

    def place(self, at: int) -> Place:
        return tuple((i, int(code[at])) for i, code in zip(self.columns, self.codes, strict=True))


class Half:
    """One half of the rows, sorted by score, with the sums that the range law needs."""

    def __init__(
        self, rows: BinaryView, cuts: list[Cut], part: BoolArray, min_rows: int | None
    ) -> None:
        self.cuts = [replace(cut, codes=cut.codes[part]) for cut in cuts]
        self.rows = rows.rows(part)
        score, weight = self.rows.score, self.rows.weights
        self.residual = weight * (self.rows.outcome - score)
        self.information = weight * score * (1.0 - score)
        self.variance = weight * self.information
        self.min_rows = min_rows or max(FEW_ROWS, int(MIN_SHARE * len(score)))
        self.run, self.n_runs = _runs(score, weight)

    def member(self, place: Place) -> IntArray:
        """Positions of the rows of a segment."""
        inside = [self.cuts[i].codes == code for i, code in place]
        return np.flatnonzero(np.logical_and.reduce(inside))

    def enough(self, member: IntArray) -> bool:
        """Whether these rows are enough for the range law."""
        if len(member) < self.min_rows:
            return False
        information, variance = self.information[member].sum(), self.variance[member].sum()
        group = self.rows.group
        return bool(_certain_enough(information, variance)) and (
            group is None or len(np.unique(group[member])) >= MIN_CLUSTERS
        )

    def ratio(self, member: IntArray) -> float:
        """Kuiper error of these rows in units of its standard deviation, of joined scores."""
        steps = np.bincount(self.run[member], self.residual[member]).astype(np.float64)
        return float(_range(steps[None])[0]) / math.sqrt(float(self.variance[member].sum()))

    def search(self, progress: Progress) -> tuple[int, list[Place]]:
        """The number of segments with enough rows, and those to be tested, strongest first."""
        tables = list(self._tables(progress))
        ratio = np.concatenate([np.empty(0), *(table.ratio for table in tables)])
        sizes = [len(table.ratio) for table in tables]
        place = [
            (table, at) for table, size in zip(tables, sizes, strict=True) for at in range(size)
        ]
        chosen: list[Place] = []
        covered = np.zeros(len(self.rows), dtype=np.bool_)
        # Two segments can have the same rows. The sort is stable, so that fewer columns come first.
        for i in np.argsort(-ratio, kind="stable")[:MAX_EXAMINED].tolist():
            if len(chosen) == MAX_TESTED or range_survival(ratio[i]) >= SIGNIFICANCE:
                break
            table, at = place[i]
            member = self.member(table.place(at))
            rest = member[~covered[member]]
            alone = len(rest) == len(member)
            if self.enough(rest) and (
                alone or len(ratio) * range_survival(self.ratio(rest)) < SIGNIFICANCE
            ):
                chosen.append(table.place(at))
                covered[member] = True
        return len(ratio), chosen

    def _tables(self, progress: Progress) -> Iterator[_Table]:
        # Values with too few rows become one more code, which is in no segment.
        common = [self._common(cut.codes, len(cut.names)) for cut in self.cuts]
        columns = range(len(common))
        every = [*((i,) for i in columns), *combinations(columns, 2)]
        for done, chosen in enumerate(every):
            progress(0.25 + 0.7 * done / len(every), "Searching")
            codes, kept = common[chosen[0]]
            if len(chosen) == 1:
                at, ratio = self._ratios(codes, len(kept))
                yield _Table(chosen, (kept[at],), ratio)
                continue
            other, of_other = common[chosen[1]]
            n = len(of_other) + 1
            pair, pairs = self._common(codes * n + other, (len(kept) + 1) * n)
            one, two = np.divmod(pairs, n)
            at, ratio = self._ratios(pair, len(pairs))
            inside = (one[at] < len(kept)) & (two[at] < len(of_other))
            at, ratio = at[inside], ratio[inside]
            yield _Table(chosen, (kept[one[at]], of_other[two[at]]), ratio)

    def _common(self, codes: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """Codes of the values with enough rows, one more code for all others, and these values."""
        kept = np.flatnonzero(np.bincount(codes, minlength=n) >= self.min_rows)
        number = np.full(n, len(kept), dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return number[codes], kept.astype(np.int64)

    def _ratios(self, codes: IntArray, n: int) -> tuple[IntArray, FloatArray]:
        """The codes below n that are enough for the range law, and the ratio of each."""
        information = np.bincount(codes, self.information, minlength=n)[:n]
        variance = np.bincount(codes, self.variance, minlength=n)[:n]
        at = np.flatnonzero(_certain_enough(information, variance))
        steps = np.bincount(codes * self.n_runs + self.run, self.residual, (n + 1) * self.n_runs)
        table = steps.astype(np.float64).reshape(-1, self.n_runs)[at]
        return at.astype(np.int64), _range(table) / np.sqrt(variance[at])


def _certain_enough(information: Any, variance: Any) -> Any:
    """Whether the variance of the number of positives, in effective rows, is large enough."""
    return (variance > 0.0) & (np.square(information) >= MIN_VARIANCE * variance)


def _range(steps: FloatArray) -> FloatArray:
    """Range of each line's cumulative sums, which begin at 0."""
    path = np.cumsum(steps, axis=1)
    return np.asarray(np.maximum(path.max(axis=1), 0.0) - np.minimum(path.min(axis=1), 0.0))


def _runs(score: FloatArray, weight: FloatArray) -> tuple[IntArray, int]:
    """The run of scores of each row, sorted by score, and their number."""
    starts = run_starts(score)
    cell = np.cumsum(np.bincount(starts, minlength=len(score))) - 1
    first = bucket_starts(score[starts], np.bincount(cell, weight).astype(np.float64), MAX_RUNS)
    return np.searchsorted(first, cell, side="right") - 1, len(first)
