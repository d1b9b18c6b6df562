"""Tables of the pages: exact numbers, every cell in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import streamlit as st

from calib.analysis import Analysis, Column
from calib.calibrators import CALIBRATORS
from calib.core.estimate import Estimate
from calib.curves.reliability import ReliabilityCurve
from calib.text import interval, level, number, plain, signed
from calib.ui import state
from calib.ui.glossary import column_help
from calib.ui.words import calibrated, formula

BIN_COLUMNS = {
    "low_edge": "Above",
    "high_edge": "Up to",
    "rows": "Rows",
    "positive": "Positive",
    "mean_score": "Mean score",
    "observed": "Observed",
    "low": "Interval from",
    "high": "to",
    "band_low": "Band from",
    "band_high": "to ",
}


def whole_numbers(label: str | None = None, **options: Any) -> Any:
    """A column of counts, with the separators that the reader's language has."""
    return st.column_config.NumberColumn(label, format="localized", **options)


def bins(curve: ReliabilityCurve, key: str) -> None:
    """One row per bin, with exact numbers."""
    formats = {
        name: whole_numbers(label)
        if name in ("rows", "positive")
        else st.column_config.NumberColumn(label, format="%.4f")
        for name, label in BIN_COLUMNS.items()
    }
    columns = {name: getattr(curve, name) for name in BIN_COLUMNS}
    st.dataframe(
        # As Streamlit sends it: by way of pandas it takes 0.7 ms more at every move of the slider.
        pa.table(columns | {"rows": curve.rows.astype(np.int64)}),
        column_config=formats,
        hide_index=True,
        key=state.key(key),
        alt="One row per bin: its bounds, rows, mean score, observed frequency, interval and band.",
    )


def metrics(analysis: Analysis) -> None:
    """The metric table, the best of every column starred."""
    st.dataframe(
        metric_rows(analysis),
        hide_index=True,
        key=state.key("table_metrics"),
        column_config={
            "Method": st.column_config.TextColumn(pinned=True),
            **{c.label: st.column_config.TextColumn(help=column_help(c)) for c in analysis.columns},
        },
        alt="One row per method, one column per metric.",
    )


def differences(analysis: Analysis) -> None:
    """Paired change of every method against the uncalibrated scores."""
    st.dataframe(
        difference_rows(analysis),
        hide_index=True,
        key=state.key("table_differences"),
        alt="One row per method: change of log loss, Brier score and AUC with intervals.",
    )


def formulas(analysis: Analysis) -> None:
    """Every fitted map in words and numbers."""
    # Lines, not a table: a long formula must wrap, and no cell of a dataframe does.
    lines = [
        f"- **{plain(method.label)}**: {formula(method)}  \n"
        f"  :small[:gray[{plain(CALIBRATORS[method.key].summary)}]]"
        for method in analysis.methods.values()
    ]
    with st.container(key=state.key("formulas")):
        st.markdown("\n".join(lines))


def metric_rows(analysis: Analysis) -> list[dict[str, str]]:
    """The metric table: one row per method, every cell in words; the best of a column marked."""
    rows = {key: {"Method": method.label} for key, method in analysis.methods.items()}
    for column in analysis.columns:
        found = {key: one.metrics[column.key] for key, one in analysis.methods.items()}
        for key, cell in starred(found, column).items():
            rows[key][column.label] = cell
    return list(rows.values())


def starred(estimates: Mapping[str, Estimate], column: Column) -> dict[str, str]:
    """One column in words, with a star at the best value; none where all print the same."""
    printed = {key: round(one.value, column.digits) for key, one in estimates.items()}
    known = [value for value in printed.values() if value == value]
    found: set[str] = set()
    if column.better != "none" and known:
        best = _PICK[column.better](known)
        found = {key for key, value in printed.items() if value == best}
    if len(found) == len(estimates):
        found = set()
    return {
        key: number(one.value, column.digits)
        + (" ★" if key in found else "")
        + calibrated(one, column.digits)
        for key, one in estimates.items()
    }


def difference_rows(analysis: Analysis) -> list[dict[str, str]]:
    """Change against the uncalibrated scores, with its interval, one row per method."""
    at = level(analysis.settings.confidence_level)
    columns = [c for c in analysis.columns if c.key in analysis.uncalibrated.differences]
    rows = []
    for key, method in analysis.methods.items():
        if key == "uncalibrated":
            continue
        row = {"Method": method.label}
        for column in columns:
            change = method.differences[column.key]
            row[f"{column.label}: change"] = signed(change.value, column.digits)
            row[f"{at} interval ({column.label})"] = interval(change, column.digits, sign=True)
            row[f"{column.label} says"] = direction(change, column)
        rows.append(row)
    return rows


def direction(change: Estimate, column: Column) -> str:
    """Whether a change is an improvement, beyond chance."""
    if change.low == change.high == 0.0:
        return "no change"  # AUC, of a strictly increasing calibrator
    fell, rose = ("worse", "better") if column.better == "higher" else ("better", "worse")
    if change.high < 0:
        return fell
    return rose if change.low > 0 else "can't tell"


_PICK: Mapping[str, Callable[[list[float]], float]] = {
    "lower": min,
    "higher": max,
    "one": lambda values: min(values, key=lambda value: abs(value - 1.0)),
    "zero": lambda values: min(values, key=abs),
}
