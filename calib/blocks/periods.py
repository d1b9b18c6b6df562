"""Periods as blocks: since when the scores are miscalibrated, and the numbers of each period."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calib.analysis import Analysis
from calib.analysis.periods import PeriodChange, PeriodTable
from calib.analysis.verdict import SIGNIFICANCE
from calib.blocks.kinds import Block, Drawing, Heading, Note, Paragraph, Table, Tabs, Value
from calib.blocks.slices import TOO_FEW, slope_value
from calib.figures.periods import period_chart
from calib.numerics.intervals import Estimate
from calib.text import between_percents, level, p_value, percent, plural
from calib.words import periods as wording
from calib.words.measures import KS

MAX_PRINTED = 40  # Longer tables are cut on paper; the CSV file of a report has all periods.
SHADED = "Shaded in the upper panels: the periods that differ from the others."
UNIT_WORDS = {
    "value": "one per value",
    "range": "ranges with about equal counts",
    "day": "one per day",
    "week": "one per week, from Monday",
    "month": "one per month",
    "quarter": "one per quarter",
    "year": "one per year",
}


def periods(
    analysis: Analysis,
    column: str,
    tables: Mapping[str, PeriodTable],
    changes: Mapping[str, PeriodChange] | None = None,
    *,
    most: int | None = None,
    young: float = math.nan,
) -> tuple[Block, ...]:
    """The finding, the change of each method over time, the chart and the tables.

    The keys are methods. A report has no `changes`. The tables have the last `most` periods. The
    chart is hatched from the position `young` on.
    """
    first, changes = tables["uncalibrated"], changes or {}
    change = changes.get("uncalibrated")
    advised = analysis.recommendation.method
    drawn = period_chart(tables, change, recommended=advised, young=young)
    sentences = (
        Paragraph(
            wording.sentence(one, first.unit),
            about=analysis.methods[key].label if len(changes) > 1 else "",
        )
        for key, one in changes.items()
    )
    labels = {key: analysis.methods[key].label for key in tables}
    return (
        Heading(wording.heading(first)),
        *sentences,
        Drawing(drawn, "periods"),
        Note(" ".join(_about(column, first, change))),
        Tabs("Periods", {labels[key]: _table(one, most) for key, one in tables.items()}),
    )


def _about(column: str, first: PeriodTable, change: PeriodChange | None) -> list[str]:
    said = [f"{len(first)} periods of {column} ({UNIT_WORDS.get(first.unit, first.unit)})."]
    if change is not None and change.significant(SIGNIFICANCE):
        said.append(SHADED)
    if first.n_missing:
        left_out = plural(first.n_missing, "row")
        said.append(f"{left_out} without a time, or in periods of too few rows, are not used.")
    return said


def _table(table: PeriodTable, most: int | None) -> Table:
    at, n = level(table.confidence_level), len(table)
    meanings = {
        "Predicted": "Mean score.",
        "Observed": f"Share of positive rows, with its {at} interval.",
        "Slope": f"1 is calibrated. With its {at} interval.",
        "Intercept": f"0 is calibrated. With its {at} interval.",
        KS: "Largest cumulative gap up to any score.",
        "KS, p (Holm)": "After the correction for the number of periods.",
    }
    shown = range(max(0, n - (most or n)), n)
    cut = f" The last {len(shown)} of {n} periods." if len(shown) < n else ""
    marked = table.significant(SIGNIFICANCE)
    rows = tuple(_row(table, i, marked=bool(marked[i])) for i in shown)
    return Table(f"With {at} intervals.{cut}", ("Period", *meanings), rows, meanings=meanings)


def _row(table: PeriodTable, i: int, *, marked: bool) -> tuple[Value, ...]:
    rate = between_percents(table.base_rate_low[i], table.base_rate_high[i])
    slope, intercept = (
        Estimate(*(float(getattr(table, f"{name}{end}")[i]) for end in ("", "_low", "_high")))
        for name in ("slope", "intercept")
    )
    return (
        Value(table.names[i], plural(table.rows[i], "row"), marked=marked),
        Value(percent(table.mean_score[i])),
        Value(percent(table.base_rate[i]), rate),
        slope_value(slope),
        slope_value(intercept),
        Value(percent(table.ks[i])),
        Value(TOO_FEW if table.few[i] else p_value(table.p_adjusted[i])),
    )
