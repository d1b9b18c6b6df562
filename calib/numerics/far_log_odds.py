"""Log-odds for which float64 has no probability: from about 37 on, the sigmoid is 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.transforms import certain_logit, sigmoid

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
