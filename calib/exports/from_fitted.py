"""The contents of the file of a fitted calibrator."""

from __future__ import annotations

import platform
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.calibrators.forms import Form, RowsForm, Within
from calib.calibrators.one_vs_rest import OneVsRest
from calib.data.file_options import ROW_TRANSFORMS
from calib.data.origin import conversion_of
from calib.distribution import __version__
from calib.exports.condition import rows_to_test, scores_to_test
from calib.exports.document import MAX_DEVIATION, ExportedCalibrator, ExportError, Json, deviation
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.score_grid import middles

if TYPE_CHECKING:
    from calib.analysis import Analysis

PACKAGE_VERSIONS = {"calib": __version__, "numpy": np.__version__, "scipy": scipy.__version__}


def describe(
    fitted: Calibrator | MatrixCalibrator,
    *,
    analysis: Analysis | None = None,
    classes: tuple[str, ...] | None = None,
    conversion: Conversion | None = None,
) -> ExportedCalibrator:
    """The contents of the file of a fitted calibrator, with test scores.

    The conversion is by default the one with which the data of the analysis were read. Raises
    ExportError if its form does not give the same numbers as the fitted calibrator. The
    message names the score.
    """
    method = method_of(fitted)
    matrix = isinstance(fitted, MatrixCalibrator)
    try:
        form = fitted.to_map()
    except NotImplementedError as error:
        raise ExportError(str(error)) from None
    if isinstance(fitted, Calibrator) and fitted.step_:
        low, high = middles(np.array([0.0, 1.0]), fitted.step_).tolist()
        form = Within(low, high, fitted.to_map())
    if conversion is None:
        conversion = Conversion(**conversion_of(None if analysis is None else analysis.data.origin))
    if conversion.transform == "logit" and isinstance(form, Form) and form.reads_log_odds:
        conversion = replace(conversion, keeps_log_odds=True)
    elif (far := getattr(getattr(analysis, "source", None), "far", None)) and far.n_beyond:
        warnings.warn(
            f"Exported code of {method} reads probabilities. {far.beyond}, so it gives one value "
            "to all that are below, and one to all that are above.",
            RuntimeWarning,
            stacklevel=3,
        )
    if conversion.transform in ROW_TRANSFORMS and not matrix:
        raise ExportError(
            f"The scores were converted by transform={conversion.transform!r}, which needs the "
            "scores of all classes, and this calibrator has one score per row. Pass "
            'transform="none" to calib.export, and convert the scores before the file is used.'
        )
    held_out = None
    if analysis is not None and method in analysis.methods:
        metrics = analysis.methods[method].metrics
        held_out = {k: e.value for k, e in metrics.items() if np.isfinite(e.value)}
    if isinstance(fitted, MatrixCalibrator):
        classes = classes or tuple(map(str, range(fitted.n_classes_)))
        if len(classes) != fitted.n_classes_:
            raise ValueError(f"classes must name {fitted.n_classes_} classes, got {len(classes)}.")
    knots = fitted.knots() if isinstance(fitted, Calibrator) else np.empty(0)
    scores = tests_of(form, conversion, getattr(fitted, "n_classes_", 0), knots)
    exported = ExportedCalibrator(
        method=method,
        parameters={k: _parameter(v) for k, v in fitted.get_params(deep=False).items()},
        form=form,
        conversion=conversion,
        classes=classes if matrix else None,
        n_rows=int(fitted.n_rows_),
        fitted_range=None if matrix else fitted.fitted_range_,
        base_rate=fitted.fitted_base_rate_,
        monotone=not matrix and _never_falls(fitted),
        versions={**PACKAGE_VERSIONS, "python": platform.python_version()},
        data=None if analysis is None else _data(analysis),
        held_out=held_out,
        scores=scores,
        expected=np.empty(0),
    )
    exported = replace(exported, expected=exported.predict(scores))
    _compare_with_fitted(exported, fitted)
    return exported


def tests_of(
    form: Form | RowsForm, conversion: Conversion, n_classes: int, knots: FloatArray
) -> FloatArray:
    """Test scores of a form."""
    if isinstance(form, Form):
        return scores_to_test(form, conversion, knots)
    return rows_to_test(conversion, n_classes)


def _compare_with_fitted(
    exported: ExportedCalibrator, fitted: Calibrator | MatrixCalibrator
) -> None:
    given = [exported.converted(exported.scores)]
    if exported.conversion.keeps_log_odds:
        given.append(-exported.scores if exported.conversion.swap else exported.scores)
    expected = fitted.predict(*given)
    wrong = deviation(expected, exported.expected) > MAX_DEVIATION
    if wrong.any():
        first = np.argwhere(wrong)[0]
        where, entry = exported.scores[first[0]], tuple(first)
        raise ExportError(
            f"The exported function of {exported.label} must give what the fitted one predicts, "
            f"got {exported.expected[entry].item()!r} instead of {expected[entry].item()!r} at "
            f"{where.tolist()}."
        )


def method_of(fitted: Calibrator | MatrixCalibrator) -> str:
    if isinstance(fitted, OneVsRest):
        return fitted.method if isinstance(fitted.method, str) else method_of(fitted.method)
    if getattr(fitted, "penalty", None) == "l2":
        return "dirichlet_l2"
    for key, method in CALIBRATORS.items():
        if type(fitted) in (method.create, method.create_matrix):
            return key
    return type(fitted).__name__


def _never_falls(fitted: Calibrator) -> bool:
    """Whether the method is increasing, or this fit does not decrease on a fine grid."""
    if fitted.monotone is True:
        return True
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, 10_001), fitted.knots()]))
    return bool((np.diff(fitted.predict(grid)) >= 0.0).all())


def _data(analysis: Analysis) -> Json:
    data = analysis.data
    return {"name": data.name, "fingerprint": data.fingerprint, "n_rows": int(data.n_rows)}


def _parameter(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
