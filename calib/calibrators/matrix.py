"""Matrix scaling: each calibrated class score depends on the log scores of all classes."""

from __future__ import annotations

import numpy as np

from calib.calibrators.forms import Softmax
from calib.calibrators.linear_softmax import LinearSoftmax, span
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.softmax_regression import Full

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

    def _store(self, theta: FloatArray) -> None:
        table = theta.reshape(self.n_classes_, self.n_classes_ + 1)
        self.weights_, self.intercepts_ = table[:, :-1].copy(), table[:, -1].copy()

    def _theta(self) -> FloatArray:
        return np.column_stack([self.weights_, self.intercepts_]).ravel()

    def to_map(self) -> Softmax:
        return Softmax(self.weights_.copy(), self.intercepts_.copy())

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
)
class MatrixScaling(FullLinear):
    """Matrix scaling: softmax(W ln P + b) with a full matrix W, fitted by maximum likelihood.

    Scores below 2.2e-16 are replaced by it before the logarithm is taken. A penalty with the weight
    of a thousandth of a row (one row for a class without rows) pulls W to the identity. It selects
    one of the matrices that give the same function, and keeps the coefficients finite. m (m + 1)
    coefficients are fitted without any other penalty, so many more rows than that are needed.

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
