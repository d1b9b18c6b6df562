"""Decisions: which threshold, what it costs, and what calibration changes about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import LiveAnalysis
from calib.analysis.decisions import (
    Costs,
    DecisionTable,
    ExpectedCounts,
    cost_curves,
    expected_by_band,
    expected_counts,
    net_benefit,
)
from calib.blocks import decisions as decision_blocks
from calib.figures.chart import file_name
from calib.figures.live_decisions import decisions_data, script, style
from calib.text import level
from calib.ui.controls import use_calibrator, widgets
from calib.ui.controls.widgets import ask, control, take_answer
from calib.ui.layout import blocks, frame, notes
from calib.ui.session import choices, results, state
from calib.ui.session.results import costs
from calib.ui.session.session import Session
from calib.words.decisions import (
    advice,
    change_sentence,
    changes_decisions,
    decision_sentence,
    headline,
    judged,
)

KEY = "rates_by_slice"


def section(
    session: Session, model: state.Model, decided: DecisionTable, shown: Sequence[str]
) -> None:
    """Draw the rates while the section is open: they are counted anew at every threshold."""
    if not model.rows.columns:
        return
    folded = st.expander("Error rates by slice", key=KEY, on_change="rerun")
    if not folded.open:
        return
    with folded:
        with widgets.toolbar("rates"):
            columns = widgets.slice_columns(session, model.rows)
        cut = results.sliced(session, model, columns)
        rates = results.error_rates(session, cut, decided, shown)
        made = decision_blocks.error_rates(model.analysis, decided, rates, cut.slicing.columns)
        blocks.show_all(made)


LIVE_KEY = "live_decisions"
BY_COSTS, BY_CAPACITY = "Costs", "Capacity"
BANDS_SUM = "Sums of probabilities (expected clicks, defaults) should match the observed counts."
BANDS_ROWS = "Uncalibrated scores select the rows, so that all methods have the same ones."


def page() -> None:
    session = frame.begin("Decisions")
    # A container is drawn only if something is in it, and the place must be kept free.
    place = st.container(key="decision").html(answered(""))
    with widgets.toolbar("decisions"):
        costs = costs_control(session)
        below = widgets.later()
    model = frame.model(session)
    with below:
        shown = widgets.after_control(session, model.analysis)
        # A button that stands out would advise to calibrate for decisions that stay the same.
        helps = changes_decisions(results.decisions(session, model.analysis), shown)
        use_calibrator.advised_button(session, model, helps=helps)
    body(session, place, costs, shown, model)
    notes.below(session, model)


def body(
    session: Session,
    place: DeltaGenerator,
    costs: Costs,
    shown: tuple[str, ...],
    model: state.Model,
) -> None:
    analysis = model.analysis
    decided = results.decisions(session, analysis)
    held_out, at = analysis.held_out, session.settings.confidence_level
    from_score = decided.methods["uncalibrated"].threshold
    flagged = session.memo(
        expected_counts, held_out, from_score, methods=shown, confidence_level=at
    )
    # A capacity has no costs that a hand could move.
    follows = costs.capacity is None
    words = answer(
        decided,
        flagged,
        shown,
        weighted=analysis.data.weighted,
        planned=analysis.recommendation.plan is not None,
    )
    place.html(words)
    widgets.why_shown(analysis, shown)
    if follows:
        follow_hand(session, analysis, decided, flagged, shown)
    else:
        static_charts(session, analysis, decided, shown)

    frame.sections(session, model, "Decisions")
    with st.expander("Decisions by method", key="by_method"):
        blocks.show(session.memo(decision_blocks.table, analysis, decided))
    with st.expander("Expected and observed positives", key="positives"):
        positives(session, analysis, shown)
    section(session, model, decided, shown)
    if follows:
        # Few people need them, so they stand below what everybody reads.
        static = st.expander("Charts to save or print", key="static_decisions", on_change="rerun")
        if static.open:
            with static:
                static_charts(session, analysis, decided, shown)


def positives(session: Session, analysis: LiveAnalysis, shown: tuple[str, ...]) -> None:
    """The positives that the scores expect, in all bands and in a range that a person chooses."""
    held_out, at = analysis.held_out, session.settings.confidence_level
    range_control(session)
    low, high = count_range(session)
    counts = session.memo(expected_counts, held_out, low, high, methods=shown, confidence_level=at)
    bands = session.memo(expected_by_band, held_out, methods=shown, confidence_level=at)
    everything = session.memo(expected_counts, held_out, methods=shown, confidence_level=at)
    blocks.show(decision_blocks.expected(analysis, [*bands, counts, everything], shown, level(at)))
    st.caption(BANDS_SUM, help=BANDS_ROWS)


def follow_hand(
    session: Session,
    analysis: LiveAnalysis,
    decided: DecisionTable,
    flagged: ExpectedCounts,
    shown: tuple[str, ...],
) -> None:
    """Draw costs and net benefit in the browser, where a hand can move the threshold."""
    mount = st.components.v2.component("calib_decisions", js=script(), css=style())
    sent = st.session_state.get(LIVE_KEY, {}).get("sent") or {}
    data = session.memo(
        decisions_data, analysis.held_out, decided, shown, analysis.recommendation.method
    )
    file = file_name("decisions", analysis.data.name)
    mount(
        key=LIVE_KEY,
        data={
            **data,
            "judged": [judged(flagged, key) for key in shown],
            "file": file,
            "answer": "decision",
            "answered": sent.get("edit", 0),
        },
        default={"sent": None},
        on_sent_change=partial(take_answer, LIVE_KEY, partial(take_cost, session)),
    )


def take_cost(session: Session, answer: Mapping[str, Any]) -> None:
    """Apply the cost that follows from the moved threshold. It is checked like that of a link."""
    values = choices.COST_FN.values
    try:
        cost = values.read(str(float((answer["sent"] or {})["cost_fn"])))
    except (KeyError, TypeError, ValueError):
        return
    session.change(choices.COST_FN, choices.COST_FN.take(cost))


def static_charts(
    session: Session, analysis: LiveAnalysis, decided: DecisionTable, shown: tuple[str, ...]
) -> None:
    cost = session.memo(cost_curves, analysis.held_out, decided.costs)
    benefit = session.memo(net_benefit, analysis.held_out)
    blocks.show_all(decision_blocks.curves(analysis, decided, benefit, cost, shown))


def costs_control(session: Session) -> Costs:
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
    control(session, choices.COST_FN, label="What does a missed positive cost?")
    control(session, choices.COST_FP, label="And a false alarm?")
    return costs(session.chosen)


def count_range(session: Session) -> tuple[float, float]:
    """The range of scores whose positives are counted, the lower end first."""
    low, high = sorted((session[choices.COUNT_FROM], session[choices.COUNT_TO]))
    return low, high


def range_control(session: Session) -> None:
    ends, key = (choices.COUNT_FROM, choices.COUNT_TO), "count_range"

    def change(chosen: tuple[float, float]) -> None:
        for choice, end in zip(ends, chosen, strict=True):
            session.change(choice, choice.take(end))

    least, most = ends[0].values.bounds
    look = {"label": ends[0].label, "min_value": least, "max_value": most}
    ask(ends[0].widget, key, count_range(session), change, **look)


def answer(
    decided: DecisionTable,
    flagged: ExpectedCounts,
    shown: Sequence[str],
    *,
    weighted: bool,
    planned: bool = False,
) -> str:
    """What the errors cost, and below it what calibration changes about that, as HTML.

    If a plan for some rows is recommended (`planned`), nothing is advised about a calibrator of all
    rows, and the heading says that it is one.
    """
    head = headline(decided, shown, weighted=weighted, planned=planned)
    advised = "" if planned else advice(decided, flagged, shown)
    lead = f"{change_sentence(decided, shown)} {advised}".strip()
    lead = lead or decision_sentence(decided, shown, weighted=weighted)
    return answered(f"<h2>{escape(head)}</h2><p class=lead>{escape(lead)}</p>")


def answered(words: str) -> str:
    return f'<section class="answer"><div>{words}</div></section>'
