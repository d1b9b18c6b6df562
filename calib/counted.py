"""Rows counted into entries, and the way from a row to its entry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray, IntArray, lock
from calib.numerics.canonical import canonical_order
from calib.numerics.cell_table import MAX_SCORES, STRIDE, CellTable, cell_scores, count_rows
from calib.numerics.score_grid import grid_keys, refined_keys
from calib.predictions import BinaryView


@dataclass(frozen=True, slots=True, eq=False)
class CountedRows:
    """Rows as entries: one per score cell, outcome, split and named fold.

    Rows of clusters stay rows, in an order that does not depend on the one that they came in.

    Attributes
    ----------
    entries : BinaryView
    cell : ndarray of int, shape (e,), or None
        Position in `keys` of each entry; None where entries are rows.
    keys : ndarray of int, shape (k,), or None
        Cells, increasing: see `calib.numerics.cell_table.CellTable`.
    exact : bool
        Whether each cell is one score.
    order : ndarray of int, shape (n,), or None
        Row of each entry, where entries are rows.
    """

    entries: BinaryView
    cell: IntArray | None = None
    keys: IntArray | None = None
    exact: bool = True
    order: IntArray | None = None

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of_rows(cls, rows: BinaryView, max_scores: int = MAX_SCORES) -> CountedRows:
        """Count rows.

        Parameters
        ----------
        rows : BinaryView
        max_scores : int
            Up to so many distinct scores every cell is one score.

        Examples
        --------
        >>> rows = BinaryView(np.array([True, False, True]), np.array([0.7, 0.2, 0.7]))
        >>> counted = CountedRows.of_rows(rows)
        >>> counted.entries.score, counted.entries.count, counted.find(rows)
        (array([0.2, 0.7]), array([1., 2.]), array([1, 0, 1]))
        """
        if rows.group is not None:
            order, group = canonical_order(rows.score, rows.outcome, rows.weight, rows.group)
            return cls(replace(rows.rows(order), group=group), order=order)
        table = count_rows(
            rows.score, rows.outcome, rows.weight, _stratum(rows), max_scores=max_scores
        )
        n_folds = _n_folds(rows)
        return cls.of_table(
            table,
            weighted=rows.weight is not None,
            test=None if rows.test is None else table.stratum // n_folds == 1,
            fold=None if rows.fold is None else table.stratum % n_folds,
        )

    @classmethod
    def of_table(
        cls,
        table: CellTable,
        *,
        weighted: bool,
        test: NDArray[np.bool_] | None = None,
        fold: IntArray | None = None,
        group: IntArray | None = None,
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
            count=table.rows.astype(np.float64),
            weight_sq=table.weight_sq if weighted else None,
        )
        return cls(entries, cell, keys, table.exact)

    def find(self, rows: BinaryView) -> IntArray:
        """Entry of each row.

        Parameters
        ----------
        rows : BinaryView
            Some of those that were counted; all of them where entries are rows.
        """
        if self.order is not None:
            return np.argsort(self.order)
        assert self.keys is not None
        n_strata = 2 * _n_folds(self.entries)
        place = np.full((n_strata, len(self.keys), 2), -1)
        own = self.entries
        place[_strata(own), self.cell, own.outcome.astype(int)] = np.arange(len(own))
        return place[_strata(rows), self._cell_of(self.keys, rows.score), rows.outcome.astype(int)]

    def _cell_of(self, keys: IntArray, score: FloatArray) -> IntArray:
        last = len(keys) - 1
        if self.exact:
            return np.minimum(np.searchsorted(keys, (score + 0.0).view(np.int64)), last)
        key = grid_keys(score)
        at = np.minimum(np.searchsorted(keys, key * STRIDE), last)
        cut = np.flatnonzero(keys[at] != key * STRIDE)
        fine = key[cut] * STRIDE + 1 + refined_keys(score[cut], key[cut])
        at[cut] = np.minimum(np.searchsorted(keys, fine), last)
        return at

    def part(self, chosen: NDArray[np.bool_]) -> CountedRows:
        """Some entries; where they are rows, `find` then takes just those rows."""
        own = self.entries.rows(chosen)
        if self.order is not None:
            return CountedRows(own, order=np.argsort(np.argsort(self.order[chosen])))
        assert self.cell is not None
        return CountedRows(own, self.cell[chosen], self.keys, self.exact)


def _n_folds(rows: BinaryView) -> int:
    return 1 if rows.fold is None else int(rows.fold.max()) + 1


def _strata(rows: BinaryView) -> IntArray | int:
    own = _stratum(rows)
    return 0 if own is None else own


def _stratum(rows: BinaryView) -> IntArray | None:
    """Number of each row's split and named fold; None where there is neither."""
    if rows.test is None:
        return rows.fold
    test = rows.test.astype(np.int64)
    return test if rows.fold is None else test * _n_folds(rows) + rows.fold
