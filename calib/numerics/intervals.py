"""Estimates and their intervals, and p-values of many tests at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, expit, log_expit, logit, ndtri, stdtrit

from calib.numerics.arrays import FloatArray, check_kinds


def check_level(confidence_level: float, margin: float = 1e-15) -> None:
    """Refuse a confidence level outside (0, 1), or nearer to its ends than a margin.

    With a smaller margin, the half of what is missing to 1 is lost by rounding.
    """
    check_kinds(check_level, {"confidence_level": confidence_level})
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must fulfil 0 < level < 1, got {confidence_level}.")
    if not margin <= confidence_level <= 1.0 - margin:
        raise ValueError(
            f"confidence_level must be at least {margin:g} away from 0 and from 1, got "
            f"{confidence_level}."
        )


def upper_end(confidence_level: float) -> float:
    """Level of the quantile at the upper end of a two-sided interval.

    >>> upper_end(0.9)
    0.95
    """
    check_level(confidence_level)
    return 0.5 + confidence_level / 2.0


def normal_quantile(confidence_level: float) -> float:
    """Half-width, in standard deviations, of a two-sided normal interval.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return float(ndtri(upper_end(confidence_level)))


def wilson_interval(
    rate: FloatArray, n: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson score interval of a binomial rate.

    `n` is the number of rows, or the effective number if rows have weights or clusters. See Wilson
    1927, doi:10.1080/01621459.1927.10502953.

    >>> low, high = wilson_interval(np.array([0.0, 0.5]), np.array([10.0, 10.0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.2366]), array([0.2775, 0.7634]))
    """
    z2 = normal_quantile(confidence_level) ** 2
    centre = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = np.sqrt(z2 * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    # At a rate of 0 or 1 one bound is exactly that rate, without rounding.
    low = np.where(rate <= 0.0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(rate >= 1.0, 1.0, np.minimum(centre + half, 1.0))


def binomial_p_value(rate: FloatArray, n: FloatArray, expected: FloatArray) -> FloatArray:
    """Two-sided p-value of a binomial rate: twice the smaller exact tail, at most 1.

    `n` is the number of rows, or the effective number if rows have weights or clusters, which need
    not be whole. See Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404.

    >>> binomial_p_value(np.array([0.0, 0.5]), np.array([10.0, 10.0]), np.array([0.2, 0.5])).round(
    ...     4
    ... )
    array([0.2147, 1.    ])
    """
    n = np.asarray(n, dtype=np.float64)
    positive = np.minimum(rate * n, n)
    # The number of positives is whole if n is. The rounding of the rate must not change the tails.
    nearest = np.round(positive)
    positive = np.where(np.abs(positive - nearest) < 1e-6, nearest, positive)
    at_least, at_most = np.ones((2, *n.shape))
    some, not_all = positive > 0.0, positive < n
    at_least[some] = betainc(positive[some], (n - positive)[some] + 1.0, expected[some])
    at_most[not_all] = betaincc(positive[not_all] + 1.0, (n - positive)[not_all], expected[not_all])
    return np.minimum(2.0 * np.minimum(at_least, at_most), 1.0)


def mean_interval(
    mean: float,
    residual: FloatArray,
    total_weight: float,
    confidence_level: float,
    multiplicity: FloatArray | None = None,
) -> tuple[float, float]:
    """Student's interval of a weighted mean, corrected for the skewness of the values.

    A few large losses increase a sample mean together with its standard error. A symmetric interval
    would therefore miss high true values far more often than low ones.

    The residual of a row is its weight times (value - mean), or the sum of these over each cluster;
    `multiplicity` rows share it equally, 1 each if None. The bounds are NaN if there are fewer than
    two residuals, which show no spread. See Hall 1992, "On the removal of skewness by
    transformation", doi:10.1111/j.2517-6161.1992.tb01876.x.

    >>> even, skewed = np.array([-1.0, 1.0] * 50), np.array([-0.25] * 80 + [1.0] * 20)
    >>> np.round(mean_interval(0.0, even, 100.0, 0.95), 3).tolist()
    [-0.199, 0.199]
    >>> np.round(mean_interval(0.0, skewed, 100.0, 0.95), 3).tolist()
    [-0.09, 0.113]
    >>> few, times = np.array([-20.0, 20.0]), np.array([80.0, 20.0])
    >>> np.round(mean_interval(0.0, few, 100.0, 0.95, times), 3).tolist()
    [-0.09, 0.113]
    """
    n = float(len(residual) if multiplicity is None else multiplicity.sum())
    if n < 2:
        return math.nan, math.nan
    per_row = residual if multiplicity is None else residual / multiplicity
    square = residual * per_row
    spread = float(square.sum())
    if spread == 0.0:
        return mean, mean
    error = math.sqrt(spread * n / (n - 1.0)) / total_weight
    # The skewness is that of the mean: that of the values, divided by the root of n.
    skewness = float(square @ per_row) / spread**1.5
    t = float(stdtrit(n - 1.0, upper_end(confidence_level)))
    above, below = _unskewed(t, skewness), _unskewed(-t, skewness)
    return mean - max(0.0, above) * error, mean - min(0.0, below) * error


def _unskewed(t: float, skewness: float) -> float:
    """The studentised mean at which Hall's cubic, normal but for terms of order 1/n, is t."""
    if skewness == 0.0:
        return t
    x = skewness * (t - skewness / 6.0)
    # Near x = 0 the cube root of 1 + x would lose the digits of x.
    root = math.expm1(math.log1p(x) / 3.0) if x > -0.5 else math.cbrt(1.0 + x) - 1.0
    return 3.0 * root / skewness


MAX_DOUBLINGS = 60


def profile_bounds(
    x: FloatArray, positive: FloatArray, weight: FloatArray, slope: float, error: float, drop: float
) -> tuple[float, float]:
    """The slopes at which the log-likelihood, highest over all intercepts, has fallen by `drop`.

    `x`, `positive` and `weight` are those of `calib.numerics.logistic.fit_logistic`, without its
    constant. `slope` maximises the likelihood, and `error` is its standard error; `drop` is above
    0. See Venzon and Moolgavkar 1988, doi:10.2307/2347496.

    Two cells: the slope is the log odds ratio, here of 8 in 10 against 2 in 10.

    >>> positive, weight = np.array([2.0, 8.0]), np.array([10.0, 10.0])
    >>> bounds = profile_bounds(
    ...     np.array([0.0, 1.0]), positive, weight, 2.0 * np.log(4.0), 1.1, 3.8415 / 2.0
    ... )
    >>> np.round(bounds, 2).tolist()
    [0.77, 5.27]
    """

    def height(b: float) -> float:
        eta = best_intercept(b * x, positive, weight) + b * x
        return float(positive @ log_expit(eta) + (weight - positive) @ log_expit(-eta))

    top = height(slope)

    def fallen(b: float) -> float:
        return top - drop - height(b)

    step = math.sqrt(2.0 * drop) * error
    return _beyond(fallen, slope, -step), _beyond(fallen, slope, step)


def best_intercept(
    offset: FloatArray, positive: FloatArray, weight: FloatArray, *, xtol: float = 1e-12
) -> float:
    """The intercept at which the mean probability is the observed frequency, given an offset."""
    total = float(positive.sum())
    # At one end of the bracket every probability is below the frequency, at the other above it.
    # The margin of 1 covers rounding.
    base = float(logit(total / weight.sum()))
    apart = 1.0 + 1e-12 * float(np.abs(offset).max())
    low, high = base - float(offset.max()) - apart, base - float(offset.min()) + apart

    def excess(a: float) -> float:
        return float(weight @ expit(a + offset)) - total

    # If offsets are far from each other, the sum is flat between them, and the search is long.
    return _root(excess, low, high, xtol=xtol, maxiter=1000)


def _beyond(fallen: Callable[[float], float], start: float, step: float) -> float:
    """The root, in one direction, of a convex function that is below 0 at the start."""
    for _ in range(MAX_DOUBLINGS):
        if fallen(start + step) >= 0.0:
            return _root(fallen, start, start + step, rtol=1e-9)
        step *= 2.0
    return math.copysign(math.inf, step)


def _root(function: Callable[[float], float], low: float, high: float, **options: Any) -> float:
    """The root between two values at which the signs of the function differ."""
    # The import takes a fifth of a second, and programs that only read files do not need it.
    from scipy.optimize import brentq

    return float(brentq(function, low, high, **options))


def holm(p_value: FloatArray) -> FloatArray:
    """Holm's adjusted p-values.

    If all tests with an adjusted p-value below alpha are rejected, the probability of any false
    rejection is at most alpha, whatever the dependence between the tests.

    An entry is NaN if there is no test. It stays NaN and does not count. See Holm 1979,
    https://www.jstor.org/stable/4615733.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.full(len(p_value), np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    steps = p_value[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval. The bounds are NaN if there is no interval.

    Attributes
    ----------
    value, low, high : float
    noise_floor : float
        Mean of this calibration error if the model were calibrated, with the same scores, rows and
        bins. NaN if the number is not a calibration error.
    resolution : float
        Largest possible difference from the value of ungrouped scores; 0 if scores are not grouped.

    Examples
    --------
    >>> Estimate(0.3, 0.2, 0.4).columns("auc")
    {'auc': 0.3, 'auc_low': 0.2, 'auc_high': 0.4}
    >>> Estimate(0.3).columns("auc")
    {'auc': 0.3}
    >>> Estimate(0.3, noise_floor=0.1).columns("ece")
    {'ece': 0.3, 'ece_noise_floor': 0.1}
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    # NaN is not equal to itself, so a field with NaN would make equal estimates unequal.
    noise_floor: float = field(default=float("nan"), compare=False)
    resolution: float = 0.0

    def scaled(self, factor: float) -> Estimate:
        """The number and its bounds times a positive factor, such as a number of rows."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)

    def columns(self, name: str) -> dict[str, float]:
        """Columns of a table row: the number, its bounds and its noise floor, if they exist."""
        others = {"low": self.low, "high": self.high, "noise_floor": self.noise_floor}
        finite = {f"{name}_{end}": value for end, value in others.items() if not math.isnan(value)}
        grouped = {f"{name}_resolution": self.resolution} if self.resolution > 0.0 else {}
        return {name: self.value} | finite | grouped

    def with_bounds(self, name: str) -> dict[str, float]:
        """Columns of a table row: the number and both bounds, even if they are NaN."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first, with an interval from the two intervals.

    Interval bounds are combined in quadrature (Zou and Donner 2008). Asymmetric intervals give an
    asymmetric interval.

    The estimates are of independent rows and have the same confidence level. If one has no
    interval, the difference has none. See Zou and Donner 2008, doi:10.1002/sim.3095; Newcombe 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> difference = unpaired_difference(Estimate(0.5, 0.47, 0.53), Estimate(0.7, 0.66, 0.74))
    >>> round(difference.low, 4), round(difference.high, 4)
    (0.15, 0.25)
    """
    value = second.value - first.value
    below = math.hypot(second.value - second.low, first.high - first.value)
    above = math.hypot(second.high - second.value, first.value - first.low)
    return Estimate(value, value - below, value + above)
