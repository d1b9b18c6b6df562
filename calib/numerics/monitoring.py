"""Sequential tests of calibration after every day, and certificates of an error rate.

A bet replaces a score p by q = sigmoid(shift + slope logit(p)). The likelihood ratio of a day's
outcomes under q and under p has mean 1 if the scores are right, so its running products are
evidence that may be looked at every day. All arrays are logarithms, so nothing overflows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, betaincc, betaincinv, log_expit, rel_entr

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


# The first test has room for as many errors as a fifth of the rows can pass with, at most for two.
MAX_FIRST_ERRORS, MAX_FIRST_SHARE = 2, 0.2
# Share of the level that is kept for the sequence that starts at half of the rows.
SECOND_SHARE = 0.05
MAX_COUNT = 2**62  # It stands for infinitely many rows, which an error rate of 1e-19 would need.


def smallest_passing_count(max_error: float, alpha: float, errors: int = 0) -> int:
    """The smallest number of rows with so many errors whose error rate is certified.

    >>> [smallest_passing_count(r, 0.05) for r in (0.1, 0.05, 0.02, 0.01)]
    [29, 59, 149, 299]
    >>> [smallest_passing_count(0.05, 0.05, errors) for errors in (1, 2, 3)]
    [93, 124, 153]
    """

    def passes(n_rows: int) -> bool:
        # `bdtr` is the same function, and takes at most 2**31 rows.
        return bool(betaincc(errors + 1, n_rows - errors, max_error) <= alpha)

    return errors + 1 + bisect_left(range(errors + 1, MAX_COUNT), True, key=passes)


def first_tested_count(n_rows: int, max_error: float, alpha: float) -> int:
    """Rows at the first threshold that is tested. It may depend on the number of rows only.

    The smallest count that can pass with two errors if it is at most a fifth of the rows, otherwise
    that with one error, otherwise that without an error.

    >>> [first_tested_count(n, 0.05, 0.05) for n in (1000, 500, 200)]
    [124, 93, 59]
    """
    for errors in range(MAX_FIRST_ERRORS, 0, -1):
        count = smallest_passing_count(max_error, alpha, errors)
        if count <= MAX_FIRST_SHARE * n_rows:
            return count
    return smallest_passing_count(max_error, alpha)


def most_errors(n_rows: int, max_error: float, alpha: float) -> int:
    """The largest number of errors in so many rows that is certified; -1 if none is.

    >>> most_errors(59, 0.05, 0.05), most_errors(58, 0.05, 0.05), most_errors(177, 0.05, 0.05)
    (0, -1, 3)
    """
    errors = np.arange(math.ceil(max_error * n_rows) + 1)
    return int(np.searchsorted(bdtr(errors, n_rows, max_error), alpha, side="right")) - 1


def certified_range(
    errors: IntArray, rows: IntArray, max_error: float, alpha: float, first_count: int
) -> range:
    """Positions of the thresholds at which an error rate of at most `max_error` is certified.

    `rows` and `errors` count the rows that each threshold decides, the strictest threshold first;
    `rows` increases. The null hypothesis of a threshold is that its error rate is above
    `max_error`, and its p-value the probability of so few errors. The first test is that of the
    first threshold with at least `first_count` rows.

    Of 60 rows one is an error, and of 120 rows two: neither is few enough. Of 177 rows three are.

    >>> counts = np.array([60, 120, 177, 200]), np.array([1, 2, 3, 20])
    >>> certified_range(counts[1], counts[0], 0.05, 0.05, 59)
    range(0, 0)
    >>> certified_range(counts[1], counts[0], 0.05, 0.05, 177)
    range(2, 3)
    """
    start = int(np.searchsorted(rows, first_count))
    for part in chunks(len(rows) - start):
        tested = slice(start + part.start, start + part.stop)
        failed = np.flatnonzero(~_passes(errors[tested], rows[tested], max_error, alpha))
        if len(failed):
            return range(start, tested.start + int(failed[0]))
    return range(start, len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Certified(Locked):
    """Thresholds of one side that are certified, and how they were tested.

    Attributes
    ----------
    passed : range
        Positions of certified thresholds, which follow each other.
    starts : tuple of int
        Positions at which a sequence of tests starts.
    level : ndarray of shape (k,)
        Level of the test of each threshold.
    """

    passed: range
    starts: tuple[int, ...]
    level: FloatArray


def certified(errors: IntArray, rows: IntArray, max_error: float, alpha: float) -> Certified:
    """Certify thresholds by two sequences of tests, which have the level `alpha` together.

    The first starts at `first_tested_count` rows with 95% of the level, the second at half of the
    rows with the other 5%. A first sequence that gets there hands its level on. See
    `certified_range` for the arguments. Few rows have one sequence.

    Of the first 180 rows 9 are errors, and of the others 3.

    >>> rows = np.arange(1, 1001)
    >>> made = certified(np.minimum(rows // 20, 9) + rows // 300, rows, 0.05, 0.05)
    >>> made.passed, made.starts, made.level[[125, 499]].round(4)
    (range(499, 1000), (125, 499), array([0.0475, 0.0025]))
    """
    n_rows = int(rows[-1])
    early_level, second = (1.0 - SECOND_SHARE) * alpha, n_rows // 2
    first = first_tested_count(n_rows, max_error, early_level)
    if second <= first:
        first = first_tested_count(n_rows, max_error, alpha)
        passed = certified_range(errors, rows, max_error, alpha, first)
        return Certified(passed, (passed.start,), np.full(len(rows), alpha))
    middle = int(np.searchsorted(rows, second))
    early = certified_range(errors[:middle], rows[:middle], max_error, early_level, first)
    is_handed_on = early.stop == middle
    late_level = alpha if is_handed_on else SECOND_SHARE * alpha
    late = certified_range(errors, rows, max_error, late_level, second)
    passed = range(early.start, late.stop) if is_handed_on else late or early
    level = np.where(np.arange(len(rows)) < middle, early_level, late_level)
    return Certified(passed, tuple(sorted({early.start, middle})), level)


def _passes(errors: IntArray, rows: IntArray, max_error: float, alpha: float) -> BoolArray:
    """Whether the p-value of each threshold is at most alpha.

    A p-value is at most exp(-rows * divergence) [Chernoff], which is quick to compute and is enough
    for most thresholds. Only the others have the exact test.
    """
    rate = errors / rows
    divergence = rel_entr(rate, max_error) + rel_entr(1.0 - rate, 1.0 - max_error)
    # The margin is far above the rounding of the divergence.
    passed = (rate < max_error) & (rows * divergence > 1e-6 - math.log(alpha))
    unclear = np.flatnonzero(~passed)
    passed[unclear] = bdtr(errors[unclear], rows[unclear], max_error) <= alpha
    return passed


def error_bound(errors: IntArray, rows: IntArray, alpha: float | FloatArray) -> FloatArray:
    """Upper end of a one-sided Clopper-Pearson interval of each error rate, at level 1 - alpha.

    It is at most r exactly if the binomial test certifies r. See doi:10.1093/biomet/26.4.404.

    >>> error_bound(np.array([0, 3, 5]), np.array([59, 177, 5]), 0.05).round(4)
    array([0.0495, 0.0432, 1.    ])
    """
    right = rows - errors
    bound = betaincinv(errors + 1.0, np.maximum(right, 1), 1.0 - alpha)
    return np.where(right > 0, bound, 1.0)


def decimal_between(low: float, high: float) -> float | None:
    """The number with the fewest decimals between two numbers, near their middle, if there is one.

    >>> decimal_between(0.9, 0.95), decimal_between(0.93121, 0.93146), decimal_between(0.5, 0.5)
    (0.93, 0.9313, None)
    """
    middle = low + (high - low) / 2.0
    between = (round(middle, digits) for digits in range(1, 17))
    return next((value for value in between if low < value < high), None)
