"""Slices and time: are the scores calibrated in every part of the data, and in every period?"""

from typing import Any

import streamlit as st

from calib.analysis.run import Data
from calib.analysis.slices import SliceTests
from calib.data.aggregate import Aggregate
from calib.data.predictions import Predictions
from calib.figures.reliability import overlay_chart
from calib.text import plain
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import charts, frame
from calib.ui.pages import slices
from calib.ui.session import choices, parts, state

HOW_TO_CROSS = (
    "These rows were not counted by two columns together. Choose **Slices to cross** on the Data "
    "page, and analyse the rows again."
)
MAX_PICKED = 6
# A control cannot list thousands of slices: those with the strongest evidence are first.
MAX_OFFERED = 200

session = frame.begin("Slices")
named = frame.predictions(session)
columns: tuple[str, ...] = ()


def columns_control(rows: Data) -> tuple[str, ...]:
    names = list(rows.columns)
    first = control(session, choices.SLICE_BY, names)
    others = parts.crossed_with(rows, first)
    crossed = control(session, choices.CROSS, ["", *others]) if others else ""
    of_source = session.upload is not None and session.upload.source is not None
    if of_source and not others and len(names) > 1:
        st.caption(HOW_TO_CROSS)
    return (first, crossed) if crossed else (first,)


with st.sidebar:
    if named.columns:
        columns = columns_control(named)
        if isinstance(named, Predictions):
            control(session, choices.N_RANGES)
    below = st.container()
    widgets.binning(session)
    control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: state.Model) -> None:
    st.markdown("## Slices and time")
    unknown_columns(model.rows)
    if not columns:
        st.info(slices.NO_COLUMNS)
        st.page_link("pages/data.py", label="**Go to Data**", query_params=session.link())
        return
    with st.spinner("Computing slices"):
        cut = parts.sliced(session, model, columns)
        gaps = parts.gaps(session, cut, shown)
        tests = parts.slice_tests_of(session, cut, shown)
        decided = parts.decisions(session, model.analysis)
        rates = parts.error_rates(session, cut, decided, shown)
    widgets.why_shown(model.analysis, shown)
    slices.forest(gaps, tests)
    slices.table(gaps, tests)

    st.markdown(f"### {slices.rates_title(decided)}")
    st.page_link(
        "pages/decisions.py", label="Chosen on the **Decisions** page", query_params=session.link()
    )
    slices.rates(rates, decided)

    st.markdown("### Compare slices")
    overlay, alone = st.columns(2, gap="large")
    with overlay:
        picked = picked_control(tests["uncalibrated"])
        curves = parts.curves(session, cut, picked)
        charts.chart(overlay_chart(curves), "chart_overlay")
    with alone:
        first = tests["uncalibrated"]
        number = control(session, choices.APART, offered(first), format_func=namer(first))
        if len(shown) > 1:
            slices.own_map(session, model, cut, number, shown[1])
    over_time(model)


def over_time(model: state.Model) -> None:
    st.markdown("### Over time")
    column, unit = st.columns(2, gap="large")
    with column:
        time = time_control(model.rows)
    with unit:
        if time and holds_dates(model.rows, time):
            control(session, choices.UNIT)
    if time:
        slices.over_time(session, model, time, shown)
    else:
        st.caption(slices.NO_TIME)


def unknown_columns(rows: Data) -> None:
    """Say which columns of the link are not in these data."""
    wanted = (session[choices.SLICE_BY], session[choices.CROSS], session[choices.TIME])
    names = [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]
    if names:
        listed = ", ".join(map(plain, names))
        st.caption(f":material/info: The link names columns that these data do not have: {listed}.")


def picked_control(tests: SliceTests) -> tuple[int, ...]:
    """Pick slices to lay over each other; returns their numbers, the two strongest at first."""
    numbers, choice = offered(tests), choices.PICKED
    chosen = tuple(number for number in session[choice] if number in numbers) or numbers[:2]
    look = {"format_func": namer(tests), "max_selections": MAX_PICKED}
    return control(session, choice, numbers, value=chosen, **look)[:MAX_PICKED]


def offered(tests: SliceTests) -> tuple[int, ...]:
    return tuple(int(tests.number[i]) for i in tests.order[:MAX_OFFERED])


def namer(tests: SliceTests) -> Any:
    names = {int(number): name for number, name in zip(tests.number, tests.names, strict=True)}
    return lambda number: names.get(number, str(number))


def time_control(rows: Data) -> str:
    names = list(rows.columns)
    wanted = session[choices.TIME] or (session.upload.mapping.time if session.upload else None)
    chosen = wanted if wanted in names else ""
    return control(session, choices.TIME, names, value=chosen)


def holds_dates(rows: Data, column: str) -> bool:
    if isinstance(rows, Aggregate):
        return column == rows.time_name and rows.time_kind == "M"
    return rows.columns[column].dtype.kind == "M"


models = frame.models(session)
with below:
    shown = widgets.after_control(session, models[0].analysis)
frame.show(session, models, body)
