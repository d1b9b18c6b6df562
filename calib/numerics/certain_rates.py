"""Observed rates of exactly 0 and 1, shrunk toward the base rate."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray


def shrink_certain(rate: FloatArray, weight: FloatArray, base_rate: float) -> FloatArray:
    """Rates of 0 and 1 as m-estimates. All other rates stay unchanged.

    The m-estimate of k positives among n rows is (k + m b) / (n + m), b the base rate. Here m is
    the number of rows among which one row of the missing outcome is expected: 1 / b for a rate of
    0, 1 / (1 - b) for a rate of 1. The results, 1 / (n + 1 / b) and 1 - 1 / (n + 1 / (1 - b)), are
    Laplace's rule of succession where b = 1/2, and never beyond b.

    Parameters
    ----------
    rate, weight : ndarray of shape (b,)
        Observed rates, and the weight of the rows of each.
    base_rate : float
        In (0, 1).

    References
    ----------
    Cestnik 1990, "Estimating probabilities: a crucial task in machine learning", ECAI. Zadrozny,
    Elkan 2001, "Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers", ICML; they choose m by m b, too (10 there).

    Examples
    --------
    >>> import numpy as np
    >>> shrink_certain(np.array([0.0, 0.2, 1.0]), np.array([8.0, 5.0, 1.0]), 0.5).round(3)
    array([0.1  , 0.2  , 0.667])
    >>> shrink_certain(np.array([0.0, 1.0]), np.array([900.0, 1.0]), 0.01).round(4)
    array([0.001 , 0.5025])
    """
    lowest = 1.0 / (weight + 1.0 / base_rate)
    highest = 1.0 - 1.0 / (weight + 1.0 / (1.0 - base_rate))
    return np.where(rate <= 0.0, lowest, np.where(rate >= 1.0, highest, rate))
