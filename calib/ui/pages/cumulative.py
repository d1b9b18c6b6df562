"""Cumulative: calibration without bins, as differences that add up along the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from calib.analysis import Analysis, MethodResult
from calib.analysis.miscalibration import CURVE_TESTS
from calib.figures.cumulative import (
    PANELS,
    cumulative_chart,
    cumulative_difference_chart,
    panels_title,
)
from calib.metrics.base import TestResult
from calib.text import number, p_value, percent, plain
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame, notes, words
from calib.ui.layout.tables import Line, lines_table
from calib.words import cumulative as wording
from calib.words.measures import details
from calib.words.verdicts import TEST_NAMES

WHAT_IT_TESTS = {
    "ks": "Largest cumulative gap up to any score",
    "kuiper": "Largest gap over any interval of scores",
    "spiegelhalter": "Brier score equals that of a calibrated model",
    "hosmer_lemeshow": "Positives in ten groups of equal size",
    "line": "Calibration slope = 1 and intercept = 0",
}
STATISTIC_HELP = "The statistic, and its p-value before Holm's correction."
HOLM_HELP = (
    "The verdict uses it: a calibrated model is rejected by at least one test in at most 5% of "
    "data sets. A matrix is corrected for the tests of its classes too."
)
TESTS_READING = "With many rows even negligible differences are significant; check the effect size."
CUMULATIVE = """
- Rows are sorted by score, and **observed minus predicted** is added up. Where the curve **falls**,
  predictions are too high; where it **rises**, too low; flat means calibrated.
- The **arrow** is the KS calibration error: the largest distance of the curve from zero. The
  **Kuiper error** is the distance from the lowest to the highest point (hollow markers).
- If the first method shown were calibrated, its curve would stay in the **grey band** with the
  chosen confidence.
"""
PANELS_READING = (
    "Observed in (c) and (d): the slope of a spline through the cumulative outcomes. "
    "[Gupta et al. 2021](https://arxiv.org/abs/2006.12800), Figure 1."
)

# Pixels of a panel: two or four are beside each other.
PANEL_WIDTHS = (220, 300, 380)


def page() -> None:
    session = frame.begin("Cumulative")
    model = frame.model(session)
    shown = widgets.methods_shown(session, model.analysis)
    opening(model.analysis, shown)
    with widgets.toolbar("cumulative"):
        widgets.shown_methods(session, model.analysis)
    body(model.analysis, shown)
    notes.below(session, model)


def opening(analysis: Analysis, shown: Sequence[str]) -> None:
    first, *others = shown
    st.markdown(f"## {plain(wording.heading(analysis, first))}")
    result = analysis.methods[first]
    lines = [f"{wording.sentence(result)} {wording.saving(result)}".rstrip()]
    lines += [
        f"{plain(wording.heading(analysis, key))}. {wording.sentence(analysis.methods[key])}"
        for key in others
    ]
    st.markdown("  \n".join(lines))


def body(analysis: Analysis, shown: Sequence[str]) -> None:
    if reason := words.too_few(analysis):
        st.info(reason)
    else:
        drawings(analysis, shown)
    st.markdown("### Tests")
    tests_table([analysis.methods[key] for key in shown], analysis)
    st.caption(TESTS_READING)


def drawings(analysis: Analysis, shown: Sequence[str]) -> None:
    drawn = charts.kept(cumulative_difference_chart, analysis, shown)
    charts.chart(drawn, "chart_difference")
    frame.reading(CUMULATIVE)
    # A second method would repeat all four panels.
    first = shown[0]
    st.markdown(f"### {plain(panels_title(analysis.methods[first]))}")
    st.caption(details(analysis, "no bins"))
    with st.container(key="panels"):
        for panel in range(len(PANELS)):
            drawn = charts.kept(cumulative_chart, analysis, first, panels=(panel,))
            charts.chart(drawn, f"chart_cumulative_{panel}", widths=PANEL_WIDTHS)
    st.caption(PANELS_READING)


def tests_table(methods: Sequence[MethodResult], analysis: Analysis) -> None:
    head = [("Test", ""), ("What is tested", "And the null distribution of the statistic.")]
    for method in methods:
        head += [(method.label, STATISTIC_HELP), ("p (Holm)", HOLM_HELP)]
    lines = test_lines(methods, [analysis.p_adjusted(method.key) for method in methods])
    lines_table(f"lines_{len(lines)}_tests", "Tests of calibration", head, lines, n_text=2)


def test_lines(
    methods: Sequence[MethodResult], p_adjusted: Sequence[Mapping[str, float]]
) -> list[Line]:
    """One row per test, with the statistic and the p-values of each method."""
    lines = []
    for key, name in TEST_NAMES.items():
        tests = [method.all_tests.get(key) for method in methods]
        nulls = dict.fromkeys(test.null for test in tests if test is not None)
        if nulls:
            cells = [(name,), (WHAT_IT_TESTS[key], "; ".join(nulls))]
            for test, adjusted in zip(tests, p_adjusted, strict=True):
                cells += _result(key, test, adjusted.get(key, math.nan))
            lines.append(Line(cells))
    return lines


def _result(key: str, test: TestResult | None, p_adjusted: float) -> list[tuple[str, ...]]:
    """The cells of a method: the statistic with its p-value, and the adjusted p-value."""
    if test is None:
        return [(), ()]
    statistic = percent(test.statistic) if key in CURVE_TESTS else number(test.statistic, 2)
    return [(statistic, p_value(test.p_value)), (p_value(p_adjusted),)]
