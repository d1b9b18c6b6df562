"""Files of a report: made when they are asked for, and report.json from a person's disk."""

from __future__ import annotations

import streamlit as st

from calib.reports import Report
from calib.text import plain
from calib.ui.controls.widgets import download
from calib.ui.session.session import Session

MAX_MB = 20
IMAGES = (
    "To save a chart as PNG or SVG, point at it and use the buttons at its upper right: your "
    "browser makes the image."
)
# Label, method of the report, suffix and type of each file.
WORDS = (
    ("HTML", "html", "html", "text/html"),
    ("JSON", "json", "json", "application/json"),
    ("Markdown", "markdown", "md", "text/markdown"),
)
FILES = (*WORDS, ("Tables (CSV)", "tables", "zip", "application/zip"))


def downloads(report: Report, stem: str) -> None:
    """One button per format, and how to save a single chart."""
    with st.container(horizontal=True, key="downloads"):
        for label, method, suffix, mime in FILES:
            kind = "primary" if method == "html" else "secondary"
            make, name = getattr(report, method), f"{stem}.{suffix}"
            download(label, make, name, f"download_{method}", mime=mime, type=kind)
    st.caption(IMAGES)


def uploader(session: Session, label: str, key: str) -> tuple[Report, str] | None:
    """A place to drop report.json; returns the report and the file's name once it is read."""
    browser = session.report_browser
    given = st.file_uploader(
        label, key=f"{key}_{browser.n_reads}", type="json", max_upload_size=MAX_MB
    )
    if browser.file_problem:
        st.error(browser.file_problem)
    if given is None:
        return None
    opened = _read(session, given.getvalue(), given.name)
    if opened is None:
        st.rerun()
    return opened, given.name


def _read(session: Session, content: bytes, name: str) -> Report | None:
    """The report, or None; the reason is kept for the page."""
    browser = session.report_browser
    # A file kept by the widget is copied at every rerun: each read makes a new one.
    browser.n_reads += 1
    browser.file_problem = ""
    # The widget's limit is the browser's alone.
    if len(content) > MAX_MB * 2**20:
        browser.file_problem = f"{plain(name)} is larger than {MAX_MB} MB: no report is."
        return None
    try:
        return Report.open(content)
    except ValueError as error:
        browser.file_problem = f"{plain(name)} cannot be opened: {plain(str(error))}"
        return None
