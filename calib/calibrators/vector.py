"""Vector scaling: a slope and an intercept for the log score of each class."""

from __future__ import annotations

import numpy as np

from calib.calibrators.forms import Softmax
from calib.calibrators.matrix import LinearSoftmax, span
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray
from calib.numerics.softmax_regression import Diagonal


@register(
    "vector",
    "Vector scaling",
    simplicity=32,
    summary="One scale factor and one shift on the logits per class.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="diagonal matrix scaling",
)
class VectorScaling(LinearSoftmax):
    """Vector scaling: softmax(w ln P + b) with w and b per class, fitted by maximum likelihood.

    Scores below 2.2e-16 are replaced by it before the logarithm is taken. A penalty with the weight
    of a thousandth of a row (one row for a class without rows) pulls the function to the identity
    and keeps the coefficients finite.

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

    def _store(self, theta: FloatArray) -> None:
        self.slopes_, self.intercepts_ = theta.reshape(-1, 2).T.copy()

    def _theta(self) -> FloatArray:
        return np.column_stack([self.slopes_, self.intercepts_]).ravel()

    def to_map(self) -> Softmax:
        return Softmax(self.slopes_.copy(), self.intercepts_.copy())

    def formula(self) -> str:
        return f"softmax(w ln P + b), per class: w {span(self.slopes_)}, b {span(self.intercepts_)}"
