"""Groups of controls. A widget shows the session's value and writes back what it is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from calib.calibrators import CALIBRATORS
from calib.curves.rate import RATE_KINDS, RateKind
from calib.loading.examples import EXAMPLES
from calib.multiclass import MULTICLASS_CALIBRATORS
from calib.text import level
from calib.ui import state
from calib.ui.choices import acts, choice
from calib.ui.links import AXES, LEVELS
from calib.ui.state import Session
from calib.ui.words import assumptions, line_label, method_label

LOG_EPSILON = (-15.0, -0.5)


def show_value(key: str, value: Any) -> None:
    """Let the next widget of this key show the session's value.

    Assigned only where it differs: an assignment would overrule what is being typed.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def by_simplicity(session: Session) -> list[str]:
    """All methods for the shown data, simplest first."""
    known = MULTICLASS_CALIBRATORS if session.is_matrix else CALIBRATORS
    return sorted(known, key=lambda key: known[key].simplicity)


def binning(session: Session) -> None:
    """Strategy and number of bins."""
    show_value("strategy", session.settings.strategy)
    st.segmented_control(
        "Bins",
        ("quantile", "uniform"),
        format_func=str.capitalize,
        required=True,
        key="strategy",
        on_change=state.changer,
        args=("strategy", "strategy"),
        help="Quantile: the same number of rows in every bin. Uniform: the same width.",
    )
    show_value("n_bins", session.settings.n_bins)
    st.slider(
        "Number of bins",
        state.FEWEST_BINS,
        state.MAX_BINS,
        key="n_bins",
        on_change=state.changer,
        args=("n_bins", "n_bins"),
        disabled=session.look.auto_bins,
    )
    show_value("auto_bins", session.look.auto_bins)
    st.toggle(
        "Auto",
        key="auto_bins",
        on_change=state.changer,
        args=("auto_bins", "auto_bins"),
        help="As many bins as the observed frequencies still increase over, from 2 up "
        "(Roelofs et al. 2022).",
    )


def band(session: Session) -> None:
    """Whether the consistency band is of each bin or of all together."""
    show_value("band", session.settings.band == "simultaneous")
    st.toggle(
        "Simultaneous band",
        key="band",
        on_change=state.changer,
        args=("band", "band", lambda on: "simultaneous" if on else "per_bin"),
        help="Off: if the model were calibrated, each dot would fall in the grey band with the "
        "confidence level. On: all dots together would.",
    )


def confidence(session: Session) -> None:
    """Level of all intervals and bands."""
    show_value("confidence_level", session.settings.confidence_level)
    st.selectbox(
        "Confidence level",
        LEVELS,
        format_func=level,
        key="confidence_level",
        on_change=state.changer,
        args=("confidence_level", "confidence_level"),
        help="Of every interval and band.",
    )


def axis(session: Session) -> None:
    """Linear or logit axes."""
    show_value("axis", session.look.axis)
    st.segmented_control(
        "Axes",
        AXES,
        format_func=str.capitalize,
        required=True,
        key="axis",
        on_change=state.changer,
        args=("axis", "axis"),
        help="The logit axis spreads out probabilities near 0 and 1.",
    )


def lines(session: Session) -> tuple[RateKind, ...]:
    """Lines of observed frequency to draw beside the bins; returns their kinds."""
    chosen = [kind for kind in RATE_KINDS if kind in session.look.lines]
    show_value("lines", chosen)
    st.pills(
        "Line",
        RATE_KINDS,
        format_func=line_label,
        selection_mode="multi",
        key="lines",
        on_change=state.changer,
        args=("lines", "lines", tuple),
        help="The observed frequency without bins, with a band around it. CORP: the best line that "
        "never falls. Smooth: a spline.",
    )
    return tuple(chosen)


def methods(session: Session) -> None:
    """The methods that are fitted and compared."""
    compared = [key for key in session.settings.methods if key != "uncalibrated"]
    show_value("methods", compared)
    st.multiselect(
        "Methods",
        [key for key in by_simplicity(session) if key != "uncalibrated"],
        format_func=method_label,
        key="methods",
        on_change=state.changer,
        args=("methods", "methods", _with_uncalibrated),
        help="Simplest first. The uncalibrated scores are always among them.",
    )
    with st.expander("What each one assumes"):
        st.markdown(assumptions(by_simplicity(session), matrix=session.is_matrix))


def _with_uncalibrated(chosen: Sequence[str]) -> tuple[str, ...]:
    return ("uncalibrated", *chosen)


def shown_methods(session: Session) -> tuple[str, ...]:
    """The methods to draw, at least the uncalibrated scores; returns them in a fixed order."""
    options = session.settings.methods
    chosen = [key for key in options if key in session.look.shown]
    show_value("shown", chosen)
    st.pills(
        "Show",
        options,
        format_func=method_label,
        selection_mode="multi",
        key="shown",
        on_change=state.changer,
        args=("shown", "shown", tuple),
        help="Calibrated scores are held out: no row was scored by a map that it helped to fit.",
    )
    return tuple(chosen) or ("uncalibrated",)


def cumulative_method(session: Session) -> str:
    """The method whose four panels are drawn; returns it."""
    options = session.settings.methods
    wanted = session.look.cumulative
    chosen = wanted if wanted in options else options[0]
    show_value("cumulative", chosen)
    st.selectbox(
        "Tests and panels of",
        options,
        format_func=method_label,
        key="cumulative",
        on_change=state.changer,
        args=("cumulative", "cumulative"),
    )
    return chosen


def knots(session: Session) -> None:
    """Whether the knots of the maps are marked."""
    show_value("knots", session.look.knots)
    st.toggle(
        "Mark the knots",
        key="knots",
        on_change=state.changer,
        args=("knots", "knots"),
        help="Scores at which a map bends.",
    )


def over_epsilon(session: Session, options: Sequence[str]) -> tuple[str, ...]:
    """The methods whose log loss is drawn over epsilon; returns them, at least one."""
    chosen = [key for key in options if key in session.look.over_epsilon] or list(options[:1])
    key = state.key("over_epsilon")
    show_value(key, chosen)
    st.pills(
        "Log loss of",
        options,
        format_func=method_label,
        selection_mode="multi",
        key=key,
        on_change=state.changer,
        args=("over_epsilon", key, tuple),
        help="Every point is fitted anew on every fold, once: SplineCalib takes longest.",
    )
    return tuple(chosen)


def epsilon(session: Session, rule: float) -> None:
    """Epsilon of the compact logit: the paper's rule, or a slider on its logarithm."""
    follows = session.settings.epsilon is None
    show_value("epsilon_rule", follows)
    st.toggle(
        "ε by the paper's rule",
        key="epsilon_rule",
        on_change=_change_rule,
        args=(rule,),
        help="A tenth of the power of ten just below the smallest distance of a score from 1.",
    )
    value = session.settings.epsilon or rule
    show_value("epsilon", min(max(round(math.log10(value), 1), LOG_EPSILON[0]), LOG_EPSILON[1]))
    st.slider(
        "ε (log scale)",
        *LOG_EPSILON,
        step=0.1,
        format="10^%.1f",
        key="epsilon",
        on_change=state.changer,
        args=("epsilon", "epsilon", _power_of_ten),
        help="Scores nearer to 0 or 1 than ε stay where they are; a smaller ε bends the ends more.",
    )


def _change_rule(rule: float) -> None:
    follows = st.session_state["epsilon_rule"]
    state.current().change("epsilon", None if follows else rule)


def _power_of_ten(exponent: float) -> float:
    # Six digits, as the address writes it: a link then restores exactly this value.
    return float(f"{10.0**exponent:.6g}")


def example(session: Session) -> None:
    """Pick a built-in example."""
    shown = session.example if session.upload is None and not session.waits else None
    show_value("example", shown)
    st.selectbox(
        "Example",
        list(EXAMPLES),
        format_func=lambda key: EXAMPLES[key].title,
        index=None,
        placeholder="Choose an example",
        key="example",
        on_change=_choose_example,
    )


def _choose_example() -> None:
    key = st.session_state["example"]
    if key is not None:
        state.current().choose_example(key)


def changed(session: Session) -> None:
    """A chip for every changed choice that acts on this page, a click away from its default."""
    every = session.settings.changed(session.start) | session.look.changed()
    shown = {
        "in_a_bin": session.look.bin_at is not None,
        "of_several": len(state.models(session)) > 1,
    }
    found = {name: value for name, value in every.items() if acts(name, session.page, **shown)}
    if session.look.auto_bins:
        found.pop("n_bins", None)  # no choice of the person's
    if not found:
        return
    st.caption("Changed from default")
    with st.container(horizontal=True, gap="xxsmall", key="changed"):
        for name, value in found.items():
            _chip(f"{choice(name, value)} ✕", f"reset_{name}", session.reset, name)
        if len(found) > 1:
            _chip("Reset all", "reset_all", session.reset, *found)


def _chip(label: str, key: str, on_click: Callable[..., None], *args: str) -> None:
    st.button(label, key=key, on_click=on_click, args=args, type="secondary")
