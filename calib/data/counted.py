"""Rows that are counted into entries, and the entry of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, canonical_order
from calib.numerics.cells import (
    KEYS_PER_CELL,
    MAX_CELLS,
    CellTable,
    cell_ends,
    cell_scores,
    count_rows,
)
from calib.numerics.score_grid import KEY_OF_ONE, KEY_OF_ZERO, grid_keys, refined_keys


@dataclass(frozen=True, slots=True, eq=False)
class PositionsInCells(Locked):
    """Positions of scores within the cells in which they are counted.

    Attributes
    ----------
    low, high : ndarray of shape (e,)
        Lowest and highest score in the cell of each entry.
    middle : ndarray of shape (e,)
        Place of the cell's mean score between them, 0 to 1.
    aside : ndarray of shape (e,)
        Place of the mean score of the entry's rows, minus `middle`.
    """

    low: FloatArray
    high: FloatArray
    middle: FloatArray
    aside: FloatArray

    @classmethod
    def of(cls, table: CellTable, cell: IntArray, score: FloatArray) -> PositionsInCells:
        """Make it from the entries of a table, the number of their cells, and the mean scores."""
        low, high = (ends[cell] for ends in cell_ends(table, cell))
        width = high - low

        def place(at: FloatArray) -> FloatArray:
            return np.divide(at - low, width, out=np.zeros(len(at)), where=width > 0.0)

        middle = place(score)
        return cls(low, high, middle, place(table.score_sum / table.weight) - middle)

    def part(self, chosen: NDArray[Any]) -> PositionsInCells:
        """That of some entries, chosen by a mask or by indices."""
        return PositionsInCells(
            self.low[chosen], self.high[chosen], self.middle[chosen], self.aside[chosen]
        )


@dataclass(frozen=True, slots=True, eq=False)
class CountedRows(Locked):
    """Rows as entries: one per score cell, outcome, split and named fold.

    If rows have clusters, each row is an entry, in an order that does not depend on the original
    order.

    Attributes
    ----------
    entries : BinaryView
    cell : ndarray of int, shape (e,), or None
        Position in `keys` of each entry. None if entries are rows.
    keys : ndarray of int, shape (k,), or None
        Increasing keys of the cells, see `calib.numerics.cells.CellTable`.
    exact : bool
        Whether each cell is one score.
    entry : ndarray of int, shape (n,), or None
        Entry of each counted row, if it cannot be found by its cell.
    spread : Spread or None
        Positions of scores within the cells. None if each cell is one score.
    given : BinaryView or None
        The rows that were counted, in their original order. None if only their counts are known.
    """

    entries: BinaryView
    cell: IntArray | None = None
    keys: IntArray | None = None
    exact: bool = True
    entry: IntArray | None = None
    spread: PositionsInCells | None = None
    given: BinaryView | None = None

    @classmethod
    def of_rows(cls, rows: BinaryView, max_scores: int = MAX_CELLS) -> CountedRows:
        """Count rows.

        Up to `max_scores` distinct scores, every cell is one score.

        >>> rows = BinaryView(np.array([True, False, True]), np.array([0.7, 0.2, 0.7]))
        >>> counted = CountedRows.of_rows(rows)
        >>> counted.entries.score, counted.entries.count, counted.find(rows)
        (array([0.2, 0.7]), array([1., 2.]), array([1, 0, 1]))
        """
        if rows.group is not None:
            columns = (rows.score, rows.weight, rows.fold)
            order, group = canonical_order(columns, rows.outcome, rows.group)
            assert group is not None
            entry = np.argsort(order)
            # Clusters are numbered by content, so that resamples do not depend on their order.
            given = replace(rows, group=group[entry])
            return cls(replace(rows.rows(order), group=group), entry=entry, given=given)
        table = count_rows(
            rows.score, rows.outcome, rows.weight, _stratum(rows), max_scores=max_scores
        )
        n_folds = _n_folds(rows)
        counted = cls.of_table(
            table,
            weighted=rows.weight is not None,
            test=None if rows.test is None else table.stratum // n_folds == 1,
            fold=None if rows.fold is None else table.stratum % n_folds,
            step=rows.step,
        )
        return replace(counted, entries=replace(counted.entries, far=rows.far), given=rows)

    @classmethod
    def of_table(
        cls,
        table: CellTable,
        *,
        weighted: bool,
        test: NDArray[np.bool_] | None = None,
        fold: IntArray | None = None,
        group: IntArray | None = None,
        step: float = 0.0,
    ) -> CountedRows:
        """Entries of a table that has been counted; its strata are named by the other arrays."""
        keys, cell = np.unique(table.key, return_inverse=True)
        entries = BinaryView(
            outcome=table.outcome,
            score=cell_scores(table),
            weight=table.weight if weighted else None,
            test=test,
            group=group,
            fold=fold,
            count=table.rows.astype(np.float64) if group is None else None,
            weight_sq=table.weight_sq if weighted and group is None else None,
            step=step,
        )
        spread = None if table.exact else PositionsInCells.of(table, cell, entries.score)
        return cls(entries, cell, keys, table.exact, spread=spread)

    def find(self, rows: BinaryView) -> IntArray:
        """Entry of each row.

        `rows` are some of the rows that were counted, or all of them if `entry` is known.
        """
        if self.entry is not None:
            return self.entry
        assert self.keys is not None
        entries, cell = self.entries, self._cell_of(self.keys, rows.score)
        if entries.group is not None:
            return self._find_in_clusters(rows, cell)
        place = np.full((2 * _n_folds(entries), len(self.keys), 2), -1)
        place[_strata(entries), self.cell, entries.outcome.astype(int)] = np.arange(len(entries))
        return place[_strata(rows), cell, rows.outcome.astype(int)]

    def _find_in_clusters(self, rows: BinaryView, cell: IntArray) -> IntArray:
        """The same for entries that are rows of clusters: a table would be too large."""
        assert self.keys is not None
        assert self.cell is not None
        n_strata, n_cells = 2 * _n_folds(self.entries), len(self.keys)

        def code(view: BinaryView, cell: IntArray) -> IntArray:
            assert view.group is not None
            stratum = view.group * n_strata + _strata(view)
            return (stratum * n_cells + cell) * 2 + view.outcome

        of_entries, of_rows = code(self.entries, self.cell), code(rows, cell)
        order, place = np.argsort(of_entries, kind="stable"), np.argsort(of_rows, kind="stable")
        of_entries, of_rows = of_entries[order], of_rows[place]
        # Equal rows get different entries: the nth row gets the nth entry.
        nth = np.arange(len(of_rows)) - np.searchsorted(of_rows, of_rows)
        entry = np.empty_like(place)
        entry[place] = order[np.searchsorted(of_entries, of_rows) + nth]
        return entry

    def _cell_of(self, keys: IntArray, score: FloatArray) -> IntArray:
        last = len(keys) - 1
        if self.exact:
            at = np.minimum(np.searchsorted(keys, (score + 0.0).view(np.int64)), last)
            if self.entries.step:
                # The middles of what 0 and 1 stand for are nearest to these.
                before, scores = np.maximum(at - 1, 0), keys.view(np.float64)
                at = np.where(score - scores[before] < scores[at] - score, before, at)
            return at
        key = grid_keys(score)
        # Searching for all keys in their order takes less time than for that of every row.
        every = np.arange(KEY_OF_ZERO, KEY_OF_ONE + 1) * KEYS_PER_CELL
        at = np.minimum(np.searchsorted(keys, every), last)[key - KEY_OF_ZERO]
        cut = np.flatnonzero(keys[at] != key * KEYS_PER_CELL)
        fine = key[cut] * KEYS_PER_CELL + 1 + refined_keys(score[cut], key[cut])
        at[cut] = np.minimum(np.searchsorted(keys, fine), last)
        return at

    def test_rows(self) -> CountedRows:
        """The entries of test rows; `given` has just these rows."""
        chosen, entries = self.entries.test, self.entries.scored
        assert chosen is not None
        given = None if self.given is None else self.given.scored
        if self.entry is not None:
            number = np.cumsum(chosen) - 1
            return CountedRows(entries, entry=number[self.entry[chosen[self.entry]]], given=given)
        assert self.cell is not None
        spread = None if self.spread is None else self.spread.part(chosen)
        return CountedRows(entries, self.cell[chosen], self.keys, self.exact, None, spread, given)


def _n_folds(rows: BinaryView) -> int:
    return 1 if rows.fold is None else int(rows.fold.max()) + 1


def _strata(rows: BinaryView) -> IntArray | int:
    stratum = _stratum(rows)
    return 0 if stratum is None else stratum


def _stratum(rows: BinaryView) -> IntArray | None:
    """Number of the split and named fold of each row, or None if there is neither."""
    if rows.test is None:
        return rows.fold
    test = rows.test.astype(np.int64)
    return test if rows.fold is None else test * _n_folds(rows) + rows.fold
