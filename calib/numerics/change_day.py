"""The day of a change: its profile likelihood, and the interval that follows from it.

From the day of the change on, the log-odds of the outcomes are a shift plus a slope times those of
the scores; until then the scores are right, or have a constant error of the same form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.transforms import certain_logit

# Scores are grouped by their log-odds, at the mean of each group. Groups of 0.05 change the log
# likelihood ratio of 10,000 rows by less than 0.1.
GROUPS_PER_UNIT = 20
MAX_LOG_ODDS = 12.0
# Between these shifts the likelihood is a parabola, to less than 0.1 at the sizes of a change that
# a data set can locate only within days. Larger shifts are located at any step.
SHIFTS = np.linspace(-3.0, 3.0, 61)
SLOPES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.8, 2.2)


@dataclass(frozen=True, slots=True, eq=False)
class DayLikelihood(Locked):
    """The largest log-likelihood ratio of a change on each day.

    Attributes
    ----------
    ratio : ndarray of shape (days,)
        Log-likelihood of a change on this day, minus that of no change, at the best shift and
        slope.
    shift, slope : ndarray of shape (days,)
        The best shift and slope of the log-odds, on a grid.
    """

    ratio: FloatArray
    shift: FloatArray
    slope: FloatArray

    @property
    def day(self) -> int:
        """Position of the most likely first day of the change, the first of equally likely ones."""
        return int(self.ratio.argmax())

    def inside(self, level: float = 0.95) -> BoolArray:
        """Days of the likelihood interval.

        Without noise in the shift and the slope, the largest log ratio exceeds that of the true day
        by x with probability 1 - (1 - exp(-x))^2, if changes are small for a single day and there
        are many days on both sides; larger changes are in the interval more often. See Siegmund
        1988, doi:10.2307/1403360. docs/monitoring.md has the measured coverage.

        >>> DayLikelihood(np.array([0.0, 5.0, 8.0, 4.0]), np.zeros(4), np.ones(4)).inside()
        array([False,  True,  True, False])
        """
        limit = -math.log(1.0 - math.sqrt(level))
        return np.asarray(self.ratio >= self.ratio.max() - limit)


def day_likelihood(
    day: IntArray,
    score: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    n_days: int,
    *,
    right_before: bool = True,
) -> DayLikelihood:
    """The likelihood of a change on each day.

    Before it the scores are right, or, without `right_before`, their log-odds are off by a constant
    shift and slope. Cells have the position of their day, 0 to n_days - 1, and their weights by
    outcome. The order of cells does not matter, and a cell may be split.

    >>> day, half = np.arange(20), np.full(20, 0.5)
    >>> positive = np.where(day < 12, 50.0, 70.0)
    >>> found = day_likelihood(day, half, positive, 100.0 - positive, 20)
    >>> found.day, np.flatnonzero(found.inside()).tolist()
    (12, [12])
    """
    z, counts = _by_day(day, certain_logit(score), positive, negative, n_days)
    ratios, before = np.empty((2, len(SLOPES), n_days))
    shifts = np.empty_like(ratios)
    for i, slope in enumerate(SLOPES):
        # Rows of both outcomes in the same group differ in the sign of their log-odds.
        eta = SHIFTS + slope * z[:, None]
        table = np.concatenate([log_expit(eta), log_expit(-eta)])
        stated = np.concatenate([log_expit(z), log_expit(-z)])
        of_day = counts @ (table - stated[:, None])
        upto = np.cumsum(of_day, axis=0)
        ratios[i], shifts[i] = _highest(upto[-1] - upto + of_day)
        before[i] = _highest(upto - of_day)[0]
    best = ratios.argmax(axis=0)
    chosen = best, np.arange(n_days)
    ratio = ratios[chosen]
    if not right_before:
        # A change on the first day is none.
        ratio = ratio + before.max(axis=0) - ratio[0]
    return DayLikelihood(ratio, shifts[chosen], np.array(SLOPES)[best])


def _by_day(
    day: IntArray, z: FloatArray, positive: FloatArray, negative: FloatArray, n_days: int
) -> tuple[FloatArray, FloatArray]:
    """The log-odds of groups of scores, (k,), and the weights by day, outcome and group."""
    grid = np.round(np.clip(z, -MAX_LOG_ODDS, MAX_LOG_ODDS) * GROUPS_PER_UNIT)
    levels, group = np.unique(grid, return_inverse=True)
    k, weight = len(levels), positive + negative
    total = np.bincount(group, weight, minlength=k)
    sums = np.bincount(group, weight * np.clip(z, -MAX_LOG_ODDS, MAX_LOG_ODDS), minlength=k)
    centre = np.divide(sums, total, out=levels / GROUPS_PER_UNIT, where=total > 0.0)
    counts = [
        np.bincount(day * k + group, part, minlength=n_days * k).reshape(n_days, k)
        for part in (positive, negative)
    ]
    return centre, np.concatenate(counts, axis=1).astype(np.float64)


def _highest(since: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The highest point of the parabola through the best shift of each day and its neighbours."""
    n, last = since.shape
    best = np.clip(since.argmax(axis=1), 1, last - 2)
    rows = np.arange(n)
    low, middle, high = (since[rows, best + step] for step in (-1, 0, 1))
    bend = low - 2.0 * middle + high
    flat = bend > -1e-12
    step = np.clip(np.where(flat, 0.0, 0.5 * (low - high) / np.where(flat, -1.0, bend)), -1.0, 1.0)
    height = middle - 0.25 * (low - high) * step
    width = SHIFTS[1] - SHIFTS[0]
    return np.maximum(height, 0.0), SHIFTS[best] + width * step
