"""What the Slices page shows of periods: sentences, chart, table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.analysis.periods import PeriodTable
from calib.analysis.run import Data
from calib.analysis.verdict import SIGNIFICANCE
from calib.core.estimate import Estimate
from calib.figures.periods import period_chart
from calib.text import number, p_value, plain, with_interval
from calib.ui.layout import charts, tables
from calib.ui.session import slicing
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.ui.slices.slice_view import COLUMNS

NO_TIME = (
    "Choose a column of dates or seasons to see calibration over time. For your own file, map it "
    "as **Time** on the Data page."
)
UNITS_SAID = {
    "value": "one per value",
    "range": "ranges with about equal counts",
    "day": "one per day",
    "week": "one per week, from Monday",
    "month": "one per month",
    "quarter": "one per quarter",
    "year": "one per year",
}


def over_time(
    session: Session, analysis: LiveAnalysis, rows: Data, column: str, methods: Sequence[str]
) -> None:
    """Calibration over the periods of a column: chart, what is set aside, table."""
    try:
        with st.spinner("Computing periods"):
            found = slicing.period_tables(session, rows, analysis, column, methods)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    _periods(found, column)


def _periods(periods: Mapping[str, PeriodTable], column: str) -> None:
    first = periods["uncalibrated"]
    for key, each in periods.items():
        marked = int((each.ks_p_adjusted < SIGNIFICANCE).sum())
        judged = int((~each.few).sum())
        st.markdown(
            f"**{method_label(key)}**: evidence against calibration in {marked} of {judged} "
            "periods (KS test, after Holm's correction)."
        )
    charts.chart(period_chart(periods), "chart_periods")
    sentence = (
        f"{len(first)} periods of {plain(column)} ({UNITS_SAID.get(first.unit, first.unit)})."
    )
    if first.n_missing:
        sentence += f" {first.n_missing:,} rows without a time are not used."
    st.caption(sentence)
    tables.by_method(
        "periods",
        {key: [_period_row(each, i) for i in range(len(each))] for key, each in periods.items()},
        COLUMNS,
        alt="One row per period: rows, observed frequency, mean score, slope, intercept, KS error.",
    )


def _period_row(table: PeriodTable, i: int) -> dict[str, object]:
    return {
        "Period": table.names[i],
        "Rows": int(table.rows[i]),
        "Observed": _with_bounds(table, "base_rate", i),
        "Mean score": number(table.mean_score[i]),
        "Slope": _with_bounds(table, "slope", i, 2),
        "Intercept": _with_bounds(table, "intercept", i, 2),
        "KS error": f"{number(table.ks[i])}, {p_value(table.ks_p_value[i])}",
    }


def _with_bounds(table: PeriodTable, name: str, i: int, digits: int = 3) -> str:
    value, low, high = (float(getattr(table, f"{name}{end}")[i]) for end in ("", "_low", "_high"))
    if value != value:
        return "not estimable"
    return with_interval(Estimate(value, low, high), digits)
