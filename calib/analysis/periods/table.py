"""Calibration of each period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.groups import Groups, GroupTable, fitted_groups, lines_of
from calib.analysis.periods.cutting import Periods, Unit, cut_periods
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.folds import n_positive
from calib.data.base import Data
from calib.data.views import BinaryView
from calib.metrics.by_cluster import widened_test
from calib.metrics.cumulative import ks_test
from calib.numerics.arrays import FloatArray, IntArray, arrays_of
from calib.numerics.intervals import wilson_interval
from calib.numerics.resampling import mean_design_effects

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
