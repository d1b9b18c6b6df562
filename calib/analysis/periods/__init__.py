"""Calibration of the scores over time, by period."""

from calib.analysis.periods.change import PeriodChange, period_change
from calib.analysis.periods.cutting import (
    MAX_PERIODS,
    UNITS,
    Periods,
    PeriodTable,
    cut_periods,
    period_table,
    timed_rows,
)

__all__ = [
    "MAX_PERIODS",
    "UNITS",
    "PeriodChange",
    "PeriodTable",
    "Periods",
    "cut_periods",
    "period_change",
    "period_table",
    "timed_rows",
]
