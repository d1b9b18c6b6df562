"""What recalibrating would save: each day is scored by the line that the days before it suggest."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_expit

from calib.analysis.monitor.days import Counts
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.intervals import Estimate, normal_quantile
from calib.numerics.monitoring import prequential_lines
from calib.numerics.transforms import certain_logit

# Scores are grouped for the fits, and scored exactly. Groups of 0.1 on the log-odds, at the means
# of their rows, change a fitted line by far less than its standard error.
GROUPS_PER_UNIT = 10
MAX_LOG_ODDS = 12.0


def savings(counts: Counts, first: int, last: int, confidence_level: float = 0.95) -> Estimate:
    """Log loss per row, in nats, that recalibrating would have saved on some mature days.

    Each day is scored by a logistic recalibration (shift and slope of the log-odds) of the days
    from `first` up to the day before, so no day is scored by a fit that has seen it. The first day
    is not changed. The interval is that of days as independent units; it is NaN for fewer than two.
    """
    part = counts.from_to(first, last)
    rows = float(part.rows.sum())
    if rows == 0.0:
        return Estimate(math.nan)
    z, at = certain_logit(part.score), part.day - first
    lines = _lines(z, at, part, last - first)[at]
    eta = lines[:, 0] + lines[:, 1] * z
    # The log-likelihood of a cell is rows * log_expit(eta) - negative * eta.
    gained = part.rows * (log_expit(eta) - log_expit(z)) - part.negative * (eta - z)
    days = part.by_day(gained)[first:last]
    of_day = part.by_day(part.rows)[first:last]
    days, of_day = days[of_day > 0.0], of_day[of_day > 0.0]
    value, n = float(days.sum()) / rows, len(days)
    if n < 2:
        return Estimate(value)
    spread = float(np.square(days - value * of_day).sum()) * n / (n - 1)
    half = normal_quantile(confidence_level) * math.sqrt(spread) / rows
    return Estimate(value, value - half, value + half)


def _lines(z: FloatArray, at: IntArray, part: Counts, n_days: int) -> FloatArray:
    """Shift and slope for each day, by the days before it."""
    grid = np.round(np.clip(z, -MAX_LOG_ODDS, MAX_LOG_ODDS) * GROUPS_PER_UNIT)
    levels, group = np.unique(grid, return_inverse=True)
    k = len(levels)
    positive, negative = part.positive, part.negative
    weight = np.bincount(group, positive + negative, minlength=k)
    sums = np.bincount(group, (positive + negative) * z, minlength=k)
    place = at * k + group

    def by_day(values: FloatArray) -> FloatArray:
        sums = np.bincount(place, values, minlength=n_days * k).astype(np.float64)
        return sums.reshape(n_days, k)

    # A group of rows without an outcome has no effect on the fit.
    centre = np.divide(sums, weight, out=np.zeros(k), where=weight > 0.0)
    centre = np.clip(centre, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return prequential_lines(centre, by_day(positive), by_day(negative))
