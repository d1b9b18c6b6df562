"""Vector scaling: a slope and a shift for each class's log score."""

from __future__ import annotations

import numpy as np

from calib.calibrators.forms import Softmax
from calib.calibrators.linear_softmax import LinearSoftmax, span
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
    """softmax(w ln P + b), class by class, by maximum likelihood.

    Scores below float64's machine epsilon 2.2e-16 count as that before the logarithm. A pull of a
    thousandth of a row to the identity, of one row for a class that was never seen, keeps the
    numbers finite.

    Attributes
    ----------
    slopes_, intercepts_ : ndarray of shape (m,)
        w and b. A constant added to all of b changes nothing.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger 2017, "On calibration of modern neural networks",
    arXiv:1706.04599.

    Examples
    --------
    A constant score can only learn how often each class comes:

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
        """The function as data."""
        return Softmax(self.slopes_.copy(), self.intercepts_.copy())

    def formula(self) -> str:
        """The fitted function in words and numbers."""
        return f"softmax(w ln P + b), per class: w {span(self.slopes_)}, b {span(self.intercepts_)}"
