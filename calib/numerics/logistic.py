"""Logistic and other generalised linear fits of few columns, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from calib.numerics.arrays import FloatArray, Locked, chunks
from calib.numerics.penalized_logistic import PenalizedLogistic
from calib.numerics.splines import dense
from calib.numerics.transforms import sigmoid

# If the classes are separated, each step moves the fit by 1, and after 37 steps rounding would make
# it look converged.
MAX_STEPS = 30
STEP_TOLERANCE = 1e-6  # The remaining error is about its square.
MAX_COLLINEAR_SHARE = 1e-12
MIN_COLUMN = 1e-290  # The coefficient of a smaller column could overflow.
CHUNK_CELLS = 8192  # Temporaries of this many cells stay in the processor's cache.
MIN_GROUPED_CELLS = 16_384  # Fewer cells are fitted without grouping.
MAX_GROUPS = 16_384
# Cells of a group have nearly the same value of a single column. If there are several columns, only
# the sum of their values is nearly the same, and groups must be smaller for an equally exact fit.
CELLS_PER_GROUP, CELLS_PER_GROUP_OF_SEVERAL_COLUMNS = 32, 8
CELLS_GROUPED_AT_ONCE = 32_768

# Features map a slice of the cells to columns of shape (d, k). They are computed when they are
# read, so the columns of a million rows need not be kept in memory.
Features = Callable[[slice], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit(Locked):
    """A logistic regression of outcomes on features."""

    # The shape is (d,). A column that is a combination of earlier columns has coefficient 0.
    coefficients: FloatArray
    # The inverse of the Fisher information, shape (d, d), is 0 for columns that were left out.
    covariance: FloatArray
    log_likelihood: float
    # If the features separate the two classes, wholly or in part, there is no maximum. Then it is
    # False, and the coefficients are those at which the search stopped.
    converged: bool


def fit_logistic(
    features: FloatArray | Features, positive: FloatArray, weight: FloatArray
) -> LogisticFit:
    """Maximise sum of positive * eta - weight * ln(1 + exp(eta)), eta = features @ c.

    Neither the scale of the columns nor the order of the cells matters; cells need not be
    distinct, so rows may be passed in any order. Many cells are first fitted in groups, which are
    nearly exact if the columns rise together; the steps after that read every cell.

    For an intercept make the first column of the features, of shape (k, d), ones. A callable gets a
    slice of the cells and returns their features, of shape (d, cells of the slice). 0 <= positive
    <= weight; a fractional share (Platt's targets) is allowed.

    Two cells and two coefficients: the fit is exact, and the slope is the log odds ratio.

    >>> features = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> fit = fit_logistic(features, positive=np.array([1.0, 3.0]), weight=np.array([4.0, 4.0]))
    >>> np.exp(fit.coefficients).round(9)
    array([0.33333333, 9.        ])
    >>> fit.converged, fit_logistic(features, np.array([0.0, 4.0]), np.full(2, 4.0)).converged
    (True, False)
    """
    columns = features if callable(features) else _parts_of(features)
    fit, basis, kept, d = _maximise(columns, positive, weight)
    coefficients = np.zeros(d)
    coefficients[kept] = np.linalg.solve(basis, fit.coefficients)
    covariance = np.zeros((d, d))
    half = np.linalg.solve(basis, fit.covariance)
    covariance[np.ix_(kept, kept)] = np.linalg.solve(basis, half.T)
    return LogisticFit(coefficients, covariance, fit.log_likelihood, fit.converged)


def _parts_of(features: FloatArray) -> Features:
    columns = np.ascontiguousarray(features.T)
    return lambda part: columns[:, part]


def _maximise(
    features: Features, positive: FloatArray, weight: FloatArray
) -> tuple[LogisticFit, FloatArray, list[int], int]:
    """The fit in units in which a step of 1 changes eta by about 1, for columns in any unit.

    In them log-scores that hardly vary no longer drown in the intercept.

    ``inv(basis) @ fit.coefficients`` are the coefficients of the columns that were `kept`, of d
    in all.
    """
    if len(weight) > MIN_GROUPED_CELLS:
        groups = _grouped(features, positive, weight)
        _, basis, kept = _orthonormal(groups[0], groups[2])
        if len(kept) == len(groups[0]):
            # Units need not be exact, so those of the groups are used.
            units = np.asarray(np.linalg.inv(basis), dtype=np.float64)
            problem = _Problem(features, units, positive, weight)
            return _from_groups(problem, *groups), basis, kept, len(kept)
    columns = features(slice(None))
    rows, basis, kept = _orthonormal(columns, weight)
    problem = _Problem(lambda part: rows[:, part], np.eye(len(kept)), positive, weight)
    return _newton(problem, np.zeros(len(kept))), basis, kept, len(columns)


def _from_groups(
    problem: _Problem, columns: FloatArray, positive: FloatArray, weight: FloatArray
) -> LogisticFit:
    """Fit groups first; from their fit one or two passes over all cells are enough."""
    zero = np.zeros(len(columns))
    few = _Problem(lambda part: columns[:, part], problem.units, positive, weight)
    start = _newton(few, zero)
    if start.converged:
        fit = _newton(problem, start.coefficients)
        if fit.converged:
            return fit
    return _newton(problem, zero)


def _grouped(
    features: Features, positive: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cells whose columns have nearly the same sum, added up at the means of their columns."""
    parts = list(chunks(len(weight), CELLS_GROUPED_AT_ONCE))
    ends = [(rows.min(axis=1), rows.max(axis=1)) for rows in map(features, parts)]
    low, high = np.min([end[0] for end in ends], axis=0), np.max([end[1] for end in ends], axis=0)
    # Columns are added up in units of their ranges. The intercept has no range, and is left out.
    varies = np.flatnonzero(high - low > MIN_COLUMN)
    per_group = CELLS_PER_GROUP if len(varies) == 1 else CELLS_PER_GROUP_OF_SEVERAL_COLUMNS
    n_groups = min(len(weight) // per_group, MAX_GROUPS)
    unit = n_groups / (max(len(varies), 1) * (high - low)[varies])
    sums = np.zeros((2 + len(varies), n_groups))
    for part in parts:
        rows, weights = features(part)[varies], weight[part]
        group = (unit @ rows - unit @ low[varies]).astype(np.int64)
        np.clip(group, 0, n_groups - 1, out=group)
        for total, values in zip(sums, (weights, positive[part], *(weights * rows)), strict=True):
            total += np.bincount(group, values, minlength=n_groups)
    sums = sums[:, sums[0] > 0.0]
    columns = np.repeat(low[:, None], sums.shape[1], axis=1)
    columns[varies] = sums[2:] / sums[0]
    return columns, sums[1], sums[0]


def _orthonormal(
    columns: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, list[int]]:
    """Gram and Schmidt's orthogonal rows; a column that earlier ones explain is not kept."""
    rows = np.array(columns, dtype=np.float64, order="C")
    d, share = len(rows), weight / weight.sum()
    basis = np.zeros((d, d))
    kept: list[int] = []
    for j in range(d):
        # Without the scale, squares of scores near 1e-300 would underflow.
        scale = float(np.abs(rows[j]).max())
        if scale < MIN_COLUMN:
            continue
        rows[j] /= scale
        size = np.sqrt(share @ (rows[j] * rows[j]))
        for i in kept:
            basis[i, j] = share @ (rows[i] * rows[j])
            rows[j] -= basis[i, j] * rows[i]
        basis[j, j] = np.sqrt(share @ (rows[j] * rows[j]))
        if basis[j, j] > MAX_COLLINEAR_SHARE * size:
            rows[j] /= basis[j, j]
            basis[:, j] *= scale
            kept.append(j)
    return rows[kept], basis[np.ix_(kept, kept)], kept


class _Problem:
    """A log-likelihood with its derivatives, summed chunk by chunk."""

    def __init__(
        self, features: Features, units: FloatArray, positive: FloatArray, weight: FloatArray
    ) -> None:
        self.features, self.units = features, units
        self.positive, self.weight = positive, weight
        self.parts = list(chunks(len(weight), CHUNK_CELLS))
        # Features cannot separate the classes if a cell has both outcomes.
        self.separable = all(
            bool(((positive[part] <= 0.0) | (positive[part] >= weight[part])).all())
            for part in self.parts
        )

    def evaluate(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log-likelihood, gradient, and information."""
        slopes, d = self.units @ coefficients, len(self.units)
        value, gradient, information = 0.0, np.zeros(d), np.zeros((d, d))
        for part in self.parts:
            rows, weight, positive = self.features(part), self.weight[part], self.positive[part]
            eta = slopes @ rows
            small = np.exp(-np.abs(eta))
            large = 1.0 / (1.0 + small)
            small *= large  # It is the smaller of p and 1 - p, to full precision.
            value += float(positive @ eta - weight @ (np.maximum(eta, 0.0) - np.log(large)))
            gradient += rows @ (positive - weight * np.where(eta >= 0.0, large, small))
            small *= large
            small *= weight
            # Products of vectors are three times as fast as a product of such flat matrices.
            for i, row in enumerate(rows):
                information[i, : i + 1] += rows[: i + 1] @ (row * small)
        information += np.tril(information, -1).T
        return value, self.units.T @ gradient, self.units.T @ information @ self.units

    def is_separated_by(self, coefficients: FloatArray) -> bool:
        slopes = self.units @ coefficients
        return self.separable and all(
            bool(((slopes @ self.features(part) > 0.0) == (self.positive[part] > 0.0)).all())
            for part in self.parts
        )


def _newton(problem: _Problem, start: FloatArray) -> LogisticFit:
    point = start
    value, gradient, information = problem.evaluate(point)
    converged = False
    for _ in range(MAX_STEPS):
        if problem.is_separated_by(point):
            break
        step = _solve(information, gradient)
        if np.abs(step).max(initial=0.0) <= STEP_TOLERANCE * (1.0 + np.abs(point).max(initial=0.0)):
            point, converged = point + step, True
            break
        point, value, gradient, information = _climb(problem, point, step, value)
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), dtype=np.float64)
    return LogisticFit(point, covariance, value, converged)


def _climb(
    problem: _Problem, point: FloatArray, step: FloatArray, value: float
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Go along a step, halving it until the log-likelihood does not fall."""
    rounding = 1e-13 * abs(value)
    for _ in range(40):
        reached = problem.evaluate(point + step)
        if reached[0] >= value - rounding:
            break
        step = step / 2.0
    return point + step, *reached


def _solve(information: FloatArray, gradient: FloatArray) -> FloatArray:
    solution, *_ = np.linalg.lstsq(information, gradient, rcond=1e-14)
    return np.asarray(solution, dtype=np.float64)


# A loss maps f, which has one number per cell, to its value and its first two derivatives by f.
Loss = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

MAX_BOUNDED_STEPS = 200
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
    for _ in range(MAX_BOUNDED_STEPS):
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
