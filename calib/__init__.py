"""Probability calibration: diagnose, repair, report.

Examples
--------
>>> import calib
>>> predictions = calib.examples.EXAMPLES["naive_bayes"].load()
>>> analysis = calib.analyze(predictions)
>>> analysis.verdict.kind
'overconfident'
"""

# Names that are not public start with "_", or exist only for type checkers.
import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from calib import metrics as metrics
    from calib import plot as plot
    from calib.analysis import Analysis as Analysis
    from calib.analysis import LiveAnalysis as LiveAnalysis
    from calib.analysis import decisions as decisions
    from calib.analysis import periods as periods
    from calib.analysis import slices as slices
    from calib.analysis.centres import next_centre as next_centre
    from calib.analysis.decisions.certificate import certify as certify
    from calib.analysis.from_model import calibrated_scores as calibrated_scores
    from calib.analysis.from_model import from_estimator as from_estimator
    from calib.analysis.from_model import from_predictions as from_predictions
    from calib.analysis.grades import grades as grades
    from calib.analysis.judge import JudgeResult as JudgeResult
    from calib.analysis.model_comparison import compare_models as compare_models
    from calib.calibrators import calibrator as calibrator
    from calib.calibrators import multiclass_calibrator as multiclass_calibrator
    from calib.calibrators.inverse import inverse as inverse
    from calib.calibrators.meta_estimators import CalibratedModel as CalibratedModel
    from calib.calibrators.meta_estimators import ScoreCalibrator as ScoreCalibrator
    from calib.crossfit.epsilon import compare_clipping as compare_clipping
    from calib.crossfit.matrix_comparison import compare_multiclass as compare_multiclass
    from calib.crossfit.settings import Settings as Settings
    from calib.crossfit.settings import default_settings as default_settings
    from calib.data.aggregate import Aggregate as Aggregate
    from calib.data.aggregating import aggregate as aggregate
    from calib.data.base import Progress as Progress
    from calib.data.cells import ScoreCells as ScoreCells
    from calib.data.file_options import ArrowTable
    from calib.data.predictions import Predictions as Predictions
    from calib.distribution import __version__ as __version__
    from calib.exports import export as export
    from calib.exports import load_calibrator as load_calibrator
    from calib.features.automate.reading import decisions_log as decisions_log
    from calib.features.conventions.result import conventions as conventions
    from calib.features.monitor.replay import monitor as monitor
    from calib.features.segments.search import find_segments as find_segments
    from calib.judging import compare_judges as compare_judges
    from calib.judging import judge as judge
    from calib.loading import InputError as InputError
    from calib.loading import InputWarning as InputWarning
    from calib.loading import examples as examples
    from calib.loading import load as load
    from calib.loading import load_models as load_models
    from calib.reports import Report as Report
    from calib.scanning import scan as scan
    from calib.scanning import scan_sample as scan_sample
    from calib.scanning import scan_sql as scan_sql

# Public names by their modules, which are imported when a name is first used. A program that needs
# only the metrics then waits for neither pandas nor scikit-learn.
_NAMES = {
    "calib.analysis": ("Analysis", "LiveAnalysis"),
    "calib.features.conventions.result": ("conventions",),
    "calib.analysis.decisions": ("decisions",),
    "calib.analysis.decisions.certificate": ("certify",),
    "calib.analysis.from_model": ("calibrated_scores", "from_estimator", "from_predictions"),
    "calib.analysis.centres": ("next_centre",),
    "calib.analysis.grades": ("grades",),
    "calib.analysis.model_comparison": ("compare_models",),
    "calib.features.automate.reading": ("decisions_log",),
    "calib.features.monitor.replay": ("monitor",),
    "calib.analysis.periods": ("periods",),
    "calib.analysis.slices": ("slices",),
    "calib.features.segments.search": ("find_segments",),
    "calib.calibrators": ("calibrator", "multiclass_calibrator"),
    "calib.calibrators.inverse": ("inverse",),
    "calib.calibrators.meta_estimators": ("CalibratedModel", "ScoreCalibrator"),
    "calib.data.aggregate": ("Aggregate",),
    "calib.data.aggregating": ("aggregate",),
    "calib.data.cells": ("ScoreCells",),
    "calib.data.predictions": ("Predictions",),
    "calib.exports": ("export", "load_calibrator"),
    "calib.judging": ("compare_judges", "judge"),
    "calib.loading": ("InputError", "InputWarning", "load", "load_models"),
    "calib.loading.examples": ("examples",),
    "calib.crossfit.epsilon": ("compare_clipping",),
    "calib.crossfit.matrix_comparison": ("compare_multiclass",),
    "calib.metrics": ("metrics",),
    "calib.plot": ("plot",),
    "calib.crossfit.settings": ("Settings", "default_settings"),
    "calib.scanning": ("scan", "scan_sample", "scan_sql"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["analyze", "report", *_MODULES]
# The version is read from files, which `import calib` alone need not wait for.
_MODULES["__version__"] = "calib.distribution"


def __getattr__(name: str) -> "Any":
    if name not in _MODULES:
        raise AttributeError(f"module 'calib' has no attribute {name!r}")
    module = _import_module(_MODULES[name])
    # A name without an object in its module stands for the module.
    value = getattr(module, name, module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})


def analyze(
    predictions: "Predictions | Aggregate | pd.DataFrame | ArrowTable",
    settings: "Settings | Mapping[str, Any] | None" = None,
    *,
    earlier: "LiveAnalysis | None" = None,
    strict: bool = False,
    progress: "Progress | None" = None,
) -> "LiveAnalysis":
    """Measure how well predictions are calibrated, and compare calibrators.

    Parameters
    ----------
    predictions : Predictions, Aggregate or DataFrame
        The columns of a DataFrame (of pandas, Polars, pyarrow) are guessed as `calib.load` guesses
        them.
    settings : Settings or mapping of str to object, optional
        Default: `default_settings` of the predictions. A mapping names only the settings that
        differ from the default.
    earlier : LiveAnalysis, optional
        An earlier analysis of the same predictions. Results that do not change are reused.
    strict : bool, default False
        Refuse a DataFrame of which anything would be guessed, as in `calib.load`.
    progress : callable, optional
        Called as ``progress(share, step)``: the share that is done, 0 to 1, and the current step.

    Returns
    -------
    LiveAnalysis
        Metrics, verdict, recommendation and fitted calibrators.

    Raises
    ------
    InputError
        If the columns of a DataFrame are ambiguous.
    ValueError
        If all rows are of one class, there are too few rows, or a setting is not allowed.
    TypeError
        If the predictions or a setting are of a type that is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"score": rng.random(500)})
    >>> frame["outcome"] = rng.random(500) < frame["score"]
    >>> analyze(frame, {"methods": ("platt",)}).verdict.kind
    'calibrated'
    """
    import pandas as pd

    from calib import analysis
    from calib.data.base import no_progress
    from calib.loading import InputError, load

    if isinstance(predictions, pd.DataFrame) or hasattr(predictions, "__arrow_c_stream__"):
        try:
            predictions = load(predictions, strict=strict)
        except InputError as error:
            message = (
                f"{error} Call calib.load with the arguments that it needs, and analyze the result."
            )
            raise InputError(error.problems, message, error.mapping) from None
    progress = progress or no_progress
    return analysis.analyze(predictions, settings, earlier=earlier, progress=progress)


def report(
    analysis: "Analysis | JudgeResult",
    template: "str | Path" = "",
    answers: "Mapping[str, str] | None" = None,
) -> "Report":
    """Make a report of an analysis or of a judge, which can be saved as .html, .json or .md.

    Parameters
    ----------
    analysis : Analysis or JudgeResult
        Result of `calib.analyze` or of `calib.judge`.
    template : str or path, optional
        Print the report under the items of a checklist: "clinical" (TRIPOD+AI), "credit", "ai-act",
        "plain", or a file of your own, see docs/reports.md. The metrics that it needs, slices,
        periods and decisions are computed.
    answers : mapping of str to str, optional
        Texts for the fields of the template, by their keys.

    Returns
    -------
    Report
        Its method ``save("report.html")`` writes the file.

    Raises
    ------
    ValueError
        If there are fewer than 10 rows (of a judge: labels), all labels of a judge are alike, the
        analysis was read from a report, or the template or an answer is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"score": np.linspace(0.01, 0.99, 500)})
    >>> frame["outcome"] = np.random.default_rng(0).random(500) < frame["score"]
    >>> made = report(analyze(frame, {"methods": ("platt",)}))
    >>> made.analysis.verdict.kind, len(made.html()) > 1000
    ('calibrated', True)
    """
    # Reports draw with Plotly, and `analyze` must not need it.
    from calib.analysis.decisions import Costs
    from calib.analysis.judge import JudgeResult
    from calib.reports import Report, checklist, parts_of, with_metrics

    chosen = checklist(template, answers)
    if isinstance(analysis, JudgeResult):
        return Report.from_judge(analysis, checklist=chosen)
    if chosen is None:
        return Report.from_analysis(analysis)
    live = with_metrics(analysis, chosen)
    parts = parts_of(live.source, live, costs=Costs())
    return Report.from_analysis(live, parts=parts, checklist=chosen)
