"""The choice of conventions: the number that they must give."""

from __future__ import annotations

import streamlit as st

from calib.features.conventions.candidates import MAX_LENGTH, TypedNumber
from calib.text import plain
from calib.ui.session.choice import Choice, Values, on


def _typed_number(text: str) -> str:
    try:
        return TypedNumber.read(text).text
    except ValueError:
        raise ValueError("it must be a number such as 0.174 or 17.4%") from None


REPRODUCED = Choice[str](
    key="reproduced",
    link="num",
    default="",
    values=Values(_typed_number),
    label="Number from a paper or another tool",
    help="Its digits decide which values count as equal. Numbers above 1 are read as per cent.",
    chip=lambda text: f"Reproduce {plain(text)}",
    acts_on=on("Reliability", "Calibrators"),
    widget=st.text_input,
    # No number that is read is longer.
    taken=lambda text: text.strip()[: MAX_LENGTH + 1],
)
