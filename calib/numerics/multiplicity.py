"""Many tests at once: p-values corrected for multiple testing."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray


def holm(p_value: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: reject where they are below alpha, and the chance of even one false
    rejection is at most alpha, however the tests depend on each other.

    Parameters
    ----------
    p_value : ndarray of shape (m,)
        NaN where there is no test; such entries stay NaN and do not count.

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    Holm 1979, https://www.jstor.org/stable/4615733.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.full(len(p_value), np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    steps = p_value[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
