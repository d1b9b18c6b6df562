"""The uncalibrated scores."""

from __future__ import annotations

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.forms import Identity, RowsIdentity
from calib.calibrators.registry import register, register_matrix
from calib.data.cells import ScoreCells
from calib.data.views import log_odds_of
from calib.numerics.arrays import FloatArray, IntArray


@register(
    "uncalibrated",
    "Uncalibrated",
    simplicity=0,
    summary="Leaves the scores unchanged.",
    source="",
    aliases="raw scores, identity",
)
class Uncalibrated(Calibrator):
    """The identity: what every other method has to beat.

    Examples
    --------
    >>> Uncalibrated().fit([0.2, 0.7], [0, 1]).predict([0.3])
    array([0.3])
    """

    needs_both_classes = False

    def _fit(self, cells: ScoreCells) -> None:
        pass

    def left_out(self, cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
        log_odds = log_odds_of(cells)
        return log_odds, log_odds

    def to_map(self) -> Identity:
        return Identity()

    def n_parameters(self) -> float:
        return 0

    def formula(self) -> str:
        return "s: the score unchanged"


@register_matrix("uncalibrated")
class MatrixUncalibrated(MatrixCalibrator):
    """The identity: what every other method has to beat.

    Examples
    --------
    >>> MatrixUncalibrated().fit([[0.2, 0.8]], [1]).predict([[0.3, 0.7]])
    array([[0.3, 0.7]])
    """

    keeps_accuracy = True
    needs_two_classes = False

    def _fit(self, scores: FloatArray, label: IntArray, weight: FloatArray | None) -> None:
        pass

    def _map(self, scores: FloatArray) -> FloatArray:
        return scores

    def to_map(self) -> RowsIdentity:
        return RowsIdentity()

    def formula(self) -> str:
        return "P: the scores unchanged"
