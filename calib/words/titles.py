"""Titles of charts: the headings of what they show."""

from __future__ import annotations

from collections.abc import Sequence

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.verdict import SIGNIFICANCE, Verdict
from calib.words import verdicts
from calib.words.measures import KS, metric_text


def reliability(analysis: Analysis, method: str = "uncalibrated") -> str:
    """The heading of the verdict of a method, or the answer of its tests if it has no verdict."""
    if method == "uncalibrated":
        return analysis.verdict.heading
    if method == analysis.recommendation.method and analysis.after is not None:
        return analysis.after.heading
    if any(p < SIGNIFICANCE for p in analysis.p_adjusted(method).values()):
        return verdicts.HEADINGS["not calibrated"]
    # No test rejects, which means little if there are too few rows for a recommendation.
    few = analysis.verdict.answer == "inconclusive" and not analysis.recommendation.method
    return verdicts.HEADINGS["inconclusive" if few else "no evidence"]


def summary(analysis: Analysis, plan: PlanChoice | None = None) -> str:
    """What the chart of Overview shows: the error, and whether one is found after what is advised.

    The error is orange in the chart.
    """
    if plan is None:
        now, after, advised = analysis.verdict, analysis.after, analysis.advised
        when, name = "", "" if advised is None else advised.short_label
    else:
        now, after, name = plan.now, plan.after, "calibration"
        when = f" since {text.until_and_since(plan.since)[1]}"
    if now.answer == "inconclusive":
        return f"Too few rows to tell an error from chance{when}"
    if now.answer == "no evidence":
        return f"No error found over all rows{when}"
    error = f"Orange is the error{when or ' now'}"
    if after is None:
        return error
    left = "one is still" if after.rejected else "over all rows none is"
    return f"{error}; {left} found after {name}"


def of_method(analysis: Analysis, method: str, title: str) -> str:
    """A title with the name of the method, unless it is about the uncalibrated scores."""
    if method == "uncalibrated":
        return title
    return f"{analysis.methods[method].short_label}. {title}"


def before_after(analysis: Analysis, methods: Sequence[str]) -> str:
    """How the KS calibration error changes with the recommended calibrator."""
    advised = analysis.recommendation.method
    if advised == "uncalibrated" or advised not in methods:
        return reliability(analysis)
    errors = [analysis.methods[key].ks.statistic for key in ("uncalibrated", advised)]
    before, after = (metric_text("ks_error", error) for error in errors)
    name = analysis.methods[advised].short_label
    if before == after:
        return f"{KS} stays {before} after {name}"
    verb = "falls" if errors[1] < errors[0] else "rises"
    return f"{KS} {verb} from {before} to {after} after {name}"


def of_models(judged: Sequence[Verdict]) -> str:
    """How many of several models are not calibrated."""
    n = len(judged)
    wrong = sum(verdict.answer == "not calibrated" for verdict in judged)
    if wrong:
        return f"{wrong} of {n} models {'is' if wrong == 1 else 'are'} miscalibrated"
    if all(verdict.answer == "no evidence" for verdict in judged):
        return f"{verdicts.HEADINGS['no evidence']} in any of {n} models"
    return "No model is clearly miscalibrated"
