"""Connect: named sources, whose rows are counted where they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.data.slicing import crossed_name
from calib.loading import InputError, guess
from calib.scanning.connections import COUNTS_ONLY, Connection
from calib.scanning.fetching import DEFAULT_SAMPLE_ROWS, MAX_SAMPLE_ROWS, MIN_SAMPLE_ROWS
from calib.text import plain
from calib.ui.controls import connected_tables
from calib.ui.controls.widgets import ask
from calib.ui.pages.data import mapping
from calib.ui.session import state
from calib.ui.session.choices import SEGMENTED
from calib.ui.session.session import Session
from calib.ui.session.source_links import operator_connections
from calib.ui.session.upload import Connected

COUNT, DRAW = "Count all rows", "Draw a sample"
ROWS_HELP = (
    "If the source counts all rows, none leaves it for the analysis. A sample is read into this "
    "app, as calibrators of all classes together need."
)
ID_HELP = (
    "A column that identifies each row, by which rows are drawn. Without one they are drawn by all "
    "columns, which fails if many rows are equal."
)
PAIRS_HELP = "Each pair is also counted together, so that the Slices page can cross it."
VIEW_HELP = (
    "A source counts one view, and classes are named here by their score columns. Calibrators of "
    "all classes together need a sample of rows."
)


def show(session: Session) -> None:
    connections = operator_connections()
    if not connections.sources and not connections.problems:
        return
    st.markdown("### Connect")
    st.caption(
        "The source counts the rows, and this app gets only the counts. If you draw a sample, this "
        "app gets its rows."
    )
    for problem in connections.problems:
        st.warning(plain(problem))
    try:
        connected = _chosen(session, connections.sources)
    except InputError as error:
        st.error(plain(str(error)))
        return
    if connected is None:
        return
    mapped = mapping.Mapped.of(session, mapping.SOURCE)
    mapping.columns(mapped)
    _rows(connected)
    connected_tables.refused(session, connected, _put)
    label = "Analyse the sample" if connected.sample else "Analyse all rows"
    if st.button(label, key="connect_scan", type="primary"):
        connected_tables.analyse(session, connected)
    if connected.source.rows:
        with st.expander("First rows"):
            st.dataframe(mapped.table.frame.head(8), hide_index=True)


def _chosen(session: Session, connections: Mapping[str, Connection]) -> Connected | None:
    """The chosen table. Its columns stay mapped while other pages are shown."""
    before = session.draft
    if before and "connect_source" not in st.session_state:
        st.session_state["connect_source"] = before.source.name
        st.session_state[f"connect_table_{before.source.name}"] = before.table
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.selectbox("Source", list(connections), index=None, key="connect_source")
    if name is None:
        return None
    source = connections[name]
    with st.spinner("Listing the tables"):
        tables = session.memo.private(Connection.tables, source)
    with right:
        table = st.selectbox("Table", tables, index=None, key=f"connect_table_{name}")
    if table is None:
        return None
    if before is None or (before.source, before.table) != (source, table):
        with st.spinner("Reading the first rows"):
            first = session.memo.private(Connection.first_rows, source, table)
        # A file may have predicted labels, but an engine does not compare them with the outcome.
        guessed = replace(guess(first, models=True), predicted=None)
        session.draft = Connected(source, table, guessed, columns=tuple(first.columns))
    return session.draft


def _rows(connected: Connected) -> None:
    first, second, third = st.columns(3, gap="medium")
    if connected.source.rows:
        with first:
            ask(
                SEGMENTED,
                "connect_rows",
                DRAW if connected.sample else COUNT,
                lambda chosen: _change(sample=DEFAULT_SAMPLE_ROWS if chosen == DRAW else 0),
                label="Rows",
                options=(COUNT, DRAW),
                help=ROWS_HELP,
            )
        if connected.sample:
            _sample(connected, second, third)
            return
    else:
        first.caption(COUNTS_ONLY)
    places = iter((second, third))
    if mapping.kind_of(connected.mapping) == mapping.BY_CLASS:
        with next(places):
            _view(connected)
    if len(connected.mapping.slices) > 1:
        with next(places):
            _pairs(connected)


def _sample(connected: Connected, left: DeltaGenerator, right: DeltaGenerator) -> None:
    with left:
        look = {
            "label": "Rows of the sample",
            "min_value": MIN_SAMPLE_ROWS,
            "max_value": MAX_SAMPLE_ROWS,
        }
        _ask("sample", st.number_input, connected.sample, step=10_000, **look)
    with right:
        _ask(
            "row_id",
            st.selectbox,
            connected.row_id,
            label="Row ID",
            options=["", *connected.columns],
            format_func=lambda name: name or mapping.NONE,
            help=ID_HELP,
        )


def _view(connected: Connected) -> None:
    columns = connected.mapping.score_columns
    words = {"top:1": "Top-1: is the predicted class correct?"}
    words |= {f"class:{k}": f"Class {name}" for k, name in enumerate(columns)}
    look = {"label": "View", "options": list(words), "format_func": words.__getitem__}
    _ask("view", st.selectbox, connected.view or "top:1", help=VIEW_HELP, **look)


def _pairs(connected: Connected) -> None:
    _ask(
        "pairs",
        st.multiselect,
        list(connected.pairs),
        label="Slices to cross",
        options=list(combinations(connected.mapping.slices, 2)),
        format_func=crossed_name,
        placeholder=mapping.NONE,
        help=PAIRS_HELP,
    )


def _ask(name: str, widget: Callable[..., Any], value: object, **more: Any) -> None:
    def change(chosen: Any) -> None:
        _change(**{name: tuple(chosen) if isinstance(chosen, list) else chosen})

    ask(widget, f"connect_{name}", value, change, **more)


def _change(**changed: Any) -> None:
    session = state.current()
    if session.draft is not None:
        session.draft = replace(session.draft, **changed)


def _put(session: Session, connected: Connected) -> None:
    session.draft = connected
