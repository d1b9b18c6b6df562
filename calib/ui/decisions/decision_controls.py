"""Controls of decisions: costs or a capacity, and a range of scores."""

from __future__ import annotations

import streamlit as st

from calib.analysis.decisions import Costs
from calib.ui.controls.widgets import control, show_value
from calib.ui.session import choices, state
from calib.ui.session.decisions import costs
from calib.ui.session.session import Session

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
