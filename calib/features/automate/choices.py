"""Choices of the page Automate: what passes, rows to label next, and the wanted interval."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.session.choice import Choice, number, on, whole

PASS_FROM = Choice[float](
    key="judge_pass_from",
    link="pass",
    default=0.5,
    values=number(0.01, 0.99),
    label="The judge's answer is pass from",
    help="Of its score, converted to 0 to 1.",
    chip="Pass from {:g}",
    acts_on=on("Automate"),
    widget=partial(st.number_input, step=0.05),
)

NEXT_ROWS = Choice[int](
    key="judge_next_rows",
    link="next",
    default=50,
    values=whole(1, 10_000),
    label="Rows to label next",
    chip="{} rows to label next",
    acts_on=on("Automate"),
    widget=partial(st.number_input, step=10),
)

POINTS = Choice[int](
    key="judge_points",
    link="points",
    default=5,
    values=whole(1, 100),
    label="Width, in points",
    chip="Interval of {} points",
    acts_on=on("Automate"),
    widget=st.number_input,
)
