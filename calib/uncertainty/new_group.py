"""How much groups differ, and where the value of a new group lies: a random-effects summary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, gammaincc, stdtr, stdtrit

from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate, normal_quantile, upper_end

MIN_GROUPS = 5  # With fewer groups, their spread is too uncertain for a prediction interval.
N_LEVELS, N_NODES = 200, 40  # Quantiles of tau^2, and of the new value given tau.
N_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class BetweenGroups:
    """A mean over groups, the spread of their true values, and the interval of a new group.

    Attributes
    ----------
    n_groups : int
    mean : Estimate
        Mean of the groups' true values, with its normal interval.
    tau : float
        Standard deviation of the true values (DerSimonian and Laird), at least 0.
    q, p_value, i_squared : float
        Cochran's Q, its chi-square p-value, and the share of the spread that is not chance.
    new_group : Estimate
        Prediction interval of the true value in a new group. NaN below five groups, or if all
        estimates are equal.
    usual : Estimate
        The usual t interval of a new group, for comparison: it covers less than it states.
    """

    n_groups: int
    mean: Estimate
    tau: float
    q: float
    p_value: float
    i_squared: float
    new_group: Estimate
    usual: Estimate

    def transformed(self, back: Callable[[float], float]) -> BetweenGroups:
        """The same with the mean and intervals on another increasing scale; tau stays."""

        def changed(estimate: Estimate) -> Estimate:
            return Estimate(back(estimate.value), back(estimate.low), back(estimate.high))

        return BetweenGroups(
            self.n_groups,
            changed(self.mean),
            self.tau,
            self.q,
            self.p_value,
            self.i_squared,
            changed(self.new_group),
            changed(self.usual),
        )


def between_groups(
    value: FloatArray,
    variance: FloatArray,
    *,
    confidence_level: float = 0.95,
) -> BetweenGroups:
    """Summarise independent estimates of one quantity in several groups.

    The prediction interval is that of the confidence distribution of tau^2: its quantile at u
    solves P(Q >= q; tau^2) = u, with Q approximated by a gamma distribution. It covers about as
    often as it states with 5 to 40 groups, also if tau is small (benchmarks/coverage.md); the usual
    interval does not.

    Parameters
    ----------
    value, variance : ndarray of shape (k,)
        Estimates, and their squared standard errors, above 0.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    BetweenGroups
        With one group there is no spread, and with fewer than five no prediction interval.

    Raises
    ------
    ValueError
        If there is no group, or a number is not finite, or a variance is not above 0.

    References
    ----------
    DerSimonian and Laird 1986, doi:10.1016/0197-2456(86)90046-2. Nagashima, Noma and Furukawa
    2019, doi:10.1177/0962280218773520.

    Examples
    --------
    >>> slopes = np.array([0.9, 1.1, 0.7, 1.0, 0.8, 1.2])
    >>> found = between_groups(slopes, np.full(6, 0.01))
    >>> round(found.mean.value, 3), round(found.tau, 3)
    (0.95, 0.158)
    >>> round(found.new_group.low, 2), round(found.new_group.high, 2)
    (0.47, 1.43)
    """
    z = normal_quantile(confidence_level)
    y, v = np.asarray(value, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if not len(y) or not np.isfinite(y).all() or not (np.isfinite(v) & (v > 0.0)).all():
        raise ValueError(
            "between_groups needs at least one group, finite values and variances above 0. Leave "
            "out groups that have no estimate."
        )
    k, q = len(y), _spread(y, v)
    c = _scale(v)[0]
    tau_sq = max(0.0, (q - (k - 1)) / c) if k > 1 else math.nan
    between = 0.0 if math.isnan(tau_sq) else tau_sq
    weight = 1.0 / (v + between)
    mean, error = float(weight @ y / weight.sum()), float(weight.sum() ** -0.5)
    usual = (
        float(stdtrit(k - 2, upper_end(confidence_level))) * math.hypot(math.sqrt(between), error)
        if k > 2
        else math.nan
    )
    new_group = Estimate(mean)
    if k >= MIN_GROUPS and q > 0.0:
        low, high = _predicted(y, v, q, confidence_level)
        new_group = Estimate(mean, low, high)
    return BetweenGroups(
        n_groups=k,
        mean=Estimate(mean, mean - z * error, mean + z * error),
        tau=math.sqrt(tau_sq),
        q=q,
        p_value=float(chdtrc(k - 1, q)) if k > 1 else math.nan,
        i_squared=max(0.0, 1.0 - (k - 1) / q) if k > 1 and q > 0.0 else 0.0,
        new_group=new_group,
        usual=Estimate(mean, mean - usual, mean + usual),
    )


def _spread(y: FloatArray, v: FloatArray) -> float:
    """Cochran's Q: the weighted squares around the mean of groups with one true value."""
    weight = 1.0 / v
    return float(weight @ np.square(y - weight @ y / weight.sum()))


def _scale(v: FloatArray) -> tuple[float, float]:
    """Factors of tau^2 in the mean of Q, and of 2 tau^4 in its variance."""
    s1, s2, s3 = (float((v**-r).sum()) for r in (1, 2, 3))
    return s1 - s2 / s1, s2 - 2.0 * s3 / s1 + (s2 / s1) ** 2


def _tau_squares(v: FloatArray, q: float, level: FloatArray) -> FloatArray:
    """Quantiles of the confidence distribution of tau^2: roots of P(Q >= q; tau^2) = level."""
    k, (c, d) = len(v), _scale(v)

    def tail(tau_sq: FloatArray) -> FloatArray:
        mean = k - 1 + c * tau_sq
        variance = 2.0 * (k - 1) + 4.0 * c * tau_sq + 2.0 * d * np.square(tau_sq)
        return np.asarray(gammaincc(mean * mean / variance, q * mean / variance))

    low = np.zeros(len(level))
    high = np.full(len(level), max(q, 1.0) / c)
    # With very spread variances, Q is nearly proportional to one chi-square, and levels near 1 need
    # very large values. Sixty doublings end the search at levels that no value reaches.
    for _ in range(N_HALVINGS):
        if (tail(high) >= level).all():
            break
        high = np.where(tail(high) < level, 2.0 * high, high)
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        below = tail(middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(level <= tail(np.zeros(1)), 0.0, 0.5 * (low + high))


def _predicted(
    y: FloatArray, v: FloatArray, q: float, confidence_level: float
) -> tuple[float, float]:
    """Quantiles of m(tau) + tau N(0, 1) - t SE(tau) over the confidence distribution of tau."""
    # The import takes a fifth of a second, and programs that only read files do not need it.
    from scipy.optimize import brentq

    k = len(y)
    tau_sq = _tau_squares(v, q, (np.arange(N_LEVELS) + 0.5) / N_LEVELS)
    weight = 1.0 / (v + tau_sq[:, None])
    total = weight.sum(axis=1)
    mean = weight @ y / total
    square = (weight * np.square(y - mean[:, None])).sum(axis=1)
    error = np.sqrt(square / ((k - 1) * total))[:, None]
    # Gauss and Hermite: the mean of a function of a standard normal variable.
    node, share = np.polynomial.hermite_e.hermegauss(N_NODES)
    share /= share.sum()
    place = mean[:, None] + np.sqrt(tau_sq)[:, None] * node

    def end(level: float) -> float:
        def excess(x: float) -> float:
            return float((stdtr(k - 1, (x - place) / error) @ share).mean()) - level

        middle, width = float(mean.mean()), float(np.ptp(place) + error.max())
        while excess(middle - width) > 0.0 or excess(middle + width) < 0.0:
            width *= 2.0
        return float(brentq(excess, middle - width, middle + width, xtol=1e-9 * width))

    upper = upper_end(confidence_level)
    return end(1.0 - upper), end(upper)
