"""Connect: named sources, whose rows are counted where they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from calib.loading import InputError
from calib.scanning.connections import Connection
from calib.text import plain
from calib.ui.controls import sources
from calib.ui.controls.widgets import show_value
from calib.ui.data import mapping
from calib.ui.session import state
from calib.ui.session.session import Session
from calib.ui.session.sources import named
from calib.ui.session.upload import Connected, Draft

VIEW_HELP = (
    "A source counts one view. Calibrators of all classes together need rows: upload a sample. "
    "Classes are named here by their score columns."
)


def show(session: Session) -> None:
    """Choose a source and a table, map its columns, and analyse all its rows."""
    found = named()
    if not found.sources and not found.problems:
        return
    st.markdown("### Connect")
    st.caption("The rows stay in the source. It counts them, and this app gets only the counts.")
    for problem in found.problems:
        st.warning(plain(problem))
    try:
        draft = _chosen(session, found.sources)
    except InputError as error:
        st.error(plain(str(error)))
        return
    if draft is None:
        return
    mapped = mapping.Mapped.of(session, mapping.SOURCE)
    mapping.columns(mapped)
    if mapping.kind_of(mapped.mapping) == mapping.BY_CLASS:
        _view(draft)
    sources.refused(session, draft.connected, _repaired)
    if st.button("Analyse all rows", key="connect_scan", type="primary"):
        sources.analyse(session, draft.connected)
    with st.expander("First rows"):
        st.dataframe(draft.first.frame.head(8), hide_index=True)


def _chosen(session: Session, known: Mapping[str, Connection]) -> Draft | None:
    """The table that a person chose; its columns stay mapped while other pages are shown."""
    before = None if session.draft is None else session.draft.connected
    if before and "connect_source" not in st.session_state:
        st.session_state["connect_source"] = before.source.name
        st.session_state[f"connect_table_{before.source.name}"] = before.table
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.selectbox("Source", list(known), index=None, key="connect_source")
    if name is None:
        return None
    source = known[name]
    with st.spinner("Listing the tables"):
        tables = session.memo(Connection.tables, source)
    with right:
        table = st.selectbox("Table", tables, index=None, key=f"connect_table_{name}")
    if table is None:
        return None
    if before is None or (before.source, before.table) != (source, table):
        with st.spinner("Reading the first rows"):
            first = session.memo(Connection.first_rows, source, table)
        session.draft = Draft.of(source, table, first)
    return session.draft


def _view(draft: Draft) -> None:
    columns, connected = draft.connected.mapping.score_columns, draft.connected
    words = {"top:1": "Top-1: is the predicted class correct?"}
    words |= {f"class:{k}": f"Class {name}" for k, name in enumerate(columns)}
    show_value("connect_view", connected.view or "top:1")
    st.selectbox(
        "View",
        list(words),
        format_func=words.__getitem__,
        key="connect_view",
        on_change=_change_view,
        help=VIEW_HELP,
    )


def _change_view() -> None:
    session = state.current()
    if session.draft is not None:
        view = st.session_state["connect_view"]
        connected = replace(session.draft.connected, view=view)
        session.draft = replace(session.draft, connected=connected)


def _repaired(session: Session, connected: Connected) -> None:
    """Map the columns as a repair does."""
    if session.draft is not None:
        session.draft = replace(session.draft, connected=connected)
