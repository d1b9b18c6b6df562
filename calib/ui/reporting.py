"""The report's form: its title, author and note, and the files to take away."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.analysis import Analysis
from calib.reports import Report
from calib.reports.contents import Declared
from calib.ui import state
from calib.ui.state import Session
from calib.ui.widgets import show_value
from calib.ui.words import plain

CONTENTS = """
- the verdict, the recommendation and its reasons
- reliability before and after, cumulative differences, calibration functions
- the metric table with its intervals, the bins, the fitted maps
- settings (defaults included), versions, and the fingerprint of the data

Numbers of bins and methods only: **no rows** leave the app. The HTML is one file that asks the
network for nothing; the JSON holds the same numbers for programs.
"""


def fields(session: Session) -> None:
    """Title, author and note."""
    _field("title", "Title", session.title, f"Calibration of {state.name(session)}")
    _field("author", "Author", session.author, "Who made it")
    show_value("note", session.note)
    st.text_area(
        "Note",
        key="note",
        placeholder="What the reader should know: which model, which rows, what is decided",
        on_change=state.changer,
        args=("note", "note"),
    )


def _field(name: str, label: str, value: str, placeholder: str) -> None:
    show_value(name, value)
    st.text_input(
        label, key=name, placeholder=placeholder, on_change=state.changer, args=(name, name)
    )


def downloads(session: Session, analysis: Analysis) -> None:
    """Buttons that make the file when they are clicked."""
    try:
        report = Report.from_analysis(
            analysis,
            title=session.title,
            author=session.author,
            note=session.note,
            held_out_declared=_declared(session),
        )
    except ValueError as error:
        st.error(plain(str(error)))
        return
    stem = "calibration-report"
    st.markdown("##### Download")
    with st.container(horizontal=True):
        for label, kind, mime in (
            ("HTML", "html", "text/html"),
            ("JSON", "json", "application/json"),
            ("Markdown", "markdown", "text/markdown"),
        ):
            st.download_button(
                label,
                partial(getattr(report, kind)),
                file_name=f"{stem}.{'md' if kind == 'markdown' else kind}",
                mime=mime,
                key=f"download_{kind}",
                type="primary" if kind == "html" else "secondary",
                icon=":material/download:",
                on_click="ignore",
            )


def _declared(session: Session) -> Declared:
    # The examples are made with cross-validation: every score is out of fold.
    return session.unseen if session.upload else "yes"
