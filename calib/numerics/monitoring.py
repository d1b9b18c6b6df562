"""Sequential tests of calibration: bets against the scores, looked at after every day.

A bet replaces a score p by q = sigmoid(shift + slope logit(p)). The likelihood ratio of a day's
outcomes under q and under p has mean 1 if the scores are right, so its running products are
evidence that may be looked at every day. All arrays are logarithms, so nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_expit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, chunks
from calib.numerics.transforms import certain_logit, clip_certain

SHIFTS = (-0.8, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.8)
SLOPES = (0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
# Each row is (shift, slope). All bets have equal weights.
BETS = np.array([*((shift, 1.0) for shift in SHIFTS), *((0.0, slope) for slope in SLOPES)])
BETS.flags.writeable = False
# The prior of a recalibration: its shift and its slope are normal around 0 and 1, with this
# standard deviation. The first days are then hardly changed, and separated classes have a maximum.
PRIOR_DEVIATION = 1.0
MAX_NEWTON_STEPS = 30
MAX_NEWTON_CHANGE = 1.0  # A full step from a poor start could leave the region of convergence.
NEWTON_TOLERANCE = 1e-8


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


def prequential_lines(z: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Shift and slope on the log-odds that the days before each day suggest; shape (days + 1, 2).

    `z` of shape (k,) are log-odds of score groups; counts have shape (days, k). Row t is fitted on
    the first t days, so row 0 is (0, 1), which changes nothing, and the last row uses all days. It
    maximises the likelihood times a normal prior around (0, 1) with standard deviation 1. All days
    are fitted at once by Newton's method.
    """
    n_days = len(positive)
    y, n = (np.concatenate([np.zeros((1, len(z))), np.cumsum(c, 0)]) for c in (positive, negative))
    rows = y + n
    line = np.tile([0.0, 1.0], (n_days + 1, 1))
    prior = 1.0 / PRIOR_DEVIATION**2
    for _ in range(MAX_NEWTON_STEPS):
        eta = line[:, :1] + line[:, 1:] * z
        expected = np.exp(log_expit(eta))
        residual = y - rows * expected
        spread = rows * expected * np.exp(log_expit(-eta))
        gradient = np.stack([residual.sum(axis=1), residual @ z], axis=1)
        gradient -= prior * (line - [0.0, 1.0])
        a, b, c = spread.sum(axis=1) + prior, spread @ z, spread @ z**2 + prior
        determinant = a * c - b * b
        step = np.stack(
            [
                c * gradient[:, 0] - b * gradient[:, 1],
                a * gradient[:, 1] - b * gradient[:, 0],
            ],
            axis=1,
        )
        step /= determinant[:, None]
        size = np.abs(step).max(axis=1, keepdims=True)
        line += step * np.minimum(1.0, MAX_NEWTON_CHANGE / np.maximum(size, NEWTON_TOLERANCE))
        if size.max() < NEWTON_TOLERANCE:
            break
    return line
