"""One report, read only: from the shelf by its id, or from a file; and two held together."""

from __future__ import annotations

import logging

import streamlit as st

from calib.reports import Report, ReportComparison, compare_reports
from calib.reports.blocks import Paper
from calib.reports.comparison_words import paper_of_comparison
from calib.reports.sections import paper_of
from calib.store import Entry, Store, StoreError
from calib.ui import downloads, sharing, state
from calib.ui.desk import AGAINST, REPORT
from calib.ui.reading import show_paper
from calib.ui.shelf import PAGE
from calib.ui.state import Session
from calib.ui.widgets import show_value
from calib.ui.words import plain

MOST_OFFERED = 200
LARGEST_MB = 20
# Lines that are not too long to read.
WIDTH = 980
BROKEN = "This report cannot be drawn: its numbers do not fit together. The reason is in the log."
log = logging.getLogger(__name__)


@st.cache_resource(max_entries=32, show_spinner=False)
def _opened(report_id: str, _store: Store) -> Report:
    return _store.open(report_id)


def page(session: Session, store: Store) -> None:
    """The saved report that the address names, and the one that it is held against.

    Raises
    ------
    StoreError
        If there is none of that id, or the store cannot be reached.
    """
    desk = session.desk
    entry = store.entry(desk.report)
    report = _opened(entry.id, store)
    _back(session)
    if desk.against:
        _together(session, report, _opened(store.entry(desk.against).id, store))
        return
    with st.sidebar:
        st.caption("Link to this report")
        sharing.link(entry.id)
        downloads.files(report, "calibration-report")
        downloads.images(report, "calibration-report")
        _offer(store, entry.id)
        _acts(session, store, report, entry)
    _draw(paper_of(report))


def file(session: Session, report: Report) -> None:
    """A report that was opened from a file."""
    st.button("All reports", key="close_file", icon=":material/arrow_back:", on_click=_close_file)
    st.caption(f"From the file {plain(session.desk.file_name)}; it is not on the shelf.")
    with st.sidebar:
        downloads.files(report, "calibration-report")
        downloads.images(report, "calibration-report")
    _draw(paper_of(report))


def _close_file() -> None:
    desk = state.current().desk
    desk.file, desk.file_name = None, ""


def _back(session: Session) -> None:
    st.page_link(
        PAGE, label="All reports", icon=":material/arrow_back:", query_params=session.link()
    )


def _draw(paper: Paper) -> None:
    st.markdown(f"## {plain(paper.heading)}")
    st.caption(plain(paper.made))
    # A file may hold numbers that fit the schema and nothing else.
    try:
        show_paper(paper)
    except Exception:
        log.exception("A report could not be drawn")
        st.error(BROKEN)


def _acts(session: Session, store: Store, report: Report, entry: Entry) -> None:
    with st.container(horizontal=True):
        for label, act, icon, why in (
            ("Edit", "edit", ":material/edit:", "A saved report stays: editing makes a new one."),
            ("Delete", "delete", ":material/delete:", "Asks before it does."),
        ):
            st.button(label, key=act, icon=icon, help=why, on_click=_ask, args=(act,))
    if session.desk.asking == "edit":
        _edit(session, store, report, entry)
    if session.desk.asking == "delete":
        _delete(session, store, entry)


def _ask(act: str = "") -> None:
    state.current().desk.asking = act


@st.dialog("Edit into a new report", on_dismiss=_ask)
def _edit(session: Session, store: Store, report: Report, entry: Entry) -> None:
    st.caption("A saved report never changes: this makes a new one with the same numbers.")
    title = st.text_input("Title", report.title, key="edit_title")
    author = st.text_input("Author", report.author, key="edit_author")
    note = st.text_area("Note", report.note, key="edit_note")
    tags = st.text_input("Tags", ", ".join(entry.tags), key="edit_tags")
    if not st.button("Save as a new report", key="save_edited", type="primary"):
        return
    edited = report.edited(title=title, author=author, note=note)
    try:
        report_id = sharing.save(session, store, edited, tags)
    except StoreError as error:
        st.error(plain(str(error)))
        return
    _ask()
    st.query_params.from_dict({REPORT: report_id})
    st.rerun()


@st.dialog("Delete this report?", on_dismiss=_ask)
def _delete(session: Session, store: Store, entry: Entry) -> None:
    st.markdown(
        f"**{plain(entry.title)}** goes for good, for everyone. The log keeps its title, the "
        "moment, and who deleted it."
    )
    name = st.text_input("Your name", session.author, key="delete_by")
    if not st.button("Delete for good", key="delete_confirmed", type="primary"):
        return
    if not name.strip():
        st.error("Say who deletes it: the log keeps the name.")
        return
    try:
        store.delete(entry.id, by=name)
    except StoreError as error:
        st.error(plain(str(error)))
        return
    session.desk.said = f"Deleted: {entry.title}."
    _ask()
    st.query_params.from_dict(session.link())
    st.rerun()


def _offer(store: Store, report_id: str) -> None:
    """Pick the report that this one is held against."""
    found = [each for each in store.list(limit=MOST_OFFERED) if each.id != report_id]
    if not found:
        return
    named = {each.id: each for each in found}
    show_value("against", None)
    st.selectbox(
        "Compare with",
        list(named),
        index=None,
        format_func=lambda each: _label(named, each),
        placeholder="Another saved report",
        key="against",
        on_change=_hold,
        args=(report_id,),
    )


def _label(named: dict[str, Entry], report_id: str) -> str:
    entry = named[report_id]
    return " · ".join(filter(None, (entry.title, entry.author, f"{entry.saved:%Y-%m-%d %H:%M}")))


def _hold(report_id: str) -> None:
    chosen = st.session_state["against"]
    if chosen:
        st.query_params.from_dict({REPORT: report_id, AGAINST: chosen})


def _together(session: Session, report: Report, other: Report) -> None:
    first, second = sorted((report, other), key=lambda each: each.date)
    comparison = compare_reports(first, second)
    _open_both((session.desk.report, report), (session.desk.against, other))
    with st.sidebar:
        st.caption("Link to this comparison")
        sharing.link(f"{session.desk.report}&{AGAINST}={session.desk.against}")
        _take(comparison)
    _draw(paper_of_comparison(comparison))


def _take(comparison: ReportComparison) -> None:
    with st.container(horizontal=True):
        for label, make, suffix, mime in (
            ("HTML", comparison.html, "html", "text/html"),
            ("Markdown", comparison.markdown, "md", "text/markdown"),
        ):
            st.download_button(
                label,
                make,
                file_name=f"comparison.{suffix}",
                mime=mime,
                key=f"download_comparison_{suffix}",
                icon=":material/download:",
                on_click="ignore",
            )


def _open_both(*named: tuple[str, Report]) -> None:
    with st.container(horizontal=True):
        for report_id, report in named:
            label = f"Open **{plain(report.heading)}**"
            st.page_link(PAGE, label=label, query_params={REPORT: report_id})


def reader(session: Session) -> None:
    """A place to open report.json."""
    desk = session.desk
    given = st.file_uploader(
        "Open a report from a file (report.json)",
        key=f"report_file_{desk.n_reads}",
        type="json",
        max_upload_size=LARGEST_MB,
    )
    if desk.file_problem:
        st.error(desk.file_problem)
    if given is not None:
        receive(session, given.getvalue(), given.name)
        st.rerun()


def receive(session: Session, content: bytes, name: str) -> None:
    """Open a file, or say why it is no report."""
    desk = session.desk
    desk.n_reads += 1
    desk.file, desk.file_name, desk.file_problem = None, name, ""
    try:
        desk.file = Report.open(content)
    except ValueError as error:
        desk.file_problem = f"{plain(name)} is not opened: {plain(str(error))}"
