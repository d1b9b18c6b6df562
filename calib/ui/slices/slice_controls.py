"""Controls of slices and periods."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.analysis.run import Data
from calib.analysis.slices import SliceGaps
from calib.core.aggregate import Aggregate
from calib.text import plain
from calib.ui.controls.widgets import control
from calib.ui.session import choices, parts
from calib.ui.session.session import Session

HOW_TO_CROSS = (
    "These rows were not counted by two columns together. Choose **Slices to cross** on the Data "
    "page, and analyse the rows again."
)
MAX_PICKED = 6
# A control cannot list thousands of slices: those with the strongest evidence are first.
MAX_OFFERED = 200


def columns_control(session: Session, rows: Data) -> tuple[str, ...]:
    """Pick one column, or two to cross; returns them."""
    names = list(rows.columns)
    first = control(session, choices.SLICE_BY, names)
    others = parts.crossed_with(rows, first)
    crossed = control(session, choices.CROSS, ["", *others]) if others else ""
    of_source = session.upload is not None and session.upload.source is not None
    if of_source and not others and len(names) > 1:
        st.caption(HOW_TO_CROSS)
    return (first, crossed) if crossed else (first,)


def unknown_columns(session: Session, rows: Data) -> None:
    """Say which columns of the link are not in these data."""
    wanted = (session[choices.SLICE_BY], session[choices.CROSS], session[choices.TIME])
    names = [name for name in dict.fromkeys(wanted) if name and name not in rows.columns]
    if names:
        listed = ", ".join(map(plain, names))
        st.caption(f":material/info: The link names columns that these data do not have: {listed}.")


def picked_control(session: Session, gaps: SliceGaps) -> tuple[int, ...]:
    """Pick slices to lay over each other; returns their numbers, the two strongest at first."""
    numbers, choice = _offered(gaps), choices.PICKED
    chosen = tuple(number for number in session[choice] if number in numbers) or numbers[:2]
    look = {"format_func": _namer(gaps), "max_selections": MAX_PICKED}
    return control(session, choice, numbers, value=chosen, **look)[:MAX_PICKED]


def slice_calibrator_control(session: Session, gaps: SliceGaps) -> int:
    """Pick the slice that is calibrated on its own; returns its number, the strongest at first."""
    return control(session, choices.APART, _offered(gaps), format_func=_namer(gaps))


def _offered(gaps: SliceGaps) -> tuple[int, ...]:
    return tuple(int(gaps.number[i]) for i in gaps.order[:MAX_OFFERED])


def _namer(gaps: SliceGaps) -> Any:
    names = {int(number): name for number, name in zip(gaps.number, gaps.names, strict=True)}
    return lambda number: names.get(number, str(number))


def time_control(session: Session, rows: Data) -> str:
    """Choose the time column. Returns it, or "" if no column is chosen."""
    names = list(rows.columns)
    mapped = session.upload.mapping.time if session.upload else None
    wanted = session[choices.TIME] or mapped
    chosen = wanted if wanted in names else ""
    return control(session, choices.TIME, names, value=chosen)


def unit_control(session: Session, rows: Data, column: str) -> None:
    """Pick the length of a period, where the column holds dates."""
    if not column:
        return
    if isinstance(rows, Aggregate):
        of_dates = column == rows.time_name and rows.time_kind == "M"
    else:
        of_dates = rows.columns[column].dtype.kind == "M"
    if not of_dates:
        return
    control(session, choices.UNIT)
