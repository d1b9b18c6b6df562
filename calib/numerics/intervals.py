"""Intervals of an observed frequency."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calib.numerics.arrays import FloatArray


def normal_quantile(confidence_level: float) -> float:
    """Half-width, in standard deviations, of a two-sided normal interval.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return float(ndtri(0.5 + confidence_level / 2.0))


def wilson_interval(
    rate: FloatArray, n: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson score interval of a binomial rate.

    Parameters
    ----------
    rate : ndarray of shape (b,), in [0, 1]
    n : ndarray of shape (b,)
        Number of rows; the effective number where rows are weighted.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    low, high : ndarray of shape (b,), in [0, 1]

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = wilson_interval(np.array([0.0, 0.5]), np.array([10.0, 10.0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.2366]), array([0.2775, 0.7634]))
    """
    z2 = normal_quantile(confidence_level) ** 2
    centre = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = np.sqrt(z2 * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    # At a rate of 0 or 1 the bound is that rate, exactly.
    low = np.where(rate <= 0.0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(rate >= 1.0, 1.0, np.minimum(centre + half, 1.0))
