"""Monitor: are the scores still calibrated, since when are they not, and what is to be done?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from calib.blocks.kinds import Table, Value, row
from calib.data.base import Data
from calib.features.monitor.chart import monitor_chart, monitored_slice_chart
from calib.features.monitor.choices import STORED_MONITOR, WATCHED
from calib.features.monitor.replay import monitor
from calib.features.monitor.result import Monitored
from calib.features.monitor.rules import monitored
from calib.features.monitor.watching import buttons
from calib.loading.examples import EXAMPLES
from calib.store import Monitor, Store, StoreError
from calib.text import (
    count,
    day_words,
    factor,
    percent,
    percents,
    plain,
    plural,
    points,
    quoted,
    sentence,
    span,
)
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks, charts, frame
from calib.ui.session import state
from calib.ui.session.choices import HORIZON, SLICE_BY, TIME
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_store import opened_store

EXAMPLE = "churn"
# These are pixels. A chart over time needs the whole width.
WIDTHS = (340, 460, 600, 760, 940, 1260)
SLICE_WIDTHS, MAX_SLICES = (300, 360, 430), 12
# New days of a monitor are seen after this time. Until then its counts are not read again.
READ_INTERVAL = timedelta(minutes=1)
NO_VALUE = "–"
CHOOSE_DATES = "Columns and test rows in the menu of the data, then Time."
NO_DATES = "A monitor needs the day of each prediction, and these data have no dates."
A_COLUMN = "One more column is enough: dates such as 2026-05-01, or times."
TOO_EARLY = "**Wait** until ten positive and ten negative outcomes can be expected."
STATE_WORDS = {"alarm": "Alarm", "calm": "Calm", "too early": "Too early"}
LOOKS = {"alarm": " red", "calm": " green"}
READING = """
- **Evidence against calibration** multiplies what each day says against the scores. A calibrated
  model reaches 20 with a probability of 1 in 20 at most, however long and often you look. Up to 1
  it is calm, from 20 on it is an alarm, and between it is worth watching. The strip ends at 10,000.
- **Orange line**: the most likely first day of the change, with its 95% likelihood interval.
- **Hatched**: rows younger than the horizon. They are not tested, because outcomes that are known
  early, such as churn, would look too frequent.
- **Dots**: observed rate of a period, on the predicted rate and the 95% band of a calibrated model.
  One in twenty is outside by chance, so dots are orange only since the change of an alarm. Periods
  with few rows are joined with the next one.
- **Cost**: log loss that a calibrator would have saved. Each day is scored by a calibrator that was
  fitted to the days before it.
- **Slices**: of the slices with an alarm, at most 1 in 20 is calibrated, on average. The alarm of a
  slice ends when its evidence is below the limit again, or with a new calibrator.
"""
ASSUMPTIONS = (
    "Rows are independent given the day's scores: no copies, no clusters, and no effect of a day "
    "that the scores do not contain. Outcomes are final at the horizon. Missing outcomes are like "
    "the others. The alarm then is false with a probability of 1 in 20 at most, over the whole "
    "life of the calibrator."
)
INDEPENDENT = "Assumes independent rows given the day's scores."
FIRST_DAY = "Most likely first day of the change, and its 95% likelihood interval."
COUNTS = {
    "Rows": "",
    "Positive": "",
    "Predicted": "Mean score.",
    "Observed": "Share of positive rows.",
    "Difference (points)": "Observed minus predicted, with its 95% interval.",
}


def page() -> None:
    session = frame.begin("Monitor")
    store, names = stored_names()
    stored, rows = session[STORED_MONITOR], None
    if stored not in names:
        frame.source(session)
        rows = frame.predictions(session)
    # A container is drawn only if something is in it, and the place must be kept free.
    with st.container(key="monitored"):
        answer, advised, steps = st.html("<div></div>"), st.html("<div></div>"), st.empty()
    with widgets.toolbar("monitor"):
        if names:
            control(session, STORED_MONITOR, ["", *names])
        if rows is None:
            assert store is not None  # It has the name of this monitor.
            watched = of_store(session, store, stored)
        else:
            watched = of_data(session, rows)
        shown = widgets.later()
    if rows is not None and stored:
        st.caption(f":material/info: There is no stored monitor {quoted(stored)}.")
    if isinstance(watched, Refusal):
        lead = f"<p class=lead>{escape(watched.reason)}</p>" if watched.reason else ""
        said = f"<div><h2>{escape(watched.heading)}</h2>{lead}</div>"
        answer.html(f'<section class="answer" data-refused>{said}</section>')
        with steps.container():
            other_data(session, has_dates=watched.heading != NO_DATES)
        if rows is not None:
            ghost()
        return
    result = watched.result
    with shown:
        of = slice_control(session, result)
    answer.html(section(result, watched.label))
    advised.markdown(advice(result))
    if rows is not None:
        with steps.container():
            buttons(session, rows, result, watched.time, watched.column)
    drawn = monitor_chart(result, of, new_calibrators=watched.new_calibrators)
    charts.chart(drawn, "chart_monitor", widths=WIDTHS)
    slice_charts(result)
    for note in (*watched.notes, *result.notes, INDEPENDENT):
        st.caption(f":material/info: {note}")
    with st.expander("Score ranges, slices and periods in numbers"):
        ranges_table(result, of)
        slices_table(result, watched.column)
        st.markdown(f"### Periods{slice_suffix(of)}")
        periods_table(result, of)
    with st.expander("What the alarm assumes"):
        st.markdown(ASSUMPTIONS)
    frame.reading(f"{READING}- **Other lines**: {result.other_lines}\n")


@dataclass(frozen=True, slots=True)
class Watched:
    """What the page shows."""

    result: Monitored
    label: str  # It says what was monitored.
    time: str = ""  # The column of dates of rows that are not stored.
    column: str = ""  # The column of the slices; a stored monitor has several.
    notes: tuple[str, ...] = ()
    new_calibrators: tuple[date, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is shown, and what to do. A heading that says it all has no reason."""

    heading: str
    reason: str = ""


def stored_names() -> tuple[Store | None, tuple[str, ...]]:
    """The stored monitors. If the store cannot be read, there are none: Reports says why."""
    try:
        store = opened_store()
        return store, store.monitors.names()
    except StoreError:
        return None, ()


@st.cache_resource(
    ttl=READ_INTERVAL,
    max_entries=8,
    show_spinner=False,
    hash_funcs={Store: lambda store: str(store.url)},
)
def opened_monitor(store: Store, name: str) -> Monitor:
    """Raises StoreError if there is no monitor of this name, or it cannot be read."""
    return store.monitors.open(name)


def stored_monitor(session: Session, monitor: Monitor) -> Monitored:
    """A stored monitor until yesterday, the last day that is complete everywhere.

    Raises ValueError if it has no rows.
    """
    today = datetime.now(UTC).date() - timedelta(days=1)
    return session.memo.heavy(_stored_until, monitor, today)


def _stored_until(monitor: Monitor, today: date) -> Monitored:
    if monitor.counts is None:
        raise ValueError(f"The monitor {monitor.name!r} has no rows.")
    days, reset = monitor.counts.frame(), monitor.new_calibrators
    return monitored(days, horizon=monitor.horizon, today=today, reset=reset)


def replayed(rows: Data, time: str, horizon: int, column: str, view: str) -> Monitored:
    """Rows as if they had been monitored until the last day that they have."""
    days = rows.timed(time, view)[0]
    dated = days[~np.isnat(days)]
    # The rows of the last days are the youngest ones, and are not tested before the horizon.
    today = dated.max() if len(dated) else None
    return monitor(rows, time=time, horizon=horizon, slices=column or None, today=today, view=view)


def of_store(session: Session, store: Store, name: str) -> Watched | Refusal:
    try:
        monitor = opened_monitor(store, name)
        with st.spinner("Reading the days"):
            result = stored_monitor(session, monitor)
    except (StoreError, ValueError) as error:
        return Refusal("This monitor cannot be shown.", sentence(str(error)))
    label = f"Stored monitor, until {day_words(result.today)}"
    return Watched(result, label, notes=monitor.notes, new_calibrators=monitor.new_calibrators)


def of_data(session: Session, rows: Data) -> Watched | Refusal:
    """The rows as if they had been monitored, with the controls that say how."""
    dates = [name for name in rows.columns if rows.holds_dates(name)]
    if not dates:
        return Refusal(NO_DATES, A_COLUMN)
    if len(state.models(session)) > 1:
        widgets.model(session)
    time = time_control(session, rows, dates)
    horizon = horizon_control(session)
    column = column_control(session, rows, dates)
    label = "Example, not your data" if session.upload is None else "As if monitored every day"
    reason = ""
    # The rows may be tested, although their slices cannot be.
    for by in dict.fromkeys((column, "")):
        try:
            with st.spinner("Replaying the days"):
                view = session.settings.view
                result = session.memo.heavy(replayed, rows, time, horizon, by, view)
        except ValueError as error:
            reason = reason or sentence(str(error))
        else:
            notes = (f"No slices: {plain(reason)}",) if reason else ()
            return Watched(result, label, time, by, notes)
    return Refusal("These rows cannot be monitored.", reason)


def other_data(session: Session, *, has_dates: bool) -> None:
    """The button for what a person can do: choose the dates of an own file, or see the example."""
    act = partial(st.button, type="primary", key="monitor_example")
    if session.upload is None or has_dates:
        act("Open the example", on_click=session.choose_example, args=(EXAMPLE,))
    elif act("Choose the column of dates", help=CHOOSE_DATES):
        st.switch_page(PAGES["Data"], query_params=session.link())


@st.cache_resource(show_spinner=False)
def example_monitor() -> Monitored:
    example = EXAMPLES[EXAMPLE]
    rows = example.load()
    time = next(name for name in rows.columns if rows.holds_dates(name))
    return replayed(rows, time, example.horizon, "", rows.default_view)


def ghost() -> None:
    """What the page would show, in pale colours."""
    st.caption("What this page shows, with the example of churn:")
    with st.container(key="ghost"):
        charts.chart(monitor_chart(example_monitor()), "chart_monitor_ghost", widths=WIDTHS)


def slice_charts(result: Monitored) -> None:
    """A small chart of each slice: those with an alarm first, then by evidence."""
    table = result.slices
    if not len(table):
        return
    order = table.assign(calm=table["state"] != "alarm")
    order = order.sort_values(["calm", "log10_evidence", "slice"], ascending=[True, False, True])
    shown = list(order["slice"][:MAX_SLICES])
    with st.container(key="small_multiples_slices"):
        for number, name in enumerate(shown):
            drawn = charts.kept(monitored_slice_chart, result, name)
            charts.chart(drawn, f"chart_slice_{number}", widths=SLICE_WIDTHS)
    if len(table) > len(shown):
        more = plural(len(table) - len(shown), "other slice")
        st.caption(f"{more} with less evidence: see the numbers below.")


def time_control(session: Session, rows: Data, dates: Sequence[str]) -> str:
    wanted = state.time_column(session, rows)
    chosen = wanted if wanted in dates else dates[0]
    control(session, TIME, dates, value=chosen)
    return chosen


def horizon_control(session: Session) -> int:
    value = state.horizon(session)
    control(session, HORIZON, value=value)
    return value


def column_control(session: Session, rows: Data, dates: Sequence[str]) -> str:
    names = [name for name in rows.columns if name not in dates] if rows.has_rows else []
    if not names:
        return ""
    wanted = session[SLICE_BY]
    return control(session, SLICE_BY, names, value=wanted if wanted in names else names[0])


def slice_control(session: Session, result: Monitored) -> str:
    """Choose the slice whose numbers are shown; "" is all rows."""
    names = list(result.slices["slice"])
    if not names:
        return ""
    chosen = session[WATCHED]
    value = chosen if chosen in names else ""
    return control(session, WATCHED, ["", *names], value=value)


def section(result: Monitored, label: str) -> str:
    """The finding, as HTML."""
    lead = f'<p class="lead">{escape(result.details)}</p>' if result.details else ""
    return (
        f'<section class="answer"><div><div class="said"><h2>{escape(result.headline)}</h2><p>'
        f'<span class="pill{LOOKS.get(result.state, "")}">{STATE_WORDS[result.state]}</span>'
        f'<span class="pill">{escape(label)}</span></p></div>{lead}</div></section>'
    )


def advice(result: Monitored) -> str:
    """What to do, as Markdown."""
    if result.state == "too early" and not result.wrong_slices:
        return TOO_EARLY
    if result.advice == "recalibrate":
        return "**Recalibrate** on the rows since the change."
    if result.advice == "leave":
        return "**Keep the scores.**"
    row = result.slices[result.slices["slice"] == result.wrong_slices[0]].iloc[0]
    mean, observed = percents(row["mean_score"], row["observed"])
    # A quotation is code in Markdown, so nothing in it is read.
    return f"**Look at slice {quoted(row['slice'])} first**: predicted {mean}, observed {observed}."


def ranges_table(result: Monitored, of: str) -> None:
    when = result.beginning.strip() or "of all tested rows"
    if result.episode is not None:
        when = "since the change"
    st.markdown(f"### Score ranges {when}{slice_suffix(of)}")
    table = result.ranges_of(of)
    rows = tuple(
        row(Value(span(one.low, one.high), marked=bool(one.outside)), *counts(one))
        for one in table.itertuples()
    )
    head = ("Scores", *COUNTS)
    blocks.show(Table("", head, rows, meanings=COUNTS, name="Score ranges", exact=table))


def slices_table(result: Monitored, column: str) -> None:
    if not len(result.slices):
        return
    when = " since the change" if result.episode is not None else ""
    st.markdown(f"### Slices by {plain(column)}{when}" if column else f"### Slices{when}")
    rows = tuple(
        row(
            Value(one.slice, f"{count(one.rows)} rows", marked=one.state == "alarm"),
            STATE_WORDS[one.state],
            percent(one.mean_score),
            percent(one.observed),
            difference(one),
            factor(one.log10_evidence),
        )
        for one in result.slices.itertuples()
    )
    head = ("Slice", "State", *list(COUNTS)[2:5], "Evidence")
    meanings = COUNTS | {"Evidence": "Over the whole life of the calibrator."}
    blocks.show(
        Table("", head, rows, n_text=2, meanings=meanings, name="Slices", exact=result.slices)
    )


def periods_table(result: Monitored, of: str) -> None:
    table = result.periods_of(of)
    rows = tuple(
        row(Value(one.period, marked=bool(one.outside)), *counts(one)) for one in table.itertuples()
    )
    name = f"Periods{slice_suffix(of)}"
    blocks.show(Table("", ("Period", *COUNTS), rows, meanings=COUNTS, name=name, exact=table))


def counts(of: Any) -> list[str | Value]:
    return [
        count(of.rows),
        count(of.positive),
        percent(of.mean_score),
        percent(of.observed),
        difference(of),
    ]


def difference(of: Any) -> Value:
    """Observed minus predicted, and its interval."""
    bounds = f"{points(of.difference_low)} to {points(of.difference_high)}"
    return Value(points(of.difference), bounds) if of.rows else Value(NO_VALUE)


def slice_suffix(of: str) -> str:
    return f": {plain(of)}" if of else ""
