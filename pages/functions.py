"""Functions: what every calibrator does to a score."""

import streamlit as st

from calib.figures import compact_logit_chart, functions_chart
from calib.ui import frame, tables, widgets, words

session = frame.begin("Functions")

with st.sidebar:
    widgets.methods(session)
    below = st.container()
    widgets.confidence(session)
    widgets.changed(session)

frame.source(session)
analysis = frame.analysis(session)
drawn = tuple(analysis.methods)

with below:
    widgets.epsilon(session, analysis.compact_logit.rule)
    widgets.knots(session)

st.markdown("## Calibration functions")
left, right = st.columns(2, gap="medium")
with left:
    st.markdown(f"##### {words.fitted_title(analysis)}")
    fitted = functions_chart(analysis, drawn, rows="fitted", highlight_knots=session.look.knots)
    frame.chart(fitted, "chart_functions_fitted")
with right:
    if analysis.data.protocol == "test rows":
        st.markdown(f"##### {words.scored_title(analysis)}")
        scored = functions_chart(analysis, drawn, rows="test", highlight_knots=session.look.knots)
        frame.chart(scored, "chart_functions_test")
    else:
        st.markdown("##### How to read it")
        st.markdown(words.FUNCTIONS_READING)
        st.caption(words.protocol(analysis))
if analysis.data.protocol == "test rows":
    st.markdown(words.FUNCTIONS_READING)

st.markdown("### Maps in numbers")
tables.formulas(analysis)

st.markdown("### Compact logit")
curve, reading = st.columns([3, 2], gap="large")
with curve:
    frame.chart(compact_logit_chart(analysis), "chart_compact_logit")
with reading:
    st.markdown(words.compact_logit_reading(analysis.compact_logit))
