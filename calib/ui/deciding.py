"""Decisions: their controls, and their results, each computed once."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.analysis import Analysis
from calib.analysis.decisions import (
    CostCurves,
    Costs,
    DecisionTable,
    ExpectedCounts,
    NetBenefit,
    cost_curves,
    decide,
    expected_counts,
    net_benefit,
)
from calib.core.predictions import Predictions
from calib.ui import state
from calib.ui.links import CAPACITY_RANGE, COST_RANGE
from calib.ui.state import HEAVY, Session
from calib.ui.widgets import show_value

BY_COSTS, BY_CAPACITY = "Costs", "Capacity"
FIRST_CAPACITY = 0.1


def costs_control(session: Session) -> Costs:
    """Costs, or the share of rows that can be acted on; returns them."""
    look = session.look
    show_value("decide_by", BY_COSTS if look.capacity is None else BY_CAPACITY)
    st.segmented_control(
        "Decide by",
        (BY_COSTS, BY_CAPACITY),
        required=True,
        key="decide_by",
        on_change=_change_rule,
        help="Costs: flag where flagging costs less. Capacity: flag the highest scores.",
    )
    if look.capacity is not None:
        _capacity(look.capacity)
    _cost("Cost of a false positive", "cost_fp", look.cost_fp)
    _cost("Cost of a false negative", "cost_fn", look.cost_fn)
    return costs(session)


def costs(session: Session) -> Costs:
    """What was chosen on the Decisions page."""
    look = session.look
    return Costs(look.cost_fp, look.cost_fn, look.capacity)


def _change_rule() -> None:
    by_costs = st.session_state["decide_by"] == BY_COSTS
    state.current().change("capacity", None if by_costs else FIRST_CAPACITY)


def _cost(label: str, key: str, value: float) -> None:
    show_value(key, value)
    st.number_input(
        label,
        *COST_RANGE,
        step=1.0,
        format="%.6g",
        key=key,
        on_change=state.changer,
        args=(key, key, _six_digits),
        help="In any unit: only the ratio of the two moves the threshold.",
    )


def _capacity(share: float) -> None:
    show_value("capacity", 100.0 * share)
    st.number_input(
        "Rows that can be flagged, in %",
        100.0 * CAPACITY_RANGE[0],
        100.0 * CAPACITY_RANGE[1],
        step=1.0,
        format="%.6g",
        key="capacity",
        on_change=state.changer,
        args=("capacity", "capacity", lambda percent: _six_digits(percent / 100.0)),
    )


def _six_digits(value: float) -> float:
    # As the address writes it: a link then restores exactly this value.
    return float(f"{value:.6g}")


def range_control(session: Session) -> tuple[float, float]:
    """Range of scores over which positives are counted; returns it."""
    low, high = sorted((session.look.count_from, session.look.count_to))
    key = state.key("count_range")
    show_value(key, (low, high))
    st.slider(
        "Range of uncalibrated scores",
        0.0,
        1.0,
        step=0.01,
        key=key,
        on_change=_change_range,
        args=(key,),
    )
    return low, high


def _change_range(key: str) -> None:
    low, high = st.session_state[key]
    session = state.current()
    session.change("count_from", _six_digits(low))
    session.change("count_to", _six_digits(high))


def _key(session: Session, rows: Predictions, *more: Any) -> tuple[Any, ...]:
    settings = session.settings
    return (rows.fingerprint, settings.fitting(), settings.confidence_level, *more)


def decisions(session: Session, analysis: Analysis, rows: Predictions) -> DecisionTable:
    """Decisions by every method under the session's costs."""
    held_out, at, chosen = analysis.held_out, session.settings.confidence_level, costs(session)
    assert held_out is not None

    def make() -> DecisionTable:
        with HEAVY:
            return decide(held_out, chosen, confidence_level=at)

    return session.findings.get_or_make(_key(session, rows, "decide", chosen), make)


def curves(
    session: Session, analysis: Analysis, rows: Predictions
) -> tuple[CostCurves, NetBenefit]:
    """Cost and net benefit over the threshold."""
    held_out, chosen = analysis.held_out, costs(session)
    assert held_out is not None
    findings = session.findings
    return (
        findings.get_or_make(
            _key(session, rows, "cost", chosen), lambda: cost_curves(held_out, chosen)
        ),
        findings.get_or_make(_key(session, rows, "benefit"), lambda: net_benefit(held_out)),
    )


def counts(
    session: Session, analysis: Analysis, rows: Predictions, low: float, high: float
) -> ExpectedCounts:
    """Expected and observed positives in a range of scores."""
    held_out, at = analysis.held_out, session.settings.confidence_level
    assert held_out is not None

    def make() -> ExpectedCounts:
        return expected_counts(held_out, low, high, confidence_level=at)

    return session.findings.get_or_make(_key(session, rows, "counts", low, high), make)
