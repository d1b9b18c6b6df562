"""Calibration without bins: one heading and one sentence of a method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import SIGNIFICANCE
from calib.text import (
    between_percents,
    level,
    number,
    p_value,
    percent,
    percents,
    score_percent,
    score_percents,
)
from calib.words import titles
from calib.words.measures import KS

# One sentence below each of the four panels.
PANELS_ABOUT = (
    "Scores and outcomes are added up from the lowest score on: KS is the largest gap between the "
    "two sums, and a calibrated model stays in the grey band in {} of samples.",
    "The same sums, with the predicted one as a straight line.",
    "The probability of each row: observed is the slope of a spline through the sums of (a).",
    "The same by score: where observed is above predicted, the scores are too low.",
)
NEAR_THE_END = 0.98  # From this share of rows on, the largest gap is that of all rows.
# A range of scores is named from its first row, unless it leaves out fewer rows at that end, and
# the curve has not left the band there.
MIN_LEFT_OUT = 0.1


def heading(analysis: Analysis, key: str) -> str:
    """Which predictions of a method are too high or too low, with its name."""
    return titles.of_method(analysis, key, finding(analysis.methods[key], analysis.p_adjusted(key)))


def finding(result: MethodResult, p_adjusted: Mapping[str, float]) -> str:
    """Which predictions of a method are too high or too low.

    It names the range between the lowest and the highest point of the curve, if the KS or the
    Kuiper test rejects. `p_adjusted` has the p-values of the tests after Holm's correction.
    """
    curve = result.cumulative
    p_values = [p_adjusted[key] for key in ("ks", "kuiper") if key in p_adjusted]
    if not any(p < SIGNIFICANCE for p in p_values):
        return "No cumulative difference beyond chance"
    difference = curve.difference
    first, last = sorted((int(difference.argmin()), int(difference.argmax())))
    rises = difference[last] > difference[first]
    wrong, opposite = ("too low", "too high") if rises else ("too high", "too low")
    below, above = abs(difference[first]), abs(difference[-1] - difference[last])
    half, share = curve.null_half_width, curve.fractile
    from_start = below <= half and share[first] < MIN_LEFT_OUT
    to_end = above <= half and 1.0 - share[last] < MIN_LEFT_OUT
    if from_start and to_end:
        mean, observed = percents(curve.cumulative_score[-1], curve.cumulative_outcome[-1])
        return f"Predictions are {wrong}: {mean} on average, {observed} observed"
    low, high = score_percents(curve.score[first], curve.score[last])
    where, others = f"between {low} and {high}", "others"
    if from_start or to_end:
        where, others = (
            (f"up to {high}", "higher ones") if from_start else (f"above {low}", "lower ones")
        )
    rest = f", {others} are {opposite}" if max(below, above) > half else ""
    return f"Predictions {where} are {wrong}{rest}"


def sentence(method: MethodResult) -> str:
    """Both cumulative errors of a method, with p-values before Holm's correction."""
    parts = [
        f"{name} {percent(method.all_tests[key].statistic)} "
        f"({p_value(method.all_tests[key].p_value)})"
        for key, name in (("ks", KS), ("kuiper", "Kuiper error"))
        if key in method.all_tests
    ]
    return f"{', '.join(parts)}."


def saving(method: MethodResult) -> str:
    """What the Kuiper error bounds, see docs/definitions.md; "" without a Kuiper test."""
    if "kuiper" not in method.all_tests:
        return ""
    most = number(method.all_tests["kuiper"].statistic)
    return (
        f"At any threshold t, where a false alarm costs t and a miss 1 − t, no monotone calibrator "
        f"saves more than {most} per row."
    )


def furthest(result: MethodResult) -> int:
    """The position of the point whose distance from zero is the KS calibration error."""
    return int(np.abs(result.cumulative.difference).argmax())


def leaves_band(result: MethodResult) -> bool:
    """Whether the largest gap is beyond what a calibrated model shows by chance."""
    return result.ks.statistic > result.cumulative.null_half_width


def panels_heading(result: MethodResult) -> str:
    """The KS calibration error with its interval, and the p-value of its test."""
    error = result.metrics["ks_error"]
    at = level(result.cumulative.confidence_level)
    bounds = "" if np.isnan(error.low) else f" ({at} CI {between_percents(error.low, error.high)})"
    return (
        f"{result.short_label}: {KS} {percent(error.value)}{bounds}, "
        f"KS test {p_value(result.ks.p_value)}"
    )


def panel_titles(result: MethodResult) -> tuple[str, ...]:
    """What each of the four panels of Gupta et al. shows."""
    curve, at = result.cumulative, furthest(result)
    score, error = score_percent(curve.score[at]), percent(result.ks.statistic)
    is_beyond = leaves_band(result)
    of_all = curve.fractile[at] >= NEAR_THE_END
    wrong = "too low" if curve.difference[at] > 0.0 else "too high"
    where = "On average" if of_all else f"Up to score {score}"
    band = level(curve.confidence_level)
    return (
        f"(a) Largest gap: KS {error}, at score {score}",
        f"(b) The gap {'leaves' if is_beyond else 'stays in'} the {band} band",
        f"(c) {where}, scores are {wrong}" if is_beyond else "(c) No difference beyond chance",
        "(d) Observed frequency by score",
    )


def panels_about(result: MethodResult) -> tuple[str, ...]:
    """One sentence about each panel."""
    return tuple(about.format(level(result.cumulative.confidence_level)) for about in PANELS_ABOUT)
