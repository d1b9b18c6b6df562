"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis.decisions import DecisionTable
from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SlicedRows, SliceErrorRates, SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.data.base import Data
from calib.figures.periods import period_chart
from calib.figures.reliability import overlay_chart
from calib.figures.slice_words import miscalibrated, with_gaps
from calib.figures.slices import MAX_ROWS, slice_chart
from calib.numerics.estimate import Estimate
from calib.text import (
    interval,
    level,
    number,
    p_value,
    percent,
    plain,
    signed,
    significant,
    with_interval,
)
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import charts, frame, tables
from calib.ui.layout.tables import whole_numbers
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session

HOW_TO_CROSS = (
    "These rows were not counted by two columns together. Choose **Slices to cross** on the Data "
    "page, and analyse the rows again."
)
MAX_OVERLAID = 6
# A control cannot list thousands of slices, so those with the strongest evidence are offered.
MAX_OFFERED = 200
MAX_LISTED = 500
COLUMNS = {
    **{name: st.column_config.TextColumn(pinned=True) for name in ("Slice", "Period")},
    **{name: whole_numbers() for name in ("Rows", "Positive")},
}
TOO_FEW = f"< {FEW_ROWS} rows"
NO_COLUMNS = (
    "These data have no slice columns. On the Data page, open **More columns and conversions** and "
    "choose them under **Slice by**. Choose a **Time** column for periods."
)
READING = f"""
- Each **marker** is a slice: observed rate minus mean score, with its interval. Right of zero its
  scores are too low, left of zero too high.
- A **star** means a gap with p < {SIGNIFICANCE:g} after Holm's correction for the number of slices.
  Slices are sorted by the evidence of a gap.
- A slice **without a gap** can be miscalibrated: scores that are too extreme on both sides have the
  right mean. The sentence above and the table use the tests of the verdict.
- **Grey and hollow** slices have fewer than {FEW_ROWS} rows and are not tested.
"""
TESTED = (
    "Calibration: the smallest p-value of the tests of the verdict in the slice, after Holm's "
    "correction for the tests and for the slices. A calibrated slice has slope 1 and a small KS "
    "error."
)
REVEALS_OUTCOME = (
    "All rows of each slice have the same outcome, so this column reveals the outcome. It may have "
    "been recorded after the outcome; in that case it says nothing about the scores."
)
SLICE_CALIBRATOR_READING = (
    "Calibrate globally; add slice-specific calibrators only where needed, because they are fitted "
    "on fewer rows. Both calibrators are evaluated on held-out rows."
)
RATES_NOTE = "Both rates also depend on the base rate of the slice, not only on calibration."
NO_TIME = (
    "Choose a column of dates or seasons to see calibration over time. For your own file, map it "
    "as **Time** on the Data page."
)
UNIT_WORDS = {
    "value": "one per value",
    "range": "ranges with about equal counts",
    "day": "one per day",
    "week": "one per week, from Monday",
    "month": "one per month",
    "quarter": "one per quarter",
    "year": "one per year",
}


def page() -> None:
    session = frame.begin("Slices")
    rows = frame.predictions(session)
    columns: tuple[str, ...] = ()
    with widgets.toolbar():
        if rows.columns:
            columns = columns_control(session, rows)
            if rows.has_rows:
                control(session, choices.N_RANGES)
        below = widgets.later()
    models = frame.models(session)
    with below:
        shown = widgets.after_control(session, models[0].analysis)
    frame.show(session, models, partial(body, session, columns, shown))


def columns_control(session: Session, rows: Data) -> tuple[str, ...]:
    names = list(rows.columns)
    first = control(session, choices.SLICE_BY, names)
    others = rows.crossable_with(first)
    crossed = control(session, choices.CROSS, ["", *others]) if others else ""
    of_source = session.upload is not None and session.upload.source is not None
    if of_source and not others and len(names) > 1:
        st.caption(HOW_TO_CROSS)
    return (first, crossed) if crossed else (first,)


def body(
    session: Session, columns: tuple[str, ...], shown: tuple[str, ...], model: state.Model
) -> None:
    st.markdown("## Slices and time")
    unknown_columns(session, model.rows)
    if not columns:
        st.info(NO_COLUMNS)
        st.page_link("pages/data.py", label="**Go to Data**", query_params=session.link())
        return
    with st.spinner("Computing slices"):
        cut = results.sliced(session, model, columns)
        gaps = results.gaps(session, cut, shown)
        tests = results.slice_tests_of(session, cut, shown)
        decided = results.decisions(session, model.analysis)
        rates = results.error_rates(session, cut, decided, shown)
    widgets.why_shown(model.analysis, shown)
    forest(gaps, tests, model.analysis.recommendation.method)
    table(gaps, tests)

    st.markdown(f"### {rates_title(decided)}")
    st.page_link(
        "pages/decisions.py", label="Chosen on the **Decisions** page", query_params=session.link()
    )
    rates_table(rates, decided)

    st.markdown("### Compare slices")
    overlay, alone = st.columns(2, gap="large")
    with overlay:
        picked = picked_control(session, tests["uncalibrated"])
        curves = results.curves(session, cut, picked)
        charts.chart(overlay_chart(curves), "chart_overlay")
    with alone:
        first = tests["uncalibrated"]
        apart = control(session, choices.APART, offered(first), format_func=namer(first))
        if len(shown) > 1:
            slice_calibrator(session, model, cut, apart, shown[1])
    over_time(session, model, shown)


def over_time(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    st.markdown("### Over time")
    column, unit = st.columns(2, gap="large")
    with column:
        time = time_control(session, model.rows)
    with unit:
        if time and model.rows.holds_dates(time):
            control(session, choices.UNIT)
    if time:
        show_periods(session, model, time, shown)
    else:
        st.caption(NO_TIME)


def unknown_columns(session: Session, rows: Data) -> None:
    """Say which columns of the link are not in these data."""
    wanted = (session[choices.SLICE_BY], session[choices.CROSS], session[choices.TIME])
    names = [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]
    if names:
        listed = ", ".join(map(plain, names))
        st.caption(f":material/info: The link names columns that these data do not have: {listed}.")


def picked_control(session: Session, tests: SliceTests) -> tuple[int, ...]:
    """Choose slices to overlay; returns their numbers, at first the two with the most evidence."""
    numbers, choice = offered(tests), choices.PICKED
    chosen = tuple(number for number in session[choice] if number in numbers) or numbers[:2]
    look = {"format_func": namer(tests), "max_selections": MAX_OVERLAID}
    return control(session, choice, numbers, value=chosen, **look)[:MAX_OVERLAID]


def offered(tests: SliceTests) -> tuple[int, ...]:
    return tuple(int(tests.number[i]) for i in tests.order[:MAX_OFFERED])


def namer(tests: SliceTests) -> Any:
    names = {int(number): name for number, name in zip(tests.number, tests.names, strict=True)}
    return lambda number: names.get(number, str(number))


def time_control(session: Session, rows: Data) -> str:
    names = list(rows.columns)
    wanted = session[choices.TIME] or (session.upload.mapping.time if session.upload else None)
    chosen = wanted if wanted in names else ""
    return control(session, choices.TIME, names, value=chosen)


def forest(
    gaps: Mapping[str, SliceGaps], tests: Mapping[str, SliceTests], recommended: str
) -> None:
    for key, test in tests.items():
        sentence = f"{miscalibrated(test)} {with_gaps(gaps[key])}"
        st.markdown(f"**{method_label(key)}**: {plain(sentence)}")
    first = gaps["uncalibrated"]
    mixed = (first.positives > 0) & (first.positives < first.rows)
    # A slice of one row has one outcome in any column.
    if len(first) > 1 and not mixed.any() and not first.few.all():
        st.warning(REVEALS_OUTCOME)
    picture, reading = st.columns([3, 2], gap="large")
    with picture:
        charts.chart(slice_chart(gaps, recommended=recommended), "chart_slices")
        if len(first) > MAX_ROWS:
            st.caption(
                f"The {MAX_ROWS} slices with the largest gaps for their size, of {len(first):,}. "
                "The table below lists more."
            )
    with reading:
        frame.reading(READING)


def table(gaps: Mapping[str, SliceGaps], tests: Mapping[str, SliceTests]) -> None:
    first = tests["uncalibrated"]
    shown = [int(i) for i in first.order[:MAX_LISTED]]
    # One table of all columns would be wider than a window of 1,024 pixels.
    tables.by_method(
        "slices",
        {key: [_test_row(gaps[key], gap, i) for i in shown] for key, gap in tests.items()},
        COLUMNS,
        alt="One row per slice: its rows, calibration slope, KS error and p-value.",
    )
    listed = f" The first {MAX_LISTED} of {len(first):,} slices." if len(first) > MAX_LISTED else ""
    st.caption(f"{TESTED}{listed}")
    tables.by_method(
        "gaps",
        {key: [_gap_row(gap, i) for i in shown] for key, gap in gaps.items()},
        COLUMNS,
        alt="One row per slice: its rows, positives, observed frequency, mean score, and their "
        "difference with its p-value.",
    )


def _test_row(gaps: SliceGaps, tests: SliceTests, i: int) -> dict[str, object]:
    slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
    return {
        "Slice": gaps.names[i],
        "Rows": int(gaps.rows[i]),
        f"Slope ({level(gaps.confidence_level)} CI)": (
            "not estimable" if math.isnan(slope.value) else with_interval(slope, 2)
        ),
        "KS error": number(tests.ks[i]),
        "Calibration, p (Holm)": TOO_FEW if tests.few[i] else p_value(tests.p_adjusted[i]),
    }


def _gap_row(gaps: SliceGaps, i: int) -> dict[str, object]:
    low, high = signed(gaps.low[i]), signed(gaps.high[i])
    return {
        "Slice": gaps.names[i],
        "Rows": int(gaps.rows[i]),
        "Positive": int(gaps.positives[i]),
        "Observed": number(gaps.observed[i]),
        "Mean score": number(gaps.mean_score[i]),
        f"Observed − predicted ({level(gaps.confidence_level)} CI)": (
            f"{signed(gaps.gap[i])} ({low} to {high})"
        ),
        "Gap, p (Holm)": TOO_FEW if gaps.few[i] else p_value(gaps.p_adjusted[i]),
    }


def rates_table(
    by_method: Mapping[str, tuple[SliceErrorRates, SliceErrorRates]], decided: DecisionTable
) -> None:
    tables.by_method(
        "rates",
        {
            key: [
                _rates_of(part, i)
                for part in (of_all, of_slices)
                for i in range(min(len(part.names), MAX_LISTED))
            ]
            for key, (of_slices, of_all) in by_method.items()
        },
        COLUMNS,
        alt="One row per slice: share flagged, false-positive and false-negative rate.",
    )
    at, n = level(decided.confidence_level), len(by_method["uncalibrated"][0].names)
    listed = f" The first {MAX_LISTED} of {n:,} slices." if n > MAX_LISTED else ""
    st.caption(f"In brackets: {at} Wilson intervals. {RATES_NOTE}{listed}")


def _rates_of(rates: SliceErrorRates, i: int) -> dict[str, object]:
    cells: dict[str, object] = {"Slice": rates.names[i], "Rows": int(rates.rows[i])}
    for name, heading in (
        ("false_positive", "False-positive rate"),
        ("false_negative", "False-negative rate"),
    ):
        value, low, high = (getattr(rates, f"{name}{end}")[i] for end in ("", "_low", "_high"))
        if math.isnan(value):
            cells[heading] = "–"
        else:
            cells[heading] = f"{_percent(value)} ({_percent(low)} to {_percent(high)})"
    return cells | {"Flagged": _percent(rates.flagged[i])}


def _percent(share: float) -> str:
    return f"{number(100 * share, 2)}%"


def rates_title(decided: DecisionTable) -> str:
    if decided.costs.capacity is None:
        return f"Error rates at a threshold of {significant(decided.costs.threshold)}"
    return f"Error rates if the highest {percent(decided.costs.capacity, 3)} of scores are flagged"


def slice_calibrator(
    session: Session, model: state.Model, cut: SlicedRows, apart: int, method: str
) -> None:
    try:
        with st.spinner("Fitting the slice-specific calibrator"):
            compared = results.slice_calibration(session, cut, apart, method)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    at, change = level(compared.confidence_level), compared.difference
    who, matrix = f"**{plain(cut.slicing.names[apart])}**", model.analysis.multiclass is not None
    if change.high < 0:
        sentence = f"A separate calibrator helps {who}"
    elif change.low > 0:
        sentence = f"A separate calibrator is worse for {who}"
    else:
        sentence = f"No evidence that a separate calibrator helps {who}"
    positive = "predicted correctly" if matrix else "positive"
    loss = "multiclass log loss" if matrix else "log loss"
    label = method_label(compared.method)
    st.markdown(
        f"{sentence} ({compared.rows:,} rows, {compared.positives:,} {positive}). "
        f"Its held-out {loss} is {number(compared.apart.value)} with {label} fitted on the slice "
        f"and {number(compared.together.value)} with {label} fitted on all rows "
        f"(change {signed(change.value)}, {at} CI {interval(change, sign=True)})."
    )
    st.caption(SLICE_CALIBRATOR_READING)


def show_periods(session: Session, model: state.Model, column: str, methods: Sequence[str]) -> None:
    try:
        with st.spinner("Computing periods"):
            periods = results.period_tables(session, model, column, methods)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    first = periods["uncalibrated"]
    for key, table in periods.items():
        marked = int((table.ks_p_adjusted < SIGNIFICANCE).sum())
        judged = int((~table.few).sum())
        st.markdown(
            f"**{method_label(key)}**: evidence against calibration in {marked} of {judged} "
            "periods (KS test, after Holm's correction)."
        )
    recommended = model.analysis.recommendation.method
    charts.chart(period_chart(periods, recommended=recommended), "chart_periods")
    sentence = (
        f"{len(first)} periods of {plain(column)} ({UNIT_WORDS.get(first.unit, first.unit)})."
    )
    if first.n_missing:
        sentence += f" {first.n_missing:,} rows without a time are not used."
    st.caption(sentence)
    tables.by_method(
        "periods",
        {key: [_period_row(table, i) for i in range(len(table))] for key, table in periods.items()},
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
    if math.isnan(value):
        return "not estimable"
    return with_interval(Estimate(value, low, high), digits)
