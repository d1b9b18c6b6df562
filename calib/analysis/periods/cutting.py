"""Time cut into periods, and one line of the table for each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.analysis.groups import Groups, GroupTable, fitted_groups, lines_of
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.folds import n_positive
from calib.data.base import Data
from calib.data.slicing import MAX_NUMBERS, edge_names, in_order, quantiles_of_counts, value_name
from calib.data.views import BinaryView
from calib.metrics.by_cluster import widened_test
from calib.metrics.cumulative import ks_test
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.numerics.intervals import wilson_interval
from calib.numerics.resampling import mean_design_effects

Unit = Literal["day", "week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)
# More periods could not be distinguished in a chart.
MAX_PERIODS = 400
# The automatic unit has at most this many periods, with at least this median number of rows.
MAX_AUTOMATIC_PERIODS = 36
MIN_MEDIAN_ROWS = 100
N_RANGES = 12


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Periods(Locked):
    """The assignment of rows to periods.

    Attributes
    ----------
    unit : str
        "day", "week", "month", "quarter" or "year" for dates; "value" if each value is a period;
        "range" if numbers were cut into ranges with about equal numbers of rows.
    names : tuple of str, length k
        Names of the periods that have rows, in order of time.
    position : ndarray of int, shape (k,)
        Number of each period. Periods without rows are counted, so a gap in time leaves a gap.
    codes : ndarray of int, shape (n,)
        Position of the period of each row in `names`, or -1 if the time is missing.
    """

    unit: str
    names: tuple[str, ...]
    position: IntArray
    codes: IntArray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_missing(self) -> int:
        """Number of rows without a time."""
        return int((self.codes < 0).sum())

    def place(self, at: float) -> float:
        """Where a position is if periods without rows take no room, in periods from the first."""
        if math.isnan(at):
            return at
        i = int(np.searchsorted(self.position, math.floor(at)))
        inside = i < len(self) and self.position[i] == math.floor(at)
        return i + at % 1.0 if inside else float(i)

    def rows(self, chosen: NDArray[Any]) -> Periods:
        """The same periods for rows selected by a mask or by indices. Some can be empty."""
        return Periods(self.unit, self.names, self.position, self.codes[chosen])


def cut_periods(
    values: NDArray[Any], unit: Unit | None = None, *, count: FloatArray | None = None
) -> Periods:
    """Cut a time column into periods.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Dates, numbers (for example seasons), or text whose alphabetical order is the order of time.
        More than 12 different numbers that are not integers are cut into ranges.
    unit : {"day", "week", "month", "quarter", "year"}, optional
        Length of the periods if values are dates. Weeks begin on Monday. Default: the shortest unit
        with at most 36 periods and a median of at least 100 rows per period.
    count : ndarray of shape (n,), optional
        Number of rows of each value. Default: 1.

    Raises
    ------
    ValueError
        If the unit is unknown, no row has a time, or there are more than 400 periods.

    Examples
    --------
    >>> import numpy as np
    >>> days = np.array(["2024-01-31", "2024-02-01", "2024-04-01"], dtype="datetime64[us]")
    >>> cut = cut_periods(days, "month")
    >>> cut.names, cut.position
    (('2024-01', '2024-02', '2024-04'), array([0, 1, 3]))
    """
    if unit is not None and unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, got {unit!r}.")
    count = np.ones(len(values)) if count is None else count
    dates = values.dtype.kind == "M"
    periods = _cut_dates(values, unit, count) if dates else _cut_values(values, count)
    if not len(periods):
        raise ValueError(f"A time column must hold a time, got {count.sum():.0f} rows without one.")
    if len(periods) > MAX_PERIODS:
        raise ValueError(
            f"A time column is cut in at most {MAX_PERIODS} periods: choose a longer unit, "
            f"got {len(periods):,}."
        )
    return periods


@dataclass(frozen=True, slots=True)
class LastDays:
    """The days of some rows, and the youngest of them, whose outcomes may not be final.

    Attributes
    ----------
    first, last : date
    horizon : int
        Days after which an outcome is final.
    """

    first: date
    last: date
    horizon: int

    @classmethod
    def of(cls, values: NDArray[Any], horizon: int) -> LastDays | None:
        """The days of a time column; None if it has no dates."""
        dates = values[~np.isnat(values)] if values.dtype.kind == "M" else values[:0]
        if not len(dates):
            return None
        first, last = (day.astype("datetime64[D]").item() for day in (dates.min(), dates.max()))
        return cls(first, last, horizon)

    def begin(self, unit: str) -> float:
        """The position from which on periods have young days, in periods from the first one.

        It is NaN if there are none, or the periods are not of days.

        >>> round(LastDays(date(2026, 6, 10), date(2026, 8, 31), 16).begin("month"), 3)
        2.484
        """
        if not self.horizon or unit not in UNITS:
            return float("nan")
        first, last = np.array([self.first, self.last], dtype="datetime64[D]").astype(np.int64)
        day = max(first, last - self.horizon + 1)
        # No period is longer than a year.
        around = day + np.arange(-366, 367)
        numbers = _numbers(around, unit)
        whole = around[numbers == numbers[366]]
        before = numbers[366] - _numbers(np.array([first]), unit)[0]
        return float(before + (day - whole[0]) / len(whole))


def _cut_dates(values: NDArray[Any], unit: Unit | None, count: FloatArray) -> Periods:
    missing = np.isnat(values)
    days = values[~missing].astype("datetime64[D]").astype(np.int64)
    # The distinct days are few, and take the place of all rows.
    inverse, distinct = pd.factorize(days, sort=True)
    rows = np.bincount(inverse, count[~missing], minlength=len(distinct)).astype(np.float64)
    chosen = unit or _choose_unit(np.asarray(distinct), rows)
    present, position = np.unique(_numbers(np.asarray(distinct), chosen), return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[~missing] = position[inverse]
    names = tuple(_date_name(int(n), chosen) for n in present[: MAX_PERIODS + 1])
    if len(present) > MAX_PERIODS:
        names += tuple(map(str, present[MAX_PERIODS + 1 :]))
    return Periods(chosen, names, present - present[:1], codes)


def _choose_unit(days: IntArray, count: FloatArray) -> Unit:
    """The unit for distinct days with numbers of rows."""
    for unit in UNITS[UNITS.index(_resolution(days)) :]:
        rows = np.bincount(np.unique(_numbers(days, unit), return_inverse=True)[1], count)
        if 0 < len(rows) <= MAX_AUTOMATIC_PERIODS and np.median(rows) >= MIN_MEDIAN_ROWS:
            return unit
    return "year"


def _resolution(days: IntArray) -> Unit:
    """The resolution of distinct days, for example months if all are first (or last) of months.

    Shorter periods would have the same rows, but names that suggest more precision.
    """
    if len(days) > 1:
        for unit in reversed(UNITS):
            numbers = _numbers(days, unit)
            starts = (_numbers(days - 1, unit) != numbers).all()
            if starts or (_numbers(days + 1, unit) != numbers).all():
                return unit
    return "day"


def _numbers(days: IntArray, unit: Unit) -> IntArray:
    """Consecutive numbers of the periods that contain the given days since 1970."""
    if unit == "day":
        return days
    if unit == "week":
        # 1970 began on a Thursday, weeks begin on Monday.
        return (days + 3) // 7
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return np.asarray(months // {"month": 1, "quarter": 3, "year": 12}[unit])


def _date_name(number: int, unit: Unit) -> str:
    if unit == "day":
        return str(np.datetime64(number, "D"))
    if unit == "week":
        return f"week of {np.datetime64(7 * number - 3, 'D')}"
    if unit == "month":
        return str(np.datetime64(number, "M"))
    if unit == "quarter":
        return f"{1970 + number // 4} Q{number % 4 + 1}"
    return str(1970 + number)


def _cut_values(values: NDArray[Any], count: FloatArray) -> Periods:
    codes, distinct = pd.factorize(values)
    distinct = np.asarray(distinct)
    numeric = distinct.dtype.kind in "iuf" and len(distinct) > 0
    whole = numeric and bool((distinct % 1 == 0).all())
    if numeric and len(distinct) > MAX_NUMBERS and not (whole and len(distinct) <= MAX_PERIODS):
        return _cut_ranges(values.astype(np.float64), count)
    order = in_order(distinct)
    rank = np.full(len(order) + 1, -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    ordered = distinct[order]
    position = np.arange(len(order))
    if whole and np.ptp(ordered) < MAX_PERIODS:
        # A missing season leaves a gap.
        position = (ordered - ordered[0]).astype(np.int64)
    return Periods("value", tuple(map(value_name, ordered)), position, rank[codes])


def _cut_ranges(values: FloatArray, count: FloatArray) -> Periods:
    finite = np.isfinite(values)
    levels = np.linspace(0.0, 1.0, N_RANGES + 1)
    edges = np.unique(quantiles_of_counts(values[finite], count[finite], levels))
    number = np.searchsorted(edges[1:-1], values, side="left")
    present, codes = _numbered(number, finite)
    texts = edge_names(edges)
    names = tuple(f"{texts[n]} to {texts[n + 1]}" for n in present)
    return Periods("range", names, np.arange(len(present)), codes)


def _numbered(number: IntArray, has_time: BoolArray) -> tuple[IntArray, IntArray]:
    """The distinct numbers, and the position of that of each row, -1 for rows without a time."""
    codes = np.full(len(number), -1, dtype=np.int64)
    present, codes[has_time] = np.unique(number[has_time], return_inverse=True)
    return present, codes


LINE = ("slope", "slope_low", "slope_high", "intercept", "intercept_low", "intercept_high")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PeriodTable(GroupTable):
    """Calibration of each period that has rows, in order of time. Arrays have the shape (k,).

    Attributes
    ----------
    unit : str
    names : tuple of str
    position, rows, positives : ndarray of int
    mean_score : ndarray
    base_rate, base_rate_low, base_rate_high : ndarray
        Observed frequency and its Wilson interval.
    slope, slope_low, slope_high, intercept, intercept_low, intercept_high : ndarray
        Calibration slope and intercept with their intervals. NaN if they cannot be estimated.
    ks, ks_p_value, ks_p_adjusted : ndarray
        KS error, its p-value, and the Holm-adjusted p-value over the periods that are not `few`.
    n_missing : int
        Number of rows that are left out because their time is missing.
    confidence_level : float
        Confidence level of the intervals.
    """

    unit: str
    names: tuple[str, ...]
    position: IntArray
    rows: IntArray
    positives: IntArray
    mean_score: FloatArray
    base_rate: FloatArray
    base_rate_low: FloatArray
    base_rate_high: FloatArray
    slope: FloatArray
    slope_low: FloatArray
    slope_high: FloatArray
    intercept: FloatArray
    intercept_low: FloatArray
    intercept_high: FloatArray
    ks: FloatArray
    ks_p_value: FloatArray
    ks_p_adjusted: FloatArray
    n_missing: int
    confidence_level: float

    @property
    def p_adjusted(self) -> FloatArray:  # type: ignore[override]
        """The p-values of the KS test, adjusted over the periods."""
        return self.ks_p_adjusted

    def frame(self) -> pd.DataFrame:
        """One row per period."""
        return pd.DataFrame({"period": self.names, **arrays_of(self)})


def period_table(
    rows: BinaryView, score: FloatArray, periods: Periods, *, confidence_level: float = 0.95
) -> PeriodTable:
    """Base rate, mean score, calibration slope and intercept, and KS error of each period.

    If groups are named, intervals and tests are by cluster.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    periods : Periods
        Periods of the same rows.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If no row has a time.

    References
    ----------
    Cox 1958, doi:10.1093/biomet/45.3-4.562; Arrieta-Ibarra et al. 2022, arXiv:2205.09680.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.analysis.periods import cut_periods
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1], [0.2, 0.7, 0.4, 0.9]).view()
    >>> table = period_table(rows, rows.score, cut_periods(np.array([2020, 2020, 2021, 2021])))
    >>> table.names, table.base_rate
    (('2020', '2021'), array([0.5, 0.5]))
    """
    groups, parts = Groups.of(rows, periods), fitted_groups(rows, score, periods)
    if not parts:
        raise ValueError("Periods need rows with a time among those that are scored, got none.")
    cells = [part.cells for part in parts]
    base_rate = np.array([of_period.base_rate for of_period in cells])
    effective = np.array(
        [of_period.total_weight**2 / of_period.total_weight_sq for of_period in cells]
    )
    effect = np.array([_design_effect(part.rows) for part in parts])
    low, high = wilson_interval(base_rate, effective / effect, confidence_level)
    tests = [widened_test(ks_test(part.cells), part.rows, part.cells) for part in parts]
    p_value = np.array([test.p_value for test in tests])
    return PeriodTable(
        unit=periods.unit,
        **groups.head,
        position=periods.position[groups.number],
        positives=np.array([n_positive(part.rows) for part in parts], dtype=np.int64),
        mean_score=np.array([of_period.mean_score for of_period in cells]),
        base_rate=base_rate,
        base_rate_low=low,
        base_rate_high=high,
        **lines_of(parts, confidence_level, LINE),
        ks=np.array([test.statistic for test in tests]),
        ks_p_value=p_value,
        ks_p_adjusted=groups.adjusted(p_value),
        n_missing=int(rows.counts[periods.codes < 0].sum()),
        confidence_level=confidence_level,
    )


def timed_rows(
    data: Data, held_out: CrossFitted, column: str, unit: Unit | None = None
) -> tuple[CrossFitted, Periods]:
    """Cut the scored rows of an analysis into periods.

    Parameters
    ----------
    data : Predictions or Aggregate
    held_out : CrossFitted
        ``analysis.held_out`` of the same data.
    column : str
        Name of the time column. An aggregate must have been counted by it.
    unit : {"day", "week", "month", "quarter", "year"}, optional
        Length of the periods, see `cut_periods`. No effect if the column has no dates.

    Returns
    -------
    held_out : CrossFitted
        The same scores, with a `row_view` of the rows that `periods` refers to.
    periods : Periods

    Raises
    ------
    ValueError
        If the column is unknown, was not counted, or cannot be cut into periods.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> y, score = np.tile([0, 1], 100), np.tile([0.3, 0.6], 100)
    >>> year = np.repeat([2024, 2025], 100)
    >>> data = calib.Predictions.from_arrays(y, score, columns={"year": year})
    >>> held_out, periods = timed_rows(data, calib.analyze(data, {"methods": ()}).held_out, "year")
    >>> rows = held_out.row_view("uncalibrated")
    >>> period_table(rows, rows.score, periods).mean_score
    array([0.45, 0.45])
    """
    if column not in data.columns:
        columns = ", ".join(data.columns) or "none"
        raise ValueError(f"time must be one of the columns ({columns}), got {column!r}.")
    values, rows = data.timed(column, held_out.settings.view)
    dates = values.dtype.kind == "M"
    periods = cut_periods(values, unit if dates else None, count=rows.counts)
    held_out = held_out if data.has_rows else held_out.on(rows.scored)
    return held_out, periods if rows.test is None else periods.rows(rows.test)


def _design_effect(part: BinaryView) -> float:
    """Design effect of the base rate of some rows."""
    weight = part.weights
    residual = weight * (part.outcome - float(weight @ part.outcome) / float(weight.sum()))
    return float(mean_design_effects(residual, np.zeros(len(part), int), part.group, 1)[0])
