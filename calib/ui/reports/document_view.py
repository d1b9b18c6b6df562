"""A document on the page: the same words, tables and charts as in its HTML."""

from __future__ import annotations

from functools import singledispatch

import streamlit as st

from calib.reports.blocks import (
    Beside,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Paragraph,
    ReportDocument,
    Table,
)
from calib.text import plain
from calib.ui.layout import charts, tables

# A fingerprint has no place to break, and would push the columns beside it out of sight.
CELLS = "[class*=st-key-table_] td + td:not(:last-child) p { overflow-wrap: anywhere !important; }"


def show_document(document: ReportDocument) -> None:
    """The sections of a document; its heading is the page's."""
    st.html(f"<style>{CELLS}</style>")
    if document.facts:
        _show(document.facts, "facts")
    if document.note:
        st.markdown(plain(document.note))
    for place, section in enumerate(document.sections):
        st.markdown(f"### {plain(section.title)}")
        for number, block in enumerate(section.blocks):
            _show(block, f"{place}_{number}")
    version = f"Made with calib {plain(document.version)}. " if document.version else ""
    st.caption(f"{version}{plain(document.contains)}")


@singledispatch
def _show(block: Block, key: str) -> None:
    raise TypeError(f"no page for {block!r} at {key}.")


@_show.register
def _(block: Paragraph, key: str) -> None:
    with st.container(key=f"text_{key}"):
        st.markdown(f"**{plain(block.text)}**" if block.lead else plain(block.text))


@_show.register
def _(block: Bullets, key: str) -> None:
    with st.container(key=f"list_{key}"):
        st.markdown("\n".join(f"- {plain(item)}" for item in block.items))


@_show.register
def _(block: Facts, key: str) -> None:
    with st.container(key=f"facts_{key}"):
        st.markdown(
            "\n".join(f"- **{plain(name)}**: {plain(value)}" for name, value in block.items)
        )


@_show.register
def _(block: Table, key: str) -> None:
    st.caption(plain(block.caption))
    rows = [dict(zip(block.head, (value.text for value in row), strict=True)) for row in block.rows]
    if block.n_text == len(block.head):
        # Sentences need lines, which a grid of cells does not have.
        with st.container(key=f"table_{key}"):
            st.table(
                [{plain(name): plain(text) for name, text in row.items()} for row in rows],
                border="horizontal",
                hide_index=True,
                alt=block.caption,
            )
        return
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
    st.dataframe(rows, hide_index=True, height="content", key=f"table_{key}", alt=block.caption)


@_show.register
def _(block: Code, key: str) -> None:
    with st.container(key=f"code_{key}"):
        st.code(block.text, language=None)


@_show.register
def _(block: Beside, key: str) -> None:
    for number, (place, drawing) in enumerate(
        zip(st.columns(len(block.drawings)), block.drawings, strict=True)
    ):
        with place:
            _show(drawing, f"{key}_{number}")


@_show.register
def _(block: Drawing, key: str) -> None:
    charts.chart(block.chart, f"chart_report_{key}")
