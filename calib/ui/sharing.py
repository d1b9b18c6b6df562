"""Sharing a report: saving it once, and its address."""

from __future__ import annotations

import streamlit as st

from calib.reports import Report
from calib.store import Store
from calib.ui.report_browser import REPORT
from calib.ui.saved_reports import PAGE
from calib.ui.state import Session

# Of a saved report; two of one moment that say the same are one.
ONCE = "2000-01-01"


def save(session: Session, store: Store, report: Report, tags: str) -> str:
    """Keep a report, and return its id; what was saved last is not saved again.

    Raises
    ------
    StoreError
        If it cannot be kept, or a tag is not allowed.
    """
    words = {"title": report.title, "author": report.author, "note": report.note}
    content = hash((report.edited(**words, created=ONCE).json(), tags))
    if session.report_browser.saved[0] != content:
        session.report_browser.saved = (content, store.save(report, tags=tags.split(",")))
    return session.report_browser.saved[1]


def address(report_id: str) -> str:
    """The address of a saved report, as a person would send it."""
    base = st.context.url or "/reports"
    return f"{base.split('?')[0]}?{REPORT}={report_id}"


def link(report_id: str) -> None:
    """The address, with a button to copy it."""
    with st.container(key="report_link"):
        st.code(address(report_id), language=None, wrap_lines=True)


def open_link(report_id: str) -> None:
    """A link to the saved report in this tab."""
    st.page_link(
        PAGE, label="**Open it**", icon=":material/description:", query_params={REPORT: report_id}
    )
