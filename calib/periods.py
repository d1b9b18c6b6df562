"""Periods: whether the scores hold up over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.cells import ScoreCells
from calib.curves.reliability import FEW_ROWS
from calib.metrics.cumulative import ks_test
from calib.metrics.regression import calibration_slope_intercept
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, lock
from calib.numerics.intervals import wilson_interval
from calib.numerics.multiplicity import holm
from calib.numerics.threads import single_thread
from calib.predictions import BinaryView
from calib.slices.slicing import MOST_NUMBERS, in_order, value_name

Unit = Literal["day", "week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)
# More could not be told apart in a picture.
MOST_PERIODS = 400
# What is chosen where nobody chooses: few enough to read, and rows enough to say something.
READABLE = 36
ENOUGH_ROWS = 100
N_RANGES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """Which row belongs to which period.

    Attributes
    ----------
    unit : str
        "day", "week", "month", "quarter" or "year" of dates; "value" where each value is a period,
        "range" where many numbers were cut in ranges of about equally many rows.
    names : tuple of str, length k
        In order of time; only periods with rows.
    position : ndarray of int, shape (k,)
        Number of each period, counted so that a gap in time leaves a gap.
    codes : ndarray of int, shape (n,)
        Period of each row; -1 where the time is missing.
    """

    unit: str
    names: tuple[str, ...]
    position: IntArray
    codes: IntArray

    def __post_init__(self) -> None:
        lock(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_missing(self) -> int:
        """Rows without a time."""
        return int((self.codes < 0).sum())

    def rows(self, chosen: NDArray[Any]) -> Periods:
        """The same periods of some rows, chosen by a mask or by indices; some may be empty."""
        return Periods(self.unit, self.names, self.position, self.codes[chosen])


def cut_periods(values: NDArray[Any], unit: Unit | None = None) -> Periods:
    """Cut a time column in periods.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Dates, numbers such as seasons, or text whose order is that of time. More than 12 different
        numbers that are not whole are cut in ranges.
    unit : {"day", "week", "month", "quarter", "year"}, optional
        Of dates; weeks begin on Monday. If None, the shortest that gives at most 36 periods of
        100 rows in the median.

    Raises
    ------
    ValueError
        If the unit is unknown, if no row has a time, or if there are more than 400 periods.

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
    dates = values.dtype.kind == "M"
    found = _cut_dates(values, unit) if dates else _cut_values(values)
    if not len(found):
        raise ValueError(f"A time column must hold a time, got {len(values)} rows without one.")
    if len(found) > MOST_PERIODS:
        raise ValueError(
            f"A time column is cut in at most {MOST_PERIODS} periods: choose a longer unit, "
            f"got {len(found):,}."
        )
    return found


def _cut_dates(values: NDArray[Any], unit: Unit | None) -> Periods:
    missing = np.isnat(values)
    days = values.astype("datetime64[D]").astype(np.int64)
    chosen = unit or _choose_unit(days[~missing])
    number = np.where(missing, 0, _numbers(days, chosen))
    present, codes = np.unique(number[~missing], return_inverse=True)
    full = np.full(len(values), -1, dtype=np.int64)
    full[~missing] = codes
    names = tuple(_date_name(int(n), chosen) for n in present[: MOST_PERIODS + 1])
    if len(present) > MOST_PERIODS:
        names += tuple(map(str, present[MOST_PERIODS + 1 :]))
    return Periods(chosen, names, present - present[:1], full)


def _choose_unit(days: IntArray) -> Unit:
    for unit in UNITS:
        _, rows = np.unique(_numbers(days, unit), return_counts=True)
        if 0 < len(rows) <= READABLE and np.median(rows) >= ENOUGH_ROWS:
            return unit
    return "year"


def _numbers(days: IntArray, unit: Unit) -> IntArray:
    """Consecutive numbers of the periods that hold some days since 1970."""
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


def _cut_values(values: NDArray[Any]) -> Periods:
    codes, distinct = pd.factorize(values)
    distinct = np.asarray(distinct)
    numeric = distinct.dtype.kind in "iuf" and len(distinct) > 0
    whole = numeric and bool((distinct % 1 == 0).all())
    if numeric and len(distinct) > MOST_NUMBERS and not (whole and len(distinct) <= MOST_PERIODS):
        return _cut_ranges(values.astype(np.float64))
    order = in_order(distinct)
    rank = np.full(len(order) + 1, -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    ordered = distinct[order]
    position = np.arange(len(order))
    if whole and np.ptp(ordered) < MOST_PERIODS:
        # Seasons: one that is not there leaves a gap.
        position = (ordered - ordered[0]).astype(np.int64)
    return Periods("value", tuple(map(value_name, ordered)), position, rank[codes])


def _cut_ranges(values: FloatArray) -> Periods:
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0.0, 1.0, N_RANGES + 1)))
    number = np.searchsorted(edges[1:-1], values, side="left")
    present, codes = np.unique(number[known], return_inverse=True)
    full = np.full(len(values), -1, dtype=np.int64)
    full[known] = codes
    names = tuple(f"{edges[n]:.6g} to {edges[n + 1]:.6g}" for n in present)
    return Periods("range", names, np.arange(len(present)), full)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodTable:
    """Calibration of each period that has rows, in order of time; arrays of shape (k,).

    Attributes
    ----------
    unit : str
    names : tuple of str
    position, rows, positives : ndarray of int
    mean_score : ndarray
    base_rate, base_rate_low, base_rate_high : ndarray
        Observed frequency and its Wilson interval.
    slope, slope_low, slope_high, intercept, intercept_low, intercept_high : ndarray
        Of the logistic regression on the log-odds; NaN where it is not estimable.
    ks, ks_p_value, ks_p_adjusted : ndarray
        KS error, its p-value, and Holm's over the periods that are not `few`.
    n_missing : int
        Rows set aside, since their time is missing.
    confidence_level : float
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

    def __post_init__(self) -> None:
        lock(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def few(self) -> BoolArray:
        """Whether a period has fewer than 30 rows: shown, but not judged."""
        return np.asarray(self.rows < FEW_ROWS)

    def frame(self) -> pd.DataFrame:
        """One row a period."""
        left_out = ("unit", "names", "n_missing", "confidence_level")
        names = [name for name in self.__dataclass_fields__ if name not in left_out]
        return pd.DataFrame({"period": self.names, **{name: getattr(self, name) for name in names}})


def period_table(
    rows: BinaryView, score: FloatArray, periods: Periods, *, confidence_level: float = 0.95
) -> PeriodTable:
    """Base rate, mean score, calibration slope and intercept, and KS error, period by period.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, as they are or calibrated.
    periods : Periods
        Of the same rows.
    confidence_level : float

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
    >>> from calib.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1], [0.2, 0.7, 0.4, 0.9]).view()
    >>> table = period_table(rows, rows.score, cut_periods(np.array([2020, 2020, 2021, 2021])))
    >>> table.names, table.base_rate
    (('2020', '2021'), array([0.5, 0.5]))
    """
    cells = _cells(rows, score, periods)
    if not cells:
        raise ValueError("Periods need rows with a time among those that are scored, got none.")
    number = np.array(list(cells), dtype=np.int64)
    each = list(cells.values())
    n_rows = np.array([c.n_rows for c in each], dtype=np.int64)
    base_rate = np.array([c.base_rate for c in each])
    effective = np.array([c.total_weight**2 / float(c.weight_sq.sum()) for c in each])
    low, high = wilson_interval(base_rate, effective, confidence_level)
    with single_thread():
        fits = [calibration_slope_intercept(c, confidence_level=confidence_level) for c in each]
    tests = [ks_test(c) for c in each]
    p_value = np.array([test.p_value for test in tests])
    in_time, outcome = periods.codes >= 0, rows.outcome
    positives = np.bincount(periods.codes[in_time], outcome[in_time], minlength=len(periods))

    def fitted(name: str) -> FloatArray:
        return np.array([getattr(fit, name) for fit in fits])

    return PeriodTable(
        unit=periods.unit,
        names=tuple(periods.names[i] for i in number),
        position=periods.position[number],
        rows=n_rows,
        positives=positives[number].astype(np.int64),
        mean_score=np.array([c.mean_score for c in each]),
        base_rate=base_rate,
        base_rate_low=low,
        base_rate_high=high,
        slope=fitted("slope"),
        slope_low=fitted("slope_low"),
        slope_high=fitted("slope_high"),
        intercept=fitted("intercept"),
        intercept_low=fitted("intercept_low"),
        intercept_high=fitted("intercept_high"),
        ks=np.array([test.statistic for test in tests]),
        ks_p_value=p_value,
        ks_p_adjusted=holm(np.where(n_rows < FEW_ROWS, np.nan, p_value)),
        n_missing=periods.n_missing,
        confidence_level=confidence_level,
    )


def _cells(rows: BinaryView, score: FloatArray, periods: Periods) -> dict[int, ScoreCells]:
    """Cells of each period with rows: one sort by period, then one by score in each."""
    order = np.argsort(periods.codes, kind="stable")
    ends = np.searchsorted(periods.codes[order], np.arange(len(periods) + 1))
    outcome, score = rows.outcome[order], score[order]
    weight = None if rows.weight is None else rows.weight[order]
    found = {}
    for number in range(len(periods)):
        part = slice(ends[number], ends[number + 1])
        if part.start < part.stop:
            found[number] = ScoreCells.from_arrays(
                outcome[part], score[part], None if weight is None else weight[part]
            )
    return found
