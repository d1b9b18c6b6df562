"""Blocks on a page of Streamlit."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.blocks.kinds import (
    Annotated,
    Attachment,
    Beside,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Fold,
    Heading,
    Note,
    Paragraph,
    Table,
    Tabs,
    Text,
)
from calib.text import plain
from calib.ui.controls.widgets import download
from calib.ui.layout import charts, frame, tables


def show_all(blocks: Iterable[Block]) -> str:
    """Show blocks of a page, whose charts and tables have names.

    Returns the value of the action that was pressed, or "".
    """
    return "".join([show(block) for block in blocks])


def show(block: Block, key: str = "") -> str:
    """Show a block; returns the value of the action that was pressed, or "".

    In a report, `key` is part of the keys of its elements.
    """
    pressed = ""
    match block:
        case Table():
            pressed = _show_table(block, key or _slug(block.name))
        case Tabs():
            tabs = st.tabs(list(map(plain, block.tables)))
            for number, (tab, table) in enumerate(zip(tabs, block.on_tabs(), strict=True)):
                with tab:
                    pressed += _show_table(table, f"{key or _slug(block.name)}_{number}")
        case Drawing():
            widths = charts.ROWS_WIDTHS if block.has_rows else ()
            name = f"report_{key}" if key else block.name
            charts.chart(block.chart, f"chart_{name}", widths=widths)
        case Beside():
            for number, place in enumerate(st.columns(len(block.drawings), gap="large")):
                with place:
                    show(block.drawings[number], key and f"{key}_{number}")
        case Annotated():
            left, right = st.columns([5, 4], gap="large")
            with left:
                show(block.drawing, key)
            with right:
                for number, note in enumerate(block.notes):
                    show(note, key and f"{key}_{number}")
        case _:
            _show_text(block, key)
    return pressed


def _show_text(block: Text, key: str) -> None:
    match block:
        case Heading():
            st.markdown(f"### {plain(block.text)}")
        case Paragraph():
            about = f"**{plain(block.about)}**: " if block.about else ""
            text = f"**{plain(block.text)}**" if block.lead else f"{about}{plain(block.text)}"
            with _place("text", key):
                st.markdown(text)
        case Note(warning=True):
            st.warning(plain(block.text))
        case Note():
            st.caption(plain(block.text), help=plain(block.help) or None)
        case Fold() if not key:
            frame.reading(_markdown(block.items), block.about)
        case Bullets() | Fold():
            with _place("list", key):
                st.markdown(_markdown(block.items))
        case Facts():
            with _place("facts", key):
                st.html(block.html())
        case Code():
            with _place("code", key):
                st.code(block.text, language=None)
        case Attachment():
            label = f"Download {plain(block.name)}"
            download(label, block.content, block.name, f"file_{key}", mime="application/json")


def _place(kind: str, key: str) -> DeltaGenerator:
    return st.container(key=f"{kind}_{key}" if key else None)


def _markdown(items: Iterable[str]) -> str:
    return "\n".join(f"- {plain(item)}" for item in items)


def _slug(name: str) -> str:
    return name.lower().replace(" ", "_")


def _show_table(block: Table, key: str) -> str:
    if block.caption:
        st.caption(plain(block.caption))
    if block.name or any(value.lines for row in block.rows for value in row):
        return tables.lines_table(block, f"lines_{key}") or ""
    texts = [[value.text for value in row] for row in block.rows]
    rows = [dict(zip(block.head, row, strict=True)) for row in texts]
    if block.n_text == len(block.head):
        # Sentences need lines, which a grid of cells does not have.
        with st.container(key=f"table_{key}"):
            st.table(
                [{plain(name): plain(text) for name, text in row.items()} for row in rows],
                border="horizontal",
                hide_index=True,
                alt=block.caption,
            )
    else:
        st.dataframe(rows, hide_index=True, height="content", key=f"table_{key}", alt=block.caption)
    tables.with_buttons(f"table_{key}", block.caption, [block.head, *texts])
    return ""
