"""Calibrators: one file a method, each a scikit-learn estimator, found through the registry."""

from calib.calibrators.base import CALIBRATORS, Calibrator, Method, calibrator
from calib.core.registry import import_all

import_all(__name__, list(__path__))

__all__ = ["CALIBRATORS", "Calibrator", "Method", "calibrator"]
