"""Tables of a monitor: evidence by day, calibration by period, by slice and by score range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.analysis.periods.cutting import cut_periods
from calib.features.monitor.episodes import History, log10
from calib.features.monitor.rows import Counts
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import bin_between
from calib.numerics.cells import Cells
from calib.numerics.intervals import wilson_interval
from calib.numerics.monitoring import BETS, e_benjamini_hochberg, log_increments, start_weighted
from calib.numerics.poisson_binomial import calibrated_rate_interval

# Fewer expected positives or negatives are too early for a calm word: no error of ordinary size
# could have been seen.
MIN_EXPECTED = 10.0
# Quotients are the decimals that scores have: the seventh number of a linspace is above 0.6.
SCORE_RANGES = np.arange(11.0) / 10.0
BAND = ("period", "first_day", "last_day")
MIN_PERIOD_ROWS, MIN_SHARE_OF_MEDIAN = 30.0, 0.25


def increments_of(counts: Counts, names: Sequence[str]) -> FloatArray:
    """Increments of each slice on each mature day, shape (days, slices, bets)."""
    numbers = {name: position for position, name in enumerate(names)}
    code = np.array([numbers.get(name, -1) for name in counts.names], dtype=np.int64)
    number = code[counts.slice] if len(counts.slice) else counts.slice
    chosen = (number >= 0) & (counts.day < counts.n_mature)
    n = len(names)
    place = counts.day[chosen] * n + number[chosen]
    score, positive, negative = (
        values[chosen] for values in (counts.score, counts.positive, counts.negative)
    )
    increments = log_increments(place, score, positive, negative, counts.n_mature * n)
    return increments.reshape(counts.n_mature, n, len(BETS))


def evidence_table(counts: Counts, past: History) -> pd.DataFrame:
    """One row per day: evidence as log10, rows, and whether the day is mature."""
    days, n, mature = counts.days, len(counts.days), counts.n_mature

    def line(values: FloatArray) -> FloatArray:
        return np.append(log10(values), np.full(n - mature, np.nan))

    return pd.DataFrame(
        {
            "day": days.astype("datetime64[s]"),
            "mixture": line(past.mixture),
            "shiryaev_roberts": line(past.shiryaev_roberts),
            "e_process": line(past.e_process),
            "mature": np.arange(n) < mature,
            "rows": counts.by_day(counts.rows),
            "positive": counts.by_day(counts.positive),
            "mean_score": _share(counts.by_day(counts.rows * counts.score), counts),
            "missing": counts.by_day(counts.missing),
            "late": counts.by_day(counts.late),
        }
    )


def _share(sums: FloatArray, counts: Counts) -> FloatArray:
    rows = counts.by_day(counts.rows)
    return np.divide(sums, rows, out=np.full(len(rows), np.nan), where=rows > 0.0)


def period_table(counts: Counts, confidence_level: float = 0.95) -> pd.DataFrame:
    """Observed minus predicted in each period of the mature days, with its band under calibration.

    The band holds the difference of a calibrated period with this probability. Its quantiles are
    those of the number of positives given the scores (Poisson binomial).
    """
    cut = _periods(counts)
    if cut is None:
        return _differences([], [], confidence_level).assign(**{name: [] for name in BAND})
    return _of_periods(counts, cut, confidence_level)


@dataclass(frozen=True, slots=True, eq=False)
class _Periods:
    """Periods, and the period of each day, or -1."""

    names: tuple[str, ...]
    of_day: IntArray
    last: IntArray  # The position of the last day of each that has rows.
    ends: Mapping[str, NDArray[np.datetime64]]  # The first and the last day of each.


def _periods(counts: Counts) -> _Periods | None:
    """The periods of the mature days that have rows; None without such a day."""
    rows = counts.by_day(counts.rows)[: counts.n_mature]
    with_rows = np.flatnonzero(rows > 0.0)
    if not len(with_rows):
        return None
    cut = cut_periods(counts.days[with_rows], count=rows[with_rows])
    codes, names = _joined(cut.codes, cut.names, rows[with_rows])
    of_day = np.full(len(counts.days), -1, dtype=np.int64)
    of_day[with_rows] = codes
    first, last = np.array([with_rows[codes == i][[0, -1]] for i in range(len(names))]).T
    ends = [counts.days[end].astype("datetime64[s]") for end in (first, last)]
    return _Periods(names, of_day, last, dict(zip(BAND[1:], ends, strict=True)))


def _joined(
    codes: IntArray, names: Sequence[str], rows: FloatArray
) -> tuple[IntArray, tuple[str, ...]]:
    """Join periods of few rows with the next ones, and the last ones with those before them.

    Few are less than 30 rows, or a quarter of the median: the band of such a period would be so
    wide that nothing else could be seen.
    """
    total = np.bincount(codes, rows, minlength=len(names))
    least = max(MIN_PERIOD_ROWS, MIN_SHARE_OF_MEDIAN * float(np.median(total)))
    group = np.zeros(len(names), dtype=np.int64)
    number, held = 0, 0.0
    for i, n in enumerate(total):
        group[i], held = number, held + n
        if held >= least:
            number, held = number + 1, 0.0
    # The periods left at the end have too few rows together.
    group = np.minimum(group, max(number - 1, 0))
    parts = [np.flatnonzero(group == number) for number in range(int(group[-1]) + 1)]
    joined = [names[i[0]] if len(i) == 1 else f"{names[i[0]]} to {names[i[-1]]}" for i in parts]
    return group[codes], tuple(joined)


def _of_periods(counts: Counts, cut: _Periods, confidence_level: float = 0.95) -> pd.DataFrame:
    code = cut.of_day[counts.day]
    present = np.unique(code[(code >= 0) & (counts.rows > 0.0)])
    parts = [_cells(counts, code == number) for number in present]
    table = _differences([cut.names[i] for i in present], parts, confidence_level, "period")
    if len(present) < len(cut.names):
        # A slice may have no rows in a period. Its rates are not known there.
        table = table.set_axis(present).reindex(range(len(cut.names)))
        table["period"] = list(cut.names)
        table[["rows", "positive"]] = table[["rows", "positive"]].fillna(0.0)
        table["outside"] = table["outside"].eq(True)
    for place, (end, days) in enumerate(cut.ends.items(), 1):
        table.insert(place, end, days)
    return table


def range_table(counts: Counts, first: int, confidence_level: float = 0.95) -> pd.DataFrame:
    """Observed minus predicted by tenths of the score, on the mature days from a position on."""
    mature = counts.from_to(first, counts.n_mature)
    number = np.clip(np.searchsorted(SCORE_RANGES, mature.score, side="right") - 1, 0, 9)
    present = np.unique(number[mature.rows > 0.0])
    parts = [_cells(mature, number == position) for position in present]
    table = _differences(list(range(len(parts))), parts, confidence_level).drop(columns="name")
    table.insert(0, "low", SCORE_RANGES[present])
    table.insert(1, "high", SCORE_RANGES[present + 1])
    return table


def _cells(counts: Counts, chosen: BoolArray) -> Cells:
    """The cells of some days together, by distinct score."""
    score, at = np.unique(counts.score[chosen], return_inverse=True)
    rows, positive = (
        np.bincount(at, values[chosen], minlength=len(score)).astype(np.float64)
        for values in (counts.rows, counts.positive)
    )
    kept = rows > 0.0
    score, rows, positive = score[kept], rows[kept], positive[kept]
    return Cells(score, rows, rows, positive, rows, positive)


def _differences(
    names: Sequence[object], parts: Sequence[Cells], confidence_level: float, column: str = "name"
) -> pd.DataFrame:
    bounds = [_band(part, confidence_level) for part in parts]
    mean = np.array([part.mean_score for part in parts], dtype=np.float64)
    observed = np.array([part.base_rate for part in parts], dtype=np.float64)
    low, high = (np.array([bound[end] for bound in bounds], dtype=np.float64) for end in (0, 1))
    difference = observed - mean
    rows = np.array([part.n_rows for part in parts], dtype=np.float64)
    first, last = _interval(observed, rows, confidence_level)
    return pd.DataFrame(
        {
            column: names,
            "rows": [part.n_rows for part in parts],
            "positive": [part.total_positive for part in parts],
            "mean_score": mean,
            "observed": observed,
            "difference": difference,
            "difference_low": first - mean,
            "difference_high": last - mean,
            "band_low": low - mean,
            "band_high": high - mean,
            # Bounds are quotients of whole numbers, so an observed rate on them may round apart.
            "outside": (observed < low - 1e-12) | (observed > high + 1e-12),
        }
    )


def _band(cells: Cells, confidence_level: float) -> tuple[float, float]:
    low, high = calibrated_rate_interval(
        cells, bin_between(cells, np.array([0.0, 1.0])), confidence_level
    )
    return float(low[0]), float(high[0])


def slice_evidence(counts: Counts, first: int) -> FloatArray:
    """Log evidence of each slice after each mature day from a position on, (days, slices)."""
    return start_weighted(increments_of(counts, counts.slice_names)[first:])


def slice_table(
    counts: Counts, evidence: FloatArray, first: int, since: int, alpha: float
) -> pd.DataFrame:
    """The state of each slice, by e-BH on the evidence of the days of this calibrator.

    Rates and rows are those since the change, or since the evidence began anew.
    """
    names = counts.slice_names
    last = evidence[-1] if len(evidence) else np.full(len(names), np.nan)
    slices = [counts.of_slice(name) for name in names]
    rows, expected, _ = _sums([part.from_to(first, counts.n_mature) for part in slices])
    last = np.where(rows > 0.0, last, np.nan)
    now, predicted, positive = _sums([part.from_to(since, counts.n_mature) for part in slices])
    mean, observed = (
        np.divide(sums, now, out=np.full(len(now), np.nan), where=now > 0.0)
        for sums in (predicted, positive)
    )
    low, high = _interval(observed, now, 0.95)
    return pd.DataFrame(
        {
            "slice": list(names),
            "state": _states(last, rows, expected, alpha),
            "log10_evidence": log10(last),
            "rows": now,
            "mean_score": mean,
            "observed": observed,
            "difference": observed - mean,
            "difference_low": low - mean,
            "difference_high": high - mean,
        }
    )


def _sums(parts: Sequence[Counts]) -> FloatArray:
    """Rows, expected and observed positives of each part, shape (3, parts)."""
    sums = [(p.rows.sum(), (p.rows * p.score).sum(), p.positive.sum()) for p in parts]
    return np.array(sums, dtype=np.float64).reshape(-1, 3).T


def _interval(
    observed: FloatArray, rows: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson interval of observed rates; NaN without rows."""
    has_rows = rows > 0.0
    ends = np.full((2, len(rows)), np.nan)
    ends[:, has_rows] = wilson_interval(observed[has_rows], rows[has_rows], confidence_level)
    return ends[0], ends[1]


def slice_day_table(counts: Counts, evidence: FloatArray, first: int) -> pd.DataFrame:
    """One row per slice and mature day of this calibrator: log10 of the evidence."""
    names, days = counts.slice_names, counts.days[first : first + len(evidence)]
    return pd.DataFrame(
        {
            "slice": np.repeat(np.array(names, dtype=object), len(days)),
            "day": np.tile(days, len(names)).astype("datetime64[s]"),
            "log10_evidence": log10(evidence.T.ravel()),
        }
    )


def slice_period_table(
    counts: Counts, evidence: FloatArray, first: int, alpha: float
) -> pd.DataFrame:
    """Calibration of each slice in each period of all rows, and its state after the period.

    Before the first row that the calibrator in use scored, a slice has no state.
    """
    names, cut = counts.slice_names, _periods(counts.all_rows())
    if cut is None or not names:
        return period_table(counts.from_to(0, 0)).assign(slice=[], state=[], log10_evidence=[])
    parts = [counts.of_slice(name) for name in names]
    table = pd.concat([_of_periods(part, cut) for part in parts], ignore_index=True)
    # The evidence of the calibrator in use begins at its first day.
    in_use = [part.from_to(first, counts.n_mature) for part in parts]
    sums = [(part.by_day(part.rows), part.by_day(part.rows * part.score)) for part in in_use]
    rows, expected = np.cumsum(np.array(sums), axis=2)[:, :, cut.last].swapaxes(0, 1)
    begun = (cut.last >= first) & (rows > 0.0)
    last = np.full(rows.shape, np.nan)
    if len(evidence):
        last = np.where(begun, evidence[np.maximum(cut.last - first, 0)].T, np.nan)
    states = [_states(*after, alpha) for after in zip(last.T, rows.T, expected.T, strict=True)]
    table.insert(0, "slice", np.repeat(np.array(names, dtype=object), len(cut.names)))
    table["state"] = np.where(begun, np.array(states).T, "").ravel().astype(object)
    table["log10_evidence"] = log10(last).ravel()
    return table


def slice_range_table(counts: Counts, first: int) -> pd.DataFrame:
    """Observed minus predicted by tenths of the score, as `range_table` has it, of each slice."""
    tables = [
        range_table(counts.of_slice(name), first).assign(slice=name) for name in counts.slice_names
    ]
    return (
        pd.concat(tables, ignore_index=True)
        if tables
        else range_table(counts.from_to(0, 0), 0).assign(slice=[])
    )


def _states(
    evidence: FloatArray, rows: FloatArray, expected: FloatArray, alpha: float
) -> NDArray[np.object_]:
    """The state of each slice, from its evidence, its rows, and the expected positives."""
    wrong = e_benjamini_hochberg(evidence, alpha)
    early = np.minimum(expected, rows - expected) < MIN_EXPECTED
    return np.where(wrong, "alarm", np.where(early, "too early", "calm")).astype(object)


def too_early(part: Counts) -> bool:
    """Whether the tested rows are too few for an error of ordinary size to be seen."""
    expected = float((part.rows * part.score).sum())
    return min(expected, float(part.rows.sum()) - expected) < MIN_EXPECTED
