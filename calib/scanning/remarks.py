"""Warnings of the Data page that follow from the counts of a scan, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from calib.core.aggregate import Aggregate
from calib.core.cells import ScoreCells
from calib.core.strata import NONE
from calib.loading.checking.outcomes import few_rows, other_rate
from calib.loading.checking.scores import constant, labels_only, swapped
from calib.loading.options import ColumnMapping
from calib.loading.problems import Problem
from calib.numerics.arrays import IntArray
from calib.numerics.cell_table import CellTable
from calib.scanning.describing import Description


def remarks_of(
    counted: Aggregate, found: Description, mapping: ColumnMapping, more: Iterable[Problem]
) -> tuple[str, ...]:
    """Sentences about usable rows that can be misleading; `more` was noticed while counting.

    A class of a single row is no error here: counts of other rows may be added.
    """
    problems = [*found.warnings, *more]
    if isinstance(mapping.score, str):
        problems += _of_rows(counted)
        problems += _of_scores(counted, found, mapping)
    return tuple(problem.sentence for problem in problems)


def _whole(counted: Aggregate) -> tuple[CellTable, IntArray]:
    """Entries of all rows, and which of them are test rows."""
    strata = counted.strata
    own = np.flatnonzero(strata.part[counted.table.stratum] == 0)
    return counted.table.pick(own), strata.test[counted.table.stratum[own]]


def _of_rows(counted: Aggregate) -> Iterator[Problem]:
    cells, test = _whole(counted)
    names = {NONE: "the rows", 0: "the calibration rows", 1: "the test rows"}
    for value, part in names.items():
        chosen = test == value
        total = int(cells.rows[chosen].sum())
        n_positive = int(cells.rows[chosen & cells.outcome].sum())
        if 0 < n_positive < total:
            yield from few_rows(part, total, min(n_positive, total - n_positive))


def _of_scores(counted: Aggregate, found: Description, mapping: ColumnMapping) -> Iterator[Problem]:
    cells, _ = _whole(counted)
    low, high = float(cells.low.min()), float(cells.high.max())
    if low == high:
        yield constant(mapping, low)
        return
    if ((cells.low == cells.high) & np.isin(cells.low, (0.0, 1.0))).all():
        yield labels_only(mapping, copy=bool((cells.outcome == (cells.low == 1.0)).all()))
    score, rows = cells.score_sum / cells.weight, cells.rows.astype(np.float64)
    n_rows = int(cells.rows.sum())
    yield from swapped(mapping, ScoreCells.from_arrays(cells.outcome, score, rows))
    if not found.sure:
        rate = float(rows[cells.outcome].sum()) / n_rows
        named = replace(mapping, positive=mapping.positive or counted.positive_name)
        yield from other_rate(named, rate, float(score @ rows) / n_rows)
