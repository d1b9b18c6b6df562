"""Logistic regression of cells on a few columns, by Newton's method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray, lock

MAX_STEPS = 30  # a separated fit moves by 1 a step for ever; after 37 steps it would round to rest
STEP_TOLERANCE = 1e-6  # the error left is about its square
SAMPLED_TOLERANCE = 1e-4  # leaves 1e-8, where the standard error is above 1e-3
COLLINEAR = 1e-12
SMALLEST_COLUMN = 1e-290  # the coefficient of a smaller one could overflow
CHUNK = 8192  # cells whose temporaries stay in the processor's cache
SAMPLE = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A logistic regression of outcomes on features.

    Attributes
    ----------
    coefficients : ndarray of shape (d,)
        A column that is a combination of earlier ones has coefficient 0.
    covariance : ndarray of shape (d, d)
        Inverse of the Fisher information; 0 for columns that were left out.
    log_likelihood : float
    converged : bool
        False where no maximum exists: the features separate the two classes, wholly or in part,
        and the coefficients are only where the search stopped.
    """

    coefficients: FloatArray
    covariance: FloatArray
    log_likelihood: float
    converged: bool

    def __post_init__(self) -> None:
        lock(self)


def fit_logistic(features: FloatArray, positive: FloatArray, weight: FloatArray) -> LogisticFit:
    """Maximise sum of positive * eta - weight * ln(1 + exp(eta)), eta = features @ c.

    Neither the scale of the columns nor the order of the cells matters; cells need not be
    distinct, so rows may be passed as they come.

    Parameters
    ----------
    features : ndarray of shape (k, d)
        For an intercept make the first column ones.
    positive, weight : ndarray of shape (k,)
        0 <= positive <= weight; a fractional share (Platt's targets) is allowed.

    Examples
    --------
    Two cells and two coefficients: the fit is exact, and the slope is the log odds ratio.

    >>> import numpy as np
    >>> features = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> fit = fit_logistic(features, positive=np.array([1.0, 3.0]), weight=np.array([4.0, 4.0]))
    >>> np.exp(fit.coefficients).round(9)
    array([0.33333333, 9.        ])
    >>> fit.converged, fit_logistic(features, np.array([0.0, 4.0]), np.full(2, 4.0)).converged
    (True, False)
    """
    rows, units, basis, kept = _standardise(features.T, weight)
    found = _maximise(_Problem(rows, units, positive, weight))
    coefficients = np.zeros(features.shape[1])
    coefficients[kept] = np.linalg.solve(basis, found.coefficients)
    covariance = np.zeros((len(coefficients), len(coefficients)))
    half = np.linalg.solve(basis, found.covariance)
    covariance[np.ix_(kept, kept)] = np.linalg.solve(basis, half.T)
    return LogisticFit(coefficients, covariance, found.log_likelihood, found.converged)


def _standardise(
    columns: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, list[int]]:
    """Units in which a step of 1 changes eta by about 1, whatever those of the columns were.

    In them log-scores that hardly vary no longer drown in the intercept.

    Returns
    -------
    rows : ndarray of shape (d, k)
    units, basis : ndarray of shape (d, d)
        ``units @ c`` are the coefficients of `rows`, and ``inv(basis) @ c`` those of the columns.
    kept : list of int
        The columns that are used.
    """
    sample = _sample(len(weight))
    if sample is not None:
        # A sample shows the units well enough, and spares writing new rows.
        _, basis, kept = _orthonormal(columns[:, sample], weight[sample])
        if len(kept) == len(columns):
            units = np.asarray(np.linalg.inv(basis), dtype=np.float64)
            return np.ascontiguousarray(columns), units, basis, kept
    rows, basis, kept = _orthonormal(columns, weight)
    return rows, np.eye(len(kept)), basis, kept


def _orthonormal(
    columns: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, list[int]]:
    """Gram and Schmidt's orthogonal rows; a column that earlier ones explain is not kept."""
    rows = np.array(columns, dtype=np.float64, order="C")
    d, share = len(rows), weight / weight.sum()
    basis = np.zeros((d, d))
    kept: list[int] = []
    for j in range(d):
        # Squares of scores near 1e-300 would underflow.
        scale = float(np.abs(rows[j]).max())
        if scale < SMALLEST_COLUMN:
            continue
        rows[j] /= scale
        size = np.sqrt(share @ (rows[j] * rows[j]))
        for i in kept:
            basis[i, j] = share @ (rows[i] * rows[j])
            rows[j] -= basis[i, j] * rows[i]
        basis[j, j] = np.sqrt(share @ (rows[j] * rows[j]))
        if basis[j, j] > COLLINEAR * size:
            rows[j] /= basis[j, j]
            basis[:, j] *= scale
            kept.append(j)
    return rows[kept], basis[np.ix_(kept, kept)], kept


def _sample(n_cells: int) -> NDArray[np.intp] | None:
    # Random, so that no period in the order of the rows can fool it.
    if n_cells <= 2 * SAMPLE:
        return None
    return np.random.default_rng(0).integers(n_cells, size=SAMPLE)


class _Problem:
    """A log-likelihood with its derivatives, summed chunk by chunk."""

    def __init__(
        self, rows: FloatArray, units: FloatArray, positive: FloatArray, weight: FloatArray
    ) -> None:
        self.rows, self.units = rows, units
        self.positive, self.weight = positive, weight
        self.n_columns, self.n_cells = rows.shape
        # A cell that holds both outcomes cannot be separated.
        self.separable = bool(((positive <= 0.0) | (positive >= weight)).all())

    def _parts(self) -> Iterator[slice]:
        for start in range(0, self.n_cells, CHUNK):
            yield slice(start, start + CHUNK)

    def eta(self, coefficients: FloatArray, part: slice) -> FloatArray:
        return np.asarray((self.units @ coefficients) @ self.rows[:, part])

    def evaluate(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log-likelihood, gradient, and information."""
        value, d = 0.0, self.n_columns
        gradient, information = np.zeros(d), np.zeros((d, d))
        for part in self._parts():
            rows, weight, positive = self.rows[:, part], self.weight[part], self.positive[part]
            eta = self.eta(coefficients, part)
            small = np.exp(-np.abs(eta))
            large = 1.0 / (1.0 + small)
            small *= large  # the smaller of p and 1 - p, to full precision
            value += float(positive @ eta - weight @ (np.maximum(eta, 0.0) - np.log(large)))
            gradient += rows @ (positive - weight * np.where(eta >= 0.0, large, small))
            information += (rows * (weight * small * large)) @ rows.T
        return value, self.units.T @ gradient, self.units.T @ information @ self.units

    def is_separated_by(self, coefficients: FloatArray) -> bool:
        return self.separable and all(
            bool(((self.eta(coefficients, part) > 0.0) == (self.positive[part] > 0.0)).all())
            for part in self._parts()
        )

    def part(self, chosen: NDArray[np.intp]) -> _Problem:
        rows = np.ascontiguousarray(self.rows[:, chosen])
        return _Problem(rows, self.units, self.positive[chosen], self.weight[chosen])


def _maximise(problem: _Problem) -> LogisticFit:
    # From the fit of a sample two or three passes over all cells are enough.
    zero = np.zeros(problem.n_columns)
    sample = _sample(problem.n_cells)
    if sample is not None:
        start = _newton(problem.part(sample), zero)
        if start.converged:
            found = _newton(problem, start.coefficients, SAMPLED_TOLERANCE)
            if found.converged:
                return found
    return _newton(problem, zero)


def _newton(problem: _Problem, start: FloatArray, tolerance: float = STEP_TOLERANCE) -> LogisticFit:
    point = start
    value, gradient, information = problem.evaluate(point)
    converged = False
    for _ in range(MAX_STEPS):
        if problem.is_separated_by(point):
            break
        step = _solve(information, gradient)
        if np.abs(step).max(initial=0.0) <= tolerance * (1.0 + np.abs(point).max(initial=0.0)):
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
