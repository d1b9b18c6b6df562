"""Periods: whether the scores hold up over time."""

from calib.periods.cutting import MOST_PERIODS, UNITS, Periods, cut_periods
from calib.periods.table import PeriodTable, period_table

__all__ = ["MOST_PERIODS", "UNITS", "PeriodTable", "Periods", "cut_periods", "period_table"]
