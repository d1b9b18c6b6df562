"""Groups of at least ten rows: small slices together, small periods with their neighbours."""

from __future__ import annotations

import numpy as np

from calib.analysis.decisions.curves import GRID
from calib.analysis.periods import Periods
from calib.analysis.slices import Slicing
from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray

MIN_ROWS = 10


def merge_small(rows: FloatArray) -> list[slice]:
    """Runs of neighbours that hold at least ten rows together; the smallest is merged first.

    Examples
    --------
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
    """The same slices with those of fewer than ten rows as one, and how many those are.

    Where these hold fewer than ten rows even together, the next larger slice goes with them: all
    rows less the slices shown would be those few. `count` is that of the rows which each code
    stands for, 1 each if None.

    Examples
    --------
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
    """The same periods, those of fewer than ten rows joined with a neighbour; None if none remains.

    Where fewer than ten rows have no time, the shortest period is left out with them: all rows less
    all periods would else show those few. `count` as of `merged_slices`.
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

    What lies between two thresholds is one cell, at its lowest score: at a threshold that ends a
    cell the curves are exact, and between such thresholds they are flat.
    """
    starts = np.unique(np.searchsorted(cells.score, GRID, side="left"))
    starts = np.union1d([0], starts[starts < len(cells)]).astype(np.int64)
    runs = merge_small(np.add.reduceat(cells.rows, starts))
    starts = starts[[run.start for run in runs]]

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, starts)

    return ScoreCells(
        score=cells.score[starts],
        rows=total(cells.rows),
        weight=total(cells.weight),
        positive=total(cells.positive),
        weight_sq=total(cells.weight_sq),
        positive_sq=total(cells.positive_sq),
    )
