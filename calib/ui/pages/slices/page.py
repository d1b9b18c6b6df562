"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.periods import PeriodTable
from calib.analysis.plans import PlanChoice
from calib.analysis.slices import SlicedRows, SliceTests
from calib.blocks import periods as period_blocks
from calib.blocks import slices as slice_blocks
from calib.blocks.slices import SlicedScores
from calib.data.base import Data
from calib.figures.reliability import overlay_chart
from calib.figures.slice_rows import MAX_STRIP_PERIODS, RowsFrame, TimeAxis, slice_rows
from calib.text import day_words, interval, level, number, period, plain, signed
from calib.ui.controls import use_calibrator, widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks, charts, frame, notes, tables
from calib.ui.pages.slices import classes
from calib.ui.session import choices, results, state
from calib.ui.session.choices import method_label
from calib.ui.session.session import Session
from calib.words import periods as period_wording
from calib.words import slices as wording
from calib.words.slices import slice_names

Namer = Callable[[int], str]
MAX_OVERLAID = 6
# A control cannot list thousands of slices, so those with the strongest evidence are offered.
MAX_OFFERED = 200
RECALIBRATE, ALL_ROWS, PLAN = "Recalibrate", "all rows", "plan"
NO_COLUMNS = (
    "Open **Columns and test rows** in the menu of the data, then **More columns and "
    "conversions**, and choose columns under **Slice by** and **Time**."
)
SLICE_CALIBRATOR_READING = (
    "Both are evaluated on held-out rows. Add slice-specific calibrators only where needed: they "
    "are fitted on fewer rows."
)
ONLY_DATES = "{} is the only column of dates; **Time column** above can take another, or none."
NO_TIME = "Over time: choose a **Time column** above, of dates or seasons."
TESTED = (
    "p: the smallest of the five tests of the verdict in the slice, with the name of that test, "
    "after Holm's correction for the tests and for {} slices."
)


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
        plan = since_control(session, model) if rows.columns else None
        shown = after_control(session, model, plan)
    body(session, columns, time, shown, plan, answer, model)
    notes.below(session, model)


def kind_control(session: Session) -> None:
    """The classes of a matrix are slices, too. Without columns there are no others."""
    rows = state.predictions(session)
    if rows is not None and rows.is_matrix and rows.columns:
        control(session, choices.SLICE_KIND)


def time_control(session: Session, rows: Data) -> str:
    chosen = state.time_column(session, rows)
    control(session, choices.TIME, ["", *rows.columns], value=chosen)
    return chosen


def since_control(session: Session, model: state.Model) -> PlanChoice | None:
    """The plan whose rows are shown: those since the change, if the scores changed."""
    if model.plan is None:
        return None
    since = f"Since {day_words(model.plan.since)}"
    return model.plan if control(session, choices.SINCE, label=since) else None


def after_control(session: Session, model: state.Model, plan: PlanChoice | None) -> tuple[str, ...]:
    if plan is None:
        return widgets.after_control(session, model.analysis)
    return ("uncalibrated",)


def body(
    session: Session,
    columns: tuple[str, ...],
    time: str,
    shown: tuple[str, ...],
    plan: PlanChoice | None,
    answer: DeltaGenerator,
    model: state.Model,
) -> None:
    """The finding stands in `answer`, above the controls."""
    if not columns:
        answer.markdown("## These data have no columns to slice by.")
        st.markdown(NO_COLUMNS)
        st.page_link("pages/data.py", label="**Go to Data**", query_params=session.link())
        return
    time = time if time in model.rows.columns else ""
    with st.spinner("Computing slices"):
        cut = results.sliced(session, model, columns)
        scores = results.sliced_scores(session, model, cut, shown, plan, time)
    tests = [*scores.tests.values()]
    first, after = tests[0], tests[1] if len(tests) > 1 else None
    since = plan.since if plan else None
    gaps = scores.gaps_now
    by = plan.plan.words if plan else f"calibration by {[*scores.labels.values()][-1]}"
    head, lead = wording.headline(first, gaps, since), wording.lead(first, gaps, after, by, since)
    if plan is not None and first.significant().any():
        rest = results.tests_without_plan(session, model, cut, plan)
        lead += f" {wording.without(rest, plan.plan.slice_words)}" if rest is not None else ""
    answer.markdown(f"## {plain(head)}\n\n{plain(lead)}")
    unknown_columns(session, model.rows)
    if slice_blocks.reveals_outcome(gaps):
        blocks.show(slice_blocks.REVEALS_OUTCOME)
    pressed = draw_rows(session, model, scores, plan, time)
    label_of = namer(first, cut.slicing.columns)
    if len(shown) > 1:
        widgets.why_shown(model.analysis, shown)
    method = widgets.after(session, model.analysis)
    if method:
        slice_calibrator(session, model, cut, first, method, label_of)
    methods = ("uncalibrated", method) if method else ("uncalibrated",)
    overlay(session, cut, first, label_of)
    added = st.container(key="added")
    numbers = folded("Numbers of all slices", "numbers")
    if numbers is not None:
        with numbers:
            labels = {key: short_label(scores, key) for key in scores.labels}
            blocks.show(slice_blocks.tables(labels, scores.gaps, scores.tests, scores.of_all))
    next_centre(session, cut)
    if time:
        show_periods(session, model, time, methods)
    else:
        st.caption(NO_TIME)
    # A search can take long, so the rest of the page is drawn first.
    with added:
        frame.sections(session, model, "Slices")
    if pressed:
        act(session, model, pressed, time)


def short_label(scores: SlicedScores, key: str) -> str:
    return "After calibration" if key == "after" else scores.labels[key]


def folded(label: str, key: str, *, opens: bool = False) -> DeltaGenerator | None:
    """A part of the page that is computed when a person opens it; None while it is closed."""
    name = f"folded_{key}_{'chosen' if opens else 'first'}"
    place = st.expander(label, key=name, expanded=opens, on_change="rerun")
    return place if place.open else None


def next_centre(session: Session, cut: SlicedRows) -> None:
    """Each slice as a centre, how much they differ, and what a new one can expect."""
    if len(cut.scored) < 2:
        return
    place = folded("The next centre", "next_centre")
    if place is None:
        return
    with place:
        table = results.centres_of(session, cut)
        by, at = " and ".join(cut.slicing.columns), level(session.settings.confidence_level)
        for block in slice_blocks.centres(table, by, at):
            blocks.show(block)


def draw_rows(
    session: Session,
    model: state.Model,
    scores: SlicedScores,
    plan: PlanChoice | None,
    time: str,
) -> str | None:
    """Draw a row per slice; returns the action of the row whose button was pressed."""
    rows = scores.rows(actions(model, scores, plan))
    n_slices, first = len(scores.gaps_now), [*scores.labels.values()]
    days = results.last_days(session, model)
    until = [period_wording.counted_until(days)] if days else []
    more = [f"The {len(rows) - 1} slices with the strongest evidence, of {n_slices:,}."]
    about = RowsFrame(
        f"Slice by {' and '.join(scores.columns)}, most evidence first",
        level(session.settings.confidence_level),
        first[0],
        f"{first[-1]}, held-out rows",
        "correct" if model.analysis.has_answers else "positive",
        RECALIBRATE,
        time_axis(session, model, plan, time),
        [TESTED.format(n_slices), *(more if len(rows) - 1 < n_slices else []), *until],
    )
    with st.container(key="slice_rows"):
        return tables.with_buttons("slices", "slices", scores.copied(), slice_rows(rows, about))


def time_axis(
    session: Session, model: state.Model, plan: PlanChoice | None, time: str
) -> TimeAxis | None:
    periods = results.drawn_periods(session, model, time)
    if periods is None or len(periods) > MAX_STRIP_PERIODS:
        return None
    names = [period(name, periods.unit) for name in periods.names]
    days = results.last_days(session, model)
    young = periods.place(days.begin(periods.unit)) if days else math.nan
    axis = TimeAxis(names, "Observed (dots) and predicted (line) by period", young=young)
    if plan is None:
        return axis
    change, is_split = results.change_in(periods, plan)
    about = f"{axis.about}; change on {day_words(plan.since)}"
    return replace(axis, about=about, change=change, is_split=is_split)


def actions(
    model: state.Model, scores: SlicedScores, plan: PlanChoice | None
) -> dict[int | None, str]:
    """The slices that need another calibrator, by their numbers; None is all rows."""
    tests = [*scores.tests.values()]
    advice = model.analysis.recommendation
    needed = dict[int | None, str]()
    if plan is not None and plan.calibrator is not None:
        names = dict(zip(tests[0].names, tests[0].number.tolist(), strict=True))
        by_column = plan.plan.column and scores.columns == (plan.plan.column,)
        number = names.get(plan.plan.value) if by_column else None
        needed[number] = PLAN
    elif advice.method in use_calibrator.fitted(model.analysis):
        needed[None] = ALL_ROWS
    if len(tests) > 1 and plan is None:
        wrong = tests[1].significant()
        needed |= {int(n): str(int(n)) for n in tests[1].number[wrong].tolist()}
    return needed


def act(session: Session, model: state.Model, pressed: str, time: str) -> None:
    """Open the code of a calibrator, or fit one to a slice."""
    if pressed == PLAN and model.plan is not None and model.plan.calibrator is not None:
        use_calibrator.show_plan(session, model, model.plan, time)
    elif pressed == ALL_ROWS:
        method = model.analysis.recommendation.method
        if method in use_calibrator.fitted(model.analysis):
            use_calibrator.show(session, model, method)
    elif pressed.isdecimal():
        session.change(choices.APART, choices.APART.values.read(pressed))
        widgets.assign_again("apart")
        st.rerun()


def unknown_columns(session: Session, rows: Data) -> None:
    """Say which columns of the link are not in these data."""
    wanted = (session[choices.SLICE_BY], session[choices.CROSS], session[choices.TIME])
    names = [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]
    if names:
        listed = ", ".join(map(plain, names))
        st.caption(f":material/info: The link names columns that these data do not have: {listed}.")


def overlay(session: Session, cut: SlicedRows, tests: SliceTests, label_of: Namer) -> None:
    """Several slices in one large diagram."""
    opens = bool(session[choices.PICKED])
    place = folded("Compare slices in one diagram", "overlay", opens=opens)
    if place is None:
        return
    with place:
        picked = picked_control(session, tests, label_of)
        curves = results.curves(session, cut, picked)
        drawn = dict(zip(slice_names(cut.slicing.columns, curves), curves.values(), strict=True))
        charts.chart(charts.kept(overlay_chart, drawn), "chart_overlay")


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
    opens = chosen in numbers
    place = folded(choices.APART.label, "apart", opens=opens)
    if place is None:
        return
    with place:
        control(session, choices.APART, numbers, value=chosen, format_func=label_of)
        if opens:
            compare_apart(session, model, cut, chosen, method, label_of)


def compare_apart(
    session: Session,
    model: state.Model,
    cut: SlicedRows,
    chosen: int,
    method: str,
    label_of: Namer,
) -> None:
    """Say whether the calibrator of a slice is better there than that of all rows."""
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
    session: Session, model: state.Model, column: str, methods: tuple[str, ...]
) -> None:
    """The finding about the periods, and their chart and table when they are opened."""
    try:
        with st.spinner("Computing periods"):
            made = results.period_tables(session, model, column, methods)
            changes = results.period_changes(session, model, column, methods)
    except ValueError as error:
        st.info(plain(str(error)))
        return
    first: PeriodTable = made["uncalibrated"]
    said = period_wording.heading(first)
    st.markdown(f"### {plain(said)}")
    if change := changes.get("uncalibrated"):
        st.markdown(plain(period_wording.sentence(change, first.unit)))
    place = folded("Chart and numbers of the periods", "periods")
    if place is not None:
        with place:
            days = results.last_days(session, model)
            young = days.begin(first.unit) if days else math.nan
            made_of = (model.analysis, column, made, changes)
            shown = session.memo(period_blocks.periods, *made_of, young=young)
            blocks.show_all(shown[1:])
    if session[choices.TIME] is None and column != model.rows.time_name:
        st.caption(ONLY_DATES.format(plain(column)))
