"""The view of a matrix: which of its binary problems every page shows."""

from __future__ import annotations

import streamlit as st

from calib.core.predictions import Predictions
from calib.core.views import check_view
from calib.text import plain
from calib.ui.controls.widgets import show_value
from calib.ui.session import state
from calib.ui.session.choices import VIEW
from calib.ui.session.session import Session

KINDS = {"top": "Top-r", "within": "Within top-r", "class": "Class"}
# Within the first class is the first class; a class, until one is chosen, is the first in order.
CALLED = {"top": "top", "within": "within top", "class": "class"}
FIRST = {"top": 1, "within": 2, "class": 0}


def control(session: Session, rows: Predictions) -> None:
    """The view, by kind and by class or rank."""
    kind, index = check_view(session.settings.view, rows.n_classes)
    with st.container(key="view", gap="xxsmall"):
        show_value("view_kind", kind)
        st.segmented_control(
            VIEW.label,
            tuple(KINDS),
            format_func=KINDS.__getitem__,
            required=True,
            key="view_kind",
            on_change=_change_kind,
            args=(rows.n_classes,),
            help=VIEW.help,
        )
        if kind == "class":
            _class(rows, index)
        else:
            _rank(kind, rows, index)


def _change_kind(n_classes: int) -> None:
    kind = st.session_state["view_kind"]
    # All classes together always hold the true one.
    state.current().change(VIEW, f"{kind}:{min(FIRST[kind], n_classes - 1)}")


def _class(rows: Predictions, index: int) -> None:
    show_value("view_class", index)
    st.selectbox(
        "Class",
        range(rows.n_classes),
        format_func=lambda k: plain_name(rows, k),
        key="view_class",
        on_change=_change_index,
        args=("class", "view_class"),
        help="Type to search.",
    )


def _rank(kind: str, rows: Predictions, index: int) -> None:
    show_value("view_rank", index)
    st.number_input(
        "Rank r",
        1,
        rows.n_classes,
        key="view_rank",
        on_change=_change_index,
        args=(kind, "view_rank"),
    )


def _change_index(kind: str, key: str) -> None:
    index = st.session_state[key]
    if index is not None:
        state.current().change(VIEW, f"{kind}:{int(index)}")


def plain_name(rows: Predictions, k: int) -> str:
    """A class as menus and tables name it."""
    return " ".join(rows.class_names[k].split()) or f"class {k}"


def caption(rows: Predictions, view: str) -> str:
    """The view in one line: its kind, and what it asks."""
    kind, index = check_view(view, rows.n_classes)
    name = plain(plain_name(rows, index)) if kind == "class" else str(index)
    return f"View: **{CALLED[kind]} {name}**. {meaning(rows, view)}"


def meaning(rows: Predictions, view: str) -> str:
    """What a view takes for score and outcome."""
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
