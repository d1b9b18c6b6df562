"""The two verdicts of an analysis: of the scores, and of what is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calib.analysis.analysis import MethodResult
from calib.analysis.recommendation import Recommendation, gap_design_effect
from calib.analysis.verdict import SIGNIFICANCE, Verdict, judge
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix_comparison import LiveMulticlassComparison
from calib.crossfit.settings import Settings
from calib.numerics.binning import quantiles
from calib.text import joined, percent, percents, score_percents, significant
from calib.uncertainty import slope_estimate
from calib.words.findings import ViewWords, view_words


def verdict_before(
    held_out: CrossFitted,
    scores: MethodResult,
    settings: Settings,
    advice: Recommendation,
    compared: LiveMulticlassComparison | None = None,
    *,
    answers: bool,
) -> Verdict:
    """The verdict of the uncalibrated scores, which says if the recommendation disagrees."""
    return _verdict(held_out, scores, settings, advice, compared, answers=answers)


def verdict_after(
    held_out: CrossFitted,
    methods: Mapping[str, MethodResult],
    settings: Settings,
    method: str,
    compared: LiveMulticlassComparison | None = None,
    *,
    answers: bool = False,
) -> Verdict | None:
    """The verdict of the held-out scores of a calibrator, or None if `method` is none.

    It is corrected for all its own tests, and not for the tests before calibration. If the
    calibrators were fitted in folds, it says how well they are known, and no power.
    """
    if method in ("", "uncalibrated") or method not in methods:
        return None
    certainty = correction_error(held_out, method) if held_out.protocol == "folds" else None
    verdict = _verdict(
        held_out, methods[method], settings, None, compared, answers=answers, certainty=certainty
    )
    words = view_words(settings.view) if compared else None
    scores = f"Held-out scores of {words.place} and the classes" if words else "Held-out scores"
    notes = (f"{scores}: {verdict.tested}.", _worse(methods, method, words))
    return replace(verdict, notes=tuple(filter(None, notes)))


def _verdict(
    held_out: CrossFitted,
    result: MethodResult,
    settings: Settings,
    advice: Recommendation | None,
    compared: LiveMulticlassComparison | None,
    *,
    answers: bool,
    certainty: str | None = None,
) -> Verdict:
    cells, slope = held_out.cells[result.key], result.metrics["slope"]
    # A verdict has its own confidence level, independent of the settings.
    level = 1.0 - SIGNIFICANCE
    if settings.confidence_level != level:
        slope = slope_estimate(held_out.view(result.key), cells, confidence_level=level)
    words, classes = view_words(settings.view, answers=answers), None
    if compared is not None:
        words = replace(words, loss="multiclass log loss")
        classes = compared.scored[result.key].classes
    return judge(
        cells,
        result.all_tests,
        advice,
        slope=slope,
        words=words,
        classes=classes,
        design_effect=gap_design_effect(held_out.view(result.key)),
        certainty=certainty,
    )


def correction_error(held_out: CrossFitted, method: str) -> str:
    """How well a cross-fitted calibrator is known at low, middle and high scores, or "".

    The tests of cross-fitted scores would not find an error of the calibrator: it was fitted to the
    other rows of the same sample, so the mean gap of all rows is nearly 0 whatever the sample was.
    """
    scores = np.unique(quantiles(held_out.fitted_on, np.array([0.1, 0.5, 0.9])))
    errors = held_out.function_error(method, scores)
    if errors is None or not np.isfinite(errors).any():
        return ""
    finite = np.isfinite(errors)
    places = score_percents(*held_out.calibrators[method].predict(scores[finite]).tolist())
    sizes = (significant(100.0 * error, 2) for error in errors[finite].tolist())
    parts = [f"±{size} points around {place}" for size, place in zip(sizes, places, strict=True)]
    return f"The correction is known to {joined(parts)} (standard errors)."


def _worse(methods: Mapping[str, MethodResult], method: str, words: ViewWords | None) -> str:
    """A sentence if the KS calibration error rises, with the method that has the lowest, or ""."""
    errors = {key: result.metrics["ks_error"].value for key, result in methods.items()}
    if errors[method] <= errors["uncalibrated"]:
        return ""
    best = min(errors, key=lambda key: errors[key])
    of_view = f" of {words.place}" if words else ""
    lowest = "No method has a lower one than the uncalibrated scores"
    if best != "uncalibrated":
        lowest = f"{methods[best].short_label} has the lowest, {percent(errors[best])}"
    before, after = percents(errors["uncalibrated"], errors[method])
    return f"The KS calibration error{of_view} rises from {before} to {after}. {lowest}."
