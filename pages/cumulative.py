"""Cumulative: calibration without bins, as differences that add up along the scores."""

import streamlit as st

from calib.figures.cumulative import PANELS, cumulative_chart
from calib.figures.cumulative_difference import cumulative_difference_chart
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame, words
from calib.ui.pages import cumulative
from calib.ui.session import choices, state

session = frame.begin("Cumulative")

with st.sidebar:
    below = st.container()
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: state.Model) -> None:
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
        cumulative.tests_table(analysis, key)
    frame.once("tests", lambda: st.caption(cumulative.TESTS_READING))


def drawings(model: state.Model, shown: tuple[str, ...]) -> None:
    analysis = model.analysis
    charts.chart(cumulative_difference_chart(analysis, shown), "chart_difference")
    for key in shown:
        st.markdown(f"### Four panels: {choices.method_label(key)}")
        with st.container(key=state.key(f"panels_{key}")):
            for panel in range(len(PANELS)):
                drawn = cumulative_chart(analysis, key, panels=(panel,))
                charts.chart(drawn, f"chart_cumulative_{key}_{panel}")
    frame.once("panels", lambda: st.caption(cumulative.PANELS))
    frame.reading(cumulative.CUMULATIVE)
    st.caption(words.protocol(analysis))


models = frame.models(session)
with below:
    chosen = widgets.shown_methods(session, models[0].analysis)
frame.show(session, models, body)
