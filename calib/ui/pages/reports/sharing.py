"""Sharing a report: saving it once, its address, and opening its file."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from calib.reports import Report
from calib.store import Store, StoreError
from calib.store.entries import checked_tags
from calib.text import day_words, plain
from calib.ui.controls.widgets import copy_link
from calib.ui.session import identity, sign_in
from calib.ui.session.session import Session
from calib.ui.session.team_reports import REPORT

# Reports are compared as if they had this date: two equal texts are saved once.
COMPARED_DATE = "2000-01-01"
LOCAL_LINK = (
    "Only this computer can open this link. To let others open it, start the app with "
    "`calib serve --address 0.0.0.0`, or in a checkout with `streamlit run app.py "
    "--server.address=0.0.0.0 --server.allowedHosts=NAME`. Then open it under NAME, this "
    "computer's name in the network."
)
SHARED_LINK = "Everyone who can open this app can open this link."
MAX_MB = 20
IMAGES = (
    "To save a chart as PNG or SVG, point at it and use the buttons at its upper right: your "
    "browser makes the image."
)


def save(session: Session, store: Store, report: Report, tags: str) -> str:
    """Save a report, unless the store has an equal one; returns the id of the one that it has.

    Raises StoreError if the store cannot be read or written.
    """
    here = sign_in.person()
    # The signed-in user is the author and cannot write under another name.
    author = report.author if here is None else here.name
    made, names = report.edited(author=author), checked_tags(tags.split(","))
    team_reports = session.team_reports
    report_id = _equal(store, made, names)
    team_reports.is_repeated = bool(report_id)
    if not report_id:
        titled = made.edited(title=made.title or default_title(made), created=made.created)
        owner = "" if here is None else here.identity
        report_id = store.save(titled, tags=names, owner=owner)
        team_reports.saved_ids.add(report_id)
    team_reports.saved = report_id
    return report_id


def default_title(report: Report) -> str:
    """The title of a saved report that was given none: two of the same data differ by the day."""
    return f"{report.edited(title='').heading}, {day_words(report.date)}"


def _equal(store: Store, report: Report, tags: tuple[str, ...]) -> str:
    """The id of a saved report that differs only in its date, or ""."""
    content = _compared(report)
    for entry in store.of_rows(report.analysis.data.fingerprint):
        if (entry.author, entry.note, entry.tags) == (report.author, report.note, tags):
            # A damaged report is equal to none.
            with suppress(StoreError):
                if _compared(store.open(entry.id)) == content:
                    return entry.id
    return ""


def _compared(report: Report) -> str:
    title = "" if report.title == default_title(report) else report.title
    return report.edited(title=title, created=COMPARED_DATE).json()


def link(report_id: str) -> None:
    base = st.context.url or "/reports"
    text = f"{base.split('?')[0]}?{REPORT}={report_id}"
    with st.container(key="report_link"):
        st.code(text, language=None, wrap_lines=True)
        copy_link(text, "copy_link")
        st.caption(who_can_open(text))


def who_can_open(url: str) -> str:
    return LOCAL_LINK if identity.is_local(url) else SHARED_LINK


def uploader(session: Session, label: str, key: str) -> tuple[Report, str] | None:
    """Draw a drop zone for report.json; returns the report and the file's name once it is read."""
    team_reports = session.team_reports
    given = st.file_uploader(
        label, key=f"{key}_{team_reports.n_reads}", type="json", max_upload_size=MAX_MB
    )
    if team_reports.file_problem:
        st.error(team_reports.file_problem)
    if given is None:
        return None
    opened = _read(session, given.getvalue(), given.name)
    if opened is None:
        st.rerun()
    return opened, given.name


def _read(session: Session, content: bytes, name: str) -> Report | None:
    """The report, or None; the reason is kept for the page."""
    team_reports = session.team_reports
    # Each read changes the key, because a file that the widget keeps is copied at every rerun.
    team_reports.n_reads += 1
    team_reports.file_problem = ""
    # Only the browser checks the limit of the widget.
    if len(content) > MAX_MB * 2**20:
        team_reports.file_problem = f"{plain(name)} is larger than {MAX_MB} MB: no report is."
        return None
    try:
        return Report.open(content)
    except ValueError as error:
        team_reports.file_problem = f"{plain(name)} cannot be opened: {plain(str(error))}"
        return None
