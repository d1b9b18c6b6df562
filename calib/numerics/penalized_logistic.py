"""Penalised logistic regression on a banded basis, and what leaving rows out of it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.banded import (
    banded_factor,
    banded_solve,
    banded_times,
    gram_products,
    inverse_band,
)

MAX_STEPS = 50
SHORTEST_STEP = 1e-6
# Relative to the largest diagonal entry of a Hessian that is singular up to rounding.
JITTER = 1e-15
# Newton's decrement relative to the weight of all rows: the log loss is then exact to about 1e-14.
TOLERANCE = 1e-14
NO_GAIN = 1e-10
ROUNDING = 1e-14


class PenalizedLogistic:
    """Minimise sum over cells of t ln(1 + e^f) - q f, plus (lambda / 2) c' P c, where f = basis c.

    t and q are the total and the positive weight of each cell, and of one row more: it is spread
    over the cells like the data and its outcome is the base rate. With it the minimum exists also
    where the classes are perfectly separated (no curvature penalty bounds a straight line), and no
    cell's rate moves by more than 1 / (1 + total weight).
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
        # shape (m, k): the entries of a row lie within `bands` neighbouring columns; and transposed
        self.basis, self.transposed = basis, csr_array(basis.T)
        # shape (m,): total and positive weight of each cell, without the extra row.
        self.weight, self.positive = weight, positive
        # shape (m,): weight of one row of each cell, which is left out at once; 1 if none is given.
        self.row = np.ones(len(weight)) if row is None else row
        # shape (m,): `weight` and `positive` with the extra row.
        self.t, self.q = weight + share, positive + share * (positive.sum() / weight.sum())
        self.penalty = penalty  # shape (bands, k): P, in lower banded storage
        # shape (bands * k, m): maps cell weights w to basis' diag(w) basis in lower banded storage.
        self.products = gram_products(basis, len(penalty))
        # shape (m, bands * k): the same transposed: maps an `inverse_band` to the leverage of a row
        # of weight 1.
        self.leverages = csr_array(self.products.T)

    @property
    def total_weight(self) -> float:
        return float(self.weight.sum())

    @property
    def base_rate(self) -> float:
        return float(self.positive.sum()) / self.total_weight

    def constant(self) -> FloatArray:
        """Coefficients of the constant that fits best, for a basis that sums to one."""
        rate = self.base_rate
        return np.full(self.basis.shape[1], np.log(rate) - np.log1p(-rate))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit(Locked):
    """The minimiser at one lambda."""

    lam: float
    coefficients: FloatArray  # shape (k,)
    value: FloatArray  # shape (m,): f at every cell
    n_iter: int  # Newton steps


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
        if gain <= max(NO_GAIN * problem.total_weight, _rounding(problem, lam, c)):
            # The sum cannot tell a whole step from half of it here. The whole one is right, and
            # without it the curve is exact to the root of the rounding only.
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
    """Of the penalty: where knots are near each other it is a small difference of large numbers."""
    size = np.abs(c)
    return ROUNDING * lam * float(size @ banded_times(np.abs(problem.penalty), size))


def leave_out(problem: PenalizedLogistic, fit: LogisticFit) -> tuple[float, float]:
    """Leave out each row in turn and follow the fit by one Newton step.

    The result is the mean log loss of a row under the fit to all others, and the effective degrees
    of freedom of the fit: the sum of all rows' leverages.

    Whole rows are left out, whatever they weigh; where rows come in groups `row` is the weight of
    as many as tell what one independent row tells. Rows of one cell and outcome share their loss,
    so that nothing depends on the order of the rows and no random folds are drawn.

    See Rad and Maleki 2020, "A scalable estimate of the out-of-sample prediction error via
    approximate leave-one-out cross-validation", arXiv:1801.10243.
    """
    f, t = fit.value, problem.t
    odds, _ = _exponential(f)
    p = _probability(f, odds)
    variance = p * (1.0 - p)
    leverage = problem.leverages @ inverse_band(_factor(problem, fit.lam, t * variance))
    degrees = float((t * variance) @ leverage)
    # A row's share of its own curvature is below 1, up to rounding. The rows of a group may weigh
    # more than their cell: only what is in the cell is taken from its curvature.
    own = np.minimum(problem.row, problem.weight)
    step = problem.row * leverage / np.maximum(1.0 - own * leverage * variance, 1e-9)
    loss = problem.positive @ np.logaddexp(0.0, step * (1.0 - p) - f)
    loss += (problem.weight - problem.positive) @ np.logaddexp(0.0, step * p + f)
    return float(loss) / problem.total_weight, degrees


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
    while share > SHORTEST_STEP:
        tried, f_tried = c - share * move, f - share * along
        p, value = _state(problem, lam, tried, f_tried)
        if value <= before:
            return tried, f_tried, p, value
        share *= 0.5
    return None


def _factor(problem: PenalizedLogistic, lam: float, curvature: FloatArray) -> FloatArray:
    """Cholesky factor of the Hessian, in lower banded storage.

    Where weights differ by many powers of ten the Hessian is singular up to rounding. As little as
    makes it positive definite is then added: Newton's steps get shorter, and end at the same place.
    """
    gram = (problem.products @ curvature).reshape(problem.penalty.shape)
    hessian = gram + lam * problem.penalty
    jitter = 0.0
    while True:
        try:
            return banded_factor(hessian)
        except np.linalg.LinAlgError:
            jitter = max(100.0 * jitter, JITTER * float(hessian[0].max()))
            hessian[0] += jitter
