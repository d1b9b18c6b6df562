"""Choices of costs, capacity, and the range of scores whose outcomes are counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from calib.text import level as level_words
from calib.text import percent, score_percent
from calib.ui.session.choice import Choice, level, number, on, one_of
from calib.ui.session.choices.analysis import LEVELS, SEGMENTED

DECIDING = ("Overview", "Decisions", "Reports")
FIRST_CAPACITY = 0.1
SIDE_NAMES = {"both": "Accept and reject", "above": "Accept only"}
COST = partial(st.number_input, step=1.0, format="%.6g")


def _cost(key: str, link: str, error: str, name: str) -> Choice[float]:
    return Choice(
        key=key,
        link=link,
        default=1.0,
        values=number(1e-6, 1e9),
        label=error,
        help=f"Cost of a {name}, in any unit, such as hours. The threshold depends only on the "
        "ratio of both costs.",
        chip=f"{error} costs {{:g}}",
        acts_on=on(*DECIDING),
        widget=COST,
    )


COST_FP = _cost("cost_fp", "fp", "False alarm", "false positive")
COST_FN = _cost("cost_fn", "fn", "Missed positive", "false negative")

CAPACITY = Choice[float | None](
    key="capacity",
    link="cap",
    default=None,  # Without a capacity, the costs decide.
    values=number(1e-6, 1.0, offered=(1e-4, 100.0)),
    label="Rows to flag, in %",
    chip=lambda share: f"Capacity {percent(share or 0.0)}",
    acts_on=on(*DECIDING),
    widget=COST,
    shown=lambda share: 100.0 * (share or 0.0),
    taken=lambda share: share / 100.0,
)


def _count(end: str, default: float) -> Choice[float]:
    """One end of the range of scores over which positives are counted."""
    return Choice(
        key=f"count_{end}",
        link=end,
        default=default,
        values=number(0.0, 1.0),
        label="Range of uncalibrated scores",
        chip=lambda score: f"Scores {end} {score_percent(score)}",
        acts_on=on("Decisions"),
        widget=partial(st.slider, step=0.01, format="percent"),
    )


COUNT_FROM = _count("from", 0.5)
COUNT_TO = _count("to", 1.0)


MAX_ERROR = Choice[float](
    key="max_error",
    link="err",
    default=0.05,
    values=number(1e-4, 0.5, offered=(0.01, 50.0)),
    label="Highest error, in %",
    help="Of the rows that are decided automatically, at most this share may be wrong.",
    chip=lambda share: f"At most {percent(share)} errors",
    acts_on=on("Decisions", "Reports"),
    widget=COST,
    shown=lambda share: 100.0 * share,
    taken=lambda share: share / 100.0,
)

CERTAINTY = Choice[float](
    key="certainty",
    link="sure",
    default=0.95,
    values=level(*LEVELS),
    label="Confidence",
    help="Probability that the certificate is right. Two sides share what remains to 100%.",
    chip=lambda share: f"Certified with {level_words(share)}",
    acts_on=on("Decisions", "Reports"),
    widget=st.selectbox,
)

SIDES = Choice[Any](
    key="sides",
    link="sides",
    default="",  # Without a choice the data decide: confidences are accepted, not rejected.
    values=one_of("both", "above", name=SIDE_NAMES.__getitem__),
    label="Decide automatically",
    help="Both: rows above one threshold are accepted, and rows below another are rejected. Above: "
    "rows are accepted only.",
    chip=lambda sides: f"Decided: {SIDE_NAMES[sides].lower()}",
    acts_on=on("Decisions", "Reports"),
    widget=SEGMENTED,
)
