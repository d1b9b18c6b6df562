"""Comparing two reports: choosing the second, saved or from a file, and the result."""

from __future__ import annotations

import streamlit as st

from calib.reports import Report, ReportComparison, compare_reports
from calib.store import Store, moment_words
from calib.text import plain
from calib.ui.controls.widgets import ask, download
from calib.ui.pages.reports import sharing
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import COMPARED, REPORT

MAX_OFFERED = 200


def offer(session: Session, store: Store | None) -> None:
    st.caption("Compare with")
    if store is not None:
        _offer_saved(session, store)
    given = sharing.uploader(session, "A file (report.json)", "other_file")
    if given is not None:
        session.team_reports.other, _ = given
        st.rerun()


def _offer_saved(session: Session, store: Store) -> None:
    found = [
        each for each in store.list(limit=MAX_OFFERED) if each.id != session.team_reports.report
    ]
    if not found:
        return
    named = {
        each.id: " · ".join(filter(None, (each.title, each.author, moment_words(each.saved))))
        for each in found
    }

    def choose(second: str | None) -> None:
        browser = session.team_reports
        if second and browser.report:
            st.query_params.from_dict({REPORT: browser.report, COMPARED: second})
        elif second:
            # A comparison with a file has no address.
            browser.other = store.open(second)

    ask(
        st.selectbox,
        "against",
        None,
        choose,
        label="Saved report to compare with",
        options=list(named),
        index=None,
        format_func=named.__getitem__,
        placeholder="Another saved report",
        label_visibility="collapsed",
    )


def together(session: Session, *reports: Report) -> ReportComparison:
    """Two reports compared, the earlier one first, with the ways to either and the sharing."""
    comparison = compare_reports(*sorted(reports, key=lambda each: each.date))
    browser = session.team_reports
    with st.container(horizontal=True):
        for report_id, report in zip((browser.report, browser.compared), reports, strict=True):
            if report_id and browser.other is None:
                label = f"Open **{plain(report.heading)}**"
                st.page_link(PAGES["Reports"], label=label, query_params={REPORT: report_id})
        if browser.other is not None:
            first = f"Back to {reports[0].heading}"
            close = (browser, "other", None)
            st.button(plain(first), key="close_other", on_click=setattr, args=close)
    with st.sidebar:
        if browser.compared:
            st.caption("Link to this comparison")
            sharing.link(f"{browser.report}&{COMPARED}={browser.compared}")
        else:
            st.caption(
                "One of the two reports is a file, so this comparison has no link. Download it:"
            )
        _take(comparison)
    return comparison


def _take(comparison: ReportComparison) -> None:
    with st.container(horizontal=True):
        for label, method, suffix, mime in sharing.WORDS:
            make, name = getattr(comparison, method), f"comparison.{suffix}"
            download(label, make, name, f"download_comparison_{suffix}", mime=mime)
