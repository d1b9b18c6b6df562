"""Decisions: their controls, and their results, each computed once."""

from __future__ import annotations

import streamlit as st

from calib.analysis import LiveAnalysis
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
from calib.ui import choices, state
from calib.ui.choices import Chosen
from calib.ui.state import Session
from calib.ui.widgets import control, show_value

BY_COSTS, BY_CAPACITY = "Costs", "Capacity"


def costs_control(session: Session) -> Costs:
    """Costs, or the share of rows that can be acted on; returns them."""
    by_costs = session[choices.CAPACITY] is None
    show_value("decide_by", BY_COSTS if by_costs else BY_CAPACITY)
    st.segmented_control(
        "Decide by",
        (BY_COSTS, BY_CAPACITY),
        required=True,
        key="decide_by",
        on_change=_change_rule,
        help="Costs: flag where flagging costs less. Capacity: flag the highest scores.",
    )
    if not by_costs:
        control(session, choices.CAPACITY)
    control(session, choices.COST_FP)
    control(session, choices.COST_FN)
    return costs(session.chosen)


def costs(chosen: Chosen) -> Costs:
    """What was chosen on the Decisions page."""
    return Costs(chosen[choices.COST_FP], chosen[choices.COST_FN], chosen[choices.CAPACITY])


def _change_rule() -> None:
    by_costs = st.session_state["decide_by"] == BY_COSTS
    capacity = None if by_costs else choices.FIRST_CAPACITY
    state.current().change(choices.CAPACITY, capacity)


def range_control(session: Session) -> tuple[float, float]:
    """Range of scores over which positives are counted; returns it."""
    first, key = choices.COUNT_FROM, state.key("count_range")
    low, high = sorted((session[first], session[choices.COUNT_TO]))
    show_value(key, (low, high))
    first.widget(first.label, *first.values.bounds, key=key, on_change=_change_range, args=(key,))
    return low, high


def _change_range(key: str) -> None:
    for choice, end in zip(
        (choices.COUNT_FROM, choices.COUNT_TO), st.session_state[key], strict=True
    ):
        state.current().change(choice, choice.take(end))


def decisions(session: Session, analysis: LiveAnalysis) -> DecisionTable:
    """Decisions by every method under the session's costs."""
    chosen, at = costs(session.chosen), session.settings.confidence_level
    return session.memo.heavy(decide, analysis.held_out, chosen, confidence_level=at)


def curves(session: Session, analysis: LiveAnalysis) -> tuple[CostCurves, NetBenefit]:
    """Cost and net benefit over the threshold."""
    held_out, chosen = analysis.held_out, costs(session.chosen)
    return session.memo(cost_curves, held_out, chosen), session.memo(net_benefit, held_out)


def counts(session: Session, analysis: LiveAnalysis, low: float, high: float) -> ExpectedCounts:
    """Expected and observed positives in a range of scores."""
    at = session.settings.confidence_level
    return session.memo(expected_counts, analysis.held_out, low, high, confidence_level=at)
