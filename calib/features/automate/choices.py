"""Choices of the page Automate: what it shows, the error to certify, and those about a judge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from calib.ui.session.choice import Choice, level, number, on, one_of, whole
from calib.ui.session.choices import SEGMENTED

KINDS = {"decisions": "Decision model", "judge": "Judge"}

KIND = Choice[str](
    key="automate_kind",
    link="about",
    default="decisions",
    values=one_of(*KINDS, name=KINDS.__getitem__),
    label="What the answers are of",
    help="A decision model answers questions, each with a probability. A judge scores answers of "
    "another model.",
    chip="{}",
    acts_on=on("Automate"),
    widget=SEGMENTED,
)

MAX_ERROR = Choice[float](
    key="automate_error",
    link="errors",
    default=0.05,
    values=replace(level(0.01, 0.02, 0.05, 0.1), name="{:.0%}".format),
    label="Allowed errors",
    help="The highest error rate of the answers that are decided without a person.",
    chip="At most {:.0%} errors",
    acts_on=on("Automate"),
    widget=SEGMENTED,
)

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
