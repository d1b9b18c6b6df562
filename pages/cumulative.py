"""Cumulative: calibration without bins, as differences that add up along the scores."""

import streamlit as st

from calib.figures.cumulative import cumulative_chart
from calib.figures.cumulative_difference import cumulative_difference_chart
from calib.ui import choices, evidence, frame, how_to_read, state, widgets, words
from calib.ui.frame import Model

PANELS = range(4)

session = frame.begin("Cumulative")

with st.sidebar:
    chosen = widgets.shown_methods(session)
    examined = widgets.control(session, choices.CUMULATIVE, session.settings.methods)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    shown = tuple(key for key in chosen if key in analysis.methods) or ("uncalibrated",)
    method = examined if examined in analysis.methods else "uncalibrated"
    st.markdown("## Cumulative differences")
    picture, reading = st.columns([3, 2], gap="large")
    with picture:
        frame.chart(cumulative_difference_chart(analysis, shown), "chart_difference")
    with reading:
        for key in shown:
            st.markdown(evidence.errors_said(analysis.methods[key]))
        frame.reading(how_to_read.CUMULATIVE, "How to read it")
        st.caption(words.protocol(analysis))

    st.markdown(f"### Tests: {words.method_label(method)}")
    evidence.tests_table(analysis.methods[method])

    st.markdown(f"### Four panels: {words.method_label(method)}")
    with st.container(horizontal=True, key=state.key("panels")):
        for panel in PANELS:
            drawn = cumulative_chart(analysis, method, panels=(panel,))
            frame.chart(drawn, f"chart_cumulative_{panel}")
    frame.once("panels", lambda: st.caption(how_to_read.PANELS))


frame.show(session, frame.models(session), body)
