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
    Decision,
    DecisionTable,
    ExpectedCounts,
    NetBenefit,
    cost_curves,
    expected_by_band,
    expected_counts,
    net_benefit,
)
from calib.figures.decisions import cost_chart, net_benefit_chart, worse_sentence
from calib.figures.live_decisions import decisions_data, script, style
from calib.numerics.estimate import Estimate
from calib.text import (
    count,
    interval,
    joined,
    level,
    number,
    plain,
    plural,
    signed,
    significant,
    with_interval,
)
from calib.ui.controls import widgets
from calib.ui.controls.widgets import ask, control, take_answer
from calib.ui.layout import charts, frame
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.results import costs
from calib.ui.session.session import Session

LIVE_KEY = "live_decisions"
BY_COSTS, BY_CAPACITY = "Costs", "Capacity"
QUESTION = "What does a missed positive cost, compared with a false alarm?"
# By the rule that decides: each explains what its chart draws.
COST_READINGS = {
    "costs": "Dots: the lowest cost on these rows, chosen in hindsight and so optimistic. ",
    "capacity": "Dots: as many rows are flagged as the capacity allows. ",
}
NO_RANKING = (
    "They do not rank methods, because a calibrator that keeps the order of the scores reaches the "
    "same decisions at another threshold."
)
BENEFIT_READING = (
    "Net benefit per row: true positives minus false positives weighted by the odds t / (1 − t) of "
    "the threshold t. Well calibrated scores are never worse than flagging all rows or nobody, "
    "apart from chance ([Vickers and Elkin 2006](https://doi.org/10.1177/0272989X06295361))."
)
# Meanings of the columns. The headings are short, so that all columns fit.
HEAD = {
    "Threshold": "Lowest score that is flagged.",
    "Flagged": "Rows at or above the threshold.",
    "True positives": "Positive rows that are flagged.",
    "False positives": "False alarms: negative rows that are flagged.",
    "False negatives": "Missed positives: positive rows that are not flagged.",
    "True negatives": "Negative rows that are not flagged.",
    "Cost per row": "Mean cost of the errors.",
    "Change": "Cost minus that of the uncalibrated scores, paired by row.",
    "Net benefit": "See the decision curve above.",
    "Lowest cost on these rows": "And its threshold. It is chosen in hindsight, so it is "
    "optimistic.",
}
BANDS_READING = (
    "If you sum probabilities (expected clicks, expected defaults), the sum should match the "
    "observed count. Rows are selected by their uncalibrated scores, so that all methods are "
    "compared on the same rows."
)


def page() -> None:
    session = frame.begin("Decisions")
    place = st.container(key="decision")
    with widgets.toolbar():
        costs = costs_control(session)
        below = widgets.later()
    models = frame.models(session)
    with below:
        shown = widgets.after_control(session, models[0].analysis)
    frame.show(session, models, partial(body, session, place, costs, shown))


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
    low, high = count_range(session)
    counts = session.memo(expected_counts, held_out, low, high, methods=shown, confidence_level=at)
    # The answers of several models stand above their charts.
    with place if session.pending is None else st.container():
        answer(decided, counts, shown, weighted=analysis.data.weighted)
        widgets.why_shown(analysis, shown)
    benefit = session.memo(net_benefit, held_out)
    # A hand on one of several models would move the costs of all, and a capacity has no costs.
    follows = session.pending is None and costs.capacity is None
    if follows:
        follow_hand(session, analysis, decided, shown)
        captions = st.container()
        static = st.expander(
            "Static charts (PNG, SVG, CSV)", key="static_decisions", on_change="rerun"
        )
        if static.open:
            with static:
                static_charts(session, analysis, decided, shown)
    else:
        static_charts(session, analysis, decided, shown)
        captions = st.container()
    with captions:
        rule = "costs" if costs.capacity is None else "capacity"
        frame.once("cost", lambda: st.caption(COST_READINGS[rule] + NO_RANKING))
        # The first sentence is the title of the chart that follows a hand.
        said = [worse_sentence(benefit, key) for key in (shown[1:] if follows else shown)]
        words = " ".join([*said, shortfalls(benefit, shown)])
        st.caption(plain(words), help=BENEFIT_READING)

    st.markdown("### Decisions by method")
    table(decided, weighted=analysis.data.weighted)
    st.markdown("### Expected and observed positives")
    range_control(session)
    bands = session.memo(expected_by_band, held_out, methods=shown, confidence_level=at)
    everything = session.memo(expected_counts, held_out, methods=shown, confidence_level=at)
    bands_table([*bands, counts, everything], shown, at)
    frame.once("counts", lambda: st.caption(BANDS_READING))


def follow_hand(
    session: Session, analysis: LiveAnalysis, decided: DecisionTable, shown: tuple[str, ...]
) -> None:
    """Draw costs and net benefit in the browser, where a hand can move the threshold."""
    mount = st.components.v2.component("calib_decisions", js=script(), css=style())
    sent = st.session_state.get(LIVE_KEY, {}).get("sent") or {}
    data = session.memo(
        decisions_data, analysis.held_out, decided, shown, analysis.recommendation.method
    )
    mount(
        key=LIVE_KEY,
        data={**data, "answered": sent.get("edit", 0)},
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
    recommended, costs = analysis.recommendation.method, decided.costs
    cost = session.memo(cost_curves, analysis.held_out, costs)
    benefit = session.memo(net_benefit, analysis.held_out)
    threshold = costs.threshold if costs.capacity is None else None
    left, right = st.columns(2, gap="large")
    with left:
        drawn = cost_chart(cost, decided, shown, recommended=recommended)
        charts.chart(drawn, "chart_cost")
    with right:
        drawn = net_benefit_chart(benefit, shown, threshold=threshold, recommended=recommended)
        charts.chart(drawn, "chart_benefit")


def answer(
    decided: DecisionTable, counts: ExpectedCounts, shown: Sequence[str], *, weighted: bool
) -> None:
    """The decision, the counts, and where the threshold comes from."""
    lead, small = counts_sentence(counts, shown), f"{rule(decided)} {cost_sentence(decided, shown)}"
    st.html(
        f'<section class="answer"><div><h2>{escape(headline(decided, shown, weighted=weighted))}'
        f"</h2><p class=lead>{escape(lead)}</p><small>{escape(small)}</small></div></section>"
    )


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
    if by_costs:
        st.caption(QUESTION)
    control(session, choices.COST_FN)
    control(session, choices.COST_FP)
    return costs(session.chosen)


def count_range(session: Session) -> tuple[float, float]:
    """The range of scores whose positives are counted, the lower end first."""
    low, high = sorted((session[choices.COUNT_FROM], session[choices.COUNT_TO]))
    return low, high


def range_control(session: Session) -> None:
    ends, key = (choices.COUNT_FROM, choices.COUNT_TO), state.key("count_range")

    def change(chosen: tuple[float, float]) -> None:
        for choice, end in zip(ends, chosen, strict=True):
            session.change(choice, choice.take(end))

    least, most = ends[0].values.bounds
    look = {"label": ends[0].label, "min_value": least, "max_value": most}
    ask(ends[0].widget, key, count_range(session), change, **look)


def headline(decided: DecisionTable, shown: Sequence[str], *, weighted: bool) -> str:
    """What is decided of a round number of rows, before and after calibration."""
    n_rows, (first, *others) = decided.reference_rows, [decided.methods[key] for key in shown]
    flagged, missed = _flagged_and_missed(first, n_rows)
    counted = ", counted by weight," if weighted else ""
    lead = (
        f"Of {count(n_rows)} rows{counted} you would flag {flagged} and miss {missed} "
        f"positive{'' if missed == '1' else 's'}"
    )
    if not others:
        return f"{lead}."
    change = others[0].change
    after = _flagged_and_missed(others[0], n_rows)
    if after == (flagged, missed) and change.low <= 0.0 <= change.high:
        return f"{lead}, before and after calibration."
    return f"{lead}; after calibration {after[0]} and {after[1]}, {_significance(change)}."


def _flagged_and_missed(decision: Decision, n_rows: int) -> tuple[str, str]:
    shares = (decision.flagged_share, decision.missed_share)
    flagged, missed = (number(n_rows * share, 0) for share in shares)
    return flagged, missed


def _significance(change: Estimate) -> str:
    if change.high < 0.0:
        return "significantly better"
    return "significantly worse" if change.low > 0.0 else "not a significant difference"


def rule(decided: DecisionTable) -> str:
    """Where the threshold comes from."""
    costs = decided.costs
    if costs.capacity is not None:
        share = significant(100.0 * costs.capacity)
        return f"The {share}% of rows with the highest scores are flagged."
    ratio = f"{costs.false_negative:g} : {costs.false_positive:g}"
    default = " unless you change them" if costs.false_negative == costs.false_positive else ""
    return (
        f"The threshold {significant(costs.threshold)} follows from your costs ({ratio}{default})."
    )


def cost_sentence(decided: DecisionTable, shown: Sequence[str]) -> str:
    """The cost of the errors in a round number of rows."""
    costs, n_rows = decided.costs, decided.reference_rows
    equal = costs.false_positive == costs.false_negative == 1.0
    before, *after = (decided.methods[key] for key in shown)
    lead = f"{'Wrong decisions' if equal else 'Cost of errors'} per {count(n_rows)} rows: "
    spent = [number(n_rows * decision.cost.value, 1) for decision in (before, *after)]
    if not after:
        return f"{lead}{spent[0]}."
    change = after[0].change.scaled(n_rows)
    return (
        f"{lead}{spent[0]}, after {method_label(shown[1])} {spent[1]} (change "
        f"{signed(change.value, 1)}, {level(decided.confidence_level)} CI "
        f"{interval(change, 1, sign=True)})."
    )


def shortfalls(curves: NetBenefit, shown: Sequence[str]) -> str:
    """How much worse than flagging all rows or nobody the methods are at most."""
    most = {key: curves.shortfall(key).max() for key in shown}
    parts = [f"{method_label(key)} {significant(value, 2)}" for key, value in most.items()]
    return f"Largest shortfall of net benefit per row: {joined(parts)}."


def table(decided: DecisionTable, *, weighted: bool) -> None:
    unused = {"Threshold"} if decided.costs.capacity is None else {"Lowest cost on these rows"}
    head = {name: meaning for name, meaning in HEAD.items() if name not in unused}
    rows = {key: _cells(key, decision) for key, decision in decided.methods.items()}
    lines = [Line([(method_label(key),), *((rows[key][name],) for name in head)]) for key in rows]
    key = f"lines_{len(lines)}_decisions"
    lines_table(key, "Decisions by method", [("Method", ""), *head.items()], lines)
    blind = f"all {number(decided.treat_all)}, flagging none {number(decided.treat_none)}"
    at = level(decided.confidence_level)
    counted = " Counts are sums of the rows' weights." if weighted else ""
    st.caption(f"Cost per row of flagging {blind}. Change with its {at} interval.{counted}")


def _cells(key: str, decision: Decision) -> dict[str, str]:
    none = decision.hindsight > 1.0
    place = "none flagged" if none else f"at {significant(decision.hindsight)}"
    return {
        "Threshold": significant(decision.threshold),
        "Flagged": count(decision.n_flagged),
        "True positives": count(decision.true_positives),
        "False positives": count(decision.false_positives),
        "False negatives": count(decision.false_negatives),
        "True negatives": count(decision.true_negatives),
        "Cost per row": number(decision.cost.value),
        "Change": "–" if key == "uncalibrated" else with_interval(decision.change, sign=True),
        "Net benefit": number(decision.net_benefit.value),
        "Lowest cost on these rows": f"{number(decision.hindsight_cost)} {place}",
    }


def counts_sentence(counts: ExpectedCounts, shown: Sequence[str]) -> str:
    scores = _scores(counts)
    if not counts.rows:
        return f"No row has a score {scores}."
    rows = f"the {plural(counts.rows, 'row')} with a score {scores}"
    if (counts.low, counts.high) == (0.0, 1.0):
        rows = f"all {plural(counts.rows, 'row')}"
    weight = f" (weight {count(counts.weight)})" if counts.weight != counts.rows else ""
    first, *others = (
        f"{number(counts.expected[key], 1)} positives"
        if i == 0
        else f"{method_label(key)} expects {number(counts.expected[key], 1)}: "
        f"{_judged(counts.excess[key])}."
        for i, key in enumerate(shown)
    )
    lead = (
        f"Among {rows}{weight}, uncalibrated scores expect {first}; {count(counts.observed)} "
        f"{'was' if counts.observed == 1 else 'were'} observed: {_judged(counts.excess[shown[0]])}."
    )
    return " ".join([lead, *others])


def _scores(counts: ExpectedCounts) -> str:
    if counts.high == 1.0:
        return f"of at least {counts.low:g}"
    return (
        f"of at most {counts.high:g}"
        if counts.low == 0.0
        else (f"from {counts.low:g} to {counts.high:g}")
    )


def _judged(excess: Estimate) -> str:
    if excess.low <= 0.0 <= excess.high:
        return "not significantly different"
    return "too few" if excess.value > 0 else "too many"


def bands_table(
    bands: Sequence[ExpectedCounts], shown: Sequence[str], confidence_level: float
) -> None:
    """The bands, then the chosen range, which is marked, and all rows."""
    at = level(confidence_level)
    head = [("Uncalibrated score", ""), ("Rows", ""), ("Observed", "Positive rows.")]
    for key in shown:
        head += [
            (f"{method_label(key)} expects", "Sum of its scores."),
            ("Observed − expected", f"With its {at} interval."),
        ]
    n_bands, lines = len(bands) - 2, []
    for number_of, band in enumerate(bands):
        name = f"{band.low:g} to {band.high:g}"
        name = name if number_of < n_bands else ("Chosen: " + name, "All rows")[number_of - n_bands]
        cells = [name, count(band.rows), count(band.observed)]
        for key in shown:
            excess = with_interval(band.excess[key], 1, sign=True)
            cells += [number(band.expected[key], 1), excess if band.rows else "–"]
        lines.append(Line([(cell,) for cell in cells], marked=number_of == n_bands))
    lines_table(f"lines_{len(lines)}_bands", "Expected and observed positives", head, lines)
