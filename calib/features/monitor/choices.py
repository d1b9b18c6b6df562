"""Choices of the page Monitor, which also has the time column, slices and horizon of Slices."""

from __future__ import annotations

import streamlit as st

from calib.text import plain
from calib.ui.session.choice import Choice, Values, on

ALL_ROWS, DATA_IN_USE = "All rows", "Data in use"

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
