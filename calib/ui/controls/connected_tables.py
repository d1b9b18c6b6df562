"""Tables of sources: count their rows, open a link to them, and say what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import LiveAnalysis
from calib.data.base import Data
from calib.data.progress import Progress
from calib.loading import InputError
from calib.text import p_value, percent, plain
from calib.ui.controls import uploaders
from calib.ui.session import state
from calib.ui.session.choices import MODEL
from calib.ui.session.links import FINGERPRINT_SHOWN, LinkedData
from calib.ui.session.session import Session
from calib.ui.session.source_links import Query, Seen
from calib.ui.session.turns import HEAVY
from calib.ui.session.upload import Connected, Upload

Repair = Callable[[Session, Connected], None]
CANCELLED = "This was cancelled. Nothing was counted or drawn."


def analyse(session: Session, connected: Connected) -> None:
    upload = _counted(session, connected)
    session.reset(MODEL)
    session.receive(upload)
    st.rerun()


def _counted(session: Session, connected: Connected) -> Upload:
    """Count all rows. A click on Cancel ends this run of the page, and with it the query."""
    slot, below = st.empty(), st.empty()
    # The button replaces the last reason, until there is another.
    session.refused_scan = None
    with below:
        leave = (session, "refused_scan", (connected, ()))
        st.button("Cancel", key="connect_cancel", on_click=setattr, args=leave)
    try:
        with HEAVY.turn():
            return Upload.of_source(connected, shown_in(slot))
    except InputError as error:
        session.refused_scan = connected, error.problems
        st.rerun()


def shown_in(slot: DeltaGenerator) -> Progress:

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{plain(text)} …")

    return progress


def refused(session: Session, connected: Connected, repair: Repair) -> bool:
    """Show why the last count of this table failed, with repairs; returns whether it failed."""
    if session.refused_scan is None or session.refused_scan[0] != connected:
        return False
    problems = session.refused_scan[1]
    if not problems:
        st.info(CANCELLED)
    for i, problem in enumerate(problems):
        st.error(problem.sentence)
        with st.container(horizontal=True):
            repairs = uploaders.repairs(problem, connected.mapping)
            for j, (label, mapping) in enumerate(repairs):
                key, repaired = f"connect_repair_{problem.code}_{i}_{j}", connected.mapped(mapping)
                uploaders.repair_button(label, key, repair, session, repaired)
    return True


def reopen(session: Session) -> None:
    before, query = session.awaited, session.awaited.query
    assert query is not None
    st.markdown(f"## This link is for **{plain(query.label)}**{before.size}")
    try:
        connected = session.memo.private(type(query).connected, query)
    except InputError as error:
        st.error(" ".join(problem.sentence for problem in error.problems))
        uploaders.example_instead()
        return
    if refused(session, connected, _reopened):
        go_on = (session, "refused_scan", None)
        with st.container(horizontal=True):
            st.button(
                "Count the rows again", key="recount", on_click=setattr, args=go_on, type="primary"
            )
            uploaders.example_instead()
        return
    again = "draws the sample" if connected.sample else "counts all rows"
    st.markdown(f"The source {again} again.")
    upload = _counted(session, connected)
    session.take(upload)
    session.changed_since = _changes(session, before, upload)
    st.rerun()


def _reopened(session: Session, connected: Connected) -> None:
    """Continue with the columns as a repair maps them."""
    session.refused_scan = None
    session.awaited = replace(session.awaited, query=Query.of(connected))


def refresh(session: Session) -> None:
    upload = session.upload
    if upload is None or upload.source is None:
        return
    refused(session, upload.source, analyse)
    if not st.button("Refresh from the source", key="connect_refresh", icon=":material/refresh:"):
        return
    assert upload.predictions is not None
    _analysed(session, upload.predictions)
    before, made = session.linked_upload(upload), _counted(session, upload.source)
    if made.fingerprint == upload.fingerprint:
        made = replace(made, unseen=upload.unseen)
    session.take(made)
    session.changed_since = _changes(session, before, made)
    st.rerun()


def _analysed(session: Session, rows: Data) -> LiveAnalysis | None:
    """The analysis, with its progress, or None if it is not possible."""
    slot = st.empty()
    try:
        return state.analysis(session, rows, shown_in(slot))
    except ValueError:
        return None  # The pages show the reason.
    finally:
        slot.empty()


def _changes(session: Session, before: LinkedData, upload: Upload) -> str:
    """Say in a sentence or two what differs from the link, the report or the page."""
    assert upload.source is not None
    model, day = before.name.removeprefix(f"{upload.source.label}: "), before.seen.day
    # A report is about one of several models.
    model = model if model in upload.models else next(iter(upload.models))
    rows = upload.models[model]
    fingerprints = [data.fingerprint[:FINGERPRINT_SHOWN] for data in (upload, rows)]
    if before.fingerprint in fingerprints:
        same = "sample is" if upload.source.sample else "counts are"
        return f"Nothing changed{f' since {day}' if day else ''}: the {same} the same."
    session.adapt_to_data(rows)
    now = Seen.of(upload.day, _analysed(session, rows))
    days = f"Counted on {day}, and again on {upload.day}. " if day else ""
    of_model = f"Model {model}: " if len(upload.models) > 1 else ""
    return plain(days + of_model + " ".join(_changed_sums(before.seen, now)))


def _changed_sums(before: Seen, now: Seen) -> Iterator[str]:
    if before.n_rows is None or now.n_rows is None:
        yield "The source has other rows now."
        return
    yield f"Rows: {before.n_rows:,} before, {now.n_rows:,} now."
    yield f"Base rate: {percent(before.base_rate)} before, {percent(now.base_rate)} now."
    errors = [f"{percent(seen.ks_error)} ({p_value(seen.p)})" for seen in (before, now)]
    yield f"KS calibration error: {errors[0]} before, {errors[1]} now."
    if before.verdict == now.verdict:
        yield f"{now.heading}, before and now."
    else:
        yield f"{before.heading} before; {now.heading} now."
