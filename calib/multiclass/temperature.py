"""Temperature scaling: all log scores divided by one number."""

from __future__ import annotations

from calib.multiclass.base import MulticlassCalibrator, register
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.blocks import row_blocks
from calib.numerics.softmax import fit_inverse_temperature, log_scores, softmax


@register(
    "temperature",
    "Temperature",
    simplicity=10,
    summary="Assumes that all classes are too sure, or all too timid, by one factor.",
    source="Guo et al. 2017, arXiv:1706.04599",
)
class MulticlassTemperature(MulticlassCalibrator):
    """softmax(ln P / T) with T > 0, by maximum likelihood.

    Scores below float64's machine epsilon 2.2e-16 count as that before the logarithm. T is sought
    within 0.01 and 100. The order of the classes never changes.

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
    >>> MulticlassTemperature().fit(scores, [0, 1, 2]).formula()
    'softmax(ln P / 1.5)'
    """

    keeps_accuracy = True

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        self.temperature_ = 1.0 / fit_inverse_temperature(scores, label, weight)

    def _map(self, scores: FloatArray) -> FloatArray:
        for part in row_blocks(*scores.shape):
            scores[part] = softmax(log_scores(scores[part]) / self.temperature_)
        return scores

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        return f"softmax(ln P / {self.temperature_:.3g})"
