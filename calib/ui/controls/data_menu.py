"""The menu of the data in the header: upload, paste, examples, sources, and recent files."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.data.base import Data
from calib.data.origin import read_because
from calib.loading import InputError
from calib.loading.examples import EXAMPLES
from calib.text import plain, plural, shortened
from calib.ui.controls import uploaders, widgets
from calib.ui.session import state
from calib.ui.session.choices import MODEL
from calib.ui.session.named_sources import operator_connections
from calib.ui.session.page_list import OWN_DATA, PAGES
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload

MENU = "menu_"
SOURCES_HELP = "The source counts the rows, and this app gets only the counts."
COUNTED = " (counts without rows)"


def draw(session: Session, rows: Data | None) -> None:
    parts = _label(session, rows)
    # A narrow header cuts what is emphasised, so the whole label is shown under the pointer.
    label = ", ".join([parts[0], *(f"*{part}*" for part in parts[1:])])
    with st.popover(label, icon=":material/table:", key="data_chip", help=", ".join(parts)):
        if session.upload is not None:
            st.caption(read_as(session, session.upload))
        elif not session.waits:
            st.caption(EXAMPLES[session.example].story)
        # The page of the data, the first visit and the page of a link have a drop zone.
        if session.page != "Data" and not session.waits:
            uploaders.uploader(session, "data", "Open predictions: CSV, Parquet or NumPy", MENU)
            uploaders.paste(session, MENU)
            example = f"{MENU}example"
            widgets.assign_again(example)
            widgets.example_menu(session, example)
        _sources(session)
        for number, upload in enumerate(session.recent):
            if upload is not session.upload:
                again, key = f"Open {plain(shortened(upload.name))} again", f"recent_{number}"
                st.button(again, key=key, on_click=_open, args=(session, upload))
        columns = "Columns and test rows"
        st.page_link(PAGES["Data"], label=columns, icon=":material/table:")
        if session.upload is not None:
            close, shown = session.choose_example, (session.example,)
            st.button("Close file", key="close_data", on_click=close, args=shown)


def _sources(session: Session) -> None:
    """Choose a source that the operator named, and one of its tables."""
    connections = operator_connections()
    for problem in connections.problems:
        st.warning(plain(problem))
    if not connections.sources:
        return
    # Each opened table changes the keys, so that it is opened once.
    key = f"{MENU}source_{session.n_reads}"
    look: dict[str, Any] = {"index": None, "help": SOURCES_HELP, "placeholder": "Choose a source"}
    name = st.selectbox("Data on the server", list(connections.sources), key=key, **look)
    if name is None:
        return
    source = connections.sources[name]
    try:
        with st.spinner("Listing the tables"):
            tables = session.memo.private(type(source).tables, source)
        if len(tables) == 1:
            table = tables[0]
        else:
            look = {"index": None, "placeholder": "Choose a table"}
            table = st.selectbox("Table", tables, key=f"{key}_{name}", **look)
        if table is None:
            return
        with st.spinner(state.READING_COLUMNS):
            upload = Upload.of_table(source, table)
    except InputError as error:
        st.error(plain(str(error)))
        return
    session.n_reads += 1
    session.reset(MODEL)
    session.take(upload)
    st.rerun()


def _label(session: Session, rows: Data | None) -> list[str]:
    """The name of the data, their number of rows, and what is positive in a file."""
    if session.waits:
        return ["Choose data"]
    example = session.upload is None
    name = EXAMPLES[session.example].name
    parts = [f"{name} example" if example else shortened(state.name(session)).strip()]
    if rows is not None:
        parts.append(plural(rows.n_rows, "row"))
        if not example and not rows.is_matrix:
            label = rows.view_label(rows.default_view)
            parts.append(f"{shortened(rows.outcome_name)} = {shortened(label)}".strip())
    if session.page in OWN_DATA:
        parts[0] = f"Other pages: {parts[0]}"
    return list(map(plain, parts))


def read_as(session: Session, upload: Upload) -> str:
    """Where the shown data are from, and how the columns of the shown model were read."""
    if upload.source is not None:
        line = f"Source: **{plain(upload.source.label)}**{COUNTED}"
    else:
        tested = f", tested on **{plain(upload.tests.name)}**" if upload.tests else ""
        files = "Files" if len(upload.tables or upload.counted) > 1 else "File"
        line = f"{files}: **{plain(upload.name)}**{tested}{COUNTED if upload.counted else ''}"
    shown = state.predictions(session)
    if shown is None:
        return line
    name = f"{state.model_name(session)}: " if len(upload.models) > 1 else ""
    return f"{line} · {plain(f'{name}{shown.read_as}{read_because(shown.origin)}')}"


def _open(session: Session, upload: Upload) -> None:
    session.take(upload)
