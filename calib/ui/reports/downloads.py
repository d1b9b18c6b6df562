"""Files of a report: made when they are asked for."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.reports import Report

IMAGES = (
    "To save a chart as PNG or SVG, point at it and use the buttons at its upper right: your "
    "browser makes the image."
)
# Label, method of the report, suffix and type of each file.
FILES = (
    ("HTML", "html", "html", "text/html"),
    ("JSON", "json", "json", "application/json"),
    ("Markdown", "markdown", "md", "text/markdown"),
    ("Tables (CSV)", "tables", "zip", "application/zip"),
)


def files(report: Report, stem: str) -> None:
    """One button per format, and how to save a single chart."""
    with st.container(horizontal=True, key="downloads"):
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
    st.caption(IMAGES)
