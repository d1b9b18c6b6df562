"""Sequential tests of calibration: bets against the scores, looked at after every day.

A bet replaces a score p by q = sigmoid(shift + slope logit(p)). The likelihood ratio of a day's
outcomes under q and under p has mean 1 if the scores are right, so its running products are
evidence that may be looked at every day. All arrays are logarithms, so nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, chunks
from calib.numerics.transforms import certain_logit, clip_certain

SHIFTS = (-0.8, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.8)
SLOPES = (0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
# Each row is (shift, slope). All bets have equal weights.
BETS = np.array([*((shift, 1.0) for shift in SHIFTS), *((0.0, slope) for slope in SLOPES)])
BETS.flags.writeable = False


def log_increments(
    day: IntArray, score: FloatArray, positive: FloatArray, negative: FloatArray, n_days: int
) -> FloatArray:
    """Log-likelihood ratio of each bet on each day, shape (n_days, 16); 0 for days without rows.

    Each cell has the position of its day, 0 to n_days - 1, and its numbers of rows by outcome. The
    order of cells does not matter, and a cell may be split. Scores of exactly 0 and 1 are clipped
    as the log loss clips them (by machine epsilon), so a contradicted certain score is strong but
    finite evidence. The exponential of an increment has mean 1 if the scores are right.

    >>> one = np.ones(1)
    >>> log_increments(np.zeros(1, int), 0.5 * one, one, 0.0 * one, 1)[0, 4:6].round(4)
    array([0.0488, 0.095 ])
    """
    # Cells in an order of their own make sums independent of the order of the rows.
    order = np.lexsort([negative, positive, score, day])
    day = day[order]
    score, positive, negative = (part[order] for part in (score, positive, negative))
    totals = np.zeros((n_days, len(BETS)))
    for part in chunks(len(day)):
        at, p, y, n = day[part], clip_certain(score[part]), positive[part], negative[part]
        rows, z = y + n, certain_logit(p)
        stated = y * np.log(p) + n * np.log1p(-p)
        for b, (shift, slope) in enumerate(BETS):
            eta = shift + slope * z
            ratio = rows * log_expit(eta) - n * eta - stated
            totals[:, b] += np.bincount(at, ratio, minlength=n_days)
    return totals


def start_weighted(increments: FloatArray) -> FloatArray:
    """Log evidence that the scores are wrong from some day on, for increments (days, ..., bets).

    Per bet M_t = L_t (M_{t-1} + w_t) with w_t = 1 / (t (t + 1)), and the mean over the bets. The
    weights of all starts sum to 1, so M exceeds 1/alpha on any day with probability at most alpha
    if the scores are right, however long the monitor runs (Ville's inequality).

    >>> start_weighted(np.log([[[2.0]], [[2.0]]])).round(4)  # 2 / 2, and 2 (1 + 1 / 6)
    array([[0.    ],
           [0.8473]])
    """
    t = np.arange(1.0, len(increments) + 1.0)
    log_weight = -np.log(t * (t + 1.0))
    return _accumulated(increments, lambda i, last: np.logaddexp(last, log_weight[i]), -math.inf)


def shiryaev_roberts(increments: FloatArray) -> FloatArray:
    """Log of the Shiryaev-Roberts e-detector, for increments (days, ..., bets).

    Per bet M_t = (1 + M_{t-1}) L_t, and the mean over the bets. If the scores are right, it exceeds
    c within T days with probability at most T / c. See Shin et al. 2022, arXiv:2203.03532.

    >>> shiryaev_roberts(np.log([[2.0], [2.0]])).round(4)  # 2, and 2 (1 + 2)
    array([0.6931, 1.7918])
    """
    return _accumulated(increments, lambda _, last: np.logaddexp(0.0, last), -math.inf)


def e_process(increments: FloatArray) -> FloatArray:
    """Log evidence that the scores were ever wrong, for increments (days, ..., bets).

    It is the mean over the bets of the products of all days. It loses power for late changes. See
    Henzi et al. 2021, arXiv:2109.11761.
    """
    return _accumulated(increments, lambda _, last: last, 0.0)


def _accumulated(
    increments: FloatArray, before: Callable[[int, FloatArray], FloatArray], start: float
) -> FloatArray:
    """Log of the mean over bets of M_t = L_t before(M_{t-1})."""
    last = np.full(increments.shape[1:], start)
    result = np.empty(increments.shape[:-1])
    for i, increment in enumerate(increments):
        last = increment + before(i, last)
        highest = last.max(axis=-1, keepdims=True)
        result[i] = np.log(np.exp(last - highest).mean(axis=-1)) + highest[..., 0]
    return result


def first_at_least(log_evidence: FloatArray, threshold: float) -> int | None:
    """Position of the first day whose evidence reaches a threshold; None if no day does.

    >>> first_at_least(np.log([1.0, 30.0, 5.0]), 20.0), first_at_least(np.log([1.0]), 20.0)
    (1, None)
    """
    reached = np.flatnonzero(log_evidence >= math.log(threshold))
    return int(reached[0]) if len(reached) else None


def most_likely_bet(increments: FloatArray) -> int:
    """Position in `BETS` of the bet with the largest likelihood ratio from its best day on.

    `increments` of shape (days, bets) end with the day of the alarm.

    >>> calm, wrong = np.full((30, 16), -1.0), np.full((9, 16), 1.0)
    >>> wrong[:, 3] = 1.1
    >>> most_likely_bet(np.concatenate([calm, wrong]))
    3
    """
    after = np.cumsum(increments[::-1], axis=0)[::-1]
    # The earliest of equally likely days is taken.
    return int(after[int(after.max(axis=1).argmax())].argmax())


def log_recovery(increments: FloatArray, bet: int) -> FloatArray:
    """Log evidence that a change has ended, after each day; shape (days,).

    It is the start-weighted evidence for the scores against the bet that described the change. If
    the change goes on as that bet, it exceeds 1 / alpha on any day with probability at most alpha.
    """
    return start_weighted(-increments[:, [bet]])


def e_benjamini_hochberg(log_evidence: FloatArray, alpha: float) -> BoolArray:
    """Which of several e-values are discoveries, with a false discovery rate of at most alpha.

    The k largest are discoveries if the k-th is at least K / (alpha k), for the largest such k. It
    holds under any dependence. NaN is not tested. See Wang and Ramdas 2022, arXiv:2009.02824.

    >>> e_benjamini_hochberg(np.log([50.0, 30.0, 1.0]), 0.05)  # 3 / (0.05 x 2) is 30
    array([ True,  True, False])
    """
    tested = ~np.isnan(log_evidence)
    ordered = np.sort(log_evidence[tested])[::-1]
    k = np.arange(1, len(ordered) + 1)
    # The number and its limit may differ by rounding, where both stand for the same number.
    enough = np.flatnonzero(ordered - np.log(len(ordered) / (alpha * k)) >= -1e-12)
    if not len(enough):
        return np.zeros(len(log_evidence), dtype=np.bool_)
    return np.asarray(tested & (log_evidence >= ordered[enough[-1]]))


# Scores are grouped by their log-odds, at the mean of each group. Groups of 0.05 change the log
# likelihood ratio of 10,000 rows by less than 0.1.
GROUPS_PER_UNIT = 20
MAX_LOG_ODDS = 12.0
# Between these shifts the likelihood is a parabola, to less than 0.1 at the sizes of a change that
# a data set can locate only within days. Larger shifts are located at any step.
LOCATED_SHIFTS = np.linspace(-3.0, 3.0, 61)
LOCATED_SLOPES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.8, 2.2)


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
        1988, doi:10.2307/1403360. benchmarks/monitoring.md has the measured coverage.

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
    ratios, before = np.empty((2, len(LOCATED_SLOPES), n_days))
    shifts = np.empty_like(ratios)
    for i, slope in enumerate(LOCATED_SLOPES):
        # Rows of both outcomes in the same group differ in the sign of their log-odds.
        eta = LOCATED_SHIFTS + slope * z[:, None]
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
    return DayLikelihood(ratio, shifts[chosen], np.array(LOCATED_SLOPES)[best])


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
    width = LOCATED_SHIFTS[1] - LOCATED_SHIFTS[0]
    return np.maximum(height, 0.0), LOCATED_SHIFTS[best] + width * step
