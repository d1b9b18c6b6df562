"""Probability calibration: diagnose, repair, report.

Examples
--------
>>> import calib
>>> predictions = calib.examples.EXAMPLES["naive_bayes"].load()
>>> analysis = calib.analyze(predictions)
>>> analysis.verdict.kind
'overconfident'
"""

# ruff: noqa: F401 -- the imports below are for type checkers and editors

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from calib.reports import Report
    from calib.settings import Settings

__version__ = "0.1.0"

# Where each public name lives. They are imported when they are first used: a program that needs the
# metrics alone waits for neither pandas nor scikit-learn.
_HOMES = {
    "calib.analysis": ("Analysis", "analyze"),
    "calib.analysis.decisions": ("decisions",),
    "calib.analysis.model_comparison": ("compare_models",),
    "calib.analysis.periods": ("periods",),
    "calib.analysis.slices": ("aggregate", "slices"),
    "calib.calibrators": ("calibrator",),
    "calib.calibrators.meta_estimators": ("CalibratedModel", "ScoreCalibrator"),
    "calib.core.aggregate": ("Aggregate",),
    "calib.core.cells": ("ScoreCells",),
    "calib.core.predictions": ("Predictions",),
    "calib.loading": ("InputError", "load", "load_models"),
    "calib.loading.examples": ("examples",),
    "calib.matrices": ("compare_multiclass", "default_settings", "matrices"),
    "calib.metrics": ("metrics",),
    "calib.multiclass": ("multiclass", "multiclass_calibrator"),
    "calib.settings": ("Settings",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["report", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calib' has no attribute {name!r}")
    home = importlib.import_module(_HOME[name])
    found = home if home.__name__.endswith(f".{name}") else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def report(analysis: "Analysis") -> "Report":
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
