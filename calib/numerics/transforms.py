"""Scales of a probability: log-odds, the compact logit of SplineCalib, and far log-odds.

From log-odds of about 37 on, the sigmoid is 1 in float64, so they are kept beside scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from calib.numerics.arrays import FloatArray, Locked, check_kinds

MACHINE_EPSILON = float(np.finfo(np.float64).eps)
SMALLEST_EPSILON = 1e-15
EpsilonRule = Literal["symmetric", "published"]


def clip_certain(p: FloatArray) -> FloatArray:
    """Clip to [eps, 1 - eps] with float64's machine epsilon, as scikit-learn's log loss does."""
    return np.clip(p, MACHINE_EPSILON, 1.0 - MACHINE_EPSILON)


def safe_logit(p: FloatArray) -> FloatArray:
    """Log-odds of `p`, finite everywhere.

    Zero is moved to the smallest normal float, so that 1e-300 stays itself; one to the float64
    below it.

    >>> safe_logit(np.array([0.0, 0.5, 1.0])).round(1)
    array([-708.4,    0. ,   36.7])
    """
    tiny = np.finfo(np.float64).tiny
    return np.asarray(logit(np.clip(p, tiny, 1.0 - MACHINE_EPSILON / 2)), dtype=np.float64)


def certain_logit(p: FloatArray) -> FloatArray:
    """Log-odds of `clip_certain(p)`; two logarithms take less time than SciPy's logit.

    The difference of the two logarithms is off by at most 1e-16 more near 1/2, where it is 0.

    >>> certain_logit(np.array([0.0, 0.5, 1.0])).round(1)
    array([-36.,   0.,  36.])
    """
    clipped = clip_certain(p)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)


def logarithms(p: FloatArray, log_odds: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """ln p and ln(1 - p), from the log-odds if they are given, and else of `clip_certain(p)`.

    >>> [value.round(1) for value in logarithms(np.array([1.0]), np.array([50.0]))]
    [array([-0.]), array([-50.])]
    """
    if log_odds is not None:
        return -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)
    clipped = clip_certain(p)
    return np.log(clipped), np.log1p(-clipped)


def log_odds(p: FloatArray) -> FloatArray:
    """ln(p / (1 - p)) of 0 < p < 1."""
    return np.asarray(np.log(p / (1.0 - p)), dtype=np.float64)


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(expit(x), dtype=np.float64)


def published_epsilon(scores: FloatArray) -> float:
    """Epsilon of the compact logit by the paper's rule: a power of ten below the closest 1 - p.

    epsilon = 10^(r - 1), r = floor(log10(min over p < 1 of (1 - p))), never below 1e-15 and never
    above 0.1.

    See Lucena 2018, section 5.1, arXiv:1809.07751.

    >>> published_epsilon(np.array([0.2, 0.97, 1.0]))
    0.001
    """
    below = scores[scores < 1.0]
    if not len(below):
        return SMALLEST_EPSILON
    # If p is a decimal such as 0.9, 1 - p is 0.0999..98. Without the small number it would be in
    # the decade below.
    r = math.floor(math.log10(1.0 - float(below.max())) + 1e-9)
    return max(10.0 ** (r - 1), SMALLEST_EPSILON)


def symmetric_epsilon(scores: FloatArray) -> float:
    """The smaller of the rule's epsilons of p and of 1 - p: it does not depend on which class is 1.

    The paper's rule alone uses only the distance from 1. If events are rare, all their scores would
    be below epsilon, where the compact logit is the score itself.

    >>> symmetric_epsilon(np.array([0.002, 0.97])), symmetric_epsilon(np.array([0.03, 0.998]))
    (0.0001, 0.0001)
    """
    return min(published_epsilon(scores), published_epsilon(1.0 - scores))


def automatic_epsilon(scores: FloatArray, rule: EpsilonRule) -> float:
    """Epsilon of the compact logit by a rule: "symmetric", or "published" (Lucena 2018)."""
    if rule not in ("symmetric", "published"):
        raise ValueError(f"epsilon_rule must be 'symmetric' or 'published', got {rule!r}.")
    return symmetric_epsilon(scores) if rule == "symmetric" else published_epsilon(scores)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon out of its range. 1 minus a smaller one is 1, which has no logit."""
    check_kinds(check_epsilon, {"epsilon": epsilon})
    if not SMALLEST_EPSILON <= epsilon < 0.5:
        raise ValueError(f"epsilon must fulfil 1e-15 <= epsilon < 0.5, got {epsilon}.")


def compact_slope(epsilon: float) -> float:
    """Slope of the compact logit on the logit, between epsilon and 1 - epsilon."""
    return (1.0 - 2.0 * epsilon) / (2.0 * math.log((1.0 - epsilon) / epsilon))


def compact_logit(p: FloatArray, epsilon: float) -> FloatArray:
    """The logit squeezed onto [0, 1]: scaled on [epsilon, 1 - epsilon], the identity outside.

    G(s) = (1 - 2 eps) / (2 ln((1 - eps)/eps)) ln(s/(1 - s)) + 1/2 inside; G(s) = s outside.

    Epsilon is at least 1e-15 and below 0.5. See Lucena 2018, section 5.1, arXiv:1809.07751.

    >>> compact_logit(np.array([0.0, 0.01, 0.5, 0.99, 1.0]), 0.01).round(12)
    array([0.  , 0.01, 0.5 , 0.99, 1.  ])
    """
    check_epsilon(epsilon)
    inner = np.clip(p, epsilon, 1.0 - epsilon)
    squeezed = compact_slope(epsilon) * log_odds(inner) + 0.5
    return np.where(inner == p, squeezed, p)


# Farther from 0, a probability differs from 0 or 1 by less than 2e-9, and has at most seven correct
# digits of its log-odds. There are 18 million floats between it and 1.
FAR = 20.0
# Differences of lower scores are so small that slopes between them would overflow.
LOWEST = -600.0
CERTAIN = 36.0  # Scores of larger log-odds are 0 or 1 up to rounding.


@dataclass(frozen=True, slots=True, eq=False)
class FarLogOdds(Locked):
    """Log-odds beyond 20 or -20, and the scores that stand for them."""

    # Both have shape (k,) and increase. Different log-odds have different scores.
    score: FloatArray
    log_odds: FloatArray

    def of(self, score: FloatArray) -> FloatArray:
        """Log-odds of scores of the same data. Between two that are far it is interpolated.

        >>> scores, far = probabilities(np.array([0.0, 40.0, 50.0]))
        >>> far.of(scores)
        array([ 0., 40., 50.])
        """
        log_odds = certain_logit(score)
        below, above = self.score[self.log_odds < 0.0], self.score[self.log_odds > 0.0]
        is_far = score <= below.max(initial=-1.0)
        is_far |= score >= above.min(initial=2.0)
        log_odds[is_far] = np.interp(score[is_far], self.score, self.log_odds)
        return log_odds

    @property
    def n_beyond(self) -> int:
        """Number of different log-odds that their scores do not tell."""
        return int((np.abs(self.log_odds) > CERTAIN).sum())

    @property
    def beyond(self) -> str:
        """The same in words."""
        return (
            f"Those of {self.n_beyond:,} different log-odds beyond {CERTAIN:g} or -{CERTAIN:g} are "
            "0 or 1 up to rounding"
        )


def probabilities(log_odds: FloatArray) -> tuple[FloatArray, FarLogOdds | None]:
    """The sigmoid, increasing also where it is 0 or 1 up to rounding, and the log-odds there.

    Scores of different log-odds beyond 20 or -20 are neighbouring floats if their sigmoids are
    equal: 1 belongs to the largest. So counts, ranks and steps keep their order. Infinite log-odds
    are read as 709, or as the largest that is not. Without far log-odds the scores are plain
    sigmoids.

    >>> scores, far = probabilities(np.array([40.0, 60.0, 50.0, 2.0]))
    >>> scores.argsort(), 1.0 - scores[[0, 2, 1]]
    (array([3, 0, 2, 1]), array([2.22044605e-16, 1.11022302e-16, 0.00000000e+00]))
    >>> far.log_odds
    array([40., 50., 60.])
    """
    score = sigmoid(log_odds)
    is_far = np.abs(log_odds) > FAR
    if not is_far.any():
        return score, None
    different, place = np.unique(log_odds[is_far], return_inverse=True)
    increasing = _increasing(different)
    score[is_far] = increasing[place]
    largest = np.abs(different, where=np.isfinite(different), out=np.zeros(len(different))).max()
    bound = max(709.0, float(largest))
    return score, FarLogOdds(increasing, np.clip(different, -bound, bound))


def _increasing(log_odds: FloatArray) -> FloatArray:
    """Scores of increasing log-odds, which increase too."""
    score, n_lowest = sigmoid(log_odds), int((log_odds < LOWEST).sum())
    score[:n_lowest] = np.exp(LOWEST) * np.arange(1, n_lowest + 1) / (n_lowest + 1)
    # Floats that are not negative have the order of their bits, and neighbours differ by 1.
    bits, step = score.view(np.int64), np.arange(len(score))
    bits = np.maximum.accumulate(bits - step) + step
    most = np.array(1.0).view(np.int64) - step[::-1]
    return np.minimum(bits, most).view(np.float64)
