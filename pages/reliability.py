"""Reliability: observed frequency against predicted probability, bin by bin."""

from functools import partial

import streamlit as st

from calib.figures.reliability import reliability_chart
from calib.figures.sensitivity import sensitivity_chart
from calib.ui import (
    bin_view,
    bins,
    choices,
    curves,
    evidence,
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

# More methods in one diagram cannot be told apart.
MOST_TOGETHER = 2

session = frame.begin("Reliability")

with st.sidebar:
    binning = st.container()
    below = st.container()
    lines = widgets.lines(session)
    widgets.control(session, choices.AXIS)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    shown = tuple(key for key in chosen if key in analysis.methods) or ("uncalibrated",)
    st.markdown("## Reliability diagram")
    st.markdown("  \n".join(evidence.errors_said(analysis.methods[key]) for key in shown))
    live.at_once(session, model, binning, controls, partial(diagrams, shown=shown))
    reading(model, shown)
    st.caption(words.protocol(analysis))
    bin_view.show(session, model, shown)
    sensitivity(model, shown[0])
    bins_table(model, shown)


def controls(session: Session) -> None:
    widgets.binning(session)
    widgets.control(session, choices.BAND)


def diagrams(model: Model, shown: tuple[str, ...]) -> None:
    if reason := words.undrawn(model.analysis.methods[shown[0]].reliability):
        st.info(reason)
        return
    explored = explorer.can_show(session, model)
    if explored:
        explorer.show(session, model, shown)
    # Lines, and a panel per method, are drawn in the static charts alone.
    if lines or len(shown) > MOST_TOGETHER or not explored:
        static_diagrams(model, shown)
        return
    # Drawn only while it is open: plotly takes longer than all else of a moved slider.
    static = st.expander("Static chart", key="static_diagram", on_change="rerun")
    if static.open:
        with static:
            static_diagrams(model, shown)


def static_diagrams(model: Model, shown: tuple[str, ...]) -> None:
    if len(shown) <= MOST_TOGETHER:
        diagram(model, shown, "chart_reliability")
        return
    with st.container(key=state.key("small_multiples")):
        for key in shown:
            with st.container(key=state.key(f"multiple_{key}")):
                st.markdown(f"**{words.method_label(key)}**")
                diagram(model, (key,), f"chart_reliability_{key}")


def diagram(model: Model, shown: tuple[str, ...], key: str) -> None:
    analysis = model.analysis
    ring = bins.chosen(session, analysis, shown).ring
    chart = reliability_chart(
        analysis,
        shown,
        axis=session[choices.AXIS],
        lines=curves.rates(session, analysis, shown[0], lines),
        ring=ring if ring and ring[0] in shown else None,
    )
    frame.chart(chart, key, partial(bin_view.pick, session, analysis, state.key(key)))


def reading(model: Model, shown: tuple[str, ...]) -> None:
    analysis = model.analysis
    said = how_to_read.reliability(analysis.methods[shown[0]].reliability)
    said += how_to_read.convention(analysis)
    said += how_to_read.lines(curves.rates(session, analysis, shown[0], lines))
    if len(shown) == MOST_TOGETHER:
        said += how_to_read.band_of(shown[0])
    frame.reading(said)


def sensitivity(model: Model, method: str) -> None:
    found = curves.sensitivity(session, model.analysis, method)
    st.markdown("### Sensitivity to the number of bins")
    strip, said = st.columns([2, 1], gap="large")
    with strip:
        frame.chart(sensitivity_chart(model.analysis, found, method), "chart_sensitivity")
    with said:
        st.markdown(sensitivity_said(model.analysis, found, method))
        frame.reading(SENSITIVITY_READING, "this chart")


def bins_table(model: Model, shown: tuple[str, ...]) -> None:
    st.markdown("### Bins")
    for key, tab in zip(shown, st.tabs([words.method_label(key) for key in shown]), strict=True):
        curve = model.analysis.methods[key].reliability
        with tab:
            st.caption(words.bins_said(curve))
            tables.bins(curve, key=f"bins_{key}")


models = frame.models(session)
with below:
    chosen = widgets.shown_methods(session, models[0].analysis)
frame.show(session, models, body)
