"""What the Decisions page shows: sentences, numbers, tables."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.comparison import Estimate
from calib.decisions import Decision, DecisionTable, ExpectedCounts
from calib.ui import state
from calib.ui.words import interval, level, method_label, number, signed

COST_READING = """
- A **line** is the cost of flagging all rows from a threshold on. For calibrated scores it is
  lowest near the vertical line, the **threshold that the costs ask for**.
- The **marker** is the lowest point on these very rows. Nobody knows it in advance, and the cost
  there flatters the method.
"""
BENEFIT_READING = """
- **Net benefit**: true positives minus false positives at the price that the threshold sets on
  them, per row. Acting from a score of t on says that one missed positive weighs (1 − t) / t false
  alarms.
- Calibrated scores stay above **Flag all** and **Flag none** at every threshold; scores that fall
  below do harm there. Vickers and Elkin 2006.
"""
COUNT_READING = (
    "Scores that are used as numbers, such as expected clicks or expected defaults, must add up: "
    "the expected count is the sum of the scores. The range is one of uncalibrated scores, so all "
    "methods answer for the same rows."
)


def verdict(table: DecisionTable, shown: Sequence[str]) -> str:
    """What is decided, and what calibration changes, in sentences."""
    first = table.methods["uncalibrated"]
    if table.costs.capacity is None:
        rule = f"Flag a row from a score of **{table.costs.threshold:.3g}** on."
    else:
        n = first.n_flagged
        rule = f"Flag the **{n:,.0f}** rows of the highest scores."
    if len(shown) == 1:
        return f"{rule} Expected cost per row: {number(first.cost.value)}."
    after = table.methods[shown[1]]
    return f"{rule} {_change(table, shown[1], first, after)}"


def _change(table: DecisionTable, key: str, before: Decision, after: Decision) -> str:
    change, at = after.change, level(table.confidence_level)
    moved = "falls" if change.value < 0 else "rises" if change.value > 0 else "stays"
    sure = "" if change.high < 0 or change.low > 0 else " That may be chance."
    if change.value == 0.0 and change.low == change.high:
        return (
            f"Deciding by {method_label(key)} instead of the scores as they are flags the same "
            f"rows: the expected cost per row stays {number(before.cost.value)}."
        )
    return (
        f"Deciding by {method_label(key)} instead of the scores as they are, the expected cost "
        f"per row {moved} from {number(before.cost.value)} to {number(after.cost.value)}: paired "
        f"change {signed(change.value)}, {at} interval {interval(change, signed=True)}.{sure}"
    )


def table(decided: DecisionTable, *, weighted: bool) -> None:
    """Every method's decisions in numbers."""
    st.dataframe(
        [_row(decided, key) for key in decided.methods],
        hide_index=True,
        key=state.key("table_decisions"),
        column_config={"Method": st.column_config.TextColumn(pinned=True)},
        alt="One row a method: its threshold, its right and wrong decisions, and their cost.",
    )
    blind = f"all {number(decided.treat_all)}, flagging none {number(decided.treat_none)}"
    counted = " Counts are sums of the rows' weights." if weighted else ""
    st.caption(f"Expected cost per row of flagging {blind}.{counted}")


def _row(decided: DecisionTable, key: str) -> dict[str, str]:
    found, at = decided.methods[key], level(decided.confidence_level)
    row = {
        "Method": method_label(key),
        "Threshold": f"{found.threshold:.3g}",
        "Flagged": _count(found.n_flagged),
        "True positives": _count(found.true_positives),
        "False positives": _count(found.false_positives),
        "False negatives": _count(found.false_negatives),
        "True negatives": _count(found.true_negatives),
        "Cost per row": number(found.cost.value),
        f"Change ({at} interval)": _change_cell(found.change) if key != "uncalibrated" else "–",
        "Net benefit": number(found.net_benefit.value),
    }
    if decided.costs.capacity is None:
        place = "none flagged" if found.hindsight > 1.0 else f"{found.hindsight:.3g}"
        row["Least in hindsight"] = f"{number(found.hindsight_cost)} from {place}"
    return row


def _change_cell(change: Estimate) -> str:
    return f"{signed(change.value)} ({interval(change, signed=True)})"


def _count(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 else f"{value:,.1f}"


def counts_said(counts: ExpectedCounts, shown: Sequence[str]) -> str:
    """Expected against observed, in sentences."""
    if not counts.rows:
        return "No row has a score in this range."
    lead = (
        f"**{counts.rows:,}** rows have a score from {counts.low:g} to {counts.high:g}; "
        f"**{_count(counts.observed)}** of them came true."
    )
    return " ".join([lead, *(_counted(counts, key) for key in shown)])


def _counted(counts: ExpectedCounts, key: str) -> str:
    excess = counts.excess[key]
    if excess.low <= 0.0 <= excess.high:
        verdict = "in keeping with that"
    else:
        verdict = "too few" if excess.value > 0 else "too many"
    return f"**{method_label(key)}** expects {counts.expected[key]:,.1f}: {verdict}."


def counts_table(counts: ExpectedCounts, confidence_level: float) -> None:
    """Every method's expected count."""
    at = level(confidence_level)
    st.dataframe(
        [
            {
                "Method": method_label(key),
                "Expected": f"{counts.expected[key]:,.1f}",
                "Observed": _count(round(counts.expected[key] + excess.value, 6)),
                "Observed − expected": signed(excess.value, 1),
                f"{at} interval": interval(excess, 1, signed=True),
            }
            for key, excess in counts.excess.items()
        ],
        hide_index=True,
        key=state.key("table_counts"),
        alt="One row a method: expected and observed positives, and their difference.",
    )
