"""Bounds of a logistic regression's slope, from how fast its likelihood falls."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from calib.numerics.arrays import FloatArray

MAX_DOUBLINGS = 60


def profile_bounds(
    x: FloatArray, positive: FloatArray, weight: FloatArray, slope: float, error: float, drop: float
) -> tuple[float, float]:
    """The slopes at which the log-likelihood, highest over all intercepts, has fallen by `drop`.

    Parameters
    ----------
    x, positive, weight : ndarray of shape (k,)
        As of `calib.numerics.logistic.fit_logistic`, besides a constant.
    slope, error : float
        Where the likelihood is highest, and the slope's standard error.
    drop : float
        Greater than 0.

    Returns
    -------
    low, high : float

    References
    ----------
    Venzon and Moolgavkar 1988, doi:10.2307/2347496.

    Examples
    --------
    Two cells: the slope is the log odds ratio, here of 8 in 10 against 2 in 10.

    >>> import numpy as np
    >>> positive, weight = np.array([2.0, 8.0]), np.array([10.0, 10.0])
    >>> bounds = profile_bounds(
    ...     np.array([0.0, 1.0]), positive, weight, 2.0 * np.log(4.0), 1.1, 3.8415 / 2.0
    ... )
    >>> np.round(bounds, 2).tolist()
    [0.77, 5.27]
    """

    def height(b: float) -> float:
        eta = _intercept(b * x, positive, weight) + b * x
        return float(positive @ log_expit(eta) + (weight - positive) @ log_expit(-eta))

    top = height(slope)

    def fallen(b: float) -> float:
        return top - drop - height(b)

    step = math.sqrt(2.0 * drop) * error
    return _beyond(fallen, slope, -step), _beyond(fallen, slope, step)


def _intercept(offset: FloatArray, positive: FloatArray, weight: FloatArray) -> float:
    """The best one: that at which the mean probability is the observed frequency."""
    total = float(positive.sum())
    # At the ends of the bracket every probability is at most, or at least, that frequency.
    base = float(logit(total / weight.sum()))
    low, high = base - float(offset.max()) - 1e-9, base - float(offset.min()) + 1e-9
    return float(brentq(lambda a: float(weight @ expit(a + offset)) - total, low, high, xtol=1e-12))


def _beyond(fallen: Callable[[float], float], start: float, step: float) -> float:
    """Where a function that is below 0 at the start, and convex, reaches 0 in a direction."""
    for _ in range(MAX_DOUBLINGS):
        if fallen(start + step) >= 0.0:
            return float(brentq(fallen, start, start + step, rtol=1e-9))
        step *= 2.0
    return math.copysign(math.inf, step)
