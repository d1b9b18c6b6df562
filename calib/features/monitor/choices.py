"""Choices of the page Monitor, which also has the time column and the slices of Slices."""

from __future__ import annotations

import streamlit as st

from calib.text import plain
from calib.ui.session.choice import Choice, Values, on, whole

MAX_HORIZON = 3650
ALL_ROWS, DATA_IN_USE = "All rows", "Data in use"

DAYS: Values[int | None] = Values(whole(0, MAX_HORIZON).read, bounds=(0, MAX_HORIZON))

HORIZON = Choice[int | None](
    key="horizon",
    link="horizon",
    default=None,  # The example has a horizon of its own, and other data have 0.
    values=DAYS,
    label="Horizon, in days",
    help="Rows are tested at this age, when outcomes are final. With 0 all rows are tested.",
    chip="Horizon: {} days",
    acts_on=on("Monitor"),
    widget=st.number_input,
)

STORED_MONITOR = Choice[str](
    key="stored_monitor",
    link="monitor",
    default="",  # The default is the data in use.
    values=Values(str, name=lambda name: name or DATA_IN_USE),
    label="Monitor",
    help="Stored monitors are those that `calib monitor add` writes.",
    chip=lambda name: f"Monitor {plain(name)}",
    acts_on=on("Monitor"),
    widget=st.selectbox,
    forgets=("watched",),
)

WATCHED = Choice[str](
    key="watched",
    link="watched",
    default="",  # The default is all rows.
    values=Values(str, name=lambda name: name or ALL_ROWS),
    label="Shown slice",
    help="Its errors by period and by score range.",
    chip=lambda name: f"Slice {plain(name)}",
    acts_on=on("Monitor"),
    widget=st.selectbox,
)
