"""Files of a report: made when they are asked for."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.figures.images import IMAGE_KINDS, ImageKind, missing
from calib.reports import Report
from calib.reports.export import pictures
from calib.reports.tables import archive
from calib.text import plain
from calib.ui.session.turns import HEAVY

# Label, method of the report, suffix and type of each file.
FILES = (
    ("HTML", "html", "html", "text/html"),
    ("JSON", "json", "json", "application/json"),
    ("Markdown", "markdown", "md", "text/markdown"),
    ("Tables (CSV)", "tables", "zip", "application/zip"),
)


def files(report: Report, stem: str) -> None:
    """One button a format."""
    with st.container(horizontal=True):
        for label, method, suffix, mime in FILES:
            st.download_button(
                label,
                partial(getattr(report, method)),
                file_name=f"{stem}.{suffix}",
                mime=mime,
                key=f"download_{method}",
                type="primary" if method == "html" else "secondary",
                icon=":material/download:",
                on_click="ignore",
            )


def images(report: Report, stem: str) -> None:
    """Buttons that draw every chart, where something to draw with is installed."""
    lacking = missing()
    asked: ImageKind | None = None
    with st.container(horizontal=True):
        for kind in IMAGE_KINDS:
            if st.button(
                f"Charts as {kind.upper()}",
                key=f"draw_{kind}",
                disabled=bool(lacking),
                icon=":material/image:",
                help="Draws every chart, in about ten seconds.",
            ):
                asked = kind
    if lacking:
        st.caption(plain(lacking))
    if asked:
        _draw(report, asked, stem)


def _draw(report: Report, kind: ImageKind, stem: str) -> None:
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    try:
        with HEAVY.turn():
            drawn = pictures(report, kind, progress)
    except ValueError as error:
        slot.error(plain(str(error)))
        return
    slot.download_button(
        f"Take {len(drawn)} charts",
        archive(drawn),
        file_name=f"{stem}-{kind}.zip",
        mime="application/zip",
        key=f"take_{kind}",
        type="primary",
        icon=":material/download:",
        on_click="ignore",
    )
