"""Comparing two reports: choosing the second, saved or from a file, and the result."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.blocks.kinds import Note
from calib.reports import Report, ReportComparison, compare_reports
from calib.reports.comparison.document import comparison_sections, sentence_of_comparison
from calib.store import Store, moment_words
from calib.text import moment, plain
from calib.ui.controls import report_files
from calib.ui.controls.widgets import ask, download
from calib.ui.layout import blocks, frame
from calib.ui.pages.reports import sharing
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import COMPARED, REPORT

MAX_OFFERED = 200
COLUMNS = (734, 466)


def offer(session: Session, store: Store | None) -> None:
    if store is not None:
        _offer_saved(session, store)
    given = sharing.uploader(session, "A file (report.json)", "other_file")
    if given is not None:
        session.team_reports.other, _ = given
        st.rerun()


def _offer_saved(session: Session, store: Store) -> None:
    entries = [
        entry for entry in store.list(limit=MAX_OFFERED) if entry.id != session.team_reports.report
    ]
    if not entries:
        return
    labels = {
        entry.id: " · ".join(filter(None, (entry.title, entry.author, moment_words(entry.saved))))
        for entry in entries
    }

    def choose(second: str | None) -> None:
        team_reports = session.team_reports
        if second and team_reports.report:
            st.query_params.from_dict({REPORT: team_reports.report, COMPARED: second})
        elif second:
            # A comparison with a file has no address.
            team_reports.other = store.open(second)

    ask(
        st.selectbox,
        "against",
        None,
        choose,
        label="Saved report to compare with",
        options=list(labels),
        index=None,
        format_func=labels.__getitem__,
        placeholder="Another saved report",
        label_visibility="collapsed",
    )


def page(session: Session, tools: DeltaGenerator, *reports: Report) -> None:
    """Draw two reports compared on one screen, the earlier one first, and fold the rest."""
    team_reports = session.team_reports
    # A comparison with a file has no links.
    linked = team_reports.other is None
    ids = (team_reports.report, team_reports.compared) if linked else ("", "")
    given = sorted(zip(ids, reports, strict=True), key=lambda pair: pair[1].date)
    comparison = compare_reports(*(report for _, report in given))
    with tools:
        if not linked:
            first = f"Back to {reports[0].heading}"
            close = (team_reports, "other", None)
            st.button(plain(first), key="close_other", on_click=setattr, args=close)
        else:
            with st.popover("Link", icon=":material/link:"):
                sharing.link(f"{team_reports.report}&{COMPARED}={team_reports.compared}")
        _take(comparison)
    heading, lead = comparison.document().heading, sentence_of_comparison(comparison)
    said = f"<h2>{escape(heading)}</h2><p class=lead>{escape(lead)}</p>"
    st.html(f'<section class="answer"><div>{said}</div></section>')
    changed, metrics, *others = comparison_sections(comparison)
    left, right = st.columns(COLUMNS, gap="large")
    with left:
        blocks.show(metrics.blocks[0], "1_0")
        notes = [note.text for note in metrics.blocks if isinstance(note, Note)]
        frame.reading("\n".join(f"- {plain(note)}" for note in notes), "the differences")
    with right:
        blocks.show(changed.blocks[1], "0_1")
        with st.container(key="saved_reports", gap="xxsmall"):
            for place, (report_id, report) in zip(("Before", "After"), given, strict=True):
                _title_line(place, report_id, report)
        if not linked:
            st.caption("One of the two reports is a file, so this comparison has no link.")
    for number, section in enumerate(others, 2):
        with st.expander(section.title, key=f"compared_{number}"):
            for place_in_section, block in enumerate(section.blocks):
                blocks.show(block, f"{number}_{place_in_section}")


def _title_line(place: str, report_id: str, report: Report) -> None:
    """Name a report. If it is saved, its name is a link."""
    words = plain(", ".join(filter(None, (report.heading, report.author, moment(report.date)))))
    if report_id:
        there = {REPORT: report_id}
        st.page_link(PAGES["Reports"], label=f"{place}: {words}", query_params=there)
    else:
        st.markdown(f"{place}: {words}")


def _take(comparison: ReportComparison) -> None:
    with st.container(horizontal=True, width="content"):
        for label, method, suffix, mime in report_files.WORDS:
            make, name = getattr(comparison, method), f"comparison.{suffix}"
            download(label, make, name, f"download_comparison_{suffix}", mime=mime)
