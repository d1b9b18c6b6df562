"""Softmax of a linear function of log scores: vector scaling and matrix scaling."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import MatrixCalibrator
from calib.calibrators.forms import RowsForm, Softmax
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray, IntArray, row_blocks
from calib.numerics.class_scores import fit_inverse_temperature, log_scores, softmax
from calib.numerics.softmax_regression import (
    Design,
    Diagonal,
    Full,
    QuadraticPenalty,
    SoftmaxRegression,
    fit_softmax,
)

# The penalty on differences from the identity has the weight of this many rows. It is invisible in
# printed digits, and keeps coefficients finite if the scores separate the classes.
RIDGE_ROWS = 1e-3
# Coefficients of a class without rows have a larger penalty. Without it, its scores would become 0.
UNSEEN_ROWS = 1.0


class LinearSoftmax(MatrixCalibrator):
    """softmax(W ln P + b), fitted from the identity at the best temperature."""

    design: Design

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        identity = self.design.identity(scores.shape[1]).ravel()
        start = fit_inverse_temperature(scores, label, weight, self.lowest_) * identity
        for part in row_blocks(*scores.shape):
            scores[part] = log_scores(scores[part], self.lowest_)
        problem = SoftmaxRegression(self.design, scores, label, weight)
        self._theta_ = self._solve(problem, start)
        self._name_parameters()

    def _solve(self, problem: SoftmaxRegression, start: FloatArray) -> FloatArray:
        """The coefficients, by maximum likelihood."""
        return fit_softmax(problem, ridge(problem), start)

    def _name_parameters(self) -> None:
        """Set the attributes that hold the coefficients."""
        raise NotImplementedError

    def _map(self, scores: FloatArray) -> FloatArray:
        for part in row_blocks(*scores.shape):
            scores[part] = softmax(
                self.design.eta(self._theta_, log_scores(scores[part], self.lowest_))
            )
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


@register(
    "vector",
    "Vector scaling",
    simplicity=32,
    summary="One scale factor and one shift on the logits per class.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="diagonal matrix scaling",
    weighs_evidence=True,
)
class VectorScaling(LinearSoftmax):
    """Vector scaling: softmax(w ln P + b) with w and b per class, fitted by maximum likelihood.

    Scores below `lowest_` are replaced by it before the logarithm is taken. A penalty with the
    weight of a thousandth of a row (one row for a class without rows) pulls the function to the
    identity and keeps the coefficients finite.

    Attributes
    ----------
    slopes_, intercepts_ : ndarray of shape (m,)
        w and b. Adding a constant to all of b has no effect.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger 2017, "On calibration of modern neural networks",
    arXiv:1706.04599.

    Examples
    --------
    If all rows have the same scores, the result is the class frequencies:

    >>> fitted = VectorScaling().fit([[0.5, 0.5]] * 400, [0, 1, 1, 1] * 100)
    >>> fitted.predict([[0.5, 0.5]]).round(3)
    array([[0.25, 0.75]])
    """

    design = Diagonal()

    def _name_parameters(self) -> None:
        self.slopes_, self.intercepts_ = self._theta_.reshape(-1, 2).T.copy()

    def to_map(self) -> Softmax:
        return Softmax(self.slopes_.copy(), self.intercepts_.copy(), self.lowest_)

    def formula(self) -> str:
        return f"softmax(w ln P + b), per class: w {span(self.slopes_)}, b {span(self.intercepts_)}"


MAX_CLASSES = 300


class FullLinear(LinearSoftmax):
    """softmax(W ln P + b) with a full matrix W. Subclasses choose the penalty."""

    design = Full()

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        m = scores.shape[1]
        if m > MAX_CLASSES:
            raise ValueError(
                f"{type(self).__name__} fits m (m + 1) numbers and takes at most {MAX_CLASSES} "
                f"classes; use temperature or vector scaling, got {m:,}."
            )
        super()._fit(scores, label, weight)

    def _name_parameters(self) -> None:
        table = self._theta_.reshape(self.n_classes_, self.n_classes_ + 1)
        self.weights_, self.intercepts_ = table[:, :-1].copy(), table[:, -1].copy()

    def to_map(self) -> RowsForm:
        return Softmax(self.weights_.copy(), self.intercepts_.copy(), self.lowest_)

    def formula(self) -> str:
        off = self.weights_[~np.eye(self.n_classes_, dtype=np.bool_)]
        return (
            f"softmax(W ln P + b): diagonal of W {span(np.diagonal(self.weights_))}, "
            f"the rest {span(off)}, b {span(self.intercepts_)}"
        )


@register(
    "matrix",
    "Matrix scaling",
    simplicity=70,
    summary="Assumes only that true log-odds are linear in all log scores; overfits many classes.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="multinomial logistic recalibration",
    weighs_evidence=True,
)
class MatrixScaling(FullLinear):
    """Matrix scaling: softmax(W ln P + b) with a full matrix W, fitted by maximum likelihood.

    Scores below `lowest_` are replaced by it before the logarithm is taken. A penalty with the
    weight of a thousandth of a row (one row for a class without rows) pulls W to the identity. It
    selects one of the matrices that give the same function, and keeps the coefficients finite.
    m (m + 1) coefficients are fitted without any other penalty, so many more rows than that are
    needed.

    Attributes
    ----------
    weights_ : ndarray of shape (m, m)
        W. Entry (j, k) is the weight of the log score of class k for class j. Adding a constant to
        a column has no effect.
    intercepts_ : ndarray of shape (m,)
        b.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger 2017, "On calibration of modern neural networks",
    arXiv:1706.04599.

    Examples
    --------
    >>> fitted = MatrixScaling().fit([[0.7, 0.3], [0.3, 0.7]] * 300, [0, 1, 1, 1, 0, 0] * 100)
    >>> fitted.predict([[0.7, 0.3]]).round(3)
    array([[0.667, 0.333]])
    """
