"""Ridge regression, logistic or linear: its weight chosen by leaving rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.transforms import sigmoid

MAX_STEPS = 100
TOLERANCE = 1e-13
ROUNDING = 1e-14
NO_GAIN = 1e-10
# Fits that are much rougher than the best follow noise, which the one Newton step that stands for
# leaving a row out does not see.
PATIENCE = 4
# Directions of the basis in which the penalty is this much stronger than all rows together.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath(Locked):
    """Fits over lambda, and the best."""

    intercept: float
    coefficients: FloatArray  # shape (k,): at the chosen lambda, for the columns as they were given
    # shape (p,): cross-validated loss of a row by lambda.
    lambdas: FloatArray
    losses: FloatArray
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

    The loss is the log loss of sigmoid(f), or half the squared error of f. lambda has the least
    loss when every row is left out in turn: exactly for the squared error, by
    one Newton step for the log loss.

    The lambdas decrease and are above 0. `further` are smaller ones; they are tried if the last of
    `lambdas` has the lowest loss, until PATIENCE of them have not lowered it. `row` is the weight
    of one row of each cell, which is left out at once.
    """
    # In the basis' own axes, each scaled to length 1, the penalty is diagonal, all but a few dozen
    # columns vanish, and the Hessian is as well conditioned as the weights.
    left, size, right = np.linalg.svd(columns, full_matrices=False)
    lambdas = lambdas if further is None else np.concatenate([lambdas, further])
    n_always = len(lambdas) if further is None else len(lambdas) - len(further)
    kept = size**2 * weight.sum() > NEGLIGIBLE * lambdas[-1]
    design = np.column_stack([np.ones(len(weight)), left[:, kept]])
    relative = np.append(0.0, 1.0 / size[kept] ** 2)
    leave_out = _logistic_left_out if logistic else _linear_left_out
    c = np.zeros(design.shape[1])
    fits: list[FloatArray] = []
    losses: list[float] = []
    for lam in lambdas.tolist():
        since = len(losses) - 1 - int(np.argmin(losses)) if losses else 0
        if (len(fits) == n_always and since) or (len(fits) > n_always and since >= PATIENCE):
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
    # Weights that differ by many powers of ten leave it singular up to rounding.
    hessian[diagonal] += ROUNDING * hessian[0, 0]
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
    for _ in range(MAX_STEPS):
        p = sigmoid(design @ c)
        factor = _cholesky(design, weight * p * (1.0 - p), penalty)
        gradient = design.T @ (weight * p - positive) + penalty * c
        move = cho_solve((factor, True), gradient)
        share = 1.0
        # A gain within the rounding of the sum cannot be seen in it: the whole step is right then.
        seen = gradient @ move > NO_GAIN * weight.sum()
        while seen and value(c - share * move) > reached and share > 1e-8:
            share *= 0.5
        c = c - share * move
        before, reached = reached, value(c)
        if gradient @ move <= TOLERANCE * weight.sum() or before <= reached:
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
    own = np.minimum(row, weight)
    step = row * leverage / np.maximum(1.0 - own * leverage * p * (1.0 - p), 1e-9)
    loss = positive @ np.logaddexp(0.0, step * (1.0 - p) - f)
    return float(loss + (weight - positive) @ np.logaddexp(0.0, step * p + f))


def _linear_left_out(
    f: FloatArray,
    leverage: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    row: FloatArray | float,
) -> float:
    own = np.minimum(row, weight)
    stretch = (1.0 + row * leverage / np.maximum(1.0 - own * leverage, 1e-9)) ** 2
    return float(positive @ (stretch * (1.0 - f) ** 2) + (weight - positive) @ (stretch * f * f))
