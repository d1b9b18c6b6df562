"""Reliability: observed frequency against predicted probability, bin by bin."""

from functools import partial

import streamlit as st

from calib.curves.rate import RateCurve
from calib.figures.reliability import reliability_chart
from calib.figures.sensitivity import sensitivity_chart
from calib.ui import (
    bin_view,
    bins,
    choices,
    curves,
    explorer,
    frame,
    how_to_read,
    live,
    state,
    tables,
    widgets,
    words,
)
from calib.ui.frame import Model
from calib.ui.sensitivity_words import SENSITIVITY_READING, sensitivity_said
from calib.ui.state import Session

session = frame.begin("Reliability")

with st.sidebar:
    binning = st.container()
    chosen = widgets.shown_methods(session)
    lines = widgets.lines(session)
    widgets.control(session, choices.AXIS)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    shown = tuple(key for key in chosen if key in analysis.methods) or ("uncalibrated",)
    rates = curves.rates(session, analysis, shown[0], lines)
    st.markdown("## Reliability diagram")
    draw = partial(diagram, shown=shown, rates=rates)
    live.at_once(session, model, binning, controls, draw)
    with st.container():
        reading = how_to_read.reliability(analysis.methods[shown[0]].reliability)
        lines_read = how_to_read.lines(rates, shown[0]) if rates else ""
        reading += how_to_read.convention(analysis)
        frame.reading(reading + lines_read, "How to read it")
        st.caption(words.protocol(analysis))
    bin_view.show(session, model, shown)
    sensitivity(model, shown[0])
    bins_table(model, shown)


def controls(session: Session) -> None:
    widgets.binning(session)
    widgets.control(session, choices.BAND)


def diagram(model: Model, shown: tuple[str, ...], rates: tuple[RateCurve, ...]) -> None:
    explored = explorer.can_show(session, model)
    if explored:
        explorer.show(session, model, shown)
    # Lines are drawn in the static chart alone.
    if rates or not explored:
        static_diagram(model, shown, rates)
        return
    # Drawn only while it is open: plotly takes longer than all else of a moved slider.
    static = st.expander("Static chart", key="static_diagram", on_change="rerun")
    if static.open:
        with static:
            static_diagram(model, shown, rates)


def static_diagram(model: Model, shown: tuple[str, ...], rates: tuple[RateCurve, ...]) -> None:
    analysis, key = model.analysis, "chart_reliability"
    ring = bins.chosen(session, analysis, shown).ring
    chart = reliability_chart(analysis, shown, axis=session[choices.AXIS], lines=rates, ring=ring)
    frame.chart(chart, key, partial(bin_view.pick, session, analysis, state.key(key)))


def sensitivity(model: Model, method: str) -> None:
    found = curves.sensitivity(session, model.analysis, method)
    st.markdown("### Do the bins decide?")
    strip, said = st.columns([3, 2], gap="large")
    with strip:
        frame.chart(sensitivity_chart(model.analysis, found, method), "chart_sensitivity")
    with said:
        st.markdown(sensitivity_said(model.analysis, found, method))
        frame.once("sensitivity", lambda: st.caption(SENSITIVITY_READING))


def bins_table(model: Model, shown: tuple[str, ...]) -> None:
    st.markdown("### Bins")
    for key in shown:
        curve = model.analysis.methods[key].reliability
        st.markdown(f"**{words.method_label(key)}** · {words.bins_said(curve)}")
        tables.bins(curve, key=f"bins_{key}")


frame.show(session, frame.models(session), body)
