"""Calibrators. Each method is a scikit-learn estimator in its own file; see `CALIBRATORS`."""

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.one_vs_rest import multiclass_calibrator
from calib.calibrators.registry import CALIBRATORS, Method, calibrator, score_methods

__all__ = [
    "CALIBRATORS",
    "Calibrator",
    "MatrixCalibrator",
    "Method",
    "calibrator",
    "multiclass_calibrator",
    "score_methods",
]
