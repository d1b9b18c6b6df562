"""Reliability: observed frequency against predicted probability, bin by bin."""

import streamlit as st

from calib.figures import reliability_chart, sensitivity_chart
from calib.ui import curves, frame, tables, widgets, words
from calib.ui.sensitivity_words import SENSITIVITY_READING, sensitivity_said

session = frame.begin("Reliability")

with st.sidebar:
    widgets.binning(session)
    shown = widgets.shown_methods(session)
    lines = widgets.lines(session)
    widgets.axis(session)
    widgets.confidence(session)
    widgets.changed(session)

frame.source(session)
analysis = frame.analysis(session)
shown = tuple(key for key in shown if key in analysis.methods) or ("uncalibrated",)
rates = curves.rates(session, analysis, shown[0], lines)

st.markdown("## Reliability diagram")
picture, beside = st.columns([3, 2], gap="large")
with picture:
    diagram = reliability_chart(analysis, shown, axis=session.look.axis, lines=rates)
    frame.chart(diagram, "chart_reliability")
with beside:
    st.markdown("##### How to read it")
    reading = words.reliability_reading(analysis.methods[shown[0]].reliability)
    st.markdown(reading + (words.lines_reading(rates, shown[0]) if rates else ""))
    st.caption(words.protocol(analysis))

found = curves.sensitivity(session, analysis, shown[0])
if found:
    st.markdown("### Do the bins decide?")
    strip, said = st.columns([3, 2], gap="large")
    with strip:
        frame.chart(sensitivity_chart(analysis, found, shown[0]), "chart_sensitivity")
    with said:
        st.markdown(sensitivity_said(analysis, found, shown[0]))
        st.caption(SENSITIVITY_READING)

st.markdown("### Bins")
for key in shown:
    curve = analysis.methods[key].reliability
    st.markdown(f"**{words.method_label(key)}** · {words.bins_said(curve)}")
    tables.bins(curve, key=f"bins_{key}")
