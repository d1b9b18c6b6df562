"""From an analysis to the evidence of its report: exact cells, or cells of at least ten rows."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis
from calib.analysis.periods import timed_rows
from calib.analysis.slices import sliced_rows
from calib.analysis.summary import shown_methods
from calib.data.aggregate import Aggregate
from calib.data.aggregating import aggregate_all, joined_pieces
from calib.data.cells import ScoreCells
from calib.data.origin import conversion_of
from calib.data.slicing import NO_SLICE, Part, Strata
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import bin_edges, bin_starts, edge_ends
from calib.numerics.cells import KEYS_PER_CELL, MAX_CELLS, CellTable, merge_entries
from calib.numerics.few_cells import bucket_means
from calib.numerics.score_grid import grid_keys, refined_keys
from calib.reports.contents.disclosure import (
    MIN_ROWS,
    SCORE_DIGITS,
    merge_small,
    merged_periods,
    merged_slices,
)
from calib.reports.contents.evidence import (
    CLUSTERS,
    GRADES,
    JUDGE,
    LOG_ODDS,
    MATRIX,
    MODELS,
    PLAN,
    SLICE,
    TIME,
    Evidence,
    Grade,
    Uncounted,
)
from calib.reports.contents.structure import Parts
from calib.text import count

# This limits the cells of each method, and so the size of the file.
MAX_GUARDED_CELLS = 8192


def evidence_of(analysis: LiveAnalysis, parts: Parts | None, grade: Grade) -> Evidence:
    """Count what an analysis was made of, and what it gave.

    Exact reports are also counted by the slices and periods that they show.
    """
    if grade not in GRADES:
        raise ValueError(f"grade must be 'guarded' or 'exact', got {grade!r}.")
    uncounted = _uncounted(analysis)
    needs = [JUDGE] if parts is not None and parts.judge is not None else []
    sentences = {"classes": [MATRIX], "clusters": [CLUSTERS], "log_odds": [LOG_ODDS]}
    needs += sentences.get(uncounted, [])
    needs += [MODELS] if parts is not None and parts.models is not None else []
    needs += [PLAN] if analysis.recommendation.plan is not None else []
    methods: list[Part] = []
    counted: list[tuple[Strata, CellTable]] = []

    def add(key: str, column: str, names: tuple[str, ...], table: CellTable) -> None:
        counted.append((_strata(np.arange(len(names)) + len(methods)), table))
        methods.extend(Part(key, column, name) for name in names)

    for key in analysis.methods:
        exact = grade == "exact"
        table = entry_table(analysis.held_out.view(key)) if exact else guarded_cells(analysis, key)
        add(key, "", ("",), table)
    if grade == "exact":
        cells = _exact_cells(analysis)
        for key, column, names, table in _tables(analysis, parts, needs):
            add(key, column, names, table)
    else:
        cells = Aggregate((Part(),), _strata(np.zeros(1)), counted[0][1], **_names(analysis))
    of_methods = joined_pieces(methods, counted, **_names(analysis, "uncalibrated"))
    return Evidence(grade, cells, of_methods, tuple(needs), uncounted=uncounted)


def entry_table(view: BinaryView, stratum: IntArray | None = None) -> CellTable:
    """Count rows or entries by stratum, score and outcome. Each cell is one score."""
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


def _uncounted(analysis: LiveAnalysis) -> Uncounted:
    if analysis.multiclass is not None:
        return "classes"
    if analysis.held_out.rows.group is not None:
        return "clusters"
    return "nothing" if analysis.held_out.rows.far is None else "log_odds"


def _strata(part: FloatArray | IntArray) -> Strata:
    none = np.full(len(part), NO_SLICE, dtype=np.int64)
    return Strata(part.astype(np.int64), none, none, none)


Counted = tuple[str, str, tuple[str, ...], CellTable]


def _tables(analysis: LiveAnalysis, parts: Parts | None, needs: list[str]) -> Iterator[Counted]:
    """Held-out scores of the methods shown, counted by the slices and periods of the report."""
    if parts is None:
        return
    data, held_out = analysis.source, analysis.held_out
    columns = []
    for number, part in enumerate(parts.slices):
        if part.n_left_out:
            names = " and ".join(part.columns)
            needs.append(f"Of the slices of {names} only the hundred that are shown are known.")
            continue
        sliced = sliced_rows(data, held_out, part.columns, n_ranges=parts.n_ranges)
        cut, _ = merged_slices(sliced.scored, sliced.held_out.given_rows.count)
        columns.append((SLICE.format(number), cut.names, cut.codes, sliced.held_out))
    if parts.periods is not None:
        timed, whole = timed_rows(data, held_out, parts.periods.column, parts.unit or None)  # type: ignore[arg-type]
        merged = merged_periods(whole, timed.given_rows.count)
        assert merged is not None
        columns.append((TIME, merged.names, merged.codes, timed))
    for column, values, codes, fitted in columns:
        kept = codes >= 0
        for key in shown_methods(analysis):
            yield key, column, values, entry_table(fitted.row_view(key).rows(kept), codes[kept])


def _names(analysis: LiveAnalysis, scores: str = "") -> dict[str, Any]:
    """Attributes of the counts. `scores` is the name of the scores among the counted methods."""
    source, step = analysis.source, analysis.held_out.rows.step
    return {
        "view_key": analysis.settings.view,
        "name": source.name,
        "score_name": source.score_name,
        "outcome_name": source.outcome_name,
        "positive_name": analysis.data.positive_name,
        "class_names": source.class_names,
        "weighted": analysis.data.weighted,
        "set_aside": dict(source.set_aside),
        "sources": source.sources,
        "max_scores": MAX_CELLS,
        "steps": {scores: step} if step else {},
        **conversion_of(source.origin),
    }


def _exact_cells(analysis: LiveAnalysis) -> Aggregate:
    """The cells that the analysis read, without clusters."""
    names = _names(analysis) | {"fold_names": analysis.source.fold_names}
    del names["weighted"]
    cells = aggregate_all(analysis.source, analysis.settings.view, **names)
    if not cells.exact:
        raise ValueError(
            f"An exact report holds at most {MAX_CELLS:,} distinct scores, got more. Make a "
            "guarded one, grade='guarded'."
        )
    return cells


def guarded_cells(analysis: LiveAnalysis, key: str) -> CellTable:
    """The held-out cells of a method, merged until each has at least ten rows.

    Both outcomes of a cell get its mean score and its bounds, which have three digits: nothing of
    it is a single row's. The explorer of the report counts these cells, so bins of the report end
    where cells end, if that leaves ten rows on both sides.
    """
    cells, view = analysis.held_out.cells[key], analysis.held_out.view(key)
    starts = group_starts(cells.rows, *_preferred_ends(analysis, key))
    on_grid = len(view) > MAX_CELLS and bool((np.diff(grid_keys(cells.score)) > 0).all())
    low, high = cells.score[starts], cells.score[np.append(starts[1:], len(cells)) - 1]
    if on_grid:
        # The score of a cell is the mean of its rows, which lie between the cells beside it.
        padded = np.concatenate([[0.0], cells.score, [1.0]])
        low, high = padded[starts], padded[np.append(starts[1:], len(cells)) + 1]
    low, high = outward(low, up=False), outward(high, up=True)
    mean = np.clip(bucket_means(cells.score, cells.weight, starts), low, high)
    rows, weight, weight_sq = _sums_by_outcome(cells, view, starts, on_grid=on_grid)
    group, outcome = np.nonzero(rows)
    # The cells are those of the grid that their mean scores lie in.
    grid = grid_keys(mean)
    return merge_entries(
        CellTable(
            exact=False,
            stratum=np.zeros(len(group), dtype=np.int64),
            key=(grid * KEYS_PER_CELL + 1 + refined_keys(mean, grid))[group],
            outcome=outcome == 1,
            rows=rows[group, outcome].astype(np.int64),
            weight=weight[group, outcome],
            weight_sq=weight_sq[group, outcome],
            score_sum=mean[group] * weight[group, outcome],
            low=low[group],
            high=high[group],
        )
    )


def _sums_by_outcome(
    cells: ScoreCells, view: BinaryView, starts: IntArray, *, on_grid: bool
) -> tuple[FloatArray, ...]:
    """Rows, weights and squared weights of each group, of its negative and its positive rows."""
    if view.weight is None:
        positive = np.add.reduceat(cells.positive, starts)
        negative = np.add.reduceat(cells.weight, starts) - positive
        return (np.column_stack([negative, positive]),) * 3
    first = cells.score[starts]
    if on_grid:
        group = np.searchsorted(grid_keys(first), grid_keys(view.score), side="right") - 1
    else:
        group = np.searchsorted(first, view.score, side="right") - 1
    order = np.argsort(group, kind="stable")
    code, size = (2 * group + view.outcome)[order], 2 * len(starts)
    values = (view.counts, view.weights, view.squared_weights)
    sums = (np.bincount(code, of_row[order], size) for of_row in values)
    return tuple(total.reshape(-1, 2).astype(np.float64) for total in sums)


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
