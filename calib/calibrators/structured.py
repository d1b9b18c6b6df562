"""Structured matrix scaling: matrix scaling after temperature scaling, with penalties by size."""

from __future__ import annotations

import numpy as np

from calib.calibrators.forms import SoftmaxAfterTemperature
from calib.calibrators.matrix import FullLinear, span
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray, IntArray, row_blocks
from calib.numerics.class_scores import fit_inverse_temperature, log_scores, softmax
from calib.numerics.softmax_regression import QuadraticPenalty, SoftmaxRegression, fit_softmax


@register(
    "structured",
    "Structured matrix",
    simplicity=66,
    summary="Temperature scaling, then a matrix that penalties by size pull to the identity.",
    source="Berta et al. 2025, arXiv:2511.03685",
    aliases="structured matrix scaling, SMS, probmetrics",
    weighs_evidence=True,
)
class StructuredMatrix(FullLinear):
    """Structured matrix scaling (SMS): softmax(W ln Q + b), where Q are scaled scores.

    Q = (1 - u) softmax(ln P / T) + u / m, with the temperature T of maximum likelihood and
    u = 1 / (n + 1), for n effective rows and m classes. W and b minimise the mean log loss plus
    m / n times the squares of b and of the diagonal of W - 1, plus m (m - 1) / n times the squares
    of the entries beside the diagonal. The more coefficients of a kind there are, the more rows
    are needed to move them. Scores below 2.2e-16 are replaced by it before the logarithm is taken.

    Attributes
    ----------
    temperature_ : float
        T, in [0.01, 100]. Above 1 the scores are overconfident.
    uniform_share_ : float
        u. It keeps every scaled score above 0.
    weights_ : ndarray of shape (m, m)
        W. Entry (j, k) is the weight of ln Q of class k for class j.
    intercepts_ : ndarray of shape (m,)
        b.

    References
    ----------
    Berta, Holzmüller, Jordan, Bach 2025, "Structured matrix scaling for multi-class calibration",
    arXiv:2511.03685, with the defaults of its package probmetrics 1.3.0.

    Examples
    --------
    The true log-odds are half as large, so 0.7 and 0.1 become about 0.53 and 0.20:

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0.0, 1.0, (20_000, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> p = np.exp(2.0 * z)
    >>> fitted = StructuredMatrix().fit(p / p.sum(axis=1, keepdims=True), y)
    >>> fitted.predict([[0.7, 0.2, 0.1]]).round(2)
    array([[0.53, 0.28, 0.2 ]])
    """

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        n_rows = float(len(label) if weight is None else weight.sum())
        self.temperature_ = 1.0 / fit_inverse_temperature(scores, label, weight, self.lowest_)
        self.uniform_share_ = 1.0 / (n_rows + 1.0)
        super()._fit(self._scaled(scores), label, weight)

    def _scaled(self, scores: FloatArray) -> FloatArray:
        """Q, written over the scores."""
        for part in row_blocks(*scores.shape):
            scores[part] = softmax(log_scores(scores[part], self.lowest_) / self.temperature_)
        scores *= 1.0 - self.uniform_share_
        scores += self.uniform_share_ / scores.shape[1]
        return scores

    def _solve(self, problem: SoftmaxRegression, start: FloatArray) -> FloatArray:
        return fit_softmax(problem, penalty_by_size(problem), start)

    def _map(self, scores: FloatArray) -> FloatArray:
        return super()._map(self._scaled(scores))

    def to_map(self) -> SoftmaxAfterTemperature:
        return SoftmaxAfterTemperature(
            1.0 / self.temperature_,
            self.uniform_share_,
            self.weights_.copy(),
            self.intercepts_.copy(),
            self.lowest_,
        )

    def formula(self) -> str:
        off = self.weights_[~np.eye(self.n_classes_, dtype=np.bool_)]
        return (
            f"softmax(W ln Q + b) with Q = softmax(ln P / {self.temperature_:.3g}): diagonal of W "
            f"{span(np.diagonal(self.weights_))}, the rest {span(off)}, b {span(self.intercepts_)}"
        )


def penalty_by_size(problem: SoftmaxRegression) -> QuadraticPenalty:
    """m / n on intercepts and on the diagonal, m (m - 1) / n beside it; 0 at the identity."""
    identity = problem.design.identity(problem.x.shape[1])
    m = len(identity)
    strength = np.full(identity.shape, m * (m - 1) / problem.total_weight)
    strength[np.arange(m), np.arange(m)] = strength[:, m] = m / problem.total_weight
    return QuadraticPenalty(strength.ravel(), identity.ravel())
