"""The bins of a reliability diagram at every stop of a slider, all computed at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from calib.curves.reliability import FEW_ROWS
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray, Locked
from calib.numerics.binning import Bins, Strategy, bin_cells
from calib.numerics.intervals import binomial_p_value, holm, wilson_interval
from calib.numerics.poisson_binomial import MAX_EXACT_ROWS, CalibratedRates

# Numbers and strategies of bins that a person can choose.
MAX_BINS = 100
STOPS: tuple[tuple[int, Strategy], ...] = tuple(
    (n_bins, strategy) for strategy in ("quantile", "uniform") for n_bins in range(2, MAX_BINS + 1)
)
# Exact distributions of this many rows at once take 20 MB. All stops may have five times as many.
MAX_ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class BinStops(Locked):
    """The bins with rows of s stops, one stop after another.

    Those of stop i are `start[i]:start[i + 1]`. `bins` has arrays of shape (b,); `ece` and `worst`
    have shape (s,). `worst` is the position, within its stop, of the bin with the largest gap, as
    in ReliabilityCurve.
    """

    stops: tuple[tuple[int, Strategy], ...]
    start: IntArray
    bins: Bins
    ece: FloatArray
    worst: IntArray

    @property
    def of_bin(self) -> IntArray:
        """The number of the stop to which each bin belongs."""
        return np.repeat(np.arange(len(self.stops)), np.diff(self.start))

    def parts(self) -> Iterator[slice]:
        """The bins of each stop."""
        return (slice(a, b) for a, b in zip(self.start[:-1], self.start[1:], strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class StopIntervals(Locked):
    """Intervals, consistency bands and tests of the bins of all stops, for independent rows.

    Arrays have shape (b,), as those of `BinStops.bins`; those of the ECE that chance alone shows on
    average, and of the median widths of the bands, have shape (s,). Each number is that of
    `reliability_curve` and `bin_tests` for this stop.
    """

    low: FloatArray
    high: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    together_low: FloatArray
    together_high: FloatArray
    p_adjusted: FloatArray
    chance: FloatArray
    band_width: FloatArray
    together_width: FloatArray


def bin_stops(cells: ScoreCells, stops: Sequence[tuple[int, Strategy]] = STOPS) -> BinStops:
    """Cut cells into the bins of every stop, a number of bins and a strategy.

    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.2, 0.4, 0.8])
    >>> cut = bin_stops(cells, [(2, "uniform"), (3, "uniform")])
    >>> cut.start, cut.bins.rows, cut.ece.round(3)
    (array([0, 2, 5]), array([2., 1., 1., 1., 1.]), array([0.2  , 0.333]))
    """
    parts = [bin_cells(cells, n_bins, strategy) for n_bins, strategy in stops]
    return BinStops(
        stops=tuple(stops),
        start=np.concatenate([[0], np.cumsum([len(part) for part in parts])]),
        bins=_joined(parts),
        ece=np.array([part.weight @ np.abs(part.gap) for part in parts]) / cells.total_weight,
        worst=np.array([_worst(part) for part in parts]),
    )


def stop_intervals(
    cells: ScoreCells, cut: BinStops, confidence_level: float = 0.95
) -> StopIntervals:
    """Intervals and tests of the bins of all stops of these cells.

    >>> cells = ScoreCells.from_arrays([0, 1] * 40, [0.25, 0.75] * 40)
    >>> made = stop_intervals(cells, bin_stops(cells, [(2, "uniform")]))
    >>> made.band_low, made.together_low
    (array([0.125, 0.6  ]), array([0.1, 0.6]))
    """
    bins = cut.bins
    low, high = wilson_interval(bins.observed, bins.effective_rows, confidence_level)
    p_value = binomial_p_value(bins.observed, bins.effective_rows, bins.mean_score)
    alone, together = np.empty((2, len(bins))), np.empty((2, len(bins)))
    gap = np.empty(len(bins))
    for part in _batches(cut):
        of_part = cut.of_bin[part]
        rates = CalibratedRates.of(cells, _taken(bins, part), of_part - of_part[0])
        alone[:, part] = rates.alone(confidence_level)
        together[:, part] = rates.together(confidence_level)
        gap[part] = bins.weight[part] * rates.gap()
    return StopIntervals(
        low=low,
        high=high,
        band_low=alone[0],
        band_high=alone[1],
        together_low=together[0],
        together_high=together[1],
        p_adjusted=np.concatenate([holm(p_value[part]) for part in cut.parts()]),
        chance=np.add.reduceat(gap, cut.start[:-1]) / cells.total_weight,
        band_width=_median_widths(cut, *alone),
        together_width=_median_widths(cut, *together),
    )


def _worst(bins: Bins) -> int:
    few = bins.rows < FEW_ROWS
    return int(np.where(few & ~few.all(), -1.0, np.abs(bins.gap)).argmax())


def _joined(parts: Sequence[Bins]) -> Bins:
    names = [field.name for field in fields(Bins) if field.name != "n_empty"]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Bins(**joined, n_empty=0)


def _taken(bins: Bins, part: slice) -> Bins:
    names = [field.name for field in fields(Bins) if field.name != "n_empty"]
    return replace(bins, **{name: getattr(bins, name)[part] for name in names})


def _batches(cut: BinStops) -> Iterator[slice]:
    """Bins of whole stops, of about a million rows that have exact distributions."""
    rows = np.where(cut.bins.rows <= MAX_EXACT_ROWS, cut.bins.rows, 0.0)
    batch = np.cumsum(np.add.reduceat(rows, cut.start[:-1])) // MAX_ROWS_AT_ONCE
    ends = np.append(np.flatnonzero(np.diff(batch)) + 1, len(batch))
    first = 0
    for end in cut.start[ends]:
        yield slice(first, end)
        first = end


def _median_widths(cut: BinStops, low: FloatArray, high: FloatArray) -> FloatArray:
    return np.array([np.median((high - low)[part]) for part in cut.parts()])
