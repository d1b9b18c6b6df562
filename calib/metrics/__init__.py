"""Metrics: functions of ScoreCells, each with a scikit-learn-style facade (y_true, y_prob)."""

from calib.metrics.base import METRICS, Metric
from calib.metrics.binned import expected_calibration_error
from calib.metrics.cumulative import (
    ks_error,
    ks_test,
    kuiper_error,
    kuiper_test,
    signed_calibration_error,
)
from calib.metrics.goodness_of_fit import spiegelhalter_test
from calib.metrics.proper import brier_score, certain_and_wrong, log_loss
from calib.metrics.ranking import auc, distinct_scores
from calib.metrics.regression import calibration_slope_intercept
from calib.metrics.results import Decomposition, SlopeIntercept, TestResult

__all__ = [
    "METRICS",
    "Decomposition",
    "Metric",
    "SlopeIntercept",
    "TestResult",
    "auc",
    "brier_score",
    "calibration_slope_intercept",
    "certain_and_wrong",
    "distinct_scores",
    "expected_calibration_error",
    "ks_error",
    "ks_test",
    "kuiper_error",
    "kuiper_test",
    "log_loss",
    "signed_calibration_error",
    "spiegelhalter_test",
]
