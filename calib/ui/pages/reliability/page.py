"""Reliability: observed frequency against predicted probability, bin by bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import Analysis
from calib.curves.rate import RateKind
from calib.figures.reliability import reliability_chart
from calib.figures.sensitivity import sensitivity_chart
from calib.figures.words import undrawn
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame, words
from calib.ui.pages.reliability import bin_view, chosen_bin, explorer, how_to_read, validation
from calib.ui.session import choices, results, state
from calib.ui.session.session import Session

# More methods in one diagram are hard to distinguish.
MAX_METHODS_TOGETHER = 2


@dataclass(frozen=True, slots=True)
class DiagramChoices:
    """The choices that hold for every model of the page."""

    session: Session
    methods: tuple[str, ...]
    lines: Sequence[RateKind]
    explored: bool  # Whether the browser draws the diagram.

    def shown(self, analysis: Analysis) -> tuple[str, ...]:
        return tuple(key for key in self.methods if key in analysis.methods) or ("uncalibrated",)


def page() -> None:
    session = frame.begin("Reliability")
    with widgets.toolbar():
        binning = widgets.later()
        below = widgets.later()
        lines = widgets.control(session, choices.LINES, choices.LINES.values.options)
    models = frame.models(session)
    methods = widgets.methods_shown(session, models[0].analysis)
    # The browser draws one model. If there are too many bins to draw, the control for fewer bins
    # must be visible.
    first = models[0].analysis.methods[methods[0]].reliability
    explored = len(models) == 1 and not undrawn(first)
    if not explored:
        with below:
            methods = widgets.shown_methods(session, models[0].analysis)
            widgets.control(session, choices.AXIS)
    chosen = DiagramChoices(session, methods, lines, explored)
    frame.show(session, models, partial(body, chosen, binning))


def body(chosen: DiagramChoices, binning: DeltaGenerator, model: state.Model) -> None:
    session, analysis = chosen.session, model.analysis
    shown = chosen.shown(analysis)
    st.markdown("## Reliability diagram")
    st.markdown("  \n".join(words.errors_sentence(analysis.methods[key]) for key in shown))
    if chosen.explored:
        explorer.hold(session, model, shown)
    charts.at_once(session, model, binning, partial(controls, chosen), partial(diagrams, chosen))
    reading(chosen, model, shown)
    st.caption(words.protocol(analysis))
    bin_view.show(session, model, shown)
    sensitivity(session, model, shown[0])
    validation.show(session, model, shown)


def controls(chosen: DiagramChoices, session: Session) -> None:
    # The explorer has bins, methods and axes of its own.
    if not chosen.explored:
        widgets.bins(session)
    widgets.control(session, choices.AUTO_BINS)
    widgets.control(session, choices.BAND)


def diagrams(chosen: DiagramChoices, model: state.Model) -> None:
    shown = chosen.shown(model.analysis)
    if reason := undrawn(model.analysis.methods[shown[0]].reliability):
        st.info(reason)
        return
    if chosen.explored:
        explorer.show(chosen.session, model, shown)
    # Only the static charts draw lines and a panel per method.
    if chosen.lines or len(shown) > MAX_METHODS_TOGETHER or not chosen.explored:
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
        widgets.bins(session)
    with right:
        widgets.shown_methods(session, model.analysis)
        widgets.control(session, choices.AXIS)


def static_diagrams(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...]) -> None:
    if len(shown) <= MAX_METHODS_TOGETHER:
        diagram(chosen, model, shown, "chart_reliability")
        return
    with st.container(key=state.key("small_multiples")):
        for key in shown:
            with st.container(key=state.key(f"multiple_{key}")):
                st.markdown(f"**{choices.method_label(key)}**")
                diagram(chosen, model, (key,), f"chart_reliability_{key}")


def diagram(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...], key: str) -> None:
    session, analysis = chosen.session, model.analysis
    ring = chosen_bin.chosen(session, analysis, shown).ring
    chart = reliability_chart(
        analysis,
        shown,
        axis=session[choices.AXIS],
        lines=results.rate_curves(session, analysis, shown[0], chosen.lines),
        ring=ring if ring and ring[0] in shown else None,
    )
    charts.chart(chart, key, partial(bin_view.pick, session, analysis, state.key(key)))


def reading(chosen: DiagramChoices, model: state.Model, shown: tuple[str, ...]) -> None:
    analysis = model.analysis
    text = how_to_read.reliability(analysis.methods[shown[0]].reliability)
    text += how_to_read.convention(analysis)
    text += how_to_read.lines(results.rate_curves(chosen.session, analysis, shown[0], chosen.lines))
    if len(shown) == MAX_METHODS_TOGETHER:
        first = choices.method_label(shown[0])
        text += f"\n- The grey band, and any lines, are those of **{first}**.\n"
    frame.reading(text)


def sensitivity(session: Session, model: state.Model, method: str) -> None:
    held_out, level = model.analysis.held_out, model.analysis.settings.confidence_level
    sensitivity = session.memo.heavy(results.sensitivity, held_out, method, level)
    st.markdown("### Sensitivity to the number of bins")
    strip = sensitivity_chart(model.analysis, sensitivity, method)
    with charts.beside(strip, "chart_sensitivity", [2, 1]):
        st.markdown(how_to_read.sensitivity_sentence(model.analysis, sensitivity, method))
        frame.reading(how_to_read.SENSITIVITY, "this chart")
