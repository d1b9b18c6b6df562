"""How smooth? The weight of a curvature penalty, chosen by leaving rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.penalized_logistic import (
    LogisticFit,
    PenalizedLogistic,
    fit_logistic,
    leave_out,
)

# Relative to the information of the rows and to the length of the axis, cubed: from a straight line
# to as many degrees of freedom as there are knots, in half decades.
RELATIVE_LAMBDAS = 10.0 ** np.arange(0.0, -11.1, -0.5)
# Leaving rows out charges a degree of freedom once, and one fit in ten follows noise. Kim and Gu
# charge 1.4 times; with 1.6 a true straight line comes out as one (benchmarks/spline_quality.py).
EXTRA_CHARGE = 0.6
ROWS_PER_DEGREE = 20.0
# On the way only the loss is read: it is then exact to about this.
PATH_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class SmoothnessPath(Locked):
    """Fits from smooth to rough, and the one that is chosen.

    Attributes
    ----------
    lambdas : ndarray of shape (p,)
        Decreasing.
    losses : ndarray of shape (p,)
        Cross-validated log loss of a row.
    degrees : ndarray of shape (p,)
        Effective degrees of freedom; 2 is a straight line.
    chosen : int
        Position of the lambda that is chosen.
    fit : LogisticFit
        The fit at that lambda.
    n_iter : int
        Newton steps along the whole path.
    """

    lambdas: FloatArray
    losses: FloatArray
    degrees: FloatArray
    chosen: int
    fit: LogisticFit
    n_iter: int


def choose_smoothness(problem: PenalizedLogistic, length: float) -> SmoothnessPath:
    """Choose lambda by approximate leave-one-out cross-validation of the log loss.

    The chosen lambda has the least cross-validated loss of all rows plus 0.6 for every degree of
    freedom. The path ends where the fit has more degrees of freedom beyond a straight line than
    one for 20 rows of the rarer outcome: a rougher fit could not be told from noise, and the one
    Newton step that stands for leaving a row out would not see how far such a fit moves.

    Parameters
    ----------
    problem : PenalizedLogistic
        With the integral of f''^2 as its penalty.
    length : float
        Length of the axis that the spline lives on.

    References
    ----------
    Kim and Gu 2004, "Smoothing spline Gaussian regression: more scalable computation via efficient
    approximation", doi:10.1046/j.1369-7412.2003.05316.x (a charge of 1.4).
    """
    total, rate = problem.total_weight, problem.base_rate
    most_degrees = 2.0 + total * min(rate, 1.0 - rate) / ROWS_PER_DEGREE
    lambdas = RELATIVE_LAMBDAS * (total * rate * (1.0 - rate) * length**3)
    start = problem.constant()
    fits: list[LogisticFit] = []
    losses: list[float] = []
    degrees: list[float] = []
    for lam in lambdas.tolist():
        fit = fit_logistic(problem, lam, start, PATH_TOLERANCE)
        left_out = leave_out(problem, fit)
        if fits and left_out.degrees > most_degrees:
            break
        start = fit.coefficients
        fits.append(fit)
        losses.append(left_out.loss)
        degrees.append(left_out.degrees)
    cost = np.array(losses) * total + EXTRA_CHARGE * np.array(degrees)
    # The smoothest of those that differ by rounding only.
    chosen = int(np.flatnonzero(cost <= cost.min() + PATH_TOLERANCE * total)[0])
    exact = fit_logistic(problem, fits[chosen].lam, fits[chosen].coefficients)
    return SmoothnessPath(
        lambdas=lambdas[: len(fits)],
        losses=np.array(losses),
        degrees=np.array(degrees),
        chosen=chosen,
        fit=exact,
        n_iter=sum(fit.n_iter for fit in fits) + exact.n_iter,
    )
