"""Disclosure control: a report contains only aggregates of at least ten rows each.

Bins and histogram bars with fewer rows are merged with a neighbour. Points of cumulative curves are
at least ten rows apart, and the score of a point is the mean of the rows up to it. The largest gap
of a bin (MCE) is that of the merged bins, because in a bin of one row it would reveal the score of
the row. Bin edges and knots are scores of single rows, so they are rounded to three digits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from calib.analysis import Analysis, LiveAnalysis, MethodResult
from calib.analysis.decisions.curves import THRESHOLDS
from calib.analysis.periods import Periods
from calib.analysis.slices import Slicing
from calib.curves.reliability import CumulativeCurve, ReliabilityCurve, reliability_curve
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import score_histogram
from calib.numerics.intervals import Estimate
from calib.uncertainty import Replicates

MIN_ROWS = 10


def merge_small(rows: FloatArray) -> list[slice]:
    """Runs of neighbours that hold at least ten rows together; the smallest is merged first.

    >>> merge_small(np.array([3.0, 50.0, 8.0, 4.0, 20.0]))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    sizes, starts = rows.tolist(), list(range(len(rows)))
    while len(sizes) > 1 and min(sizes) < MIN_ROWS:
        smallest = sizes.index(min(sizes))
        neighbours = [i for i in (smallest - 1, smallest + 1) if 0 <= i < len(sizes)]
        left = min(smallest, min(neighbours, key=lambda i: sizes[i]))
        sizes[left] += sizes.pop(left + 1)
        starts.pop(left + 1)
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(rows)], strict=True)]


def merged_slices(cut: Slicing, count: FloatArray | None = None) -> tuple[Slicing, int]:
    """Join slices of fewer than ten rows into one, and count how many were joined.

    If these have fewer than ten rows together, the next larger slice is joined too. Otherwise all
    rows less the slices shown would show those few. `count` is the number of rows that each code
    stands for, 1 each if None.

    >>> cut = Slicing(("site",), ("a", "b", "c"), np.repeat([0, 1, 2], [50, 8, 4]))
    >>> merged, n = merged_slices(cut)
    >>> merged.names[-1], n, np.bincount(merged.codes).tolist()
    ('Others (2 slices)', 2, [50, 0, 0, 12])
    """
    rows = np.bincount(cut.codes, count, minlength=len(cut))
    small = (rows > 0) & (rows < MIN_ROWS)
    larger = np.flatnonzero(rows >= MIN_ROWS)
    if 0 < rows[small].sum() < MIN_ROWS and len(larger):
        small[larger[rows[larger].argmin()]] = True
    if not small.any():
        return cut, 0
    name = f"Others ({small.sum()} slices)"
    codes = np.where(small[cut.codes], len(cut), cut.codes)
    return Slicing(cut.columns, (*cut.names, name), codes.astype(np.int64)), int(small.sum())


def merged_periods(cut: Periods, count: FloatArray | None = None) -> Periods | None:
    """Join periods of fewer than ten rows with a neighbour, or return None if none remains.

    If fewer than ten rows have no time, the shortest period is left out too. Otherwise all rows
    less all periods would show those few. `count` is that of `merged_slices`.
    """
    missing, *rows_of = np.bincount(cut.codes + 1, count, minlength=len(cut) + 1)
    rows = np.array(rows_of, dtype=np.float64)
    present = np.flatnonzero(rows)
    if rows.sum() < MIN_ROWS:
        return None
    runs = [present[run] for run in merge_small(rows[present])]
    if 0 < missing < MIN_ROWS:
        del runs[int(np.argmin([rows[run].sum() for run in runs]))]
    if not runs:
        return None
    number = np.full(len(cut) + 1, -1, dtype=np.int64)
    for i, run in enumerate(runs):
        number[run] = i
    first = np.array([run[0] for run in runs], dtype=np.int64)
    return Periods(cut.unit, _names(cut, runs), cut.position[first], number[cut.codes])


def _names(cut: Periods, runs: list[IntArray]) -> tuple[str, ...]:
    ends = [(cut.names[run[0]], cut.names[run[-1]]) for run in runs]
    return tuple(first if first == last else f"{first} to {last}" for first, last in ends)


def merged_cells(cells: ScoreCells) -> ScoreCells:
    """Cells of at least ten rows, for curves over the thresholds of a grid.

    All rows between two thresholds are one cell, at its lowest score. At a threshold that ends a
    cell the curves are exact, and between such thresholds they are flat.
    """
    starts = np.unique(np.searchsorted(cells.score, THRESHOLDS, side="left"))
    starts = starts[starts < len(cells)]  # The first start is 0, because the thresholds begin at 0.
    runs = merge_small(np.add.reduceat(cells.rows, starts))
    starts = starts[[run.start for run in runs]]
    return cells.joined(starts, cells.score[starts])


SCORE_DIGITS = 3
MERGED = (
    f"Bins of fewer than {MIN_ROWS} rows are merged in this report, and MCE is computed from the "
    "merged bins."
)


def check_rows(analysis: LiveAnalysis) -> None:
    """Raise ValueError if there are too few rows for a report."""
    fewest = min(analysis.data.n_rows, analysis.held_out.fitted_on.n_rows)
    if fewest < MIN_ROWS:
        raise ValueError(
            f"A report shows no individual records, and needs at least {MIN_ROWS} rows "
            f"for that, got {fewest}."
        )


def aggregated(analysis: Analysis) -> Analysis:
    """The same analysis without its rows, and without results from fewer than ten rows."""
    if not isinstance(analysis, Analysis):
        raise TypeError(
            f"analysis must come from calib.analyze, got {type(analysis).__name__}. calib.analyze "
            "makes one of predictions or of a frame."
        )
    if not isinstance(analysis, LiveAnalysis):
        raise ValueError(
            "analysis must come from calib.analyze, got one read from a report: use that report."
        )
    check_rows(analysis)
    held_out = analysis.held_out
    return analysis.aggregates(
        methods={
            key: _method(method, held_out.cells[key], held_out.replicates[key])
            for key, method in analysis.methods.items()
        },
        fitted_reliability=merged_curve(
            analysis.fitted_reliability, held_out.fitted_on, held_out.fitted_clusters
        ),
        warnings=(
            *analysis.warnings,
            *([MERGED] if any(map(_has_small_bin, analysis.methods.values())) else []),
        ),
    )


def _has_small_bin(method: MethodResult) -> bool:
    return bool((method.reliability.rows < MIN_ROWS).any())


def _method(method: MethodResult, cells: ScoreCells, drawn: Replicates) -> MethodResult:
    rows = score_histogram(cells.score, cells.rows)
    clusters = drawn if drawn.clustered else None
    function, merged = method.function, merged_curve(method.reliability, cells, clusters)
    largest = {}
    if _has_small_bin(method):
        edges = np.append(merged.low_edge[:1], merged.high_edge)
        floor = drawn.mce(edges).noise_floor
        largest = {"mce": Estimate(float(abs(merged.gap).max()), noise_floor=floor)}
    return replace(
        method,
        metrics=dict(method.metrics) | largest,
        reliability=merged,
        histogram=_merged_bars(method.histogram, rows),
        cumulative=_thinned_curve(method.cumulative, cells),
        function=replace(function, knots=np.unique(coarse(function.knots))),
    )


def merged_curve(
    curve: ReliabilityCurve, cells: ScoreCells, clusters: Replicates | None = None
) -> ReliabilityCurve:
    """The same curve with bins of at least ten rows, whose edges have three digits."""
    runs = merge_small(curve.rows)
    low = [curve.low_edge[run][0] for run in runs]
    high = [curve.high_edge[run][-1] for run in runs]
    between = reliability_curve(
        cells,
        edges=np.unique(np.concatenate([low, high])),
        confidence_level=curve.confidence_level,
        clusters=clusters,
        band=curve.band,
    )
    return replace(
        between,
        low_edge=coarse(between.low_edge),
        high_edge=coarse(between.high_edge),
        n_empty=curve.n_empty,
        strategy=curve.strategy,
    )


def _merged_bars(weight: FloatArray, rows: FloatArray) -> FloatArray:
    """Bars of a merged run share its weight, or give it to those with at least ten rows."""
    occupied = np.flatnonzero(rows)
    levelled = np.zeros_like(weight)
    for run in merge_small(rows[occupied]):
        bars = occupied[run]
        large = bars[rows[bars] >= MIN_ROWS]
        receiving = large if len(large) else bars
        levelled[receiving] = weight[bars].sum() / len(receiving)
    return levelled


def _thinned_curve(curve: CumulativeCurve, cells: ScoreCells) -> CumulativeCurve:
    at = np.searchsorted(cells.cumulative_weight / cells.total_weight, curve.fractile)
    kept = _distant_points(cells.cumulative_rows[at], curve.difference)
    fractile, total = curve.fractile[kept], curve.cumulative_score[kept]
    mean_score = np.clip(np.diff(total) / np.diff(fractile), 0.0, 1.0)
    return replace(
        curve,
        fractile=fractile,
        score=np.concatenate([mean_score[:1], mean_score]),
        recalibrated=curve.recalibrated[kept],
        cumulative_score=total,
        cumulative_outcome=curve.cumulative_outcome[kept],
    )


def _distant_points(rows: FloatArray, difference: FloatArray) -> list[int]:
    """Points at least ten rows apart: both ends, the extremes if possible, and others."""
    end = len(rows) - 1
    anchors = [0]
    for extreme in sorted((int(difference.argmin()), int(difference.argmax()))):
        if rows[anchors[-1]] + MIN_ROWS <= rows[extreme] <= rows[end] - MIN_ROWS:
            anchors.append(extreme)
    anchors.append(end)
    kept = [0]
    for start, stop in pairwise(anchors):
        kept += [*_points_between(rows, start, stop), stop]
    return kept


def _points_between(rows: FloatArray, start: int, stop: int) -> list[int]:
    kept, last = [], rows[start]
    for i in range(start + 1, stop):
        if last + MIN_ROWS <= rows[i] <= rows[stop] - MIN_ROWS:
            kept.append(i)
            last = rows[i]
    return kept


def coarse(score: FloatArray) -> FloatArray:
    """Scores with three digits each.

    >>> coarse(np.array([0.123456, 0.9998761, 1.0]))
    array([0.123   , 0.999876, 1.      ])
    """
    return np.array([coarse_score(value) for value in score.tolist()])


def coarse_score(score: float) -> float:
    """A score with three digits of its distance from 0 or 1, whichever is nearer."""
    distance = min(score, 1.0 - score)
    if distance <= 0.0:
        return score
    return round(score, min(SCORE_DIGITS - 1 - math.floor(math.log10(distance)), 15))
