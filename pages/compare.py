"""Compare: which calibrator is worth it, and is the gain real?"""

import streamlit as st

from calib import text
from calib.analysis import Analysis
from calib.figures.before_after import before_after_panel
from calib.figures.difference import difference_chart
from calib.figures.words import band_meaning
from calib.ui import (
    choices,
    frame,
    how_to_read,
    matrix_view,
    model_view,
    slice_controls,
    state,
    tables,
    widgets,
    words,
)
from calib.ui.frame import Model

session = frame.begin("Compare")

with st.sidebar:
    widgets.methods(session)
    widgets.control(session, choices.ADDED_METRICS)
    below = st.container()
    widgets.binning(session)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.folds(session, state.predictions(session))
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    st.markdown("## Compare calibrators")
    recommendation(analysis)
    if analysis.multiclass:
        st.markdown("### All classes, on held-out rows")
        matrix_view.metrics(analysis.multiclass)
        if len(analysis.methods) > 1:
            matrix_view.changes(analysis, analysis.multiclass)
        matrix_view.clipped(session, analysis.multiclass)
        st.markdown(f"### This view: {text.plain(analysis.data.positive_name)}")
    else:
        st.markdown("### Metrics on held-out rows")
    tables.metrics(analysis)
    loss = "multiclass log loss" if analysis.multiclass else "log loss"
    st.caption(
        "★ best of its column. In brackets: what a calibrated model of this size shows on average. "
        f"Ranks use {loss}: binned errors depend on the bins."
    )
    if len(analysis.methods) > 1:
        changes(analysis)


def recommendation(analysis: Analysis) -> None:
    with st.container(border=True, key=state.key("recommendation")):
        st.markdown(f"### {text.plain(analysis.recommendation.sentence)}")
        for reason in analysis.recommendation.reasons:
            st.markdown(f"- {text.plain(reason)}")
        st.caption(words.protocol(analysis))


def changes(analysis: Analysis) -> None:
    st.markdown("### Change against the uncalibrated scores")
    forest, said = st.columns([3, 2], gap="large")
    with forest:
        frame.chart(difference_chart(analysis, "log_loss"), "chart_forest")
    with said:
        frame.reading(how_to_read.DIFFERENCE)
    tables.differences(analysis)
    st.markdown("### Before and after")
    with st.container(horizontal=True, key=state.key("before_after"), gap="xsmall"):
        for key in analysis.methods:
            frame.chart(before_after_panel(analysis, key), f"chart_before_after_{key}")
    band = band_meaning(analysis.uncalibrated.reliability)
    frame.once("before and after", lambda: st.caption(how_to_read.BEFORE_AFTER.format(band)))


models = frame.models(session)
all_models = st.container()
if len(state.models(session)) > 1:
    with below:
        method = slice_controls.after_control(session, models[0].analysis)[-1]
frame.show(session, models, body)
# Last: everything below can be read while all models are fitted.
if len(state.models(session)) > 1:
    with all_models:
        model_view.show(frame.comparison(session, method))
