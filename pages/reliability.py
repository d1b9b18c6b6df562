"""Reliability: observed frequency against predicted probability, bin by bin."""

import streamlit as st

from calib.figures import reliability_chart
from calib.ui import frame, tables, widgets, words

session = frame.begin("Reliability")

with st.sidebar:
    widgets.binning(session)
    shown = widgets.shown_methods(session)
    widgets.axis(session)
    widgets.confidence(session)
    widgets.changed(session)

frame.source(session)
analysis = frame.analysis(session)
shown = tuple(key for key in shown if key in analysis.methods)

st.markdown("## Reliability diagram")
picture, reading = st.columns([3, 2], gap="large")
with picture:
    frame.chart(reliability_chart(analysis, shown, axis=session.look.axis), "chart_reliability")
with reading:
    st.markdown("##### How to read it")
    st.markdown(words.reliability_reading(analysis.methods[shown[0]].reliability))
    st.caption(words.protocol(analysis))

st.markdown("### Bins")
for key in shown:
    curve = analysis.methods[key].reliability
    st.markdown(f"**{words.method_label(key)}** · {words.bins_said(curve)}")
    tables.bins(curve, key=f"bins_{key}")
