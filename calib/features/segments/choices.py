"""The choice of segments: whether they are searched."""

from __future__ import annotations

import streamlit as st

from calib.ui.session.choice import Choice, flag, on

SEARCH = Choice[bool](
    key="search",
    link="search",
    default=False,
    values=flag(),
    label="Search",
    help="Searches all columns and pairs of columns for segments in which the scores fail, and "
    "confirms them on the other half of the rows.",
    chip="Segments searched",
    acts_on=on("Slices", when="has columns"),
    widget=st.toggle,
)
