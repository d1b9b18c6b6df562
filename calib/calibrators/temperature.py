"""Temperature scaling: the log-odds are divided by one number."""

from __future__ import annotations

import math

import numpy as np

from calib.calibrators.base import MatrixCalibrator
from calib.calibrators.forms import Softmax
from calib.calibrators.logistic import IncreasingSigmoid
from calib.calibrators.registry import register, register_matrix
from calib.numerics.arrays import FloatArray, IntArray, row_blocks
from calib.numerics.class_scores import fit_inverse_temperature, log_scores, softmax


@register(
    "temperature",
    "Temperature",
    simplicity=10,
    summary="One scale factor on the log-odds for all scores.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="temperature scaling",
)
class Temperature(IncreasingSigmoid):
    """Temperature scaling: sigmoid(logit(s) / T) with T > 0, fitted by maximum likelihood.

    Scores are clipped to [eps, 1 - eps] with eps = 2.2e-16. A score of 0.5 stays 0.5 at every
    temperature.

    Attributes
    ----------
    temperature_ : float
        T. Above 1 the scores are overconfident. It is infinite if the function is constant.
    constant_ : bool
        True if no T gives a lower loss than a score of 0.5 for all rows. The calibrated score is
        then the base rate.
    separated_ : bool
        True if 0.5 separates the classes perfectly. The curve is then fitted to Platt's softened
        outcomes.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger 2017, arXiv:1706.04599.

    Examples
    --------
    >>> fitted = Temperature().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.formula()
    '1 / (1 + exp(-logit(s) / 0.665))'
    """

    has_intercept = False

    def _name_parameters(self) -> None:
        self.temperature_ = math.inf if self.constant_ else 1.0 / float(self.slopes_[0])

    def _expression(self) -> str:
        return f"1 / (1 + exp(-logit(s) / {self.temperature_:.3g}))"


@register_matrix("temperature", summary="One scale factor on the logits of all classes.")
class MatrixTemperature(MatrixCalibrator):
    """Temperature scaling of a matrix: softmax(ln P / T), fitted by maximum likelihood.

    Scores below `lowest_` are replaced by it before the logarithm is taken. T is in [0.01, 100].
    The order of the classes never changes.

    Attributes
    ----------
    temperature_ : float
        T. Above 1 the scores are overconfident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger 2017, "On calibration of modern neural networks",
    arXiv:1706.04599.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.1]]
    >>> MatrixTemperature().fit(scores, [0, 1, 2]).formula()
    'softmax(ln P / 1.5)'
    """

    keeps_accuracy = True

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        self.temperature_ = 1.0 / fit_inverse_temperature(scores, label, weight, self.lowest_)

    def _map(self, scores: FloatArray) -> FloatArray:
        for part in row_blocks(*scores.shape):
            scores[part] = softmax(log_scores(scores[part], self.lowest_) / self.temperature_)
        return scores

    def to_map(self) -> Softmax:
        slopes = np.full(self.n_classes_, 1.0 / self.temperature_)
        return Softmax(slopes, np.zeros(self.n_classes_), self.lowest_)

    def formula(self) -> str:
        return f"softmax(ln P / {self.temperature_:.3g})"
