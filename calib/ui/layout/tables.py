"""Tables of the pages: exact numbers, every cell in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from calib.analysis import Analysis, Column, MethodResult
from calib.blocks.kinds import Table
from calib.calibrators import CALIBRATORS
from calib.crossfit.matrix_comparison import MulticlassResult
from calib.figures import answer
from calib.numerics.intervals import Estimate
from calib.text import interval, printed_change, within_sentence
from calib.ui.session.choices import method_label
from calib.words.measures import chance_level, metric_change, metric_interval, metric_text

CHANGE_HELP = (
    "Minus that of the uncalibrated scores, paired by row. Significantly: the interval does not "
    "include 0."
)
DIFFERENCE = "Log loss difference\nfrom the best"
BEST_HELP = (
    "Log loss minus the lowest one, paired by row. Tied with the best: the interval includes 0."
)
# The plain name of a metric stands in front of that of the field.
PLAIN = {
    "log_loss": "Error on unseen rows",
    "ece_uniform": "Average gap",
    "ece_quantile": "Average gap",
    "ks_error": "Largest cumulative gap",
}
DIRECTIONS: Mapping[str, str] = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "0 is calibrated",
    "one": "1 is calibrated",
    "none": "no better direction",
}
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


def calibrators(analysis: Analysis) -> None:
    """Every calibrator with its log loss and the change, as Overview and a report show them."""
    if markup := answer.calibrators_table(analysis):
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


class Muted(str):
    """A small line of a cell that is as grey as the intervals."""

    __slots__ = ()


class Warned(str):
    """A small line of a cell in the colour of what is miscalibrated."""

    __slots__ = ()


LOOKS: Mapping[type[str], str] = {Muted: " class=muted", Warned: " class=warned"}


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A column of the metric table, by method.

    A column with the `key` of another is shown with it. `cells` are printed, and `name` and
    `values` are copied.
    """

    key: str
    label: str
    help: str
    cells: Mapping[str, tuple[str, ...]]
    name: str
    values: Mapping[str, Estimate]

    @property
    def has_chance_level(self) -> bool:
        return any(not math.isnan(one.noise_floor) for one in self.values.values())


def metric_table(
    name: str,
    about: str,
    columns: Sequence[MetricColumn],
    methods: Sequence[str],
    marked: str,
    hints: Mapping[str, str],
    buttons: Collection[str],
) -> str | None:
    """One row per method; returns the one whose button was pressed.

    `hints` are by method, and `buttons` are the methods with code. A page with several tables gives
    each a different name.
    """
    head = [("Method", ""), *((column.label, column.help) for column in columns)]
    lines = [
        Line(
            [
                (method_label(key), *(["Recommended"] if key == marked else [])),
                *(column.cells.get(key, ()) for column in columns),
            ],
            marked=key == marked,
            hint=hints[key],
            button=key if key in buttons else "",
        )
        for key in methods
    ]
    exact: list[dict[str, object]] = []
    for key in methods:
        exact.append({"method": method_label(key)})
        for column in columns:
            if key in column.values:
                exact[-1] |= column.values[key].columns(column.name)
    return lines_table(f"rows_{len(methods)}_{name}", about, head, lines, exact=pd.DataFrame(exact))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table. A cell is its value, a small text beside it, and small lines below."""

    cells: Sequence[Sequence[str]]
    marked: bool = False
    hint: str = ""
    button: str = ""  # The table returns it if the button of the row is pressed.
    button_label: str = ""  # If it is empty, it gets the code of that calibrator.


def lines_table(
    key: str,
    about: str,
    head: Sequence[tuple[str, str]],
    lines: Sequence[Line],
    n_text: int = 1,
    exact: pd.DataFrame | None = None,
) -> str | None:
    """Draw a table; returns the row whose button was pressed.

    `head` has label and tooltip of each column. The first `n_text` columns hold words. `exact` is
    what is copied in place of the printed numbers.
    """
    names = "".join(
        f'<th scope="col"{_text(i, n_text)} title="{escape(tooltip)}">{escape(label)}</th>'
        for i, (label, tooltip) in enumerate(head)
    )
    body = "".join(
        f"<tr{' class=marked' if line.marked else ''}>"
        f"{''.join(_cell(line, i, n_text) for i in range(len(line.cells)))}</tr>"
        for line in lines
    )
    if exact is not None:
        copied = rows_of(exact)
    else:
        copied = [[label for label, _ in head], *([*map(" ".join, line.cells)] for line in lines)]
    name = escape(about)
    with st.container(key=key):
        return with_buttons(
            key,
            about,
            copied,
            f'<div class="metric-table" tabindex="0" role="region" aria-label="{name}">'
            f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>",
        )


def _cell(line: Line, i: int, n_text: int) -> str:
    first, *small = line.cells[i] or ["–"]
    value = escape(first)
    below = "".join(f"<small{LOOKS.get(type(text), '')}>{escape(text)}</small>" for text in small)
    if i > 0:
        return f"<td{_text(i, n_text)}>{value}{below}</td>"
    if line.button:
        below = f"<div>{below}{_row_button(line)}</div>"
    hint = f' title="{escape(line.hint)}"' if line.hint else ""
    return f"<th scope=row{hint}>{value}{below}</th>"


def _row_button(line: Line) -> str:
    about = f'type=button name=row value="{escape(line.button)}"'
    if line.button_label:
        return f"<button {about}>{escape(line.button_label)}</button>"
    name = f"Get code of {CALIBRATORS[line.button].label}"
    return f'<button {about} aria-label="{escape(name)}">Get code</button>'


def _text(i: int, n_text: int) -> str:
    return " class=text" if 0 < i < n_text else ""


def block_table(block: Table, key: str) -> str | None:
    """Draw a table of a page or a report; returns the value of the action that was pressed."""
    head = [(name, block.meanings.get(name, "")) for name in block.head]
    lines = [
        Line(
            [(value.text, *value.detail.splitlines()) for value in row],
            marked=any(value.marked for value in row),
            button=action.value if action else "",
            button_label=action.label if action else "",
        )
        for row, action in zip_longest(block.rows, block.actions)
    ]
    return lines_table(f"lines_{key}", block.name or block.caption, head, lines, block.n_text)


def column_help(column: Column) -> str:
    direction = DIRECTIONS[column.better]
    parts = [column.meaning, f"{direction[0].upper()}{direction[1:]}.", column.convention]
    return " ".join(filter(None, parts))


def metric_columns(
    columns: Iterable[Column],
    results: Mapping[str, MethodResult | MulticlassResult],
    to_best: Mapping[str, Estimate],
    about: Callable[[Column], str] = column_help,
) -> list[MetricColumn]:
    """Columns with their tooltips, and the paired changes of those that have one.

    `to_best` are differences of log loss from the best method; empty: no column.
    """
    made = []
    for column in columns:
        key, digits = column.key, column.digits
        values = {method: one.metrics[key] for method, one in results.items()}
        cells = {
            method: (metric_text(key, one.value, digits), *_below(key, one, digits))
            for method, one in values.items()
        }
        label = f"{PLAIN[key]}\n({within_sentence(column.label)})" if key in PLAIN else column.label
        made.append(MetricColumn(key, label, about(column), cells, key, values))
        losses = {method: one.value for method, one in values.items()}
        if key == "log_loss" and to_best:
            best = min(losses.values())
            tied = {
                method: to_best_lines(one, printed_change(best, losses[method], digits), digits)
                for method, one in to_best.items()
            }
            made.append(MetricColumn(key, DIFFERENCE, BEST_HELP, tied, f"{key}_to_best", to_best))
        if key in results["uncalibrated"].differences:
            label = f"{column.label} change\nfrom uncalibrated"
            differences = {
                method: one.differences[key]
                for method, one in results.items()
                if method != "uncalibrated"
            }
            changes = {
                method: (
                    *metric_change(key, losses["uncalibrated"], losses[method], one, digits),
                    direction(one, column.better),
                )
                for method, one in differences.items()
            }
            changed = f"{key}_diff"
            made.append(
                MetricColumn(f"{key}_change", label, CHANGE_HELP, changes, changed, differences)
            )
    return made


def _below(key: str, one: Estimate, digits: int) -> list[str]:
    """The interval of a metric, and whether a calibration error is too large for chance.

    An empty interval keeps the words on a line of their own. The chance level itself, which can be
    lower than an error within chance, would only puzzle.
    """
    bounds = metric_interval(key, one, digits)
    if chance_level(key, one, digits) and one.low > 0.0:
        return [bounds, Warned("too large for chance")]
    return [bounds] if bounds else []


def to_best_lines(difference: Estimate, printed: str, digits: int = 4) -> tuple[str, ...]:
    """The difference of log loss from the best, its interval, and whether it is a tie."""
    if difference.value == difference.low == difference.high == 0.0:
        return ("best",)
    if max(abs(difference.low), abs(difference.high)) < 0.5 * 10.0**-digits:
        return ("equal", "", "tied with the best")
    return (
        printed,
        interval(difference, digits, sign=True),
        ("tied with the best" if difference.low <= 0.0 else Warned("worse than the best")),
    )


def direction(change: Estimate, better: str) -> str:
    """Whether a change is significant, and its direction."""
    if change.low == change.high == 0.0:
        return "no change"  # A strictly increasing calibrator does not change the AUC.
    # An interval that is not known shows nothing.
    if not (change.high < 0.0 or change.low > 0.0):
        return "not significant"
    side = "lower" if change.high < 0.0 else "higher"
    return (str if side == better else Warned)(f"significantly {side}")
