"""Penalised regression: on a banded basis, and ridge; the penalty by leaving rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.sparse import csr_array

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.splines import (
    banded_factor,
    banded_solve,
    banded_times,
    gram_products,
    inverse_band,
)
from calib.numerics.transforms import log_odds, sigmoid

MAX_STEPS = 50
MIN_STEP_SHARE = 1e-6
# If a Hessian is singular up to rounding, this share of its largest diagonal entry is added.
RELATIVE_JITTER = 1e-15
# At this Newton decrement, relative to the weight of all rows, the log loss is exact to about
# 1e-14.
TOLERANCE = 1e-14
MIN_VISIBLE_GAIN = 1e-10
RELATIVE_ROUNDING = 1e-14


class PenalizedLogistic:
    """Minimise sum over cells of t ln(1 + e^f) - q f, plus (lambda / 2) c' P c, where f = basis c.

    t and q are the total and the positive weight of each cell, including one extra row. This row is
    spread over the cells like the data, and its outcome is the base rate. With it the minimum
    exists also if the classes are perfectly separated (no curvature penalty bounds a straight
    line), and no cell's rate moves by more than 1 / (1 + total weight).
    """

    def __init__(
        self,
        basis: csr_array,
        weight: FloatArray,
        positive: FloatArray,
        penalty: FloatArray,
        row: FloatArray | None = None,
    ) -> None:
        share = weight / weight.sum()
        # The basis has shape (m, k). The entries of a row lie within `bands` neighbouring columns.
        self.basis, self.transposed = basis, csr_array(basis.T)
        # The weights of the cells, shape (m,), do not include the extra row.
        self.weight, self.positive = weight, positive
        # Leaving a row out removes this weight from its cell, shape (m,).
        self.row = np.ones(len(weight)) if row is None else row
        # The sums t and q are `weight` and `positive` with the extra row.
        self.t, self.q = weight + share, positive + share * (positive.sum() / weight.sum())
        self.penalty = penalty  # The matrix P has shape (bands, k), in lower banded storage.
        # The products, shape (bands * k, m), map cell weights w to basis' diag(w) basis in lower
        # banded storage.
        self.products = gram_products(basis, len(penalty))
        # The transposed matrix maps an `inverse_band` to the leverages of rows of weight 1.
        self.leverages = csr_array(self.products.T)

    @property
    def total_weight(self) -> float:
        return float(self.weight.sum())

    @property
    def base_rate(self) -> float:
        return float(self.positive.sum()) / self.total_weight

    def constant(self) -> FloatArray:
        """Coefficients of the constant that fits best, for a basis that sums to one."""
        return np.full(self.basis.shape[1], log_odds(np.array([self.base_rate])))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit(Locked):
    """The minimiser at one lambda."""

    lam: float
    coefficients: FloatArray
    value: FloatArray  # The values are those of f at every cell.
    n_iter: int  # Iterations are Newton steps.


def fit_logistic(
    problem: PenalizedLogistic, lam: float, start: FloatArray, tolerance: float = TOLERANCE
) -> LogisticFit:
    """Newton's method with step halving, to this decrement relative to the total weight."""
    c, f = start, problem.basis @ start
    p, value = _state(problem, lam, c, f)
    enough = tolerance * problem.total_weight
    steps = 0
    while steps < MAX_STEPS:
        steps += 1
        rough = lam * banded_times(problem.penalty, c)
        gradient = problem.transposed @ (problem.t * p - problem.q) + rough
        move = banded_solve(_factor(problem, lam, problem.t * p * (1.0 - p)), gradient)
        gain = gradient @ move
        if gain <= max(MIN_VISIBLE_GAIN * problem.total_weight, _rounding(problem, lam, c)):
            # Rounding hides so small a gain, so the step cannot be tested. The whole step is right,
            # and without it the curve would be exact only to the root of the rounding.
            c, f = c - move, f - problem.basis @ move
            break
        reached = _search(problem, lam, (c, f, value), move)
        if reached is None:
            break
        c, f, p, value = reached
        if gain <= enough:
            break
    return LogisticFit(lam, c, f, steps)


def _rounding(problem: PenalizedLogistic, lam: float, c: FloatArray) -> float:
    """Rounding of the penalty, which is a small difference of large numbers if knots are close."""
    size = np.abs(c)
    return RELATIVE_ROUNDING * lam * float(size @ banded_times(np.abs(problem.penalty), size))


def leave_out(problem: PenalizedLogistic, fit: LogisticFit) -> tuple[float, float]:
    """Leave each row out in turn, as `left_out` does.

    The result is the mean log loss of a row under the fit to all others, and the effective degrees
    of freedom of the fit: the sum of all rows' leverages.
    """
    negative, positive, degrees = left_out(problem, fit)
    loss = problem.positive @ np.logaddexp(0.0, -positive)
    loss += (problem.weight - problem.positive) @ np.logaddexp(0.0, negative)
    return float(loss) / problem.total_weight, degrees


def left_out(problem: PenalizedLogistic, fit: LogisticFit) -> tuple[FloatArray, FloatArray, float]:
    """Leave each row out in turn, and follow the fit by one Newton step.

    The result is f at every cell without one of its negative rows, f without one of its positive
    rows, and the effective degrees of freedom.

    Whole rows are left out, whatever they weigh. If rows come in groups, `row` is the weight of as
    many rows as have the information of one independent row. Rows of one cell and outcome share
    their loss, so that nothing depends on the order of the rows and no random folds are drawn.

    See Rad and Maleki 2020, "A scalable estimate of the out-of-sample prediction error via
    approximate leave-one-out cross-validation", arXiv:1801.10243.
    """
    f, t = fit.value, problem.t
    odds, _ = _exponential(f)
    p = _probability(f, odds)
    variance = p * (1.0 - p)
    leverage = problem.leverages @ inverse_band(_factor(problem, fit.lam, t * variance))
    degrees = float((t * variance) @ leverage)
    step = newton_step(problem.row, problem.weight, leverage, variance)
    return f + step * p, f - step * (1.0 - p), degrees


def newton_step(
    row: FloatArray, weight: FloatArray, leverage: FloatArray, variance: FloatArray
) -> FloatArray:
    """How far f moves for each unit of residual if a row of this weight is left out of its cell.

    `weight` is that of the cell, `leverage` that of a row of weight 1, without its curvature
    p (1 - p), which is `variance`.
    """
    # A row's share of its own curvature is below 1, up to rounding. The rows of a group may weigh
    # more than their cell, but its curvature loses at most the weight of the cell.
    share = np.minimum(row, weight) * leverage * variance
    return row * leverage / np.maximum(1.0 - share, 1e-9)


def _exponential(f: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp(-|f|), and ln(1 + e^f) from the same exponential: most of a step's time goes here."""
    odds = np.exp(-np.abs(f))
    return odds, np.maximum(f, 0.0) + np.log1p(odds)


def _probability(f: FloatArray, odds: FloatArray) -> FloatArray:
    return np.where(f >= 0.0, 1.0, odds) / (1.0 + odds)


def _state(
    problem: PenalizedLogistic, lam: float, c: FloatArray, f: FloatArray
) -> tuple[FloatArray, float]:
    """Probabilities at f, and the objective."""
    odds, softplus = _exponential(f)
    rough = 0.5 * lam * (c @ banded_times(problem.penalty, c))
    return _probability(f, odds), float(problem.t @ softplus - problem.q @ f + rough)


def _search(
    problem: PenalizedLogistic,
    lam: float,
    at: tuple[FloatArray, FloatArray, float],
    move: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    """Halve the step until it does not raise the objective: c, f, p and the value there."""
    c, f, before = at
    along = problem.basis @ move
    share = 1.0
    while share > MIN_STEP_SHARE:
        tried, f_tried = c - share * move, f - share * along
        p, value = _state(problem, lam, tried, f_tried)
        if value <= before:
            return tried, f_tried, p, value
        share *= 0.5
    return None


def _factor(problem: PenalizedLogistic, lam: float, curvature: FloatArray) -> FloatArray:
    """Cholesky factor of the Hessian, in lower banded storage.

    If weights differ by many powers of ten, the Hessian is singular up to rounding. Then the least
    that makes it positive definite is added to its diagonal. Newton's steps get shorter, and end at
    the same place.
    """
    gram = (problem.products @ curvature).reshape(problem.penalty.shape)
    hessian = gram + lam * problem.penalty
    jitter = 0.0
    while True:
        try:
            return banded_factor(hessian)
        except np.linalg.LinAlgError:
            jitter = max(100.0 * jitter, RELATIVE_JITTER * float(hessian[0].max()))
            hessian[0] += jitter


MAX_RIDGE_STEPS = 100
RIDGE_TOLERANCE = 1e-13
# Fits that are much rougher than the best fit follow noise. Leaving a row out by one Newton step
# does not show this, so the search ends after this many fits without a lower loss.
MAX_WORSE_FITS = 4
# If all rows together have a smaller share of the penalty in a direction, it is left out.
MIN_INFORMATION_SHARE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath(Locked):
    """Fits for decreasing lambda, and the best of them; arrays over lambda have shape (p,)."""

    intercept: float
    coefficients: FloatArray  # They belong to the chosen lambda and the columns as given.
    lambdas: FloatArray
    losses: FloatArray  # The losses are cross-validated, per row.
    chosen: int


def choose_ridge(
    columns: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    lambdas: FloatArray,
    *,
    logistic: bool,
    further: FloatArray | None = None,
    row: FloatArray | float = 1.0,
) -> RidgePath:
    """Minimise the loss of all rows plus (lambda / 2) |coefficients|^2; the intercept is free.

    The loss is the log loss of sigmoid(f), or half the squared error of f. The chosen lambda has
    the least loss when every row is left out in turn: exactly for the squared error, by one Newton
    step for the log loss.

    The lambdas decrease and are above 0. `further` are smaller ones; they are tried if the last of
    `lambdas` has the lowest loss, until MAX_WORSE_FITS of them have not lowered it. `row` is the
    weight of one row of each cell, which is left out at once.
    """
    # In the singular vectors of the columns the penalty is diagonal, only a few dozen columns are
    # left, and the Hessian is as well conditioned as the weights.
    left, size, right = np.linalg.svd(columns, full_matrices=False)
    lambdas = lambdas if further is None else np.concatenate([lambdas, further])
    n_always = len(lambdas) if further is None else len(lambdas) - len(further)
    kept = size**2 * weight.sum() > MIN_INFORMATION_SHARE * lambdas[-1]
    design = np.column_stack([np.ones(len(weight)), left[:, kept]])
    relative = np.append(0.0, 1.0 / size[kept] ** 2)
    leave_out = _logistic_left_out if logistic else _linear_left_out
    c = np.zeros(design.shape[1])
    fits: list[FloatArray] = []
    losses: list[float] = []
    for lam in lambdas.tolist():
        since = len(losses) - 1 - int(np.argmin(losses)) if losses else 0
        if (len(fits) == n_always and since) or (len(fits) > n_always and since >= MAX_WORSE_FITS):
            break
        if logistic:
            c, factor = _logistic_fit(design, weight, positive, lam * relative, c)
        else:
            c, factor = _linear_fit(design, weight, positive, lam * relative)
        half = solve_triangular(factor, design.T, lower=True, check_finite=False)
        leverage = np.einsum("ij,ij->j", half, half)
        fits.append(c)
        losses.append(leave_out(design @ c, leverage, weight, positive, row) / weight.sum())
    chosen = int(np.argmin(losses))
    best = fits[chosen]
    return RidgePath(
        float(best[0]),
        right[kept].T @ (best[1:] / size[kept]),
        lambdas[: len(fits)],
        np.array(losses),
        chosen,
    )


def _cholesky(design: FloatArray, curvature: FloatArray, penalty: FloatArray) -> FloatArray:
    hessian = (design.T * curvature) @ design
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += penalty
    # If weights differ by many powers of ten, the Hessian is singular up to rounding.
    hessian[diagonal] += RELATIVE_ROUNDING * hessian[0, 0]
    return np.asarray(np.linalg.cholesky(hessian), dtype=np.float64)


def _linear_fit(
    design: FloatArray, weight: FloatArray, positive: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    factor = _cholesky(design, weight, penalty)
    return cho_solve((factor, True), design.T @ positive), factor


def _logistic_fit(
    design: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    penalty: FloatArray,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    def value(c: FloatArray) -> float:
        f = design @ c
        data = weight @ np.logaddexp(0.0, f) - positive @ f
        return float(data + 0.5 * (penalty @ (c * c)))

    c = start
    reached = value(c)
    for _ in range(MAX_RIDGE_STEPS):
        p = sigmoid(design @ c)
        factor = _cholesky(design, weight * p * (1.0 - p), penalty)
        gradient = design.T @ (weight * p - positive) + penalty * c
        move = cho_solve((factor, True), gradient)
        share = 1.0
        # Rounding hides a smaller gain, so the step cannot be tested. The whole step is right then.
        visible = gradient @ move > MIN_VISIBLE_GAIN * weight.sum()
        while visible and value(c - share * move) > reached and share > 1e-8:
            share *= 0.5
        c = c - share * move
        before, reached = reached, value(c)
        if gradient @ move <= RIDGE_TOLERANCE * weight.sum() or before <= reached:
            break
    return c, factor


def _logistic_left_out(
    f: FloatArray,
    leverage: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    row: FloatArray | float,
) -> float:
    p = sigmoid(f)
    removed = np.minimum(row, weight)
    step = row * leverage / np.maximum(1.0 - removed * leverage * p * (1.0 - p), 1e-9)
    loss = positive @ np.logaddexp(0.0, step * (1.0 - p) - f)
    return float(loss + (weight - positive) @ np.logaddexp(0.0, step * p + f))


def _linear_left_out(
    f: FloatArray,
    leverage: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    row: FloatArray | float,
) -> float:
    removed = np.minimum(row, weight)
    stretch = (1.0 + row * leverage / np.maximum(1.0 - removed * leverage, 1e-9)) ** 2
    return float(positive @ (stretch * (1.0 - f) ** 2) + (weight - positive) @ (stretch * f * f))
