"""Multiclass: calibrators of score matrices, their errors by class, and their comparison."""

from calib.multiclass.base import (
    MULTICLASS_CALIBRATORS,
    MulticlassCalibrator,
    MulticlassMethod,
    multiclass_calibrator,
)
from calib.multiclass.by_class import Classwise, classwise
from calib.multiclass.comparison import (
    MulticlassComparison,
    MulticlassResult,
    compare_multiclass,
)
from calib.multiclass.held_out import MulticlassHeldOut
from calib.multiclass.metrics import MULTICLASS_METRICS, multiclass_metrics
from calib.registry import import_all

import_all(__name__, list(__path__))

__all__ = [
    "MULTICLASS_CALIBRATORS",
    "MULTICLASS_METRICS",
    "Classwise",
    "MulticlassCalibrator",
    "MulticlassComparison",
    "MulticlassHeldOut",
    "MulticlassMethod",
    "MulticlassResult",
    "classwise",
    "compare_multiclass",
    "multiclass_calibrator",
    "multiclass_metrics",
]
