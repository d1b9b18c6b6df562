"""Multinomial logistic regression on the class scores themselves: Newton's method, or L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from calib.numerics.arrays import FloatArray, IntArray, Locked, row_blocks
from calib.numerics.class_scores import softmax

# With more parameters a Hessian takes longer than the hundred gradients of L-BFGS.
MAX_NEWTON_PARAMETERS = 700
MAX_STEPS = 100
TOLERANCE = 1e-13  # One more Newton step would lower the mean log loss by at most this much.
N_BLOCK_ROWS = 4_000  # A sample of this size is enough for the blocks of the Hessian.
# Without damping, directions that change nothing (a constant added to all classes) would make the
# Hessian singular.
RELATIVE_DAMPING = 1e-12
RELATIVE_BLOCK_DAMPING = 1e-9


class Full:
    """A full matrix: probabilities are the softmax of eta = W x + b, with features x = ln P.

    theta is a table with one row per class, here (W, b) of shape (m, m + 1), in one array.
    """

    def identity(self, m: int) -> FloatArray:
        """The table with which eta is x."""
        return np.eye(m, m + 1)

    def eta(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Array of shape (n, m)."""
        m = x.shape[1]
        table = theta.reshape(m, m + 1)
        return x @ table[:, :m].T + table[:, m]

    def gradient(self, residual: FloatArray, x: FloatArray) -> FloatArray:
        """Derivative by theta of the sum of residual times eta."""
        return np.column_stack([residual.T @ x, residual.sum(axis=0)]).ravel()

    def hessian(self, p: FloatArray, weight: FloatArray | None, x: FloatArray) -> FloatArray:
        """Second derivative by theta of the summed log loss at probabilities p."""
        n, m = x.shape
        d = m + 1
        features = np.column_stack([x, np.ones(n)])
        products = (p[:, :, None] * features[:, None, :]).reshape(n, m * d)
        weighted = products if weight is None else products * weight[:, None]
        hessian = -(weighted.T @ products)
        for start in range(0, m * d, d):
            block = slice(start, start + d)
            hessian[block, block] += weighted[:, block].T @ features
        return hessian

    def blocks(self, p: FloatArray, x: FloatArray) -> FloatArray:
        """Each class's own block of the mean Hessian, as if p did not depend on x: (m, d, d)."""
        features = np.column_stack([x, np.ones(len(x))])
        spread = (p * (1.0 - p)).mean(axis=0)
        return spread[:, None, None] * (features.T @ features / len(x))


class Diagonal:
    """eta = w x + b, class by class: theta is the table (w, b) of shape (m, 2)."""

    def identity(self, m: int) -> FloatArray:
        return np.tile([1.0, 0.0], (m, 1))

    def eta(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        eta = x * theta[0::2]
        eta += theta[1::2]
        return eta

    def gradient(self, residual: FloatArray, x: FloatArray) -> FloatArray:
        return np.column_stack([np.einsum("ij,ij->j", residual, x), residual.sum(axis=0)]).ravel()

    def hessian(self, p: FloatArray, weight: FloatArray | None, x: FloatArray) -> FloatArray:
        n, m = x.shape
        both = np.stack([p * x, p], axis=2).reshape(n, 2 * m)
        weighted = both if weight is None else both * weight[:, None]
        hessian = -(weighted.T @ both)
        slope, constant = 2 * np.arange(m), 2 * np.arange(m) + 1
        crossed = weighted[:, slope].sum(axis=0)
        hessian[slope, slope] += np.einsum("ij,ij->j", weighted[:, slope], x)
        hessian[slope, constant] += crossed
        hessian[constant, slope] += crossed
        hessian[constant, constant] += weighted[:, constant].sum(axis=0)
        return hessian

    def blocks(self, p: FloatArray, x: FloatArray) -> FloatArray:
        spread = p * (1.0 - p)
        crossed = spread * x
        constant, slope, square = (v.mean(axis=0) for v in (spread, crossed, crossed * x))
        return np.moveaxis(np.array([[square, slope], [slope, constant]]), 2, 0)


Design = Full | Diagonal


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticPenalty(Locked):
    """A penalty: the sum of strength times (theta - centre)^2, added to the mean log loss.

    The arrays have the shape of theta.
    """

    strength: FloatArray
    centre: FloatArray

    def value(self, theta: FloatArray) -> float:
        """The penalty at theta."""
        away = theta - self.centre
        return float(self.strength @ (away * away))

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Its derivative."""
        return 2.0 * self.strength * (theta - self.centre)

    def __add__(self, other: QuadraticPenalty) -> QuadraticPenalty:
        """The sum of both penalties, up to a constant."""
        strength = self.strength + other.strength
        pulled = self.strength * self.centre + other.strength * other.centre
        return QuadraticPenalty(strength, pulled / np.where(strength > 0.0, strength, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRegression:
    """Rows to which a softmax regression is fitted."""

    design: Design
    x: FloatArray  # These are logarithms of class scores, shape (n, m).
    label: IntArray
    weight: FloatArray | None = None

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows if there are none."""
        return float(len(self.x)) if self.weight is None else float(self.weight.sum())

    def rows(self, chosen: IntArray) -> SoftmaxRegression:
        """The same problem for selected rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return SoftmaxRegression(self.design, self.x[chosen], self.label[chosen], weight)

    def log_loss(self, theta: FloatArray) -> float:
        """Mean log loss, without a penalty."""
        value = 0.0
        for loss, *_ in self._by_block(theta):
            value += loss
        return value / self.total_weight

    def slope(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Mean log loss, and its gradient."""
        value, gradient = 0.0, np.zeros(len(theta))
        for loss, p, part in self._by_block(theta):
            value += loss
            gradient += self.design.gradient(self._residual(p, part), self.x[part])
        return value / self.total_weight, gradient / self.total_weight

    def curvature(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Mean log loss, its gradient, and its Hessian."""
        value, total, d = 0.0, self.total_weight, len(theta)
        gradient, hessian = np.zeros(d), np.zeros((d, d))
        for loss, p, part in self._by_block(theta):
            value += loss
            weight = None if self.weight is None else self.weight[part]
            hessian += self.design.hessian(p, weight, self.x[part])
            gradient += self.design.gradient(self._residual(p, part), self.x[part])
        return value / total, gradient / total, hessian / total

    def _by_block(self, theta: FloatArray) -> Iterator[tuple[float, FloatArray, slice]]:
        """Summed log loss and probabilities of each block of rows, and its place."""
        for part in row_blocks(*self.x.shape):
            eta = self.design.eta(theta, self.x[part])
            eta -= eta.max(axis=1, keepdims=True)
            true = eta[np.arange(len(eta)), self.label[part]]
            np.exp(eta, out=eta)
            sums = eta.sum(axis=1)
            loss = np.log(sums) - true
            eta /= sums[:, None]
            yield float(loss.sum() if self.weight is None else self.weight[part] @ loss), eta, part

    def _residual(self, p: FloatArray, part: slice) -> FloatArray:
        p[np.arange(len(p)), self.label[part]] -= 1.0
        if self.weight is not None:
            p *= self.weight[part, None]
        return p


def fit_softmax(
    problem: SoftmaxRegression,
    penalty: QuadraticPenalty,
    start: FloatArray,
    tolerance: float = TOLERANCE,
) -> FloatArray:
    """Minimise mean log loss + penalty, which is convex.

    When the search ends, one more Newton step would gain at most `tolerance`. L-BFGS, for more than
    700 coefficients, ends if the relative gain of its last step is at most `tolerance`.

    Two classes and a constant score: the calibrator can only learn the share of each class.

    >>> from calib.numerics.class_scores import softmax
    >>> x, label = np.log(np.full((4, 2), 0.5)), np.array([0, 1, 1, 1])
    >>> weak = QuadraticPenalty(np.full(4, 1e-12), Diagonal().identity(2).ravel())
    >>> theta = fit_softmax(SoftmaxRegression(Diagonal(), x, label), weak, weak.centre)
    >>> softmax(Diagonal().eta(theta, x[:1])).round(6)
    array([[0.25, 0.75]])
    """
    if len(start) > MAX_NEWTON_PARAMETERS:
        return _descend(problem, penalty, start, tolerance)
    return _newton(problem, penalty, start, tolerance)


def _newton(
    problem: SoftmaxRegression, penalty: QuadraticPenalty, start: FloatArray, tolerance: float
) -> FloatArray:
    theta = start
    value, gradient, hessian = _penalised(problem, penalty, theta)
    for _ in range(MAX_STEPS):
        step = -_solve(hessian, gradient)
        gain = -float(gradient @ step) / 2.0
        if gain <= tolerance:
            return theta + step
        reached = _penalised(problem, penalty, theta + step)
        while reached[0] > value and np.abs(step).max() > RELATIVE_DAMPING:
            step = step / 2.0
            reached = _penalised(problem, penalty, theta + step)
        theta = theta + step
        value, gradient, hessian = reached
    return theta


def _penalised(
    problem: SoftmaxRegression, penalty: QuadraticPenalty, theta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    value, gradient, hessian = problem.curvature(theta)
    hessian[np.diag_indices_from(hessian)] += 2.0 * penalty.strength
    return value + penalty.value(theta), gradient + penalty.gradient(theta), hessian


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    diagonal = np.diag_indices_from(hessian)
    damped = hessian.copy()
    damped[diagonal] += RELATIVE_DAMPING * hessian[diagonal].max()
    return np.asarray(cho_solve(cho_factor(damped), gradient), dtype=np.float64)


def _descend(
    problem: SoftmaxRegression, penalty: QuadraticPenalty, start: FloatArray, tolerance: float
) -> FloatArray:
    """L-BFGS in coordinates in which a class's own block of the Hessian is about the identity.

    Without them it takes five to fifty times as many steps.
    """
    m = problem.x.shape[1]
    factor = np.asarray(np.linalg.cholesky(_blocks(problem, penalty, start)), dtype=np.float64)
    inverse = np.asarray(np.linalg.inv(factor), dtype=np.float64)

    def times(table: FloatArray, square: FloatArray) -> FloatArray:
        return np.matmul(table.reshape(m, 1, -1), square).ravel()

    def objective(white: FloatArray) -> tuple[float, FloatArray]:
        theta = times(white, inverse)
        value, gradient = problem.slope(theta)
        gradient += penalty.gradient(theta)
        return value + penalty.value(theta), times(gradient, np.swapaxes(inverse, 1, 2))

    options = {"maxiter": 500, "maxcor": 20, "ftol": tolerance, "gtol": 1e-7}
    white = times(start, factor)
    result = minimize(objective, white, jac=True, method="L-BFGS-B", options=options)
    return times(result.x, inverse)


def _blocks(problem: SoftmaxRegression, penalty: QuadraticPenalty, theta: FloatArray) -> FloatArray:
    """Each class's own block of the penalised Hessian at theta, from a sample of the rows."""
    x = problem.x[:: max(1, len(problem.x) // N_BLOCK_ROWS)]
    blocks = problem.design.blocks(softmax(problem.design.eta(theta, x)), x)
    diagonal = np.arange(blocks.shape[1])
    blocks[:, diagonal, diagonal] *= 1.0 + RELATIVE_BLOCK_DAMPING
    blocks[:, diagonal, diagonal] += 2.0 * penalty.strength.reshape(len(blocks), -1)
    return blocks
