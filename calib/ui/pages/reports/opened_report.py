"""One report, read only: from the store by its id, or from a file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import streamlit as st

from calib.blocks.kinds import JUDGED_SCORES, Answer, ReportDocument
from calib.figures import answer, judged
from calib.reports import Report
from calib.store import Entry, Store, StoreError
from calib.text import plain
from calib.ui.controls import report_files
from calib.ui.layout import blocks, charts, tables
from calib.ui.pages.reports import entry_acts, report_comparison, report_list, sharing
from calib.ui.session import identity, sign_in, state
from calib.ui.session.choices import Chosen
from calib.ui.session.links import FINGERPRINT_SHOWN, Link, LinkedData
from calib.ui.session.named_sources import names_in
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import REPORT

BACK = ":material/arrow_back:"
BROKEN = (
    "This report cannot be shown: its numbers contradict each other. The server log has the "
    "details."
)
ANSWER_COLUMNS = (734, 466)
EDITS = "A saved report does not change: editing saves a new one."
log = logging.getLogger(__name__)


def page(session: Session, store: Store | None) -> None:
    """Raises StoreError if there is no report with this id, or the store cannot be reached."""
    team_reports, entry, problem = session.team_reports, None, ""
    tools = st.container(horizontal=True, vertical_alignment="center", key="report_tools")
    if store is not None and team_reports.report:
        entry = store.entry(team_reports.report)
        (report, problem), other = report_list.saved_report(entry.id, store), team_reports.other
        link = session.link()
        tools.page_link(PAGES["Reports"], label="All reports", icon=BACK, query_params=link)
        if team_reports.compared:
            other, _ = report_list.saved_report(store.entry(team_reports.compared).id, store)
    elif team_reports.file is not None:
        report, other = team_reports.file, team_reports.other
        tools.button("All reports", key="close_file", icon=BACK, on_click=_close_file)
        st.caption(f"From the file {plain(team_reports.file_name)}; it is not saved here.")
    else:
        return
    if other is not None:
        _guarded(partial(report_comparison.page, session, tools, report, other))
        return
    if problem:
        st.warning(problem)
    if entry is not None and entry.title != report.heading:
        st.caption(f"Listed as {plain(entry.title)}.")
    with tools:
        if entry is not None:
            with st.popover("Link", icon=":material/link:"):
                sharing.link(entry.id)
        report_files.downloads(lambda: report, report.analysis.data.name)
        with st.popover("Compare", icon=":material/compare_arrows:", key="compare_with"):
            report_comparison.offer(session, store)
        _count_again(session, report)
        if store is not None and entry is not None:
            _acts(session, store, report, entry)
    _draw(report.document())
    st.caption(sharing.IMAGES)


def _count_again(session: Session, report: Report) -> None:
    name, table = names_in(report.source)
    if not name:
        return
    words = f"The source counts all rows of {name}: {table} again, with columns that are guessed."
    if st.button(
        "Count the source again", key="recount", icon=":material/refresh:", help=plain(words)
    ):
        data = report.analysis.data
        fingerprint = data.fingerprint[:FINGERPRINT_SHOWN]
        source = LinkedData(fingerprint, data.name, data.n_rows, name, table)
        session.follow(Link(Chosen(report.analysis.settings), source=source))
        st.switch_page(PAGES["Overview"])


def _close_file() -> None:
    team_reports = state.current().team_reports
    team_reports.file, team_reports.file_name, team_reports.file_problem = None, "", ""
    team_reports.other = None


def _draw(document: ReportDocument) -> None:
    with st.container(key="report_title" if document.answer else "document_title"):
        st.markdown(f"## {plain(document.heading)}")
    st.caption(plain(document.made))
    _guarded(partial(_show_document, document))


def _guarded(draw: Callable[[], None]) -> None:
    """Draw something of a file, whose numbers can fit the schema but contradict each other."""
    try:
        draw()
    except Exception:
        log.exception("A report could not be drawn")
        st.error(BROKEN)


def _show_document(document: ReportDocument) -> None:
    if document.facts:
        blocks.show(document.facts, "facts")
    if document.note:
        st.markdown(plain(document.note))
    if document.answer:
        _show_answer(document.answer)
    for place, section in enumerate(document.sections):
        st.markdown(f"### {plain(section.title)}")
        for number, block in enumerate(section.blocks):
            blocks.show(block, f"{place}_{number}")
    version = f"Made with calib {plain(document.version)}. " if document.version else ""
    st.caption(f"{version}{plain(document.contains)}")


def _show_answer(shown: Answer) -> None:
    analysis = shown.analysis
    if shown.judge is not None:
        st.html(judged.section(shown.judge))
        st.caption(JUDGED_SCORES)
    st.html(answer.section(analysis, is_example=shown.is_example, parts=shown.parts))
    with st.container(key="evidence"):
        left, right = st.columns(ANSWER_COLUMNS, gap="large")
    with left:
        if shown.undrawn:
            st.info(shown.undrawn)
        else:
            charts.drawing(answer.summaries(analysis), "summary", shown.chart)
    with right:
        st.html(f"{answer.advice(analysis)}{answer.small_print(analysis, finding=True)}")
        if shown.checks:
            st.html(answer.holds(shown.checks))
        tables.calibrators(analysis, is_open=True)
        st.caption(plain(shown.caveat))


def _acts(session: Session, store: Store, report: Report, entry: Entry) -> None:
    if identity.is_read_only():
        return
    act = partial(st.button, type="tertiary", icon=":material/edit_document:", help=EDITS)
    act("Edit a copy", key="edit", on_click=entry_acts.open_dialog, args=("edit", entry.id))
    entry_acts.button(session, entry)
    if not identity.may_change(session, entry.id, entry.owner):
        whose = plain(entry.owner) or "the session that saved it"
        st.caption(f"It can be changed by {whose}, or by an operator of this server.")
    entry_acts.dialog(session, store, entry)
    if session.team_reports.asking == "edit":
        _edit(session, store, report, entry)


@st.dialog("Edit as a new report", on_dismiss=entry_acts.open_dialog)
def _edit(session: Session, store: Store, report: Report, entry: Entry) -> None:
    st.caption("A saved report never changes. This saves a new one with the same numbers.")
    title = st.text_input("Title", report.title, key="edit_title")
    here = sign_in.person()
    name = report.author if here is None else here.name
    author = st.text_input("Prepared by", name, key="edit_author", disabled=here is not None)
    reviewer = st.text_input("Reviewed by", report.reviewer, key="edit_reviewer")
    sign_off = st.text_input("Sign-off (name, date)", report.sign_off, key="edit_sign_off")
    version = st.text_input("Model and its version", report.model_version, key="edit_version")
    note = st.text_area("Note", report.note, key="edit_note")
    tags = st.text_input("Tags", ", ".join(entry.tags), key="edit_tags")
    if not st.button("Save as a new report", key="save_edited", type="primary"):
        return
    edited = report.edited(
        title=title,
        author=author,
        note=note,
        reviewer=reviewer,
        sign_off=sign_off,
        model_version=version,
    )
    try:
        report_id = sharing.save(session, store, edited, tags)
    except StoreError as error:
        st.error(plain(str(error)))
        return
    entry_acts.open_dialog()
    st.query_params.from_dict({REPORT: report_id})
    st.rerun()


def reader(session: Session) -> None:
    given = sharing.uploader(session, "Open a report from a file (report.json)", "report_file")
    if given is not None:
        session.team_reports.file, session.team_reports.file_name = given
        st.rerun()
