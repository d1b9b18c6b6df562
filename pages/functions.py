"""Functions: what every calibrator does to a score."""

from functools import partial

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.figures.compact_logit import compact_logit_chart
from calib.figures.functions import functions_chart
from calib.figures.lambda_path import lambda_path_chart, with_path
from calib.ui import choices, epsilon, frame, how_to_read, tables, widgets, words
from calib.ui.frame import Model

session = frame.begin("Functions")

with st.sidebar:
    widgets.methods(session)
    below = st.container()
    widgets.control(session, choices.AXIS)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    st.markdown("## Calibration functions")
    if session.is_matrix:
        st.info(how_to_read.MAPS_OF_A_VIEW)
    maps(analysis)
    st.markdown("### Maps in numbers")
    tables.formulas(analysis)
    smoothness(analysis)
    st.markdown("### Epsilon of the compact logit")
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("#### The scale that splines live on")
        frame.chart(compact_logit_chart(analysis), "chart_compact_logit")
        st.markdown(how_to_read.compact_logit(analysis.compact_logit))
    # Last: everything else can be read while its points are computed.
    with right:
        st.markdown("#### What it decides")
        epsilon.over_epsilon(session, model.rows, analysis)


def maps(analysis: LiveAnalysis) -> None:
    by_rule = epsilon.rule_maps(session, analysis)
    axis, knots = session[choices.AXIS], session[choices.KNOTS]
    draw = partial(functions_chart, axis=axis, highlight_knots=knots, by_rule=by_rule)
    drawn, tested = tuple(analysis.methods), analysis.data.protocol == "test rows"
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"### {words.fitted_title(analysis)}")
        fitted = draw(analysis, drawn, rows="fitted")
        frame.chart(fitted, "chart_functions_fitted")
    with right:
        if tested:
            st.markdown(f"### {words.scored_title(analysis)}")
            scored = draw(analysis, drawn, rows="test")
            frame.chart(scored, "chart_functions_test")
        else:
            frame.reading(how_to_read.FUNCTIONS, "How to read it")
            st.caption(words.protocol(analysis))
    if tested:
        frame.reading(how_to_read.FUNCTIONS)


def smoothness(analysis: Analysis) -> None:
    smoothed = with_path(analysis)
    if not smoothed:
        return
    st.markdown("### How smooth?")
    columns = st.columns(2, gap="medium")
    for column, key in zip(columns, smoothed, strict=False):
        with column:
            st.markdown(f"#### {words.method_label(key)}")
            frame.chart(lambda_path_chart(analysis, key), f"chart_lambda_{key}")
    with columns[1] if len(smoothed) == 1 else st.container():
        frame.reading(how_to_read.LAMBDA)


models = frame.maps(session)
with below:
    widgets.epsilon(session, models[0].analysis.compact_logit.rule)
    widgets.control(session, choices.KNOTS)
frame.show(session, models, body)
