"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SlicedRows, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.blocks import slices as slice_blocks
from calib.curves.reliability import FEW_ROWS
from calib.data.base import Data
from calib.figures.periods import period_chart
from calib.figures.reliability import overlay_chart
from calib.numerics.intervals import Estimate
from calib.text import (
    interval,
    level,
    number,
    p_value,
    percent,
    plain,
    plural,
    signed,
)
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks, charts, frame, notes, tables
from calib.ui.layout.tables import Line
from calib.ui.pages.slices import segments
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.words import periods as periods_wording
from calib.words import slices as wording
from calib.words.measures import KS
from calib.words.slices import slice_names

Namer = Callable[[int], str]
HOW_TO_CROSS = (
    "These rows were not counted by two columns together. Choose **Slices to cross** on the Data "
    "page, and analyse the rows again."
)
MAX_OVERLAID = 6
# A control cannot list thousands of slices, so those with the strongest evidence are offered.
MAX_OFFERED = 200
MAX_LISTED = 500
TOO_FEW = f"< {FEW_ROWS} rows"
NO_COLUMNS = (
    "Open **More columns and conversions** on the Data page, and choose columns under **Slice by** "
    "and **Time**."
)
SLICE_CALIBRATOR_READING = (
    "Both are evaluated on held-out rows. Add slice-specific calibrators only where needed: they "
    "are fitted on fewer rows."
)
ONLY_DATES = "It is the only column of dates; **Time column** above can take another, or none."
SHADED = "Shaded in the upper panels: the periods that differ from the others."
NO_TIME = "Over time: choose a **Time column** above, of dates or seasons."
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
    # A container is drawn only if something is in it, and the place must be kept free.
    answer = st.container(key="finding").html("<div></div>")
    columns: tuple[str, ...] = ()
    with widgets.toolbar("slices"):
        if rows.columns:
            columns = columns_control(session, rows)
            if rows.has_rows:
                control(session, choices.N_RANGES)
        time = time_control(session, rows) if rows.columns else ""
        if time and rows.holds_dates(time):
            control(session, choices.UNIT)
        below = widgets.later()
    model = frame.model(session)
    with below:
        shown = widgets.after_control(session, model.analysis)
        if rows.columns and rows.has_rows:
            segments.button(session)
    body(session, columns, time, shown, answer, model)
    notes.below(session, model)


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
    session: Session,
    columns: tuple[str, ...],
    time: str,
    shown: tuple[str, ...],
    answer: DeltaGenerator,
    model: state.Model,
) -> None:
    """The finding stands in `answer`, above the controls."""
    if not columns:
        answer.markdown("## These data have no columns to slice by.")
        st.markdown(NO_COLUMNS)
        st.page_link("pages/data.py", label="**Go to Data**", query_params=session.link())
        return
    with st.spinner("Computing slices"):
        cut = results.sliced(session, model, columns)
        columns = cut.slicing.columns
        first = results.slice_tests_of(session, cut, shown[:1])["uncalibrated"]
    answer.markdown(f"## {plain(wording.heading(first, columns))}")
    unknown_columns(session, model.rows)
    searched = segments.place(session) if model.rows.has_rows else None
    with st.spinner("Computing slices"):
        gaps = results.gaps(session, cut, shown)
        tests = results.slice_tests_of(session, cut, shown)
    at = session.settings.confidence_level
    total = {m: session.memo(results.gap_of_all, cut.held_out, m, at) for m in shown}
    most = slice_blocks.MAX_LISTED
    _, *made = session.memo(slice_blocks.slices, model.analysis, gaps, tests, total, most=most)
    blocks.show_all(made)
    label_of = namer(first, columns)
    left, right = st.columns(2, gap="large")
    with left:
        error_rates(session, model, cut, shown)
        if len(shown) > 1:
            slice_calibrator(session, model, cut, first, shown[1], label_of)
    with right:
        st.markdown("### Compare slices")
        picked = picked_control(session, first, label_of)
        curves = results.curves(session, cut, picked)
        drawn = dict(zip(slice_names(columns, curves), curves.values(), strict=True))
        charts.chart(charts.kept(overlay_chart, drawn), "chart_overlay")
    if time in model.rows.columns:
        show_periods(session, model, time, shown)
    else:
        st.caption(NO_TIME)
    if searched is not None:
        # The search can take long, so the rest of the page is drawn first.
        with searched:
            segments.section(session, model, shown)


def unknown_columns(session: Session, rows: Data) -> None:
    """Say which columns of the link are not in these data."""
    wanted = (session[choices.SLICE_BY], session[choices.CROSS], session[choices.TIME])
    names = [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]
    if names:
        listed = ", ".join(map(plain, names))
        st.caption(f":material/info: The link names columns that these data do not have: {listed}.")


def picked_control(session: Session, tests: SliceTests, label_of: Namer) -> tuple[int, ...]:
    """Choose slices to overlay; returns their numbers, at first the two with the most evidence."""
    numbers, choice = offered(tests), choices.PICKED
    chosen = tuple(number for number in session[choice] if number in numbers) or numbers[:2]
    answer = control(
        session,
        choice,
        numbers,
        value=chosen,
        format_func=label_of,
        max_selections=MAX_OVERLAID,
    )
    return answer[:MAX_OVERLAID]


def offered(tests: SliceTests) -> tuple[int, ...]:
    return tuple(int(tests.number[i]) for i in tests.order[:MAX_OFFERED])


def namer(tests: SliceTests, columns: tuple[str, ...]) -> Namer:
    names = dict(zip(tests.number.tolist(), slice_names(columns, tests.names), strict=True))
    return lambda number: names.get(number, str(number))


def time_control(session: Session, rows: Data) -> str:
    chosen = state.time_column(session, rows)
    control(session, choices.TIME, ["", *rows.columns], value=chosen)
    return chosen


def error_rates(
    session: Session, model: state.Model, cut: SlicedRows, shown: tuple[str, ...]
) -> None:
    decided = results.decisions(session, model.analysis)
    rates = results.error_rates(session, cut, decided, shown)
    columns = cut.slicing.columns
    blocks.show_all(slice_blocks.error_rates(model.analysis, decided, rates, columns))
    with st.container(key="to_decisions"):
        there = "Change the threshold on Decisions"
        st.page_link("pages/decisions.py", label=there, query_params=session.link())


def slice_calibrator(
    session: Session,
    model: state.Model,
    cut: SlicedRows,
    tests: SliceTests,
    method: str,
    label_of: Namer,
) -> None:
    """Choose a slice, for which a calibrator is fitted to its own rows."""
    numbers = offered(tests)
    chosen = session[choices.APART] if session[choices.APART] in numbers else choices.APART.default
    control(session, choices.APART, numbers, value=chosen, format_func=label_of)
    if chosen not in numbers:
        return
    try:
        with st.spinner("Fitting the slice-specific calibrator"):
            compared = results.slice_calibration(session, cut, chosen, method)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    at, change = level(compared.confidence_level), compared.difference
    who, matrix = f"**{plain(label_of(chosen))}**", model.analysis.multiclass is not None
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


def show_periods(
    session: Session,
    model: state.Model,
    column: str,
    methods: Sequence[str],
) -> None:
    try:
        with st.spinner("Computing periods"):
            periods = results.period_tables(session, model, column, methods)
            changes = results.period_changes(session, model, column, methods)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    first = periods["uncalibrated"]
    st.markdown(f"### {plain(periods_wording.heading(first))}")
    for key, change in changes.items():
        sentence = plain(periods_wording.sentence(change, first.unit))
        st.markdown(sentence if len(changes) == 1 else f"**{method_label(key)}**: {sentence}")
    recommended = model.analysis.recommendation.method
    drawn = charts.kept(period_chart, periods, changes["uncalibrated"], recommended=recommended)
    charts.chart(drawn, "chart_periods")
    parts = [f"{len(first)} periods of {plain(column)} ({UNIT_WORDS.get(first.unit, first.unit)})."]
    if session[choices.TIME] is None and column != model.rows.time_name:
        parts.append(ONLY_DATES)
    if changes["uncalibrated"].significant(SIGNIFICANCE):
        parts.append(SHADED)
    if first.n_missing:
        parts.append(f"{plural(first.n_missing, 'row')} without a time are not used.")
    st.caption(" ".join(parts))
    head = [
        ("Period", ""),
        ("Predicted", "Mean score."),
        ("Observed", f"With its {level(first.confidence_level)} interval."),
        ("Slope", "1 is calibrated."),
        ("Intercept", "0 is calibrated."),
        (KS, "Largest cumulative gap up to any score."),
        ("KS, p (Holm)", "After the correction for the number of periods."),
    ]
    lines = {key: [_period(table, i) for i in range(len(table))] for key, table in periods.items()}
    tables.by_method("periods", "Periods", head, lines)


def _period(table: PeriodTable, i: int) -> Line:
    return Line(
        [
            (table.names[i], plural(table.rows[i], "row")),
            (percent(table.mean_score[i]),),
            (
                percent(table.base_rate[i]),
                f"{percent(table.base_rate_low[i])} to {percent(table.base_rate_high[i])}",
            ),
            _line_number(table, "slope", i),
            _line_number(table, "intercept", i),
            (percent(table.ks[i]),),
            (TOO_FEW if table.few[i] else p_value(table.p_adjusted[i]),),
        ],
        marked=bool(table.significant(SIGNIFICANCE)[i]),
    )


def _line_number(table: SliceTests | PeriodTable, name: str, i: int) -> tuple[str, ...]:
    """Slope or intercept of a group, with its interval."""
    value, low, high = (float(getattr(table, f"{name}{end}")[i]) for end in ("", "_low", "_high"))
    return _estimate(Estimate(value, low, high))


def _estimate(estimate: Estimate) -> tuple[str, ...]:
    if math.isnan(estimate.value):
        return ("not estimable",)
    return (number(estimate.value, 2), interval(estimate, 2))
