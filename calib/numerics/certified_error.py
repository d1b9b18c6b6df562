"""Error rates that are certified with a confidence: exact binomial tests in a fixed sequence.

The tests go from the strictest threshold to looser ones, and stop at the first that fails. All have
the same level, because a false certificate needs the first threshold that errs too often to pass.
See Angelopoulos et al. 2021, "Learn then test", arXiv:2110.01052. A second sequence starts at half
of the rows, in case the rows with the highest scores are not the best: see Wiens 2003, "A fixed
sequence Bonferroni procedure for testing multiple endpoints", doi:10.1002/pst.64.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, betaincc, betaincinv, rel_entr

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, chunks

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
