"""Cumulative: calibration without bins, as differences that add up along the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import SIGNIFICANCE
from calib.figures.cumulative import PANELS, cumulative_chart
from calib.figures.cumulative_difference import cumulative_difference_chart
from calib.reports.render.sections import TEST_NAMES
from calib.text import number, p_value
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame, words
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, state

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
PANELS_READING = (
    "(a) Cumulative score and cumulative outcome against the share of rows. (b) The same against "
    "the cumulative score, so that the score is a straight line. (c) Score and observed rate "
    "against the share of rows. (d) Observed rate against the score. The rate is the slope of a "
    "spline through the cumulative outcomes. [Gupta et al. 2021](https://arxiv.org/abs/2006.12800)"
    ", Figure 1."
)


def page() -> None:
    session = frame.begin("Cumulative")
    with st.sidebar:
        below = st.container()
        widgets.control(session, choices.CONFIDENCE_LEVEL)
        widgets.changed(session)
    models = frame.models(session)
    with below:
        chosen = widgets.shown_methods(session, models[0].analysis)
    frame.show(session, models, partial(body, chosen))


def body(chosen: Sequence[str], model: state.Model) -> None:
    analysis = model.analysis
    shown = tuple(key for key in chosen if key in analysis.methods) or ("uncalibrated",)
    st.markdown("## Cumulative differences")
    st.markdown("  \n".join(words.errors_sentence(analysis.methods[key]) for key in shown))
    if reason := words.too_few(analysis):
        st.info(reason)
    else:
        drawings(model, shown)
    for key in shown:
        st.markdown(f"### Tests: {choices.method_label(key)}")
        tests_table(analysis, key)
    frame.once("tests", lambda: st.caption(TESTS_READING))


def drawings(model: state.Model, shown: tuple[str, ...]) -> None:
    analysis = model.analysis
    charts.chart(cumulative_difference_chart(analysis, shown), "chart_difference")
    for key in shown:
        st.markdown(f"### Four panels: {choices.method_label(key)}")
        with st.container(key=state.key(f"panels_{key}")):
            for panel in range(len(PANELS)):
                drawn = cumulative_chart(analysis, key, panels=(panel,))
                charts.chart(drawn, f"chart_cumulative_{key}_{panel}")
    frame.once("panels", lambda: st.caption(PANELS_READING))
    frame.reading(CUMULATIVE)
    st.caption(words.protocol(analysis))


def tests_table(analysis: Analysis, key: str) -> None:
    head = [("Test", ""), ("Statistic", ""), ("p", "Before the correction."), ("p (Holm)", "")]
    method = analysis.methods[key]
    lines = test_lines(method, analysis.p_adjusted(key))
    lines_table(f"lines_{len(lines)}_tests_{key}", f"Tests: {method.label}", head, lines)


def test_lines(method: MethodResult, p_adjusted: Mapping[str, float]) -> list[Line]:
    """One row per test. Below its name is what it tests, and below p its null distribution."""
    tests = method.all_tests
    return [
        Line(
            [
                (TEST_NAMES[key], WHAT_IT_TESTS[key]),
                (number(tests[key].statistic, 4 if key in ("ks", "kuiper") else 2),),
                (p_value(tests[key].p_value), tests[key].null),
                (p_value(p_adjusted[key]),),
            ]
        )
        for key in TEST_NAMES
        if key in tests
    ]
