"""Controls of decisions: costs or a capacity, and a range of scores."""

from __future__ import annotations

from calib.analysis.decisions import Costs
from calib.ui.controls.widgets import ask, control
from calib.ui.session import choices, state
from calib.ui.session.decisions import costs
from calib.ui.session.session import Session

BY_COSTS, BY_CAPACITY = "Costs", "Capacity"


def costs_control(session: Session) -> Costs:
    """Costs, or the share of rows that can be acted on; returns them."""
    by_costs = session[choices.CAPACITY] is None

    def change(rule: str) -> None:
        session.change(choices.CAPACITY, None if rule == BY_COSTS else choices.FIRST_CAPACITY)

    ask(
        choices.SEGMENTED,
        "decide_by",
        BY_COSTS if by_costs else BY_CAPACITY,
        change,
        label="Decide by",
        options=(BY_COSTS, BY_CAPACITY),
        help="Costs: flag where flagging costs less. Capacity: flag the highest scores.",
    )
    if not by_costs:
        control(session, choices.CAPACITY)
    control(session, choices.COST_FP)
    control(session, choices.COST_FN)
    return costs(session.chosen)


def range_control(session: Session) -> tuple[float, float]:
    """Range of scores over which positives are counted; returns it."""
    ends, key = (choices.COUNT_FROM, choices.COUNT_TO), state.key("count_range")
    low, high = sorted(session[end] for end in ends)

    def change(chosen: tuple[float, float]) -> None:
        for choice, end in zip(ends, chosen, strict=True):
            session.change(choice, choice.take(end))

    least, most = ends[0].values.bounds
    look = {"label": ends[0].label, "min_value": least, "max_value": most}
    ask(ends[0].widget, key, (low, high), change, **look)
    return low, high
