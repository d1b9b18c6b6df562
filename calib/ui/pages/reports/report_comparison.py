"""Comparing two reports: choosing the second, saved or from a file, and the result."""

from __future__ import annotations

import streamlit as st

from calib.reports import Report, ReportComparison, compare_reports
from calib.store import Store, moment_words
from calib.text import plain
from calib.ui.controls import report_files
from calib.ui.controls.widgets import ask, download
from calib.ui.pages.reports import sharing
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import COMPARED, REPORT

MAX_OFFERED = 200


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


def together(session: Session, *reports: Report) -> ReportComparison:
    """Draw the comparison of two reports, the earlier one first, with links to both."""
    comparison = compare_reports(*sorted(reports, key=lambda report: report.date))
    team_reports = session.team_reports
    with st.container(horizontal=True):
        for report_id, report in zip(
            (team_reports.report, team_reports.compared), reports, strict=True
        ):
            if report_id and team_reports.other is None:
                label = f"Open **{plain(report.heading)}**"
                st.page_link(PAGES["Reports"], label=label, query_params={REPORT: report_id})
        if team_reports.other is not None:
            first = f"Back to {reports[0].heading}"
            close = (team_reports, "other", None)
            st.button(plain(first), key="close_other", on_click=setattr, args=close)
    with st.container(horizontal=True, vertical_alignment="center", key="report_tools"):
        if team_reports.compared:
            with st.popover("Link", icon=":material/link:"):
                sharing.link(f"{team_reports.report}&{COMPARED}={team_reports.compared}")
        else:
            st.caption("One of the two reports is a file, so this comparison has no link.")
        _take(comparison)
    return comparison


def _take(comparison: ReportComparison) -> None:
    with st.container(horizontal=True, width="content"):
        for label, method, suffix, mime in report_files.WORDS:
            make, name = getattr(comparison, method), f"comparison.{suffix}"
            download(label, make, name, f"download_comparison_{suffix}", mime=mime)
