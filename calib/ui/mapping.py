"""Saying what the columns of a table mean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from calib.loading import ColumnMapping, Table, as_labels, guess
from calib.ui import state
from calib.ui.state import Session
from calib.ui.upload import Upload
from calib.ui.widgets import show_value

MOST_LABELS = 200
MOST_COLUMNS = 40
TRANSFORMS = {
    "none": "They are probabilities",
    "percent": "Percentages: divide by 100",
    "tenths": "Ratings up to 10: divide by 10",
    "logit": "Log-odds or raw scores: apply the sigmoid",
    "clip": "Probabilities with rounding: clip to 0 and 1",
}
NONE = "None"


def columns(upload: Upload) -> None:
    """Selectboxes for every role, the guessed ones filled in."""
    mapping, names = upload.mapping, upload.table.columns
    first, second, third = st.columns(3, gap="medium")
    with first:
        _select("outcome", "Outcome", names, mapping.outcome)
    with second:
        several = [mapping.score] if isinstance(mapping.score, tuple) else []
        _select("score", "Score", [*names, *several], mapping.score)
    with third:
        labels = _labels(upload.table, mapping.outcome)
        _select("positive", "Positive class", labels, mapping.positive, optional=True)
    with st.expander("More columns and conversions", expanded=_uses_more(mapping)):
        _more(upload)


def _uses_more(mapping: ColumnMapping) -> bool:
    return bool(set(mapping.changed()) - {"outcome", "score", "positive", "slices"})


def _more(upload: Upload) -> None:
    mapping, names = upload.mapping, upload.table.columns
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _select("split", "Split: calibration or test", names, mapping.split, optional=True)
        if mapping.split is not None:
            labels = _labels(upload.table, mapping.split)
            _select(
                "test_value", "Value that means test", labels, mapping.test_value, optional=True
            )
        _select("weight", "Row weight", names, mapping.weight, optional=True)
    with middle:
        _select("group", "Group: rows that belong together", names, mapping.group, optional=True)
        _select("time", "Time", names, mapping.time, optional=True)
        _select("predicted", "Predicted label", names, mapping.predicted, optional=True)
    with right:
        _slices(names, mapping)
        _transform(mapping)
        _switch("swap", "Scores are those of the other class", mapping.swap)
        _switch("drop_missing", "Leave out rows with missing values", mapping.drop_missing)


def _select(
    role: str, label: str, options: Sequence[Any], value: Hashable, *, optional: bool = False
) -> None:
    key = f"map_{role}"
    choices = [None, *options] if optional or value is None else list(options)
    if value is not None and value not in choices:
        choices.append(value)
    show_value(key, value)
    st.selectbox(
        label,
        choices,
        format_func=_shown,
        placeholder=NONE,
        key=key,
        on_change=_change,
        args=(role,),
    )


def _shown(option: object) -> str:
    if option is None:
        return NONE
    return ", ".join(option) if isinstance(option, tuple) else str(option)


def _slices(names: Sequence[str], mapping: ColumnMapping) -> None:
    show_value("map_slices", list(mapping.slices))
    st.multiselect(
        "Slice by", names, key="map_slices", on_change=_change, args=("slices",), placeholder=NONE
    )


def _transform(mapping: ColumnMapping) -> None:
    show_value("map_transform", mapping.transform)
    st.selectbox(
        "The scores as written",
        list(TRANSFORMS),
        format_func=TRANSFORMS.__getitem__,
        key="map_transform",
        on_change=_change,
        args=("transform",),
    )


def _switch(role: str, label: str, value: bool) -> None:
    key = f"map_{role}"
    show_value(key, value)
    st.toggle(label, key=key, on_change=_change, args=(role,))


def _change(role: str) -> None:
    session = state.current()
    if session.upload is None:
        return
    chosen = st.session_state[f"map_{role}"]
    value: Any = tuple(chosen) if isinstance(chosen, list) else chosen
    mapping = replace(session.upload.mapping, **{role: value})
    session.take(session.upload.mapped(_with_labels(session.upload.table, mapping, role)))


def _with_labels(table: Table, mapping: ColumnMapping, role: str) -> ColumnMapping:
    """Guess anew what depends on a changed column: its positive label, its test value."""
    if role in ("outcome", "predicted"):
        empty = replace(mapping, positive=None)
        return replace(empty, positive=guess(table, empty).positive)
    if role == "split":
        empty = replace(mapping, test_value=None)
        return replace(empty, test_value=guess(table, empty).test_value)
    return mapping


def _labels(table: Table, column: str | None) -> list[str]:
    if column is None or column not in table.columns:
        return []
    return list(as_labels(table.frame[column]).names[:MOST_LABELS])


def preview(session: Session) -> None:
    """The first rows as they were read, mapped columns first."""
    if session.upload is None:
        return
    upload = session.upload
    roles = upload.mapping.columns()
    mapped = [name for name in upload.table.columns if name in roles]
    others = [name for name in upload.table.columns if name not in roles]
    order = [*mapped, *others][:MOST_COLUMNS]
    st.dataframe(
        upload.table.preview()[order],
        column_config={
            "_index": st.column_config.Column("Row", pinned=True),
            **{name: st.column_config.Column(f"{name} ({roles[name]})") for name in mapped},
        },
        key="preview",
        alt="The first rows of the file.",
    )
    hidden = len(upload.table.columns) - len(order)
    if hidden:
        st.caption(f"{hidden:,} more columns are not shown.")
