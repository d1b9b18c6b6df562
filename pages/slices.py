"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

import streamlit as st

from calib.core.predictions import Predictions
from calib.figures.overlay import overlay_chart
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame
from calib.ui.session import choices, parts, state
from calib.ui.slices import slice_controls, slice_view

session = frame.begin("Slices")
named = frame.predictions(session)
columns: tuple[str, ...] = ()

with st.sidebar:
    if named.columns:
        columns = slice_controls.columns_control(session, named)
        if isinstance(named, Predictions):
            widgets.control(session, choices.N_RANGES)
    below = st.container()
    widgets.binning(session)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: state.Model) -> None:
    st.markdown("## Slices and time")
    slice_controls.unknown_columns(session, model.rows)
    if not columns:
        st.info(slice_view.NO_COLUMNS)
        st.page_link("pages/data.py", label="**Go to Data**", query_params=session.link())
        return
    with st.spinner("Computing slices"):
        cut = parts.sliced(session, model, columns)
        gaps = parts.gaps(session, cut, shown)
        decided = parts.decisions(session, model.analysis)
        rates = parts.error_rates(session, cut, decided, shown)
    slice_view.forest(gaps)
    slice_view.table(gaps)

    st.markdown(f"### {slice_view.rates_title(decided)}")
    st.page_link(
        "pages/decisions.py", label="Chosen on the **Decisions** page", query_params=session.link()
    )
    slice_view.rates(rates, decided)

    st.markdown("### Compare slices")
    overlay, alone = st.columns(2, gap="large")
    with overlay:
        picked = slice_controls.picked_control(session, gaps["uncalibrated"])
        curves = parts.curves(session, cut, picked)
        charts.chart(overlay_chart(curves), "chart_overlay")
    with alone:
        number = slice_controls.slice_calibrator_control(session, gaps["uncalibrated"])
        if len(shown) > 1:
            slice_view.own_map(session, model, cut, number, shown[1])
    over_time(model)


def over_time(model: state.Model) -> None:
    st.markdown("### Over time")
    column, unit = st.columns(2, gap="large")
    with column:
        time = slice_controls.time_control(session, model.rows)
    with unit:
        slice_controls.unit_control(session, model.rows, time)
    if time:
        slice_view.over_time(session, model, time, shown)
    else:
        st.caption(slice_view.NO_TIME)


models = frame.models(session)
with below:
    shown = widgets.after_control(session, models[0].analysis)
frame.show(session, models, body)
