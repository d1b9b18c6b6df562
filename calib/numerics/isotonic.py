"""Isotonic regression by pool-adjacent-violators."""

import numpy as np
from numpy.typing import NDArray
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


def increasing_blocks(rate: FloatArray, weight: FloatArray) -> NDArray[np.intp]:
    """Edges of the blocks of that fit: block b is the cells edges[b] to edges[b + 1] - 1.

    Examples
    --------
    >>> import numpy as np
    >>> increasing_blocks(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    array([0, 1, 3, 4])
    """
    return np.asarray(isotonic_regression(rate, weights=weight).blocks, dtype=np.intp)
