"""Choices of slices and periods."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from calib.analysis.periods.cutting import UNITS, Unit
from calib.text import plain
from calib.ui.session.choice import Choice, Values, flag, on, one_of, several, whole
from calib.ui.session.choices.analysis import SEGMENTED

MAX_SLICES, MAX_HORIZON = 1_000_000, 3650
NONE, AUTOMATIC = "None", "Automatic"
COLUMN = partial(st.selectbox, placeholder=NONE)


def _column(name: object) -> str:
    return NONE if name is None else str(name)


SLICE_KIND = Choice[Literal["column", "class"]](
    key="slice_kind",
    link="kind",
    default="column",
    values=one_of("column", "class", name=str.capitalize),
    label="Slices",
    help="The classes of a score matrix are slices, too: each is judged by its own score.",
    chip="Slices by {}",
    acts_on=on("Slices", when="matrix with columns"),
    widget=SEGMENTED,
)

SLICE_BY = Choice[str](
    key="slice_by",
    link="slice",
    default="",  # An empty choice is the first column.
    values=Values(str, name=_column),
    label="Slice by",
    chip=lambda name: f"Slice by {plain(name)}",
    acts_on=on("Slices", "Decisions", "Monitor", "Reports", when="has columns")
    | on("Reliability", when="in a bin"),
    widget=COLUMN,
    forgets=("picked", "apart", "watched"),
)

CROSS = Choice[str](
    key="cross",
    link="cross",
    default="",
    values=Values(str, name=_column),
    label="Crossed with",
    chip=lambda name: f"Crossed with {plain(name)}",
    acts_on=on("Slices", "Decisions", "Reports", when="has columns"),
    widget=COLUMN,
    shown=lambda name: name or None,
    forgets=("picked", "apart"),
)

N_RANGES = Choice[int](
    key="n_ranges",
    link="ranges",
    default=5,
    values=whole(2, 20),
    label="Ranges",
    help="A numeric column with more than 12 values is cut into ranges of about equal counts.",
    chip="{} ranges",
    acts_on=on("Slices", "Decisions", "Reports", when="has columns")
    | on("Reliability", when="in a bin"),
    widget=st.number_input,
    forgets=("picked", "apart"),
)

PICKED = Choice[tuple[int, ...]](
    key="picked",
    link="pick",
    default=(),  # An empty choice shows the two slices with the strongest evidence.
    values=several(whole(0, MAX_SLICES)),
    label="Overlay slices",
    chip=lambda numbers: f"{len(numbers)} slices overlaid",
    acts_on=on("Slices"),
    widget=st.multiselect,
)

APART = Choice[int](
    key="apart",
    link="apart",
    default=-1,  # No slice has this number, so nothing is fitted.
    values=whole(0, MAX_SLICES),
    label="Slice-specific calibrator",
    help="Compares a calibrator that is fitted only on a slice with the one fitted on all rows.",
    chip="Slice-specific calibrator",
    acts_on=on("Slices"),
    widget=partial(st.selectbox, index=None, placeholder="Choose a slice"),
    shown=lambda number: None if number < 0 else number,
)

SINCE = Choice[bool](
    key="since_change",
    link="since",
    default=True,
    values=flag(),
    label="Only rows since the change",
    help="If the scores changed on a day, slices are those of the rows since then, as on Overview.",
    chip="Slices of all rows",
    acts_on=on("Slices"),
    widget=st.toggle,
)

TIME = Choice[str | None](
    key="time",
    link="time",
    default=None,  # The data decide (`state.time_column`). An empty name is no column.
    values=Values(str, write=lambda name: name or "", name=lambda name: name or NONE),
    label="Time column",
    help="Dates, seasons, or any column whose order is that of time.",
    chip=lambda name: f"Time: {plain(name)}" if name else "No time column",
    acts_on=on("Slices", "Monitor", "Reports", when="has columns"),
    widget=st.selectbox,
)

UNIT = Choice[Unit | Literal[""]](
    key="unit",
    link="unit",
    default="",
    values=one_of(*UNITS, offered=(AUTOMATIC, *UNITS), name=str.capitalize),
    label="Period",
    help="Automatic: the shortest period that gives at most 36 periods with a median of 100 rows.",
    chip="Periods: {}",
    acts_on=on("Slices", "Reports", when="has columns"),
    widget=st.selectbox,
    shown=lambda unit: unit or AUTOMATIC,
    taken=lambda unit: "" if unit == AUTOMATIC else unit,
)

DAYS: Values[int | None] = Values(whole(0, MAX_HORIZON).read, bounds=(0, MAX_HORIZON))

HORIZON = Choice[int | None](
    key="horizon",
    link="horizon",
    default=None,  # The example has a horizon of its own, and other data have 0.
    values=DAYS,
    label="Horizon, in days",
    help="Rows are tested at this age, when outcomes are final. With 0 all rows are tested.",
    chip="Horizon: {} days",
    acts_on=on("Overview", "Slices", "Monitor"),
    widget=st.number_input,
)
