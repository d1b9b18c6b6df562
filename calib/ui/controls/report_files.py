"""Buttons for the files of a report."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import streamlit as st

from calib.reports import Report
from calib.ui.controls.widgets import download

# Operating systems accept file names of 255 bytes.
MAX_STEM_CHARACTERS = 60
# Each file has a label, a method of the report, a suffix and a type.
WORDS = (
    ("HTML", "html", "html", "text/html"),
    ("JSON", "json", "json", "application/json"),
    ("Markdown", "markdown", "md", "text/markdown"),
)
FILES = (*WORDS, ("Tables (CSV)", "tables", "zip", "application/zip"))


def downloads(make: Callable[[], Report], data_name: str) -> None:
    """Buttons for the files of a report. The report and its file are made after a click."""

    def content(method: str) -> str | bytes:
        made: str | bytes = getattr(make(), method)()
        return made

    with st.container(horizontal=True, key="downloads", width="content"):
        for label, method, suffix, mime in FILES:
            name = f"{file_stem(data_name)}-calibration-report.{suffix}"
            download(label, partial(content, method), name, f"download_{method}", mime=mime)


def file_stem(data_name: str) -> str:
    """The name of data as part of a file's name.

    >>> file_stem("loans 2026/03.csv")
    'loans_2026_03.csv'
    """
    return re.sub(r"[^\w.-]+", "_", data_name)[:MAX_STEM_CHARACTERS]
