"""What declarations of choices share."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.calibrators import CALIBRATORS
from calib.ui.session.choice import one_of

BINNED = ("Overview", "Reliability", "Functions", "Compare", "Slices", "Reports")
SEGMENTED = partial(st.segmented_control, required=True)
PILLS = partial(st.pills, selection_mode="multi")


def method_label(key: str) -> str:
    return CALIBRATORS[key].label


METHOD = one_of(*CALIBRATORS, name=method_label)


def line_label(kind: str) -> str:
    return {"corp": "CORP", "smooth": "Smooth"}[kind]
