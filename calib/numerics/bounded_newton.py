"""Generalised linear fits with lower bounds on the coefficients, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from calib.numerics.arrays import FloatArray
from calib.numerics.banded import dense
from calib.numerics.penalized_logistic import PenalizedLogistic
from calib.numerics.transforms import sigmoid

# A loss maps f, which has one number per cell, to its value and its first two derivatives by f.
Loss = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

MAX_STEPS = 200
MIN_STEP_SHARE = 1e-10
RELATIVE_TOLERANCE = 1e-13
MIN_RELATIVE_CURVATURE = 1e-14  # Smaller shares of the largest curvature are rounding.


def log_loss(weight: FloatArray, positive: FloatArray) -> Loss:
    """Log loss of sigmoid(f), summed over cells."""

    def at(f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        p = sigmoid(f)
        value = float(weight @ np.logaddexp(0.0, f) - positive @ f)
        return value, weight * p - positive, weight * p * (1.0 - p)

    return at


def squared_error(weight: FloatArray, positive: FloatArray) -> Loss:
    """Squared error of sigmoid(f), summed over cells, up to a constant.

    The second derivative is Gauss and Newton's, which is never negative.
    """

    def at(f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        p = sigmoid(f)
        slope = p * (1.0 - p)
        value = float(weight @ (p * p) - 2.0 * (positive @ p))
        return value, 2.0 * (weight * p - positive) * slope, 2.0 * weight * slope * slope

    return at


def fit_bounded(
    design: FloatArray, loss: Loss, ridge: FloatArray, least: FloatArray, start: FloatArray
) -> FloatArray:
    """Minimise loss(design c) + c' ridge c / 2 over c >= least.

    The design has shape (m, k). The ridge is symmetric; it makes the solution unique if the design
    does not. `least` is minus infinity for a free coefficient, and `start` lies within the bounds.
    A loss may be infinite beyond some f, but not at the start. Every step of Newton's method
    minimises the quadratic model within the bounds: a step to the minimum without bounds, cut off
    at the bounds, can get stuck above the minimum. Coefficients at their bound equal it exactly.

    >>> design, none = np.eye(2), np.zeros((2, 2))
    >>> loss = log_loss(np.array([4.0, 4.0]), np.array([1.0, 3.0]))
    >>> fit_bounded(design, loss, none, np.zeros(2), np.ones(2)).round(6)  # ln 3, if it may
    array([0.      , 1.098612])
    """

    def objective(c: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, first, second = loss(design @ c)
        return value + float(c @ ridge @ c) / 2.0, first, second

    c = start
    value, first, second = objective(c)
    for _ in range(MAX_STEPS):
        gradient = design.T @ first + ridge @ c
        hessian = (design.T * second) @ design + ridge
        move = _bounded_minimum(hessian, hessian @ c - gradient, least) - c
        gain, before, share = -float(gradient @ move), value, 1.0
        # A full Newton step may raise the objective; a short one in its direction lowers it.
        while True:
            tried = np.maximum(c + share * move, least)
            value, first, second = objective(tried)
            if value < before:
                break
            share *= 0.5
            if share <= MIN_STEP_SHARE:
                return c
        c = tried
        tolerance = RELATIVE_TOLERANCE * abs(value)
        if gain <= max(RELATIVE_TOLERANCE, tolerance) and before - value <= tolerance:
            break
    return c


def _bounded_minimum(hessian: FloatArray, linear: FloatArray, least: FloatArray) -> FloatArray:
    """The x >= least that minimises x' hessian x / 2 - linear' x.

    With a root R of the hessian, it is a problem of least squares, |R x - b|, in which x - least is
    not negative. A free coefficient is the difference of two that are not negative. See Lawson,
    Hanson 1974, "Solving least squares problems", chapter 23.
    """
    # In units in which each coefficient has curvature 1, steep coefficients cannot hide flat ones.
    steepness = np.diagonal(hessian)
    unit = 1.0 / np.sqrt(np.where(steepness > 0.0, steepness, 1.0))
    curvature, axes = np.linalg.eigh(hessian * np.outer(unit, unit))
    seen = curvature > MIN_RELATIVE_CURVATURE * curvature[-1]
    root = (axes[:, seen] * np.sqrt(curvature[seen])).T
    target = (axes[:, seen].T @ (linear * unit)) / np.sqrt(curvature[seen])
    free = np.isinf(least)
    low = np.where(free, 0.0, least)
    above, _ = nnls(np.hstack([root, -root[:, free]]), target - root @ (low / unit))
    rise = above[: len(least)]
    rise[free] -= above[len(least) :]
    x: FloatArray = low + rise * unit
    return x


def increasing_coefficients(problem: PenalizedLogistic, lam: float, free: FloatArray) -> FloatArray:
    """Coefficients of the best spline with non-decreasing coefficients.

    If B-spline coefficients do not decrease, the spline does not decrease either. (The natural ends
    do not change this: the two end coefficients that they replace lie beyond their neighbours.)

    `problem` is on the basis of a NaturalSpline. `free` are the coefficients of the fit without the
    constraint. They are returned if they do not decrease. See Ramsay 1988, "Monotone regression
    splines in action", doi:10.1214/ss/1177012761.
    """
    steps = np.diff(free)
    if (steps >= 0.0).all():
        return free
    k = len(free)
    # The matrix maps the first coefficient and the steps to the coefficients.
    sums = np.tril(np.ones((k, k)))
    ridge = lam * (sums.T @ dense(problem.penalty) @ sums)
    start = np.append(problem.constant()[0], np.maximum(steps, 0.0))
    least = np.append(-np.inf, np.zeros(k - 1))
    loss = log_loss(problem.t, problem.q)
    return sums @ fit_bounded(problem.basis @ sums, loss, ridge, least, start)
