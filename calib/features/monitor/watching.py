"""What follows from a monitor: the code of a new calibrator, and watching the same rows daily."""

from __future__ import annotations

import shlex
from typing import Any

import streamlit as st

from calib.data.base import Data
from calib.features.monitor.acts import webhook
from calib.features.monitor.result import Monitored
from calib.features.monitor.rows import ROLES, read_days
from calib.loading import Columns, InputError
from calib.store import StoreError
from calib.store.monitors import MAX_NAME_LENGTH
from calib.text import day_words, plain, plural, sentence
from calib.ui.controls import use_calibrator
from calib.ui.controls.report_files import file_stem
from calib.ui.session import identity, results, state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_store import opened_store

WATCH = "Watch this every day"
NO_FILE = "Open a file with one row per prediction: examples and counts are not watched."
NO_PLAN = (
    "Held-out log loss does not show that a calibrator of the rows since the change is better, so "
    "these are the calibrators of all rows."
)
SAVED = "saved_monitor"
DAILY = "Run this every day, with a file of the rows whose outcomes are final now:"
WEBHOOK_HELP = "A message is posted when an alarm opens and when it closes. It is not saved here."


def buttons(session: Session, rows: Data, result: Monitored, time: str, column: str) -> None:
    """What to do next: get the code of a new calibrator, and watch these rows every day."""
    with st.container(horizontal=True, key="next_steps"):
        alarm = result.state == "alarm" and result.since is not None
        if alarm and result.since is not None:
            # The fit is that of the plan, which is for one slice if only that one is wrong.
            of = "on rows" if result.advice == "recalibrate" else plain(result.wrong_slices[0])
            label = f"Recalibrate {of} since {day_words(result.since)}"
            if st.button(label, key="recalibrate", type="primary"):
                _recalibrate(session, rows, time)
        if not identity.is_read_only():
            is_file = bool(session.upload and session.upload.tables and rows.has_rows)
            look: Any = "secondary" if alarm else "primary"
            watch = st.button(
                WATCH if is_file else f"{WATCH}: open a file first",
                key="watch",
                type=look if is_file else "secondary",
                disabled=not is_file,
                help=None if is_file else NO_FILE,
            )
            if watch:
                _watch(session, result, time, column)


@st.dialog("Recalibrate the rows since the change", width="large")
def _recalibrate(session: Session, rows: Data, time: str) -> None:
    with st.spinner("Fitting the calibrators"):
        name = state.model_name(session)
        fitted = state.Model(rows, state.analysis(session, rows), name)
        model = results.with_plan_of(session, fitted)
    if model.plan is not None and model.plan.calibrator is not None:
        use_calibrator.plan_code(session, model, model.plan, time)
    else:
        st.caption(NO_PLAN)
        use_calibrator.calibrator_code(session, model)


@st.dialog(WATCH)
def _watch(session: Session, result: Monitored, time: str, column: str) -> None:
    upload = session.upload
    assert upload is not None
    name = st.text_input(
        "Name of the monitor",
        value=file_stem(upload.name)[:MAX_NAME_LENGTH],
        max_chars=MAX_NAME_LENGTH,
        key="monitor_name",
    ).strip()
    address = st.text_input(
        "Webhook (https), if a message should be posted", key="monitor_webhook", help=WEBHOOK_HELP
    ).strip()
    try:
        address = address and webhook(address)
    except ValueError as error:
        st.error(plain(sentence(str(error))))
        return
    if not name:
        st.info("Give the monitor a name.")
        return
    st.button(
        "Save these rows as its first days",
        key="save_monitor",
        type="primary",
        on_click=_save,
        args=(session, name, result.horizon, time, column),
    )
    saved, words = st.session_state.get(SAVED, ("", ""))
    if saved != name:
        if words:
            st.error(words)
        return
    st.markdown(f":material/check: {words} {DAILY}")
    st.code(commands(name, address), language="bash")
    link = {"monitor": name}
    st.page_link(PAGES["Monitor"], label="Open this monitor", query_params=link)


def commands(name: str, address: str = "") -> str:
    """The commands of a day: add its rows, and check the monitor."""
    of = f"--name {shlex.quote(name)}"
    check = f"calib monitor check {of}"
    if address:
        check = f"CALIB_WEBHOOK={shlex.quote(address)} {check}"
    return f"calib monitor add day.parquet {of}\n{check}"


def _save(session: Session, name: str, horizon: int, time: str, column: str) -> None:
    """Save the rows of the shown file as the first days, and keep the name and what happened."""
    upload = session.upload
    assert upload is not None
    mapping = upload.mapping
    score = state.predictions(session)
    columns = Columns(
        outcome=mapping.outcome,
        score=None if score is None else score.score_name,
        time=time,
        slices=(column,) if column else (),
        positive=mapping.positive,
        negative=mapping.negative,
    )
    try:
        days = read_days(upload.table, columns, horizon)
        read = {role: getattr(days.columns, role) for role in ROLES}
        earlier = opened_store().monitors.add(
            name,
            days.counts,
            fingerprint=days.fingerprint,
            horizon=horizon,
            columns=read | {"slices": list(days.columns.slices)},
            source=days.name,
            by=identity.actor(),
        )
    except (InputError, StoreError) as error:
        st.session_state[SAVED] = "", plain(sentence(str(error)))
        return
    words = f"{plural(days.counts.n_rows, 'row')} saved."
    if earlier is not None:
        words = "These rows are in this monitor already, so nothing was changed."
    st.session_state[SAVED] = name, words
