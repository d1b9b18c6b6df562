"""Tables of the pages: exact numbers, every cell in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.blocks.kinds import Action, Table, Value
from calib.figures import answer

NO_VALUE = "–"
SCRIPT = Path(__file__).with_name("table.js").read_text(encoding="utf-8")


def whole_numbers(label: str | None = None, **options: Any) -> Any:
    """A column of counts, with the separators that the reader's language has."""
    return st.column_config.NumberColumn(label, format="localized", **options)


def table(
    name: str,
    rows: Sequence[Mapping[str, object]],
    alt: str,
    formats: Mapping[str, Any] | None = None,
) -> None:
    key = f"table_{name}"
    st.dataframe(rows, hide_index=True, key=key, column_config=formats, alt=alt)
    with_buttons(name, name, [list(rows[0]) if rows else [], *(row.values() for row in rows)])


def calibrators(
    analysis: Analysis, plan: PlanChoice | None = None, *, is_open: bool = False
) -> None:
    """The calibrators in one line that opens, as Overview and a report show them."""
    if markup := answer.calibrators(analysis, plan, is_open=is_open):
        rows = rows_of(answer.calibrators_frame(analysis))
        with st.container(key="calibrators"):
            with_buttons("calibrators", "calibrators", rows, markup)


def rows_of(frame: pd.DataFrame) -> list[Iterable[object]]:
    """A table as it is copied, the head first."""
    return [list(frame), *frame.itertuples(index=False)]


def with_buttons(
    key: str,
    name: str,
    rows: Iterable[Iterable[object]],
    markup: str = "",
    *,
    exact: pd.DataFrame | None = None,
    markdown: str = "",
) -> str | None:
    """Draw a table that can be copied and saved; returns the row whose button was pressed.

    `rows` are what is copied, the head first, or `exact` if a person asks for all digits; `name` is
    that of the file. Without `markup` only the buttons are drawn, for a table of Streamlit.
    """
    mount = st.components.v2.component("calib_table", js=SCRIPT, isolate_styles=False)
    drawn = mount(
        key=f"{key}_buttons",
        data={
            "markup": markup + _buttons(markdown=bool(markdown), exact=exact is not None),
            "name": name.lower().replace(" ", "-"),
            "text": _lines(rows),
            "exact": "" if exact is None else _lines(rows_of(exact)),
            "markdown": markdown,
        },
        on_chosen_change=lambda: None,
    )
    chosen: str | None = drawn.chosen
    return chosen


def _buttons(*, markdown: bool, exact: bool) -> str:
    names = {"copy": "Copy", **({"markdown": "Copy as Markdown"} if markdown else {}), "csv": "CSV"}
    buttons = "".join(
        f"<button type=button name={name}>{label}</button>" for name, label in names.items()
    )
    digits = "<label><input type=checkbox name=exact> All digits</label>" if exact else ""
    return f"<p class=table-buttons>{digits}{buttons}</p>"


def _lines(rows: Iterable[Iterable[object]]) -> str:
    return "\n".join("\t".join(map(_copied, row)) for row in rows)


def _copied(cell: object) -> str:
    unknown = isinstance(cell, float) and math.isnan(cell)
    return "" if unknown else " ".join(str(cell).split())


def lines_table(block: Table, key: str) -> str | None:
    """Draw a table whose cells have small lines; returns the value of the action that was pressed.

    Its head and its cells have tooltips. Columns with an order can be sorted, and rows opened.
    """
    body = "".join(
        _row(block, i, row, action, hint or "")
        for i, (row, action, hint) in enumerate(zip_longest(block.rows, block.actions, block.hints))
    )
    about = block.name or block.caption
    with st.container(key=key):
        return with_buttons(
            key,
            about,
            _printed(block),
            f'<div class="metric-table" tabindex="0" role="region" aria-label="{escape(about)}">'
            f"<table><thead><tr>{_head(block)}</tr></thead><tbody>{body}</tbody></table></div>",
            exact=block.exact,
            markdown=replace(block, caption="").markdown().strip(),
        )


def _printed(block: Table) -> list[list[str]]:
    """The printed texts. Where numbers are copied, the lines below them have columns of their own.

    Other tables have them beside their texts.
    """
    if block.exact is None:
        texts = ([" ".join([value.text, *value.lines]) for value in row] for row in block.rows)
        return [[*block.head], *texts]
    if not block.rows:
        return [[*block.head]]
    columns = []
    for name, values in zip(block.head, zip(*block.rows, strict=True), strict=True):
        columns.append([name, *(value.text for value in values)])
        if any(value.detail_in_one_line for value in values):
            details = (value.detail_in_one_line for value in values)
            columns.append([f"{name}, details", *details])
    return [[*row] for row in zip(*columns, strict=True)]


def _head(block: Table) -> str:
    cells = []
    for i, label in enumerate(block.head):
        name = escape(label)
        if any(row[i].order is not None for row in block.rows):
            name = f"<button type=button name=sort>{name}</button>"
        if any(row[i].drawn for row in block.rows):
            name = f"<span class=drawn>{escape(block.drawn_head)}</span>{name}"
        title = escape(block.meanings.get(label, ""))
        cells.append(f'<th scope="col"{_text(i, block.n_text)} title="{title}">{name}</th>')
    return "".join(cells)


def _row(block: Table, number: int, row: Sequence[Value], action: Action | None, hint: str) -> str:
    opened = block.opened[number] if block.opened else ()
    is_open = number in block.is_open
    marked = " class=marked" if any(value.marked for value in row) else ""
    cells = "".join(_cell(value, i, block.n_text) for i, value in enumerate(row[1:], 1))
    first = _row_head(row[0], action, hint, opens=is_open if opened else None)
    drawn = f"<tr{marked}>{first}{cells}</tr>"
    if opened:
        parts = "".join(part.html() for part in opened)
        hidden = "" if is_open else " hidden"
        drawn += f"<tr class=opened{hidden}><td class=text colspan={len(row)}>{parts}</td></tr>"
    return drawn


def _below(value: Value) -> str:
    details = "".join(f"<small>{escape(line)}</small>" for line in value.detail.splitlines())
    warned = f"<small class=warned>{escape(value.warning)}</small>" if value.warning else ""
    return details + warned


def _cell(value: Value, i: int, n_text: int) -> str:
    unknown = value.order is None or math.isnan(value.order)
    order = "" if unknown else f' data-order="{value.order}"'
    text = f"{value.drawn}{escape(value.text or NO_VALUE)}{_below(value)}"
    return f"<td{_text(i, n_text)}{order}>{text}</td>"


def _row_head(value: Value, action: Action | None, hint: str, *, opens: bool | None) -> str:
    below, name = _below(value), escape(value.text)
    if opens is not None:
        expanded = str(opens).lower()
        name = f"<button type=button name=open aria-expanded={expanded}>{name}</button>"
    if action:
        label = f' aria-label="{escape(action.about)}"' if action.about else ""
        of_row = f'type=button name=row value="{escape(action.value)}"{label}'
        below = f"<div>{below}<button {of_row}>{escape(action.label)}</button></div>"
    title = f' title="{escape(hint)}"' if hint else ""
    return f"<th scope=row{title}>{name}{below}</th>"


def _text(i: int, n_text: int) -> str:
    return " class=text" if 0 < i < n_text else ""
