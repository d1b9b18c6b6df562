"""Compare: which calibrator is worth it, and is the gain real?"""

import streamlit as st

from calib.figures import before_after_chart, difference_chart
from calib.ui import frame, tables, widgets, words

session = frame.begin("Compare")

with st.sidebar:
    widgets.methods(session)
    widgets.binning(session)
    widgets.confidence(session)
    widgets.changed(session)

frame.source(session)
analysis = frame.analysis(session)

st.markdown("## Compare calibrators")
with st.container(border=True, key="recommendation"):
    st.markdown(f"#### {words.plain(analysis.recommendation.sentence)}")
    for reason in analysis.recommendation.reasons:
        st.markdown(f"- {words.plain(reason)}")
    st.caption(words.protocol(analysis))

st.markdown("### Metrics on held-out rows")
tables.metrics(analysis)
st.caption("★ best of its column. Ranks use log loss: binned errors depend on the bins.")

if len(analysis.methods) > 1:
    st.markdown("### Change against the uncalibrated scores")
    forest, said = st.columns([3, 2], gap="large")
    with forest:
        frame.chart(difference_chart(analysis, "log_loss"), "chart_forest")
    with said:
        st.markdown(words.DIFFERENCE_READING)
    tables.differences(analysis)
    st.markdown("### Before and after")
    frame.chart(before_after_chart(analysis, tuple(analysis.methods)), "chart_before_after")
