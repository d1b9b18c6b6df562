"""Isotonic regression by pool-adjacent-violators."""

import numpy as np
from scipy.optimize import isotonic_regression

from calib.numerics.arrays import FloatArray


def pool_adjacent_violators(rate: FloatArray, weight: FloatArray) -> FloatArray:
    """Non-decreasing weighted least-squares fit to `rate`, one value a cell, in the cells' order.

    Examples
    --------
    >>> import numpy as np
    >>> pool_adjacent_violators(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    array([0. , 0.5, 0.5, 1. ])
    """
    return np.asarray(isotonic_regression(rate, weights=weight).x, dtype=np.float64)
