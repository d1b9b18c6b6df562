"""The view of a matrix: which of its binary problems every page shows."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.core.predictions import Predictions
from calib.core.views import check_view
from calib.text import plain
from calib.ui.controls.widgets import ask
from calib.ui.session.choices import SEGMENTED, VIEW
from calib.ui.session.session import Session

KINDS = {"top": "Top-r", "within": "Within top-r", "class": "Class"}
# Within the first class is the first class; a class, until one is chosen, is the first in order.
CALLED = {"top": "top", "within": "within top", "class": "class"}
FIRST = {"top": 1, "within": 2, "class": 0}


def control(session: Session, rows: Predictions) -> None:
    n = rows.n_classes
    kind, index = check_view(session.settings.view, n)

    def change_kind(kind: str) -> None:
        # All classes together always hold the true one.
        session.change(VIEW, f"{kind}:{min(FIRST[kind], n - 1)}")

    def change_index(index: int | None) -> None:
        if index is not None:
            session.change(VIEW, f"{kind}:{int(index)}")

    words = {"label": VIEW.label, "help": VIEW.help, "format_func": KINDS.__getitem__}
    named = {"label": "Class", "help": "Type to search.", "format_func": partial(plain_name, rows)}
    with st.container(key="view", gap="xxsmall"):
        ask(SEGMENTED, "view_kind", kind, change_kind, options=tuple(KINDS), **words)
        if kind == "class":
            ask(st.selectbox, "view_class", index, change_index, options=range(n), **named)
        else:
            limits = {"label": "Rank r", "min_value": 1, "max_value": n}
            ask(st.number_input, "view_rank", index, change_index, **limits)


def plain_name(rows: Predictions, k: int) -> str:
    return " ".join(rows.class_names[k].split()) or f"class {k}"


def caption(rows: Predictions, view: str) -> str:
    kind, index = check_view(view, rows.n_classes)
    name = plain(plain_name(rows, index)) if kind == "class" else str(index)
    return f"View: **{CALLED[kind]} {name}**. {meaning(rows, view)}"


def meaning(rows: Predictions, view: str) -> str:
    kind, index = check_view(view, rows.n_classes)
    if kind == "class":
        name = plain(plain_name(rows, index))
        return f"Score: that of **{name}**. Outcome: is {name} the true class?"
    if kind == "within":
        return (
            f"Score: the sum of the {index} largest scores of the row. Outcome: is the true class "
            "one of these?"
        )
    if index == 1:
        return (
            "Score: the largest score of the row (confidence). Outcome: is the predicted class "
            "correct?"
        )
    return f"Score: the score of rank {index} in the row. Outcome: is its class the true class?"
