"""Logistic regression whose slopes are not negative, and Platt's targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calib.numerics.arrays import FloatArray, Locked, chunks
from calib.numerics.logistic import Features, fit_logistic

# Increasing functions of some scores, one array each.
Columns = Callable[[FloatArray], Sequence[FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class IncreasingFit(Locked):
    """A logistic regression whose slopes are not negative."""

    slopes: FloatArray  # shape (d,)
    intercept: float
    # True where the classes were perfectly separated and Platt's targets gave the fit.
    separated: bool

    @property
    def constant(self) -> bool:
        """Whether no column had a positive slope."""
        return not self.slopes.any()


def platt_targets(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Positive weights with each outcome replaced by Platt's target.

    A positive counts as (N+ + 1)/(N+ + 2), a negative as 1/(N- + 2): the posterior mean of a
    label under a uniform prior, so that no fit runs away on separated classes.

    >>> platt_targets(np.array([0.0, 2.0]), np.array([2.0, 2.0]))
    array([0.5, 1.5])
    """
    n_positive = float(positive.sum())
    n_negative = float(weight.sum()) - n_positive
    high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0)
    targets = positive * (high - low)
    for part in chunks(len(weight)):
        targets[part] += weight[part] * low
    return targets


def fit_increasing(
    score: FloatArray,
    columns: Columns,
    positive: FloatArray,
    weight: FloatArray,
    *,
    intercept: bool = True,
    smooth: bool = False,
) -> IncreasingFit:
    """Logistic regression on increasing functions of a score, with slopes of at least 0.

    The likelihood is concave, so its maximum under the constraint is the best of the fits on
    fewer columns that need no negative slope. If no column deserves a positive slope, the fit is
    the constant base rate, also where `intercept` is False.

    `columns` turns some scores into the increasing functions of them, one array each. If `smooth`
    is True, Platt's targets are fitted. They always are if the columns separate the classes, since
    no finite fit to the outcomes exists then.

    >>> score = np.array([0.0, 1.0])
    >>> fit = fit_increasing(score, lambda s: [s], np.array([1.0, 3.0]), np.full(2, 4.0))
    >>> np.exp(fit.slopes).round(6), fit.constant
    (array([9.]), False)
    >>> fit_increasing(score, lambda s: [s], np.array([3.0, 1.0]), np.full(2, 4.0)).constant
    True
    """
    n_columns = len(columns(score[:1]))

    def fit_subset(subset: tuple[int, ...]) -> tuple[float, IncreasingFit]:
        features = _features(score, columns, subset, intercept)
        fit = None if smooth else fit_logistic(features, positive, weight)
        separated = fit is not None and not fit.converged
        if fit is None or separated:
            fit = fit_logistic(features, platt_targets(positive, weight), weight)
        slopes = np.zeros(n_columns)
        slopes[list(subset)] = fit.coefficients[-len(subset) :]
        constant = float(fit.coefficients[0]) if intercept else 0.0
        return fit.log_likelihood, IncreasingFit(slopes, constant, separated)

    for size in range(n_columns, 0, -1):
        fits = map(fit_subset, combinations(range(n_columns), size))
        allowed = [(value, fit) for value, fit in fits if fit.slopes.min() >= 0.0]
        if allowed:
            best = max(allowed, key=lambda pair: pair[0])[1]
            if not best.constant:
                return best
    n_positive = float(positive.sum())
    base = float(np.log(n_positive) - np.log(float(weight.sum()) - n_positive))
    return IncreasingFit(np.zeros(n_columns), base, separated=False)


def _features(
    score: FloatArray, columns: Columns, subset: tuple[int, ...], intercept: bool
) -> Features:
    def features(part: slice) -> FloatArray:
        found = columns(score[part])
        ones = [np.ones(len(found[0]))] if intercept else []
        return np.array([*ones, *(found[i] for i in subset)])

    return features
