"""Tests of calibration on the Cumulative page, and how to read its charts."""

from __future__ import annotations

from collections.abc import Mapping

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import SIGNIFICANCE
from calib.reports.render.sections import TESTS as NAMES
from calib.text import number, p_value
from calib.ui.layout.tables import Line, lines_table

WHAT_IT_TESTS = {
    "ks": "Largest cumulative gap up to any score",
    "kuiper": "Largest gap over any interval of scores",
    "spiegelhalter": "Brier score equals that of a calibrated model",
    "hosmer_lemeshow": "Positives in ten groups of equal size",
    "line": "Calibration slope = 1 and intercept = 0",
}
TESTS_READING = (
    "No test can prove calibration. The last p-value is adjusted for the number of tests, for a "
    "matrix including those of the classes (Holm): "
    f"calibration is rejected if it is below {SIGNIFICANCE:g}, and the verdict uses it. A "
    "calibrated model is rejected by any of them in at most 5% of data sets. With many rows "
    "even negligible differences are significant; check the effect size."
)
CUMULATIVE = """
- Rows are sorted by score. The curve adds up **observed minus predicted** over them, without bins
  and without smoothing.
- Where the curve **falls**, predictions are too high; where it **rises**, too low; flat means
  calibrated.
- The **arrow** is the KS error: the largest distance of the curve from zero. If the first method
  shown were calibrated, its curve would stay in the grey band with the chosen confidence.
- The **Kuiper error** is the distance from the lowest to the highest point (hollow markers). It is
  the largest gap over any interval of scores.
"""
PANELS = (
    "(a) Cumulative score and cumulative outcome against the share of rows. (b) The same against "
    "the cumulative score, so that the score is a straight line. (c) Score and observed rate "
    "against the share of rows. (d) Observed rate against the score. The rate is the slope of a "
    "spline through the cumulative outcomes. [Gupta et al. 2021](https://arxiv.org/abs/2006.12800)"
    ", Figure 1."
)


def tests_table(analysis: Analysis, key: str) -> None:
    head = [("Test", ""), ("Statistic", ""), ("p", "Before the correction."), ("p (Holm)", "")]
    method = analysis.methods[key]
    lines = test_lines(method, analysis.p_adjusted(key))
    lines_table(f"lines_{len(lines)}_tests_{key}", f"Tests: {method.label}", head, lines)


def test_lines(method: MethodResult, p_adjusted: Mapping[str, float]) -> list[Line]:
    """One row per test: what it tests stands below its name, its null distribution below p."""
    found = method.all_tests
    return [
        Line(
            [
                (NAMES[key], WHAT_IT_TESTS[key]),
                (number(found[key].statistic, 4 if key in ("ks", "kuiper") else 2),),
                (p_value(found[key].p_value), found[key].null),
                (p_value(p_adjusted[key]),),
            ]
        )
        for key in NAMES
        if key in found
    ]
