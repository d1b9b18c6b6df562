"""Blocks on a page of Streamlit."""

from __future__ import annotations

import streamlit as st

from calib.blocks.kinds import (
    Attachment,
    Beside,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Paragraph,
    Table,
)
from calib.text import plain
from calib.ui.controls.widgets import download
from calib.ui.layout import charts, tables


def show(block: Block, key: str) -> None:
    """Show a block; `key` is part of the keys of its elements."""
    match block:
        case Paragraph():
            with st.container(key=f"text_{key}"):
                st.markdown(f"**{plain(block.text)}**" if block.lead else plain(block.text))
        case Bullets():
            with st.container(key=f"list_{key}"):
                st.markdown("\n".join(f"- {plain(item)}" for item in block.items))
        case Facts():
            with st.container(key=f"facts_{key}"):
                st.html(block.html())
        case Table():
            _show_table(block, key)
        case Code():
            with st.container(key=f"code_{key}"):
                st.code(block.text, language=None)
        case Attachment():
            label = f"Download {plain(block.name)}"
            download(label, block.content, block.name, f"file_{key}", mime="application/json")
        case Beside():
            for number, place in enumerate(st.columns(len(block.drawings))):
                with place:
                    show(block.drawings[number], f"{key}_{number}")
        case Drawing():
            charts.chart(block.chart, f"chart_report_{key}")


def _show_table(block: Table, key: str) -> None:
    st.caption(plain(block.caption))
    if any(value.detail for row in block.rows for value in row):
        tables.lines_table(
            f"report_{key}",
            block.caption,
            [(name, "") for name in block.head],
            [
                tables.Line(
                    [(value.text, *value.detail.splitlines()) for value in row],
                    marked=any(value.marked for value in row),
                )
                for row in block.rows
            ],
            n_text=block.n_text,
        )
        return
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
