"""Ridge regression, logistic or linear: its weight chosen by leaving rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.transforms import sigmoid

MAX_STEPS = 100
TOLERANCE = 1e-13
RELATIVE_ROUNDING = 1e-14
MIN_VISIBLE_GAIN = 1e-10
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
    for _ in range(MAX_STEPS):
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
