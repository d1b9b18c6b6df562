"""From an analysis to the evidence of its report: exact cells, or cells of at least ten rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis
from calib.analysis.periods import timed_rows
from calib.analysis.slices import sliced_rows
from calib.core.aggregate import Aggregate
from calib.core.counting import aggregate_rows, joined_pieces
from calib.core.predictions import Predictions
from calib.core.strata import NONE, Part, Strata, joined_strata
from calib.core.views import BinaryView
from calib.crossfit.cross_fitted import CrossFitted
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.cell_table import MAX_CELLS, STRIDE, CellTable, join_tables, merge_entries
from calib.numerics.score_grid import grid_keys, refined_keys
from calib.reports.contents import Parts, shown_methods
from calib.reports.disclosure import (
    MIN_ROWS,
    SCORE_DIGITS,
    merge_small,
    merged_periods,
    merged_slices,
)
from calib.reports.evidence import CLUSTERS, GRADES, MATRIX, SLICE, TIME, Evidence, Grade
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

    Cells end at the `cuts`, if there are ten rows on both sides. Raises ValueError if a stratum
    holds fewer than ten rows.
    """
    parts = [
        _guarded_stratum(
            table.pick(table.stratum == number), np.array([]) if cuts is None else cuts
        )
        for number in np.unique(table.stratum)
    ]
    return merge_entries(join_tables(parts))


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


def groups(rows: FloatArray, cuts: IntArray) -> IntArray:
    """Where groups of neighbours start that hold at least ten rows each.

    >>> groups(np.array([4.0, 4.0, 4.0, 9.0, 9.0, 20.0, 3.0]), np.array([5]))
    array([0, 3, 5])
    """
    total = np.concatenate([[0.0], np.cumsum(rows)])
    if total[-1] < MIN_ROWS:
        raise ValueError(f"Guarded cells need at least {MIN_ROWS} rows, got {count(total[-1])}.")
    firsts = np.union1d([0], cuts[(cuts > 0) & (cuts < len(rows))]).astype(np.int64)
    runs = merge_small(np.diff(total[firsts], append=total[-1]))
    ends = [*(int(firsts[run.start]) for run in runs), len(rows)]
    size = max(MIN_ROWS, math.ceil(total[-1] / max(MOST_CELLS - len(runs), 1)))
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


def evidence_of(analysis: LiveAnalysis, parts: Parts | None, grade: Grade) -> Evidence:
    """Count what an analysis was made of, and what it gave, also in the slices and periods."""
    if grade not in GRADES:
        raise ValueError(f"grade must be 'guarded' or 'exact', got {grade!r}.")
    cells = _exact_cells(analysis)
    if grade == "guarded":
        cells = _guarded_cells(analysis, cells)
    elif not cells.exact:
        raise ValueError(
            f"An exact report holds at most {MAX_CELLS:,} distinct scores, got more. Make a "
            "guarded one, grade='guarded'."
        )
    needs = [*_needs_rows(analysis)]
    counted: list[tuple[Strata, CellTable]] = []
    own: list[Part] = []
    for key, column, names, table in _tables(analysis, parts, needs):
        if grade == "guarded":
            table = guarded_table(table, None if column else _cuts(analysis, key))
        counted.append((_strata(part=np.arange(len(names)) + len(own)), table))
        own += [Part(key, column, name) for name in names]
    methods = joined_pieces(own, counted, **_named(analysis))
    return Evidence(grade=grade, cells=cells, methods=methods, needs_rows=tuple(needs))


def _needs_rows(analysis: LiveAnalysis) -> Iterator[str]:
    if analysis.multiclass is not None:
        yield MATRIX
    elif analysis.held_out.rows.group is not None:
        yield CLUSTERS


def _strata(**own: IntArray) -> Strata:
    none = np.full(len(next(iter(own.values()))), NONE, dtype=np.int64)
    return Strata(**dict.fromkeys(Strata.__slots__, none) | own)


def _cuts(analysis: LiveAnalysis, key: str) -> FloatArray:
    """Scores that the cells of a method end at: edges of bins, and the ends of the largest gap."""
    cells, bins = analysis.held_out.cells[key], analysis.methods[key].reliability
    edges = [bins.high_edge[run][-1] for run in merge_small(bins.rows)]
    gap = cells.cumulative_positive - cells.cumulative_score
    ends = [int(at) - 1 for at in (gap.argmin(), gap.argmax()) if at]
    return np.unique(np.concatenate([edges, cells.score[ends]]))


Counted = tuple[str, str, tuple[str, ...], CellTable]
Column = tuple[str, tuple[str, ...], IntArray, CrossFitted]


def _tables(analysis: LiveAnalysis, parts: Parts | None, needs: list[str]) -> Iterator[Counted]:
    """Held-out scores of every method, counted; those shown also by slices and periods."""
    for key in analysis.methods:
        yield key, "", ("",), entry_table(analysis.held_out.view(key))
    for column, names, codes, held_out in _columns(analysis, parts, needs):
        kept = codes >= 0
        for key in shown_methods(analysis):
            rows = held_out.row_view(key).rows(kept)
            yield key, column, names, entry_table(rows, codes[kept])


def _columns(analysis: LiveAnalysis, parts: Parts | None, needs: list[str]) -> Iterator[Column]:
    """Slices and periods as the report shows them; which of them each scored row lies in."""
    if parts is None:
        return
    data, held_out = analysis.source, analysis.held_out
    for number, part in enumerate(parts.slices):
        if part.n_left_out:
            named = " and ".join(part.columns)
            needs.append(f"Of the slices of {named} only the hundred that are shown are known.")
            continue
        found = sliced_rows(data, held_out, part.columns, n_ranges=parts.n_ranges)
        cut, _ = merged_slices(found.scored, found.held_out.given_rows.count)
        yield SLICE.format(number), cut.names, cut.codes, found.held_out
    if parts.periods is not None:
        timed, whole = timed_rows(data, held_out, parts.periods.column, parts.unit or None)  # type: ignore[arg-type]
        merged = merged_periods(whole, timed.given_rows.count)
        assert merged is not None
        yield TIME, merged.names, merged.codes, timed


def _named(analysis: LiveAnalysis) -> dict[str, Any]:
    source = analysis.source
    return {
        "view_key": analysis.settings.view,
        "name": source.name,
        "score_name": source.score_name,
        "outcome_name": source.outcome_name,
        "positive_name": analysis.data.positive_name,
        "class_names": source.class_names,
        "weighted": analysis.data.weighted,
        "set_aside": dict(source.set_aside),
        "sources": (source.fingerprint,) if isinstance(source, Predictions) else source.sources,
        "max_scores": MAX_CELLS,
    }


def _exact_cells(analysis: LiveAnalysis) -> Aggregate:
    """The very cells that the analysis read, without clusters."""
    source, named = analysis.source, _named(analysis)
    if isinstance(source, Predictions):
        rows = replace(source.view(analysis.settings.view), group=None)
        del named["weighted"]
        return aggregate_rows(rows, {}, **named, fold_names=source.fold_names)
    whole = np.array([not part.column for part in source.parts])
    table = source.table.pick(whole[source.strata.part[source.table.stratum]])
    if table.exact and table.n_cells > MAX_CELLS:
        table = table.bounded()
    strata, table = _as_one(source.strata, table, part=0, group=NONE)
    return Aggregate((Part(),), strata, table, **named, fold_names=source.fold_names)


def _as_one(strata: Strata, table: CellTable, **same: int) -> tuple[Strata, CellTable]:
    """Strata that differ in nothing else than what is now the same are one."""
    alike = {name: np.full(len(strata.part), value) for name, value in same.items()}
    _, strata, (number,) = joined_strata(((Part(),), replace(strata, **alike)))
    return strata, merge_entries(replace(table, stratum=number[table.stratum]))


def _guarded_cells(analysis: LiveAnalysis, exact: Aggregate) -> Aggregate:
    """Cells of at least ten rows, each in the fold that its rows were held out in."""
    held_out, fold_names = analysis.held_out, analysis.source.fold_names
    if held_out.protocol == "test rows":
        strata, table = exact.strata, exact.table
        if fold_names:
            strata, table = _as_one(strata, table, fold=NONE)
        return Aggregate((Part(),), strata, guarded_table(table), **_named(analysis))
    rows = held_out.view("uncalibrated")
    fold = np.zeros(len(rows), dtype=np.int64) if rows.fold is None else rows.fold
    if np.bincount(fold, rows.counts).min() < MIN_ROWS:
        fold, fold_names = np.zeros(len(rows), dtype=np.int64), ()
    else:
        fold_names = fold_names or tuple(str(i + 1) for i in range(int(fold.max()) + 1))
    numbers, stratum = np.unique(fold, return_inverse=True)
    strata = _strata(part=np.zeros_like(numbers), **({"fold": numbers} if fold_names else {}))
    table = guarded_table(
        entry_table(rows, stratum.astype(np.int64)), _cuts(analysis, "uncalibrated")
    )
    return Aggregate((Part(),), strata, table, **_named(analysis), fold_names=fold_names)
