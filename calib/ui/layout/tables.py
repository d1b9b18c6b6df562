"""Tables of the pages: exact numbers, every cell in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from calib.analysis import Analysis, Column, MethodResult
from calib.calibrators import CALIBRATORS
from calib.crossfit.matrix_comparison import MulticlassResult
from calib.numerics.estimate import Estimate
from calib.text import interval, noise_floor, number, plain, signed
from calib.ui.layout.words import formula
from calib.ui.session import state
from calib.ui.session.choices import method_label

CHANGE_HELP = (
    "Minus that of the uncalibrated scores, paired by row. Inconclusive: the interval includes 0."
)
DIRECTIONS: Mapping[str, str] = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "0 is calibrated",
    "one": "1 is calibrated",
    "none": "no better direction",
}
# A longer table scrolls.
MAX_TABLE_LINES = 10


def whole_numbers(label: str | None = None, **options: Any) -> Any:
    """A column of counts, with the separators that the reader's language has."""
    return st.column_config.NumberColumn(label, format="localized", **options)


def table(
    name: str,
    rows: Sequence[Mapping[str, object]],
    alt: str,
    formats: Mapping[str, Any] | None = None,
) -> None:
    key = state.key(f"table_{name}")
    st.dataframe(rows, hide_index=True, key=key, column_config=formats, alt=alt)


def by_method(
    name: str,
    rows: Mapping[str, Sequence[Mapping[str, object]]],
    column_config: Mapping[str, Any],
    alt: str,
) -> None:
    """One table per method in tabs, because side by side they would be too wide."""
    n = min(MAX_TABLE_LINES, max(map(len, rows.values())))
    with st.container(key=state.key(f"lines_{n}_{name}")):
        places = st.tabs([method_label(key) for key in rows])
    for (key, table_rows), place in zip(rows.items(), places, strict=True):
        with place:
            table(f"{name}_{key}", table_rows, alt, column_config)


@dataclass(frozen=True, slots=True)
class MetricColumn:
    key: str
    label: str
    help: str
    cells: Mapping[str, tuple[str, ...]]  # By method: the value, and the small text below it.


def metric_table(
    name: str, about: str, columns: Iterable[MetricColumn], methods: Mapping[str, str], marked: str
) -> None:
    """One row per method. A page with several tables gives each a different name."""
    shown = list(columns)
    head = [("Method", ""), *((column.label, column.help) for column in shown)]
    lines = [
        Line(
            [
                (label, *(["Recommended"] if key == marked else [])),
                *(column.cells.get(key, ()) for column in shown),
            ],
            marked=key == marked,
        )
        for key, label in methods.items()
    ]
    lines_table(f"rows_{len(methods)}_{name}", about, head, lines)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table. A cell is its value, and the small lines below it."""

    cells: Sequence[Sequence[str]]
    marked: bool = False


def lines_table(
    key: str, about: str, head: Iterable[tuple[str, str]], lines: Iterable[Line], n_text: int = 1
) -> None:
    """`head` has label and tooltip of each column. The first `n_text` columns hold words."""
    names = "".join(
        f'<th scope="col"{_text(i, n_text)} title="{escape(tooltip)}">{escape(label)}</th>'
        for i, (label, tooltip) in enumerate(head)
    )
    body = "".join(
        f"<tr{' class=marked' if line.marked else ''}>"
        f"{''.join(_cell(cell, i, n_text) for i, cell in enumerate(line.cells))}</tr>"
        for line in lines
    )
    name = escape(state.table_name(about))
    with st.container(key=state.key(key)):
        st.html(
            f'<div class="metric-table" tabindex="0" role="region" aria-label="{name}">'
            f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _cell(lines: Sequence[str], i: int, n_text: int) -> str:
    value, *small = [escape(line) for line in lines] or ["–"]
    below = "".join(f"<small>{line}</small>" for line in small)
    if i == 0:
        return f"<th scope=row>{value}{below}</th>"
    return f"<td{_text(i, n_text)}>{value}{below}</td>"


def _text(i: int, n_text: int) -> str:
    return " class=text" if 0 < i < n_text else ""


def column_help(column: Column) -> str:
    direction = DIRECTIONS[column.better]
    parts = [column.meaning, f"{direction[0].upper()}{direction[1:]}.", column.convention]
    return " ".join(filter(None, parts))


def metric_columns(
    columns: Iterable[Column],
    results: Mapping[str, MethodResult | MulticlassResult],
    about: Callable[[Column], str] = column_help,
) -> list[MetricColumn]:
    """Columns with their tooltips, and the paired changes of those that have one."""
    found_columns = []
    for column in columns:
        estimates = {key: one.metrics[column.key] for key, one in results.items()}
        best = best_of(estimates, column)
        cells = {
            key: (
                number(one.value, column.digits) + (" ★" if key in best else ""),
                *filter(None, (interval(one, 3), noise_floor(one, column.digits))),
            )
            for key, one in estimates.items()
        }
        found_columns.append(MetricColumn(column.key, column.label, about(column), cells))
        if column.key in results["uncalibrated"].differences:
            label = f"Change in {lower_first(column.label)}"
            changes = {
                key: change_lines(one.differences[column.key], column.digits, column.better)
                for key, one in results.items()
                if key != "uncalibrated"
            }
            found_columns.append(MetricColumn(f"{column.key}_change", label, CHANGE_HELP, changes))
    return found_columns


def change_lines(change: Estimate, digits: int = 4, better: str = "lower") -> tuple[str, ...]:
    return (signed(change.value, digits), interval(change, 3, sign=True), direction(change, better))


def lower_first(label: str) -> str:
    """A label within a sentence; abbreviations keep their capitals."""
    return (
        label if label[:2].isupper() or label.startswith("Brier") else label[0].lower() + label[1:]
    )


def formulas(analysis: Analysis) -> None:
    # A long formula must wrap, and no cell of a dataframe does.
    lines = [
        f"- **{plain(method.label)}**: {formula(method)}  \n"
        f"  :small[:gray[{plain(CALIBRATORS[method.key].summary)}]]"
        for method in analysis.methods.values()
    ]
    with st.container(key=state.key("formulas")):
        st.markdown("\n".join(lines))


def best_of(estimates: Mapping[str, Estimate], column: Column) -> set[str]:
    """Keys with the best value of a column. Empty if all printed values are equal."""
    printed = {key: round(one.value, column.digits) for key, one in estimates.items()}
    numbers = [value for value in printed.values() if not math.isnan(value)]
    if column.better == "none" or not numbers:
        return set()
    best = _PICK[column.better](numbers)
    best_keys = {key for key, value in printed.items() if value == best}
    return set() if len(best_keys) == len(estimates) else best_keys


def direction(change: Estimate, better: str) -> str:
    if change.low == change.high == 0.0:
        return "no change"  # A strictly increasing calibrator does not change the AUC.
    fell, rose = ("worse", "better") if better == "higher" else ("better", "worse")
    if change.high < 0:
        return fell
    return rose if change.low > 0 else "inconclusive"


_PICK: Mapping[str, Callable[[list[float]], float]] = {
    "lower": min,
    "higher": max,
    "one": lambda values: min(values, key=lambda value: abs(value - 1.0)),
    "zero": lambda values: min(values, key=abs),
}
