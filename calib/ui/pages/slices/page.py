"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.slices import SlicedRows, SliceTests
from calib.blocks import periods as period_blocks
from calib.blocks import slices as slice_blocks
from calib.data.base import Data
from calib.figures.reliability import overlay_chart
from calib.text import (
    interval,
    level,
    number,
    plain,
    signed,
)
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks, charts, frame, notes
from calib.ui.pages.slices import classes, segments
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.words import slices as wording
from calib.words.slices import slice_names

Namer = Callable[[int], str]
MAX_OVERLAID = 6
# A control cannot list thousands of slices, so those with the strongest evidence are offered.
MAX_OFFERED = 200
MAX_LISTED = 500
NO_COLUMNS = (
    "Open **More columns and conversions** on the Data page, and choose columns under **Slice by** "
    "and **Time**."
)
SLICE_CALIBRATOR_READING = (
    "Both are evaluated on held-out rows. Add slice-specific calibrators only where needed: they "
    "are fitted on fewer rows."
)
ONLY_DATES = "{} is the only column of dates; **Time column** above can take another, or none."
NO_TIME = "Over time: choose a **Time column** above, of dates or seasons."


def page() -> None:
    session = frame.begin("Slices")
    rows = frame.predictions(session)
    if state.by_class(session):
        classes.part(session, kind_control)
        return
    # A container is drawn only if something is in it, and the place must be kept free.
    answer = st.container(key="finding").html("<div></div>")
    columns: tuple[str, ...] = ()
    with widgets.toolbar("slices"):
        kind_control(session)
        if rows.columns:
            columns = widgets.slice_columns(session, rows)
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


def kind_control(session: Session) -> None:
    """The classes of a matrix are slices, too. Without columns there are no others."""
    rows = state.predictions(session)
    if rows is not None and rows.is_matrix and rows.columns:
        control(session, choices.SLICE_KIND)


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
    made = period_blocks.periods
    blocks.show_all(session.memo(made, model.analysis, column, periods, changes))
    if session[choices.TIME] is None and column != model.rows.time_name:
        st.caption(ONLY_DATES.format(plain(column)))
