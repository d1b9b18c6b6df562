"""The controls that map the columns of a table to their roles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from calib.loading import ColumnMapping, Table, as_labels, column_ranges, folded, guess
from calib.loading.options import Transform
from calib.ui.controls.widgets import show_value
from calib.ui.session import state
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload

MAX_LABELS = 200
MAX_COLUMNS, MAX_SCORES = 40, 12
ONE, BY_CLASS, BY_MODEL = "One column", "By class", "By model"
TRANSFORMS: dict[Transform, str] = {
    "none": "Probabilities",
    "percent": "Percentages (divide by 100)",
    "tenths": "Ratings from 0 to 10 (divide by 10)",
    "logit": "Log-odds or raw scores (apply the sigmoid)",
    "clip": "Rounded probabilities (clip to 0 and 1)",
}
OF_CLASSES: dict[Transform, str] = {
    "none": "Probabilities",
    "softmax": "Logits (apply the softmax to each row)",
    "normalize": "One-vs-rest probabilities (divide each row by its sum)",
    "percent": "Percentages (divide by 100)",
    "clip": "Rounded probabilities (clip to 0 and 1)",
}
NONE = "None"


def columns(upload: Upload) -> None:
    """Selectboxes for every role, the guessed ones filled in."""
    mapping, kind = upload.mapping, _kind(upload.mapping)
    first, second, third = st.columns(3, gap="medium")
    with first:
        _select("outcome", "Outcome", _other_names(upload), mapping.outcome)
        if kind != BY_CLASS:
            labels = _outcome_labels(upload.table, mapping)
            _positive(labels, mapping)
    with second:
        _kind_control(kind)
    with third:
        _scores(upload, kind)
    with st.expander("More columns and conversions", expanded=_uses_more(mapping)):
        _more(upload)


def _positive(labels: Sequence[str], mapping: ColumnMapping) -> None:
    # A label that is not there any more is still shown: a problem says so.
    options = [*labels, *(name for name in mapping.positives if name not in labels)]
    show_value("map_positive", list(mapping.positives))
    st.multiselect(
        "Positive class",
        options,
        key="map_positive",
        on_change=_change,
        args=("positive",),
        placeholder=NONE,
        help="Several labels can count as positive. All others are negative. Rows with a word "
        "such as `unknown` are left out.",
    )


def _kind(mapping: ColumnMapping) -> str:
    if mapping.models:
        return BY_MODEL
    return BY_CLASS if isinstance(mapping.score, tuple) else ONE


def _other_names(upload: Upload) -> list[str]:
    """Columns that are not scores of a class: there can be a thousand of those."""
    classes = upload.mapping.score if isinstance(upload.mapping.score, tuple) else ()
    taken = set(classes)
    return [name for name in upload.table.columns if name not in taken]


def _kind_control(kind: str) -> None:
    show_value("map_kind", kind)
    st.segmented_control(
        "Scores",
        (ONE, BY_CLASS, BY_MODEL),
        required=True,
        key="map_kind",
        on_change=_change_kind,
        help="One column: the score of the positive class. By class: one column per class, such "
        "as a network's probabilities or logits. By model: one column per model, of the "
        "same rows.",
    )


def _scores(upload: Upload, kind: str) -> None:
    mapping, names = upload.mapping, upload.table.columns
    if kind == ONE:
        _select("score", "Score", names, mapping.score)
    elif kind == BY_MODEL:
        show_value("map_models", list(mapping.models))
        st.multiselect(
            "Scores of models", names, key="map_models", on_change=_change, args=("models",)
        )
    else:
        show_value("map_classes", column_ranges.written(mapping.score_columns, names))
        st.text_input(
            f"Class columns ({len(mapping.score_columns):,})",
            key="map_classes",
            on_change=_change_classes,
            help="Names separated by commas, ranges such as `p_0 … p_9` (or three dots), or `*` "
            "for any text: `p_*`.",
        )


def _uses_more(mapping: ColumnMapping) -> bool:
    return bool(set(mapping.changed()) - {"outcome", "score", "models", "positive", "slices"})


def _more(upload: Upload) -> None:
    mapping, names = upload.mapping, _other_names(upload)
    classes = isinstance(mapping.score, tuple)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _select("split", "Split (calibration or test)", names, mapping.split, optional=True)
        if mapping.split is not None:
            labels = _labels(upload.table, mapping.split)
            _select("test_value", "Value of test rows", labels, mapping.test_value, optional=True)
        _select("fold", "Cross-validation fold", names, mapping.fold, optional=True)
        _select("weight", "Row weight", names, mapping.weight, optional=True)
        _select("model", "Model column", names, mapping.model, optional=True)
    with middle:
        _select(
            "group",
            "Cluster ID (rows that are not independent)",
            names,
            mapping.group,
            optional=True,
        )
        _select("time", "Time", names, mapping.time, optional=True)
        if not classes:
            _select("predicted", "Predicted label", names, mapping.predicted, optional=True)
    with right:
        _slices(names, mapping)
        _transform(mapping)
        if mapping.decimal is not None:
            _select("decimal", "Decimal mark", [",", "."], mapping.decimal)
        if not classes:
            _switch("swap", "Scores are for the negative class", mapping.swap)
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
    return NONE if option is None else str(option)


def _slices(names: Sequence[str], mapping: ColumnMapping) -> None:
    show_value("map_slices", list(mapping.slices))
    st.multiselect(
        "Slice by", names, key="map_slices", on_change=_change, args=("slices",), placeholder=NONE
    )


def _transform(mapping: ColumnMapping) -> None:
    known: Mapping[Transform, str] = OF_CLASSES if isinstance(mapping.score, tuple) else TRANSFORMS
    # What fits no more is still shown: a problem above says so.
    words = {**known, mapping.transform: known.get(mapping.transform, mapping.transform)}
    show_value("map_transform", mapping.transform)
    st.selectbox(
        "Score format",
        list(words),
        format_func=words.__getitem__,
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
    if role == "positive":
        value = value[0] if len(value) == 1 else value or None
    mapping = session.upload.mapping.chosen(**{role: value})
    state.map_anew(session, _with_labels(session.upload.table, mapping, role))


def _change_kind() -> None:
    session = state.current()
    if session.upload is None:
        return
    kind, old = st.session_state["map_kind"], session.upload.mapping
    table, scores = session.upload.table, old.score_columns
    plain = replace(old, score=None, models=(), transform="none", swap=False)
    if kind == BY_CLASS:
        guessed = guess(table, ColumnMapping(outcome=old.outcome)).score
        mapping = replace(plain, score=guessed if isinstance(guessed, tuple) else scores)
        mapping = replace(mapping, positive=None, predicted=None)
    elif kind == BY_MODEL:
        mapping = replace(plain, models=scores, model=None)
    else:
        mapping = replace(plain, score=scores[0] if scores else None)
    state.map_anew(session, _with_labels(table, mapping, "outcome"))


def _change_classes() -> None:
    session = state.current()
    if session.upload is not None:
        names = session.upload.table.columns
        chosen = column_ranges.read(st.session_state["map_classes"], names)
        state.map_anew(session, session.upload.mapping.chosen(score=chosen))


def _with_labels(table: Table, mapping: ColumnMapping, role: str) -> ColumnMapping:
    """Guess anew what depends on a changed column: its positive label, its test value."""
    if role in ("outcome", "predicted"):
        empty = replace(mapping, positive=None)
        return replace(empty, positive=guess(table, empty).positive)
    if role == "split":
        empty = replace(mapping, test_value=None)
        return replace(empty, test_value=guess(table, empty).test_value)
    return mapping


def _outcome_labels(table: Table, mapping: ColumnMapping) -> list[str]:
    """Labels without letter case, spelled as the mapping has them."""
    if mapping.outcome is None or mapping.outcome not in table.columns:
        return []
    spelled = {name.casefold(): name for name in mapping.positives}
    labels = folded(as_labels(table.frame[mapping.outcome])).names[:MAX_LABELS]
    return [spelled.get(name.casefold(), name) for name in labels]


def _labels(table: Table, column: str | None) -> list[str]:
    if column is None or column not in table.columns:
        return []
    return list(as_labels(table.frame[column]).names[:MAX_LABELS])


def preview(session: Session) -> None:
    """The first rows as they were read, mapped columns first."""
    if session.upload is None:
        return
    upload = session.upload
    roles = upload.mapping.columns()
    scores = upload.mapping.score_columns
    mapped = [*(name for name in roles if name not in scores), *scores[:MAX_SCORES]]
    mapped = [name for name in mapped if name in upload.table.columns]
    others = [name for name in upload.table.columns if name not in roles]
    order = [*mapped, *others][:MAX_COLUMNS]
    st.dataframe(
        upload.table.preview()[order],
        column_config={
            "_index": st.column_config.Column("Row", pinned=True),
            **{name: st.column_config.Column(f"{name} ({roles[name]})") for name in mapped},
        },
        key="preview",
        # Streamlit's own placeholder is a word that a cell may hold.
        placeholder="(empty)",
        alt="The first rows of the file.",
    )
    hidden = len(upload.table.columns) - len(order)
    if hidden:
        st.caption(f"{hidden:,} more columns are not shown.")
