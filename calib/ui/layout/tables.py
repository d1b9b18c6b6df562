"""Tables of the pages: exact numbers, every cell in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
BUTTONS = (
    "<p class=table-buttons><button type=button name=copy>Copy</button>"
    "<button type=button name=csv>CSV</button></p>"
)


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
    key: str, name: str, rows: Iterable[Iterable[object]], markup: str = ""
) -> str | None:
    """Draw a table that can be copied and saved; returns the row whose button was pressed.

    `rows` are what is copied, the head first; `name` is that of the file. Without `markup` only
    the buttons are drawn, for a table of Streamlit.
    """
    text = "\n".join("\t".join(map(_copied, row)) for row in rows)
    mount = st.components.v2.component("calib_table", js=SCRIPT, isolate_styles=False)
    drawn = mount(
        key=f"{key}_buttons",
        data={"markup": markup + BUTTONS, "name": name.lower().replace(" ", "-"), "text": text},
        on_chosen_change=lambda: None,
    )
    chosen: str | None = drawn.chosen
    return chosen


def _copied(cell: object) -> str:
    unknown = isinstance(cell, float) and math.isnan(cell)
    return "" if unknown else " ".join(str(cell).split())


def lines_table(block: Table, key: str) -> str | None:
    """Draw a table whose cells have small lines; returns the value of the action that was pressed.

    Heads of columns and rows have tooltips.
    """
    names = "".join(
        f'<th scope="col"{_text(i, block.n_text)} title="{escape(block.meanings.get(label, ""))}">'
        f"{escape(label)}</th>"
        for i, label in enumerate(block.head)
    )
    body = "".join(
        f"<tr{' class=marked' if any(value.marked for value in row) else ''}>"
        f"{_row_head(row[0], action, hint or '')}"
        f"{''.join(_cell(value, i, block.n_text) for i, value in enumerate(row[1:], 1))}</tr>"
        for row, action, hint in zip_longest(block.rows, block.actions, block.hints)
    )
    if block.exact is not None:
        copied = rows_of(block.exact)
    else:
        texts = ([" ".join([value.text, *value.lines]) for value in row] for row in block.rows)
        copied = [block.head, *texts]
    about = block.name or block.caption
    # The style sheet keeps the place of some tables free by the number of their rows.
    with st.container(key=f"rows_{len(block.rows)}_{key}"), st.container(key=key):
        return with_buttons(
            key,
            about,
            copied,
            f'<div class="metric-table" tabindex="0" role="region" aria-label="{escape(about)}">'
            f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>",
        )


def _below(value: Value) -> str:
    details = "".join(f"<small>{escape(line)}</small>" for line in value.detail.splitlines())
    warned = f"<small class=warned>{escape(value.warning)}</small>" if value.warning else ""
    return details + warned


def _cell(value: Value, i: int, n_text: int) -> str:
    return f"<td{_text(i, n_text)}>{escape(value.text or NO_VALUE)}{_below(value)}</td>"


def _row_head(value: Value, action: Action | None, hint: str) -> str:
    below = _below(value)
    if action:
        label = f' aria-label="{escape(action.about)}"' if action.about else ""
        of_row = f'type=button name=row value="{escape(action.value)}"{label}'
        below = f"<div>{below}<button {of_row}>{escape(action.label)}</button></div>"
    title = f' title="{escape(hint)}"' if hint else ""
    return f"<th scope=row{title}>{escape(value.text)}{below}</th>"


def _text(i: int, n_text: int) -> str:
    return " class=text" if 0 < i < n_text else ""
