"""Functions: what every calibrator maps a score to."""

from functools import partial

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.figures.compact_logit import compact_logit_chart
from calib.figures.functions import functions_chart
from calib.figures.lambda_path import lambda_path_chart, with_path
from calib.ui.controls import use_calibrator, widgets
from calib.ui.functions import epsilon, how_to_read
from calib.ui.layout import charts, frame, tables, words
from calib.ui.layout.frame import Model
from calib.ui.session import choices, state

session = frame.begin("Functions")

with st.sidebar:
    widgets.methods(session)
    widgets.control(session, choices.KNOTS)
    widgets.control(session, choices.AXIS)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    st.markdown("## Calibration functions")
    with st.container(key=state.key("epsilon_matters")):
        first = st.empty()
    used = bool(epsilon.methods(analysis))
    first.markdown(how_to_read.epsilon_matters(analysis, (), is_known=not used))
    if session.is_matrix:
        st.info(how_to_read.MAPS_OF_A_VIEW)
    if reason := words.too_few(analysis):
        first.info(reason)
        return
    functions(analysis)
    beside = epsilons(analysis)
    st.markdown("### Fitted parameters")
    tables.formulas(analysis)
    # Of a matrix these are maps of one view; the calibrators for use map whole rows.
    if not session.is_matrix:
        use_calibrator.button(session, model)
    smoothness(analysis)
    # Last: everything else can be read while its points are computed.
    with beside:
        curves = epsilon.over_epsilon(session, model.rows, analysis)
    if curves:
        first.markdown(how_to_read.epsilon_matters(analysis, curves))


def functions(analysis: LiveAnalysis) -> None:
    by_rule = epsilon.rule_maps(session, analysis)
    axis, knots = session[choices.AXIS], session[choices.KNOTS]
    draw = partial(functions_chart, axis=axis, highlight_knots=knots, by_rule=by_rule)
    drawn, tested = tuple(analysis.methods), analysis.data.protocol == "test rows"
    left, right = st.columns(2 if tested else [2, 1], gap="medium")
    with left:
        st.markdown(f"### {words.fitted_title(analysis)}")
        fitted = draw(analysis, drawn, rows="fitted")
        charts.chart(fitted, "chart_functions_fitted")
    with right:
        if tested:
            st.markdown(f"### {words.scored_title(analysis)}")
            scored = draw(analysis, drawn, rows="test")
            charts.chart(scored, "chart_functions_test")
        else:
            frame.reading(how_to_read.FUNCTIONS)
            st.caption(words.protocol(analysis))
    if tested:
        frame.reading(how_to_read.FUNCTIONS)


def epsilons(analysis: LiveAnalysis) -> st.delta_generator.DeltaGenerator:
    """The slider, its charts beside it; returns the place of the last of them."""
    st.markdown("### Epsilon")
    control, transform, effect = st.columns([2, 3, 3], gap="medium")
    with control:
        # Several models share one epsilon.
        if session.drawn == 0:
            widgets.epsilon(session, analysis.compact_logit.rule)
        reading = how_to_read.compact_logit(analysis.compact_logit) + how_to_read.epsilon(analysis)
        frame.reading(reading, "epsilon")
        frame.once("Lucena", lambda: st.caption(epsilon.SOURCE))
    with transform:
        st.markdown("#### Compact-logit transform")
        charts.chart(compact_logit_chart(analysis), "chart_compact_logit")
    with effect:
        st.markdown("#### Effect of epsilon on log loss")
    return effect


def smoothness(analysis: Analysis) -> None:
    smoothed = with_path(analysis)
    if not smoothed:
        return
    st.markdown("### Smoothing (lambda)")
    columns = st.columns(2, gap="medium")
    for column, key in zip(columns, smoothed, strict=False):
        with column:
            st.markdown(f"#### {choices.method_label(key)}")
            charts.chart(lambda_path_chart(analysis, key), f"chart_lambda_{key}")
    with columns[1] if len(smoothed) == 1 else st.container():
        frame.reading(how_to_read.LAMBDA, "smoothing")


frame.show(session, frame.maps(session), body)
