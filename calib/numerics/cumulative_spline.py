"""The spline through the cumulative outcome, whose slope is a recalibrated probability."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from calib.numerics.arrays import FloatArray

# The cumulative curve is read at this many even fractiles: a long curve costs no more than a short
# one, and a run of tied scores (a straight piece of the curve) counts by its length.
N_READINGS = 2000


def fit_cumulative_spline(
    fractile: FloatArray, cumulative: FloatArray, n_knots: int = 6
) -> CubicSpline:
    """Natural cubic spline with even knots, fitted by least squares to the cumulative outcome h(t).

    Parameters
    ----------
    fractile, cumulative : ndarray of shape (k + 1,)
        Shares of the total weight, from 0, of all rows and of the positive rows up to each cell.
    n_knots : int
        At least 2.

    Returns
    -------
    CubicSpline
        The fit to h on [0, 1].

    Raises
    ------
    ValueError
        If `n_knots` is below 2.

    References
    ----------
    Gupta et al. 2021, section 4, arXiv:2006.12800.
    """
    if n_knots < 2:
        raise ValueError(f"n_knots must be at least 2, got {n_knots}.")
    knots = np.linspace(0.0, 1.0, n_knots)
    t = np.linspace(0.0, 1.0, N_READINGS + 1)
    # A natural spline is linear in its values at the knots: one column for each.
    basis = CubicSpline(knots, np.eye(n_knots), bc_type="natural")(t)
    values = np.linalg.lstsq(basis, np.interp(t, fractile, cumulative), rcond=None)[0]
    return CubicSpline(knots, values, bc_type="natural")


def recalibrated_probability(
    fractile: FloatArray, cumulative: FloatArray, at: FloatArray, n_knots: int = 6
) -> FloatArray:
    """Slope of the cumulative spline, clipped to [0, 1]: P(y = 1) of the row at each fractile.

    Parameters
    ----------
    fractile, cumulative : ndarray of shape (k + 1,)
        As for `fit_cumulative_spline`.
    at : ndarray of shape (p,)
        Fractiles, in [0, 1].
    n_knots : int
        At least 2.

    Returns
    -------
    ndarray of shape (p,), in [0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> recalibrated_probability(t, t**2 / 2.0, np.array([0.25, 0.5])).round(3)
    array([0.248, 0.5  ])
    """
    slope = fit_cumulative_spline(fractile, cumulative, n_knots).derivative()
    return np.clip(slope(at), 0.0, 1.0)
