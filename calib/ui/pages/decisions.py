"""Decisions: which threshold, what it costs, and what calibration changes about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from calib.analysis.decisions import (
    Costs,
    Decision,
    DecisionTable,
    ExpectedCounts,
    NetBenefit,
    cost_curves,
    expected_counts,
    net_benefit,
)
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.text import count, interval, level, number, percent, signed, significant
from calib.ui.controls import widgets
from calib.ui.controls.widgets import ask, control
from calib.ui.layout import charts, frame, tables
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.results import costs
from calib.ui.session.session import Session

BY_COSTS, BY_CAPACITY = "Costs", "Capacity"
# By the rule that decides: each explains what its chart draws.
COST_READINGS = {
    "costs": """
- Each **line** is the expected cost per row if all rows with a score of at least the threshold are
  flagged.
- The vertical line is the **optimal threshold** for calibrated scores. It depends only on the
  costs.
- The **marker** is the lowest cost on these rows. It is chosen in hindsight, so its cost is
  optimistic.
""",
    "capacity": """
- Each **line** is the expected cost per row if all rows with a score of at least the threshold are
  flagged.
- The **marker** is where the method has flagged as many rows as the capacity allows. Here the costs
  do not determine the threshold.
""",
}
BENEFIT_READING = """
- **Net benefit** (decision curve): true positives minus false positives weighted by the odds
  t / (1 − t), per row. Acting at threshold t means that one true positive is worth (1 − t) / t
  false positives.
- Perfectly calibrated scores are never below **Flag all** or **Flag none**, apart from chance.
  [Vickers and Elkin 2006](https://doi.org/10.1177/0272989X06295361).
"""
# Meanings of the columns. The headings are short, so that the table fits beside a sidebar.
HEAD = {
    "Threshold": "Lowest score that is flagged.",
    "Flagged": "Rows at or above the threshold.",
    "Not flagged": "Rows below the threshold.",
    "Cost per row": "Expected cost, and its change by calibration.",
    "Net benefit": "See the decision curve above.",
    "Lowest in hindsight": "The lowest cost on these rows, and its threshold. It is chosen in "
    "hindsight, so it is optimistic.",
}
COUNT_READING = (
    "If you sum probabilities (expected clicks, expected defaults), the sum should match the "
    "observed count. Rows are selected by their uncalibrated scores, so that all methods are "
    "compared on the same rows."
)


def page() -> None:
    session = frame.begin("Decisions")
    with widgets.toolbar():
        costs = costs_control(session)
        below = widgets.later()
    models = frame.models(session)
    with below:
        shown = widgets.after_control(session, models[0].analysis)
    frame.show(session, models, partial(body, session, costs, shown))


def body(session: Session, costs: Costs, shown: tuple[str, ...], model: state.Model) -> None:
    analysis = model.analysis
    weighted = analysis.data.weighted
    decided = results.decisions(session, analysis)
    st.markdown("## Decisions")
    with st.container(border=True, key=state.key("decision")):
        st.markdown(verdict(decided, shown, weighted=weighted))
        widgets.why_shown(analysis, shown)

    recommended = analysis.recommendation.method
    cost = session.memo(cost_curves, analysis.held_out, costs)
    benefit = session.memo(net_benefit, analysis.held_out)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("### Expected cost")
        drawn = cost_chart(cost, decided, shown, recommended=recommended)
        charts.chart(drawn, "chart_cost")
        rule = "costs" if costs.capacity is None else "capacity"
        frame.reading(COST_READINGS[rule], "the cost curve")
    with right:
        st.markdown("### Net benefit (decision curve)")
        at = None if costs.capacity else costs.threshold
        drawn = net_benefit_chart(benefit, shown, threshold=at, recommended=recommended)
        charts.chart(drawn, "chart_benefit")
        st.markdown(" ".join(benefit_sentence(benefit, key) for key in shown))
        frame.reading(BENEFIT_READING, "the decision curve")

    st.markdown("### Decisions by method")
    table(decided, weighted=weighted)
    counted(session, shown, model)


def counted(session: Session, shown: tuple[str, ...], model: state.Model) -> None:
    st.markdown("### Expected and observed counts")
    low, high = range_control(session)
    at, held_out = session.settings.confidence_level, model.analysis.held_out
    counts = session.memo(expected_counts, held_out, low, high, confidence_level=at)
    st.markdown(counts_sentence(counts, shown))
    if counts.rows:
        counts_table(counts, at)
    frame.once("counts", lambda: st.caption(COUNT_READING))


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
    control(session, choices.COST_FP)
    control(session, choices.COST_FN)
    return costs(session.chosen)


def range_control(session: Session) -> tuple[float, float]:
    ends, key = (choices.COUNT_FROM, choices.COUNT_TO), state.key("count_range")
    low, high = sorted(session[end] for end in ends)

    def change(chosen: tuple[float, float]) -> None:
        for choice, end in zip(ends, chosen, strict=True):
            session.change(choice, choice.take(end))

    least, most = ends[0].values.bounds
    look = {"label": ends[0].label, "min_value": least, "max_value": most}
    ask(ends[0].widget, key, (low, high), change, **look)
    return low, high


def benefit_sentence(curves: NetBenefit, key: str) -> str:
    lead, missing = f"**{method_label(key)}** is", curves.shortfall(key)
    worse = curves.threshold[missing > 0.0]
    if not len(worse):
        return f"{lead} never below flagging all or none."
    first, last = worse.min(), worse.max()
    where = f"between {first:g} and {last:g}" if len(worse) > 1 else f"{first:g}"
    return (
        f"{lead} below flagging all or none at {len(worse)} of {len(missing)} thresholds, {where}, "
        f"by at most {significant(missing.max(), 2)}."
    )


def verdict(table: DecisionTable, shown: Sequence[str], *, weighted: bool) -> str:
    first = table.methods["uncalibrated"]
    rule = _rule(table.costs, first.n_flagged, weighted)
    if len(shown) == 1:
        return f"{rule} Expected cost per row: {number(first.cost.value)}."
    after = table.methods[shown[1]]
    return f"{rule} {_change(table, shown[1], first, after)}"


def _rule(costs: Costs, n_flagged: float, weighted: bool) -> str:
    if costs.capacity is None:
        return f"Optimal threshold: **{significant(costs.threshold)}**."
    if weighted:
        return (
            "Flag the rows with the highest scores, "
            f"**{percent(costs.capacity, 3)}** of the weight."
        )
    return f"Flag the **{number(n_flagged, 0)}** rows with the highest scores."


def _change(table: DecisionTable, key: str, before: Decision, after: Decision) -> str:
    change, at = after.change, level(table.confidence_level)
    cost, then = number(before.cost.value), number(after.cost.value)
    if change.value == change.low == change.high == 0.0:
        return (
            f"{method_label(key)} flags the same rows as the uncalibrated scores: the expected "
            f"cost per row is {cost} with both."
        )
    moved = f"stays {cost}" if cost == then else f"changes from {cost} to {then}"
    sure = "" if change.high < 0 or change.low > 0 else "not "
    return (
        f"With {method_label(key)} the expected cost per row {moved} ({signed(change.value)}, "
        f"{at} CI {interval(change, sign=True)}). The change is {sure}significant."
    )


def table(decided: DecisionTable, *, weighted: bool) -> None:
    unused = "Threshold" if decided.costs.capacity is None else "Lowest in hindsight"
    head = {name: meaning for name, meaning in HEAD.items() if name != unused}
    rows = {key: _cells(key, decision) for key, decision in decided.methods.items()}
    lines = [
        Line([(method_label(key),), *(cells[name] for name in head)]) for key, cells in rows.items()
    ]
    about = "Decisions by method"
    lines_table(f"rows_{len(lines)}_decisions", about, [("Method", ""), *head.items()], lines)
    blind = f"all {number(decided.treat_all)}, flagging none {number(decided.treat_none)}"
    at = level(decided.confidence_level)
    counted = " Counts are sums of the rows' weights." if weighted else ""
    st.caption(
        f"Expected cost per row: flagging {blind}. Below each cost: its change by calibration, "
        f"with the {at} confidence interval.{counted}"
    )


def _cells(key: str, decision: Decision) -> dict[str, tuple[str, ...]]:
    moved = (signed(decision.change.value), interval(decision.change, sign=True))
    place = "none flagged" if decision.hindsight > 1.0 else f"at {significant(decision.hindsight)}"
    return {
        "Threshold": (significant(decision.threshold),),
        "Flagged": (
            count(decision.n_flagged),
            f"{count(decision.true_positives)} true positives",
            f"{count(decision.false_positives)} false positives",
        ),
        "Not flagged": (
            count(decision.true_negatives + decision.false_negatives),
            f"{count(decision.true_negatives)} true negatives",
            f"{count(decision.false_negatives)} false negatives",
        ),
        "Cost per row": (number(decision.cost.value), *(() if key == "uncalibrated" else moved)),
        "Net benefit": (number(decision.net_benefit.value),),
        "Lowest in hindsight": (number(decision.hindsight_cost), place),
    }


def counts_sentence(counts: ExpectedCounts, shown: Sequence[str]) -> str:
    if not counts.rows:
        return "No row has a score in this range."
    have = "row has" if counts.rows == 1 else "rows have"
    positive, were = count(counts.observed), "was" if counts.observed == 1 else "were"
    came = f"**{positive}** of them {were} positive."
    if counts.weight != counts.rows:
        came = f"**{positive}** of their weight of {count(counts.weight)} was positive."
    lead = f"**{counts.rows:,}** {have} a score from {counts.low:g} to {counts.high:g}; {came}"
    return " ".join([lead, *(_counted(counts, key) for key in shown)])


def _counted(counts: ExpectedCounts, key: str) -> str:
    excess = counts.excess[key]
    if excess.low <= 0.0 <= excess.high:
        verdict = "consistent"
    else:
        verdict = "too few" if excess.value > 0 else "too many"
    return f"**{method_label(key)}** predicts {number(counts.expected[key], 1)} ({verdict})."


def counts_table(counts: ExpectedCounts, confidence_level: float) -> None:
    at = level(confidence_level)
    tables.table(
        "counts",
        [
            {
                "Method": method_label(key),
                "Expected": number(counts.expected[key], 1),
                "Observed": count(round(counts.expected[key] + excess.value, 6)),
                "Observed − expected": signed(excess.value, 1),
                f"{at} CI": interval(excess, 1, sign=True),
            }
            for key, excess in counts.excess.items()
        ],
        alt="One row per method: expected and observed positives, and their difference.",
    )
