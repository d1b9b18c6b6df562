"""Functions: what every calibrator does to a score."""

import streamlit as st

from calib.figures import (
    compact_logit_chart,
    functions_chart,
    lambda_path_chart,
    with_path,
)
from calib.ui import epsilon, frame, tables, widgets, words

session = frame.begin("Functions")

with st.sidebar:
    widgets.methods(session)
    below = st.container()
    widgets.confidence(session)
    widgets.changed(session)

frame.source(session)
analysis = frame.analysis(session)
drawn = tuple(analysis.methods)
by_rule = epsilon.rule_maps(session, analysis)
look = {"highlight_knots": session.look.knots, "by_rule": by_rule}

with below:
    widgets.epsilon(session, analysis.compact_logit.rule)
    widgets.knots(session)

st.markdown("## Calibration functions")
left, right = st.columns(2, gap="medium")
with left:
    st.markdown(f"##### {words.fitted_title(analysis)}")
    fitted = functions_chart(analysis, drawn, rows="fitted", **look)
    frame.chart(fitted, "chart_functions_fitted")
with right:
    if analysis.data.protocol == "test rows":
        st.markdown(f"##### {words.scored_title(analysis)}")
        scored = functions_chart(analysis, drawn, rows="test", **look)
        frame.chart(scored, "chart_functions_test")
    else:
        st.markdown("##### How to read it")
        st.markdown(words.FUNCTIONS_READING)
        st.caption(words.protocol(analysis))
if analysis.data.protocol == "test rows":
    st.markdown(words.FUNCTIONS_READING)

st.markdown("### Maps in numbers")
tables.formulas(analysis)

smoothed = with_path(analysis)
if smoothed:
    st.markdown("### How smooth?")
    columns = st.columns(2, gap="medium")
    for column, key in zip(columns, smoothed, strict=False):
        with column:
            st.markdown(f"##### {words.method_label(key)}")
            frame.chart(lambda_path_chart(analysis, key), f"chart_lambda_{key}")
    with columns[1] if len(smoothed) == 1 else st.container():
        st.markdown(words.LAMBDA_READING)

st.markdown("### Epsilon of the compact logit")
left, right = st.columns(2, gap="medium")
with left:
    st.markdown("##### The scale that splines live on")
    frame.chart(compact_logit_chart(analysis), "chart_compact_logit")
    st.markdown(words.compact_logit_reading(analysis.compact_logit))
# Last: everything else can be read while its points are computed.
with right:
    st.markdown("##### What it decides")
    epsilon.over_epsilon(session, analysis)
