"""Base of vector, matrix and Dirichlet calibration: softmax of a linear function of ln P."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import MatrixCalibrator
from calib.numerics.arrays import FloatArray, IntArray, row_blocks
from calib.numerics.class_scores import fit_inverse_temperature, log_scores, softmax
from calib.numerics.softmax_regression import (
    Design,
    QuadraticPenalty,
    SoftmaxRegression,
    fit_softmax,
)

# Everything is drawn to the identity with the weight of a thousandth of a row: below the digits
# that anyone reads, it keeps the numbers of separated classes finite. A class that was never seen
# would lose all chance: what makes its score is held with the weight of one row.
RIDGE_ROWS, UNSEEN_ROWS = 1e-3, 1.0


class LinearSoftmax(MatrixCalibrator):
    """softmax(W ln P + b), fitted from the identity at the best temperature."""

    design: Design

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        identity = self.design.identity(scores.shape[1]).ravel()
        start = fit_inverse_temperature(scores, label, weight) * identity
        for part in row_blocks(*scores.shape):
            scores[part] = log_scores(scores[part])
        problem = SoftmaxRegression(self.design, scores, label, weight)
        self._store(self._solve(problem, start))

    def _solve(self, problem: SoftmaxRegression, start: FloatArray) -> FloatArray:
        """The coefficients, by maximum likelihood."""
        return fit_softmax(problem, ridge(problem), start)

    def _store(self, theta: FloatArray) -> None:
        """Set the attributes that hold the coefficients."""
        raise NotImplementedError

    def _theta(self) -> FloatArray:
        """The coefficients in the layout of the design matrix."""
        raise NotImplementedError

    def _map(self, scores: FloatArray) -> FloatArray:
        theta = self._theta()
        for part in row_blocks(*scores.shape):
            scores[part] = softmax(self.design.eta(theta, log_scores(scores[part])))
        return scores


def ridge(problem: SoftmaxRegression) -> QuadraticPenalty:
    """The weak penalty on differences from the identity."""
    identity = problem.design.identity(problem.x.shape[1])
    counts = np.bincount(problem.label, minlength=len(identity))
    rows = np.where(counts == 0, UNSEEN_ROWS, RIDGE_ROWS)
    strength = np.repeat(rows / 2.0 / problem.total_weight, identity.shape[1])
    return QuadraticPenalty(strength, identity.ravel())


def span(values: FloatArray) -> str:
    """The range of some coefficients, in words."""
    return f"{values.min():.3g} to {values.max():.3g}"
