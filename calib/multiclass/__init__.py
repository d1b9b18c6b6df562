"""Multiclass: calibrators of score matrices, and their errors, class by class and overall."""

from calib.core.registry import import_all
from calib.multiclass.base import (
    MULTICLASS_CALIBRATORS,
    MulticlassCalibrator,
    MulticlassMethod,
    multiclass_calibrator,
)
from calib.multiclass.by_class import Classwise, classwise
from calib.multiclass.metrics import MULTICLASS_METRICS, multiclass_metrics

import_all(__name__, list(__path__))

__all__ = [
    "MULTICLASS_CALIBRATORS",
    "MULTICLASS_METRICS",
    "Classwise",
    "MulticlassCalibrator",
    "MulticlassMethod",
    "classwise",
    "multiclass_calibrator",
    "multiclass_metrics",
]
