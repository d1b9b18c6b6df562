"""The gallery: what papers printed beside what this project makes of it, and data to open."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from calib.text import plain
from calib.ui.gallery.gallery_entries import GalleryEntry, Opening
from calib.ui.layout.words import linked
from calib.ui.session.serving import app_file

FOLDER = app_file().parent / "docs" / "reproductions"
MAX_HEIGHT, MANY_ROWS = 320, 8


def show_entry(shown: GalleryEntry) -> Opening | None:
    """Draw one paper; the opening whose button was pressed, if one was."""
    st.markdown(f"### {shown.title}")
    words, picture = st.columns([2, 3], gap="large")
    with words:
        st.markdown(shown.story)
        st.markdown(f":small[{linked(shown.source)}]")
        pressed = None
        for each in shown.openings:
            if st.button(each.label, key=f"open_{each.key}", icon=":material/arrow_forward:"):
                pressed = each
        for name, title in shown.numbers.items():
            path = FOLDER / f"{name}.csv"
            if path.is_file():
                with st.expander(title, key=f"numbers_{name}"):
                    _table(name, path)
    with picture:
        path = FOLDER / f"{shown.picture}.svg"
        if path.is_file():
            st.image(str(path), alt=shown.alt, width="content")
        else:
            st.caption("The picture and the numbers are in the project's repository only.")
    return pressed


def _table(name: str, path: Path) -> None:
    rows, notes = read_numbers(path)
    st.dataframe(
        rows,
        hide_index=True,
        key=f"table_{name}",
        height=MAX_HEIGHT if len(rows["Number"]) > MANY_ROWS else "content",
        alt="One row per number: the published value and ours.",
    )
    for note in notes:
        st.caption(note)


def read_numbers(path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Columns of published numbers and ours, with the digits that they are worth; and notes."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    columns: dict[str, list[str]] = {
        "Number": [line["name"] for line in lines],
        # The shorter: a published number has the digits that were printed.
        "Published": [
            min(line["published"], _rounded(line, "published"), key=len) for line in lines
        ],
        "Ours": [_rounded(line, "ours") for line in lines],
    }
    notes = [f"{plain(line['name'])}: {plain(line['note'])}" for line in lines if line["note"]]
    return {name: values for name, values in columns.items() if any(values)}, notes


def _rounded(line: Mapping[str, str], name: str) -> str:
    return f"{float(line[name]):.{int(line['digits'])}f}" if line[name] else ""
