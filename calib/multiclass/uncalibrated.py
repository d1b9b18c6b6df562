"""The class scores as they are."""

from __future__ import annotations

from calib.multiclass.base import MulticlassCalibrator, register
from calib.numerics.arrays import FloatArray, IntArray


@register(
    "uncalibrated",
    "Uncalibrated",
    simplicity=0,
    summary="Keeps the scores as they are.",
    source="",
)
class MulticlassUncalibrated(MulticlassCalibrator):
    """The identity: what every other method has to beat.

    Examples
    --------
    >>> MulticlassUncalibrated().fit([[0.2, 0.8]], [1]).predict([[0.3, 0.7]])
    array([[0.3, 0.7]])
    """

    keeps_accuracy = True
    needs_two_classes = False

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        pass

    def _map(self, scores: FloatArray) -> FloatArray:
        return scores

    def formula(self) -> str:
        """The map in words and numbers."""
        return "P: the scores themselves"
