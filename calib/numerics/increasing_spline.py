"""The penalised fit of a spline that must not fall."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray
from calib.numerics.banded import dense
from calib.numerics.bounded_newton import fit_bounded, log_loss
from calib.numerics.penalized_logistic import PenalizedLogistic


def increasing_coefficients(problem: PenalizedLogistic, lam: float, free: FloatArray) -> FloatArray:
    """Coefficients of the best spline that has none below the one before it.

    A spline whose B-spline coefficients do not fall does not fall either. (The natural ends keep
    this: the two end coefficients that they replace lie beyond their neighbours.)

    Parameters
    ----------
    problem : PenalizedLogistic
        On the basis of a NaturalSpline.
    lam : float
    free : ndarray of shape (k,)
        Coefficients of the fit without the constraint; they come back where they do not fall.

    References
    ----------
    Ramsay 1988, "Monotone regression splines in action", doi:10.1214/ss/1177012761.
    """
    steps = np.diff(free)
    if (steps >= 0.0).all():
        return free
    k = len(free)
    sums = np.tril(np.ones((k, k)))  # from the first coefficient and the steps to the coefficients
    ridge = lam * (sums.T @ dense(problem.penalty) @ sums)
    start = np.append(problem.constant()[0], np.maximum(steps, 0.0))
    least = np.append(-np.inf, np.zeros(k - 1))
    loss = log_loss(problem.t, problem.q)
    return sums @ fit_bounded(problem.basis @ sums, loss, ridge, least, start)
