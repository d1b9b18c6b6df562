"""Metrics of scores and of score matrices: functions of (y_true, y_prob), as in scikit-learn."""

import sys
from typing import Any

from calib.metrics.base import (
    METRICS,
    Decomposition,
    Metric,
    SlopeIntercept,
    SmoothedErrors,
    TestResult,
    VariationalError,
    matrix_metrics,
    score_metrics,
    scorer,
)
from calib.metrics.binned import (
    adaptive_calibration_error,
    expected_calibration_error,
    static_calibration_error,
    sweep_calibration_error,
    thresholded_calibration_error,
)
from calib.metrics.by_cluster import clustered_tests
from calib.metrics.cumulative import (
    ks_error,
    ks_test,
    kuiper_error,
    kuiper_test,
    signed_calibration_error,
)
from calib.metrics.goodness_of_fit import hosmer_lemeshow_test, spiegelhalter_test
from calib.metrics.matrix import (
    accuracy,
    ece_classwise,
    ece_top_label,
    ks_top_1,
    ks_top_2,
    ks_within_2,
    multiclass_brier_score,
    multiclass_log_loss,
    multiclass_metrics,
)
from calib.metrics.observed_expected import (
    intercept_at_slope_1,
    intercept_estimate,
    observed_expected_ratio,
    ratio_estimate,
)
from calib.metrics.proper import (
    brier_decomposition,
    brier_score,
    certain_and_wrong,
    log_loss,
    log_loss_decomposition,
    scaled_brier_score,
)
from calib.metrics.ranking import auc, auc_difference, auc_estimate, distinct_scores
from calib.metrics.regression import calibration_slope_intercept
from calib.metrics.smooth import integrated_calibration_index, smooth_calibration_error
from calib.metrics.variational import (
    VariationalEstimate,
    variational_error,
    variational_estimate,
)

__all__ = [
    "METRICS",
    "Decomposition",
    "Metric",
    "SlopeIntercept",
    "SmoothedErrors",
    "TestResult",
    "VariationalError",
    "VariationalEstimate",
    "accuracy",
    "adaptive_calibration_error",
    "auc",
    "auc_difference",
    "auc_estimate",
    "brier_decomposition",
    "brier_score",
    "calibration_slope_intercept",
    "certain_and_wrong",
    "clustered_tests",
    "distinct_scores",
    "ece_classwise",
    "ece_top_label",
    "expected_calibration_error",
    "hosmer_lemeshow_test",
    "integrated_calibration_index",
    "intercept_at_slope_1",
    "intercept_estimate",
    "ks_error",
    "ks_test",
    "ks_top_1",
    "ks_top_2",
    "ks_within_2",
    "kuiper_error",
    "kuiper_test",
    "log_loss",
    "log_loss_decomposition",
    "matrix_metrics",
    "multiclass_brier_score",
    "multiclass_log_loss",
    "multiclass_metrics",
    "observed_expected_ratio",
    "ratio_estimate",
    "scaled_brier_score",
    "score_metrics",
    "scorer",
    "signed_calibration_error",
    "smooth_calibration_error",
    "spiegelhalter_test",
    "static_calibration_error",
    "sweep_calibration_error",
    "thresholded_calibration_error",
    "variational_error",
    "variational_estimate",
]


def __getattr__(name: str) -> Any:
    # A metric that is not named above is found by its registration.
    if name in METRICS:
        return getattr(sys.modules[METRICS[name].compute.__module__], name)
    raise AttributeError(f"module 'calib.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *METRICS})
