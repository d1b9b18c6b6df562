"""Probability calibration: diagnose, repair, report.

Examples
--------
>>> import calib
>>> predictions = calib.loading.examples.EXAMPLES["naive_bayes"].load()
>>> analysis = calib.analyze(predictions)
>>> analysis.verdict.kind
'overconfident'
"""

from typing import TYPE_CHECKING

from calib import matrices, metrics, multiclass
from calib.analysis import Analysis, analyze, decisions, periods, slices
from calib.analysis.model_comparison import compare_models
from calib.analysis.slices import aggregate
from calib.calibrators import calibrator
from calib.calibrators.meta_estimators import CalibratedModel, ScoreCalibrator
from calib.core.aggregate import Aggregate
from calib.core.cells import ScoreCells
from calib.core.predictions import Predictions
from calib.loading import InputError, examples, load, load_models
from calib.matrices import compare_multiclass, default_settings
from calib.multiclass import multiclass_calibrator
from calib.settings import Settings

if TYPE_CHECKING:
    from calib.reports import Report

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "Analysis",
    "CalibratedModel",
    "InputError",
    "Predictions",
    "ScoreCalibrator",
    "ScoreCells",
    "Settings",
    "aggregate",
    "analyze",
    "calibrator",
    "compare_models",
    "compare_multiclass",
    "decisions",
    "default_settings",
    "examples",
    "load",
    "load_models",
    "matrices",
    "metrics",
    "multiclass",
    "multiclass_calibrator",
    "periods",
    "report",
    "slices",
]


def report(analysis: Analysis) -> "Report":
    """A report of an analysis, to be saved as .html, .json or .md.

    Parameters
    ----------
    analysis : Analysis

    Returns
    -------
    Report
        ``report.save("report.html")``.
    """
    # Reports draw with Plotly; the numbers alone must not need it.
    from calib.reports import Report

    return Report.from_analysis(analysis)
