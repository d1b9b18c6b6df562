"""Observed frequency as a smooth function of the score: the smoothing spline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray, Locked, single_thread
from calib.numerics.cells import Cells
from calib.numerics.few_cells import into_buckets
from calib.numerics.penalized_logistic import (
    LogisticFit,
    PenalizedLogistic,
    fit_logistic,
    leave_out,
)
from calib.numerics.splines import NaturalSpline, choose_knots, dense
from calib.numerics.transforms import compact_logit, sigmoid, symmetric_epsilon

# Lambda is relative to the information of the rows times the cubed length of the axis. In steps of
# half a decade, fits go from a straight line to as many degrees of freedom as there are knots.
RELATIVE_LAMBDAS = 10.0 ** np.arange(0.0, -11.1, -0.5)
# Leaving rows out costs 1 per degree of freedom, and then one fit in ten follows noise. Kim and Gu
# use 1.4. With 1.6 the fit to a true straight line is one (benchmarks/spline_quality.py).
EXTRA_COST_PER_DEGREE = 0.6
ROWS_PER_DEGREE = 20.0
# Along the path only the loss is needed, and this tolerance is enough for it.
PATH_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class SmoothnessPath(Locked):
    """Fits from smooth to rough, and the one that is chosen; arrays of shape (p,)."""

    lambdas: FloatArray  # The lambdas decrease.
    losses: FloatArray  # The log losses are cross-validated, per row.
    degrees: FloatArray  # A straight line has two effective degrees of freedom.
    chosen: int  # The number is a position in `lambdas`.
    fit: LogisticFit  # It is the fit at the chosen lambda.
    n_iter: int  # Newton steps of all fits are counted.


def choose_smoothness(problem: PenalizedLogistic, length: float) -> SmoothnessPath:
    """Choose lambda by approximate leave-one-out cross-validation of the log loss.

    The chosen lambda has the least cross-validated loss of all rows plus 0.6 for every degree of
    freedom. The path ends if the fit has more degrees of freedom beyond a straight line than one
    per 20 rows of the rarer outcome. A rougher fit would follow noise, which leaving a row out by
    one Newton step does not show.

    The penalty of the problem is the integral of f''^2, and `length` that of the axis that the
    spline lives on. See Kim and Gu 2004, "Smoothing spline Gaussian regression: more scalable
    computation via efficient approximation", doi:10.1046/j.1369-7412.2003.05316.x (a charge of
    1.4).
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
        loss, freedom = leave_out(problem, fit)
        if fits and freedom > most_degrees:
            break
        start = fit.coefficients
        fits.append(fit)
        losses.append(loss)
        degrees.append(freedom)
    cost = np.array(losses) * total + EXTRA_COST_PER_DEGREE * np.array(degrees)
    # If costs differ only by rounding, the smoothest fit is chosen.
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


MAX_KNOTS = 100
# If the axis is shorter, all scores count as equal, because a slope has no meaning.
MIN_AXIS_LENGTH = 1e-12


def penalized_spline(
    x: FloatArray, cells: Cells
) -> tuple[IntArray, NaturalSpline, PenalizedLogistic]:
    """The cells at which knots are, the spline on these, and its fit to cells at positions x."""
    buckets = into_buckets(x, cells.weight, cells.positive)
    knots = choose_knots(x, buckets, MAX_KNOTS)
    spline = NaturalSpline(x[knots])
    problem = PenalizedLogistic(
        spline.basis(buckets.x),
        buckets.weight,
        buckets.positive,
        spline.curvature(),
        buckets.row_weight(cells.weight_sq),
    )
    return knots, spline, problem


@dataclass(frozen=True, slots=True, eq=False)
class SmoothFit:
    """A natural cubic spline of the compact logit, fitted to outcomes on the log-odds scale."""

    epsilon: float  # It is the parameter of the compact logit.
    spline: NaturalSpline
    problem: PenalizedLogistic
    fit: LogisticFit

    @property
    def penalty(self) -> float:
        """Lambda over the total weight. It makes the fit to another sample as smooth."""
        return self.fit.lam / self.problem.total_weight

    def log_odds(self, score: FloatArray) -> FloatArray:
        """The spline at some scores."""
        return self.spline.evaluate(self.fit.coefficients, compact_axis(score, self.epsilon))

    def error(self, score: FloatArray) -> FloatArray:
        """Standard error of the log-odds at scores within the range that was fitted.

        It is that of a posterior with the penalty as prior. Averaged over the points, plus or minus
        1.96 standard errors cover the true log-odds about 95% of the time, smoothing bias included.
        Outcomes vary more where rows are heavy than the posterior takes for granted, which is added
        (sandwich variance). Where rows are light they vary less, which is not subtracted: there,
        most of the error is bias.

        See Nychka 1988, doi:10.1080/01621459.1988.10478711. Marra and Wood 2012,
        doi:10.1111/j.1467-9469.2011.00760.x.
        """
        p = sigmoid(self.fit.value)
        problem, knots = self.problem, self.spline.knots
        gram = (problem.products @ (problem.t * p * (1.0 - p))).reshape(problem.penalty.shape)
        hessian = dense(gram + self.fit.lam * problem.penalty)
        basis = self.spline.basis(np.clip(compact_axis(score, self.epsilon), knots[0], knots[-1]))
        rows = basis.toarray()
        toward = np.linalg.solve(hessian, rows.T)
        spread = np.einsum("nk,kn->n", rows, toward)
        if not np.allclose(problem.row, 1.0, rtol=1e-9, atol=0.0):
            more = problem.weight * (problem.row - 1.0) * p * (1.0 - p)
            added = dense((problem.products @ more).reshape(problem.penalty.shape))
            change = np.einsum("kn,kn->n", toward, added @ toward)
            spread += np.maximum(change, 0.0)
        return np.sqrt(np.maximum(spread, 0.0))


def fit_smooth(cells: Cells, penalty: float | None = None) -> SmoothFit | None:
    """A natural cubic spline of the compact logit, penalised by its curvature.

    Its epsilon is below the distance of any score from either end.

    Weights are in effective rows. The penalty is lambda over the total weight; without it, lambda
    is chosen by leaving rows out. The result is None if all scores or all outcomes are equal. See
    Lucena 2018, equation 1, arXiv:1809.07751.
    """
    # The paper's rule uses only the distance from 1. The scores of rare events are near 0, where
    # the true log-odds are steep: with that rule, curves of 50,000 such rows missed the truth by
    # four times as much.
    epsilon = symmetric_epsilon(cells.score)
    x = compact_axis(cells.score, epsilon)
    length = float(x[-1] - x[0])
    if length < MIN_AXIS_LENGTH or not 0.0 < float(cells.positive.sum()) < cells.total_weight:
        return None
    with single_thread():
        _, spline, problem = penalized_spline(x, cells)
        if penalty is None:
            fit = choose_smoothness(problem, length).fit
        else:
            fit = fit_logistic(problem, penalty * problem.total_weight, problem.constant())
        return SmoothFit(epsilon, spline, problem, fit)


def compact_axis(score: FloatArray, epsilon: float) -> FloatArray:
    """The compact logit of scores that do not decrease."""
    # At epsilon the transform changes its form, and rounding may swap two neighbours.
    return np.maximum.accumulate(compact_logit(score, epsilon))
