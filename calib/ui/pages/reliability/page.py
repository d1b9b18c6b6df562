"""Reliability: observed frequency against predicted probability, with bins and without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import Analysis
from calib.curves.rate import RateKind
from calib.figures.explorer import automatic_axis
from calib.figures.functions import sensitivity_chart
from calib.figures.reliability import reliability_chart
from calib.ui.controls import use_calibrator, widgets
from calib.ui.layout import charts, frame, notes
from calib.ui.pages.reliability import (
    answer,
    bin_view,
    chosen_bin,
    cumulative,
    explorer,
    validation,
)
from calib.ui.session import choices, results, state
from calib.ui.session.session import Session
from calib.words import reliability as wording
from calib.words.measures import undrawn, without_band

# More methods in one diagram are hard to distinguish.
MAX_METHODS_TOGETHER = 2


@dataclass(frozen=True, slots=True)
class DiagramChoices:
    """What the diagram shows, and where its controls stand."""

    session: Session
    methods: tuple[str, ...]
    # The place of the controls of bins, or None if the browser draws the diagram, with controls.
    toolbar: DeltaGenerator | None

    @property
    def lines(self) -> tuple[RateKind, ...]:
        return self.session[choices.LINES]

    def shown(self, analysis: Analysis) -> tuple[str, ...]:
        return tuple(key for key in self.methods if key in analysis.methods) or ("uncalibrated",)


def page() -> None:
    session = frame.begin("Reliability")
    model = frame.model(session)
    methods = widgets.methods_shown(session, model.analysis)
    opening(session, model, methods)
    # The charts of a tab are drawn only while it is chosen.
    with widgets.tabs(session, choices.TAB):
        if session[choices.TAB] == "bins":
            bins(session, model, methods)
        else:
            cumulative.show(session, model.analysis, methods)
    notes.below(session, model)


def opening(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    st.markdown(f"## {answer.sentences(session, model.analysis, shown)}")
    key = "finding_and_fix"
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(answer.finding(session, model.analysis, shown))
        use_calibrator.advised_button(session, model)


def bins(session: Session, model: state.Model, methods: tuple[str, ...]) -> None:
    analysis, toolbar = model.analysis, None
    if note := answer.axis_note(session, analysis):
        st.caption(note)
    # If there are too many bins to draw, the control for fewer bins must be visible.
    if undrawn(analysis.methods[methods[0]].reliability):
        with widgets.toolbar("reliability"):
            toolbar = widgets.later()
            methods = widgets.shown_methods(session, analysis)
            widgets.axis(session, automatic_axis(analysis))
    body(DiagramChoices(session, methods, toolbar), model)


def body(chosen: DiagramChoices, model: state.Model) -> None:
    session, analysis = chosen.session, model.analysis
    shown = chosen.shown(analysis)
    if chosen.toolbar is None:
        explorer.hold(session, model, shown)
    charts.at_once(session, model, partial(controls, chosen), partial(diagrams, chosen))
    bin_view.show(session, model, shown)
    validation.show(session, model, shown)
    sensitivity(session, model, shown[0])
    frame.sections(session, model, "Reliability")
    reading(chosen, model, shown)
    if chosen.toolbar is None:
        explorer.hold_stops(session, model, shown)


def controls(chosen: DiagramChoices) -> None:
    if chosen.toolbar is not None:
        with chosen.toolbar:
            bin_controls(chosen.session)


def bin_controls(session: Session) -> None:
    widgets.bins(session)
    widgets.control(session, choices.AUTO_BINS)
    widgets.control(session, choices.BAND)
    widgets.control(session, choices.LINES)


def diagrams(chosen: DiagramChoices, model: state.Model) -> None:
    shown = chosen.shown(model.analysis)
    if reason := undrawn(model.analysis.methods[shown[0]].reliability):
        st.info(reason)
        return
    if chosen.toolbar is not None:
        static_diagrams(chosen, model, shown)
        return
    explorer.show(chosen.session, model, shown)
    # A diagram per method is seen only here.
    if len(shown) > MAX_METHODS_TOGETHER:
        static_diagrams(chosen, model, shown)
        return
    # The chart is drawn only while it is open, because plotly takes most of the time of a moved
    # slider.
    static = st.expander("Static chart", key="static_diagram", on_change="rerun")
    if static.open:
        with static:
            static_controls(chosen.session, model)
            static_diagrams(chosen, model, shown)


def static_controls(session: Session, model: state.Model) -> None:
    """The controls of the explorer, for people who cannot use it."""
    left, right = st.columns(2, gap="medium")
    with left:
        bin_controls(session)
    with right:
        widgets.shown_methods(session, model.analysis)
        widgets.axis(session, automatic_axis(model.analysis))


def static_diagrams(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...]) -> None:
    if len(shown) <= MAX_METHODS_TOGETHER:
        diagram(chosen, model, shown, "chart_reliability")
        return
    with st.container(key="small_multiples"):
        for key in shown:
            with st.container(key=f"multiple_{key}"):
                st.markdown(f"**{choices.method_label(key)}**")
                diagram(chosen, model, (key,), f"chart_reliability_{key}")


def diagram(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...], key: str) -> None:
    session, analysis = chosen.session, model.analysis
    ring = chosen_bin.chosen(session, analysis, shown).ring
    chart = reliability_chart(
        analysis,
        shown,
        axis=answer.axis(session, analysis),
        lines=results.rate_curves(session, analysis, shown[0], chosen.lines),
        ring=ring if ring and ring[0] in shown else None,
    )
    if reason := without_band(analysis.methods[shown[0]].reliability):
        st.caption(reason)
    charts.chart(chart, key, partial(bin_view.pick, session, analysis, key))


def reading(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...]) -> None:
    analysis = model.analysis
    text = wording.reliability(analysis.methods[shown[0]].reliability)
    text += wording.convention(analysis)
    text += wording.lines(results.rate_curves(chosen.session, analysis, shown[0], chosen.lines))
    if len(shown) == MAX_METHODS_TOGETHER:
        first = choices.method_label(shown[0])
        text += f"\n- The grey band, and any lines, are those of **{first}**.\n"
    frame.reading(text)


def sensitivity(session: Session, model: state.Model, method: str) -> None:
    sensitivity = results.sensitivity(session, model.analysis, method)
    heading, evidence = wording.sensitivity_words(model.analysis, sensitivity, method)
    st.markdown(f"### {heading}")
    strip = charts.kept(sensitivity_chart, model.analysis, sensitivity, method)
    with charts.beside(strip, "chart_sensitivity", [2, 1]):
        st.markdown(evidence)
        frame.reading(wording.SENSITIVITY, "this chart")
