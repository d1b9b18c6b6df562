"""The two verdicts of an analysis: of the scores, and of what is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calib.analysis.analysis import MethodResult
from calib.analysis.miscalibration import ViewWords, view_words
from calib.analysis.power import gap_design_effect
from calib.analysis.recommendation import Recommendation
from calib.analysis.verdict import SIGNIFICANCE, Verdict, judge
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix_comparison import LiveMulticlassComparison
from calib.crossfit.settings import Settings
from calib.text import percent, percents
from calib.uncertainty import slope_estimate


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

    It is corrected for all its own tests, and not for the tests before calibration.
    """
    if method in ("", "uncalibrated") or method not in methods:
        return None
    verdict = _verdict(held_out, methods[method], settings, None, compared, answers=answers)
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
    )


def _worse(methods: Mapping[str, MethodResult], method: str, words: ViewWords | None) -> str:
    """A sentence if the KS calibration error rises, with the method that has the lowest, or ""."""
    errors = {key: result.ks.statistic for key, result in methods.items()}
    if errors[method] <= errors["uncalibrated"]:
        return ""
    best = min(errors, key=lambda key: errors[key])
    of_view = f" of {words.place}" if words else ""
    lowest = "No method has a lower one than the uncalibrated scores"
    if best != "uncalibrated":
        lowest = f"{methods[best].short_label} has the lowest, {percent(errors[best])}"
    before, after = percents(errors["uncalibrated"], errors[method])
    return f"The KS calibration error{of_view} rises from {before} to {after}. {lowest}."
