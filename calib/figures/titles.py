"""Titles of charts: short statements of what a chart shows, from the analysis that exists.

A title never claims more than the tests do. Pages say the verdict in their headings, so a title
says what it means for the dots that are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis import Analysis
from calib.analysis.miscalibration import CURVE_TESTS
from calib.analysis.verdict import SIGNIFICANCE, Verdict
from calib.figures.words import KS, metric_text

NO_EVIDENCE = "No evidence of miscalibration"
# A diagram is of all rows, whose parts may have errors that cancel.
ON_AVERAGE = f"{NO_EVIDENCE} on average"
TOO_FEW = "Too few rows to detect typical miscalibration"
# Titles of scores that tests reject, by the kind of their error.
KINDS = {
    "underconfident": "Low predictions are too high, high ones too low",
    "overconfident": "Low predictions are too low, high ones too high",
    "uneven": "Some predictions are too high, others too low",
    "reversed": "Observed frequency falls where predictions rise",
    "uninformative": "Observed frequency does not clearly rise with predictions",
}
# Confidences have one direction: their mean against the accuracy.
TOP_LABEL_KINDS = {
    "overconfident": "Accuracy is below confidence",
    "underconfident": "Accuracy is above confidence",
}
# If no test of the curve rejects, the direction is that of the calibration slope alone.
SLOPE_KINDS = {
    "overconfident": "Predictions are too extreme",
    "underconfident": "Predictions are not extreme enough",
}


def reliability(analysis: Analysis, method: str = "uncalibrated") -> str:
    """What a reliability diagram of a method shows."""
    advised = analysis.recommendation.method
    if method == "uncalibrated":
        return _of_verdict(analysis, analysis.verdict, advised)
    if method == advised and analysis.after is not None:
        return _of_verdict(analysis, analysis.after)
    if any(p < SIGNIFICANCE for p in analysis.p_adjusted(method).values()):
        return "Evidence of miscalibration"
    few = _of_verdict(analysis, analysis.verdict, advised) == TOO_FEW
    return TOO_FEW if few else ON_AVERAGE


def _of_verdict(analysis: Analysis, verdict: Verdict, advised: str = "") -> str:
    """`advised` is the recommendation that a verdict may disagree with."""
    if verdict.answer == "no evidence":
        return ON_AVERAGE
    if verdict.answer == "inconclusive":
        if verdict.rejected:
            return "Inconclusive: a test rejects calibration"
        if advised in ("", "uncalibrated"):
            return TOO_FEW
        return "Inconclusive: no test rejects calibration"
    words = analysis.words
    if verdict.kind in ("too high", "too low"):
        compared = "Fewer" if verdict.kind == "too high" else "More"
        return f"{compared} rows {words.positive} than predicted"
    if verdict.kind == "some classes":
        return f"{NO_EVIDENCE} in {words.place}"
    kinds = KINDS
    if words.top_label:
        kinds = KINDS | TOP_LABEL_KINDS
    elif not set(CURVE_TESTS) & set(verdict.rejected):
        kinds = KINDS | SLOPE_KINDS
    return kinds[verdict.kind]


def of_method(analysis: Analysis, method: str, title: str) -> str:
    """A title with the name of the method, unless it is about the uncalibrated scores."""
    if method == "uncalibrated":
        return title
    return f"{analysis.methods[method].short_label}: {title[:1].lower()}{title[1:]}"


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


def of_models(verdicts: Sequence[Verdict]) -> str:
    """How many of several models are not calibrated."""
    n = len(verdicts)
    wrong = sum(verdict.answer == "not calibrated" for verdict in verdicts)
    if wrong:
        return f"{wrong} of {n} models {'is' if wrong == 1 else 'are'} not calibrated"
    if all(verdict.answer == "no evidence" for verdict in verdicts):
        return f"{NO_EVIDENCE} in any of {n} models"
    return "No model is clearly miscalibrated"
