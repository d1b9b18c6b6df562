"""Controls of slices and periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from calib.analysis import Analysis
from calib.analysis.periods import UNITS
from calib.analysis.slices import SliceGaps
from calib.core.predictions import Predictions
from calib.ui import state
from calib.ui.links import N_RANGES
from calib.ui.state import Session
from calib.ui.widgets import show_value
from calib.ui.words import method_label

NONE = "None"
AUTOMATIC = "Automatic"
MAX_PICKED = 6
# A list of thousands of slices is no control: the strongest evidence comes first.
MAX_OFFERED = 200


def after(session: Session, analysis: Analysis) -> str:
    """The calibrator that is set against the uncalibrated scores; "" where none is compared."""
    calibrated = [key for key in analysis.methods if key != "uncalibrated"]
    if session.look.after in calibrated:
        return session.look.after
    recommended = analysis.recommendation.method
    if recommended in calibrated:
        return recommended
    losses = {key: analysis.methods[key].metrics["log_loss"].value for key in calibrated}
    return min(losses, key=losses.__getitem__, default="")


def after_control(session: Session, analysis: Analysis) -> tuple[str, ...]:
    """Pick that calibrator; returns the methods to show, the uncalibrated scores first."""
    chosen = after(session, analysis)
    if not chosen:
        return ("uncalibrated",)
    show_value("after", chosen)
    st.selectbox(
        "After calibration by",
        [key for key in analysis.methods if key != "uncalibrated"],
        format_func=method_label,
        key="after",
        on_change=state.changer,
        args=("after", "after"),
        help="Its held-out scores, beside the scores as they are.",
    )
    return ("uncalibrated", chosen)


def columns_control(session: Session, rows: Predictions) -> tuple[str, ...]:
    """Pick one column, or two to cross; returns them."""
    names = list(rows.columns)
    wanted = session.look.slice_by
    first = wanted if wanted in names else names[0]
    _column("Slice by", "slice_by", names, first)
    others = [name for name in names if name != first]
    crossed = session.look.cross if session.look.cross in others else None
    if others:
        _column("Crossed with", "cross", [None, *others], crossed)
    return (first,) if crossed is None else (first, crossed)


def _column(label: str, key: str, options: Sequence[str | None], value: str | None) -> None:
    show_value(key, value)
    st.selectbox(
        label,
        options,
        format_func=lambda name: NONE if name is None else name,
        placeholder=NONE,
        key=key,
        on_change=cut_anew,
        args=(key, key),
    )


def cut_anew(name: str, key: str) -> None:
    """Take a control of the cutting; numbers of the old slices mean nothing any more."""
    session = state.current()
    session.change(name, st.session_state[key] or "")
    session.reset("picked")
    session.reset("apart")


def missing_columns(session: Session, rows: Predictions) -> list[str]:
    """Columns that the link asks for and these data do not have."""
    look = session.look
    wanted = (look.slice_by, look.cross, look.time)
    return [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]


def ranges_control(session: Session) -> None:
    """Number of ranges of a column of many numbers."""
    show_value("n_ranges", session.look.n_ranges)
    st.slider(
        "Ranges of a number",
        *N_RANGES,
        key="n_ranges",
        on_change=cut_anew,
        args=("n_ranges", "n_ranges"),
        help="A column of more than 12 different numbers is cut in ranges of about equally many "
        "rows.",
    )


def picked_control(session: Session, gaps: SliceGaps) -> tuple[int, ...]:
    """Pick slices to lay over each other; returns their numbers, the two strongest at first."""
    numbers = _offered(gaps)
    chosen = [number for number in session.look.picked if number in numbers] or numbers[:2]
    key = state.key("picked")
    show_value(key, chosen)
    st.multiselect(
        "Slices laid over each other",
        numbers,
        format_func=_namer(gaps),
        max_selections=MAX_PICKED,
        key=key,
        on_change=state.changer,
        args=("picked", key, tuple),
    )
    return tuple(chosen[:MAX_PICKED])


def apart_control(session: Session, gaps: SliceGaps) -> int:
    """Pick the slice that is calibrated apart; returns its number, the strongest at first."""
    numbers = _offered(gaps)
    chosen = session.look.apart if session.look.apart in numbers else numbers[0]
    key = state.key("apart")
    show_value(key, chosen)
    st.selectbox(
        "Slice with a map of its own",
        numbers,
        format_func=_namer(gaps),
        key=key,
        on_change=state.changer,
        args=("apart", key),
    )
    return chosen


def _offered(gaps: SliceGaps) -> list[int]:
    return [int(gaps.number[i]) for i in gaps.order[:MAX_OFFERED]]


def _namer(gaps: SliceGaps) -> Any:
    names = {int(number): name for number, name in zip(gaps.number, gaps.names, strict=True)}
    return lambda number: names.get(number, str(number))


def time_control(session: Session, rows: Predictions) -> str:
    """Pick the time column; returns it, "" where none is chosen."""
    names = list(rows.columns)
    mapped = session.upload.mapping.time if session.upload else None
    wanted = session.look.time or mapped
    chosen = wanted if wanted in names else None
    key = state.key("time")
    show_value(key, chosen)
    st.selectbox(
        "Time column",
        names,
        index=None,
        placeholder=NONE,
        key=key,
        on_change=state.changer,
        args=("time", key, lambda name: name or ""),
        help="Dates, seasons, or any column whose order is that of time.",
    )
    return chosen or ""


def unit_control(session: Session, rows: Predictions, column: str) -> None:
    """Pick the length of a period, where the column holds dates."""
    if not column or rows.columns[column].dtype.kind != "M":
        return
    key = state.key("unit")
    show_value(key, session.look.unit or AUTOMATIC)
    st.selectbox(
        "Period",
        [AUTOMATIC, *UNITS],
        format_func=str.capitalize,
        key=key,
        on_change=state.changer,
        args=("unit", key, lambda unit: "" if unit == AUTOMATIC else unit),
        help="Automatic: the shortest with at most 36 periods of 100 rows in the median.",
    )
