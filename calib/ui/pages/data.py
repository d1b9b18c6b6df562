"""Data: upload predictions, map their columns, and see what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from calib.data.file_options import Transform
from calib.loading import (
    Columns,
    Table,
    as_classes,
    as_labels,
    as_ranges,
    folded,
    from_ranges,
    guess,
)
from calib.loading.examples import EXAMPLES
from calib.text import percent, plain
from calib.ui.controls import uploaders, widgets
from calib.ui.controls.widgets import ask
from calib.ui.layout import frame, tables
from calib.ui.session import state
from calib.ui.session.choices import SEGMENTED
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload

MAX_LABELS = 200
MAX_COLUMNS, MAX_SCORES = 40, 12
ONE, BY_CLASS, BY_MODEL = "One column", "By class", "By model"
TRANSFORMS: dict[Transform, str] = {
    "none": "Probabilities",
    "percent": "Percentages (divide by 100)",
    "tenths": "Ratings from 0 to 10 (divide by 10)",
    "thousandths": "Scores from 0 to 1,000 (divide by 1,000)",
    "logit": "Log-odds or raw scores (apply the sigmoid)",
    "exp": "Logarithms of probabilities (apply the exponential)",
    "clip": "Rounded probabilities (clip to 0 and 1)",
}
CLASS_TRANSFORMS: dict[Transform, str] = {
    "none": "Probabilities",
    "softmax": "Logits (apply the softmax to each row)",
    "normalize": "One-vs-rest probabilities (divide each row by its sum)",
    "percent": "Percentages (divide by 100)",
    "clip": "Rounded probabilities (clip to 0 and 1)",
}
NONE = "None"
LABEL_ROLES = ("positive", "negative", "others_negative")


def columns(upload: Upload) -> None:
    mapping, kind = upload.mapping, kind_of(upload.mapping)
    first, second, third = st.columns(3, gap="medium")
    with first:
        _select(upload, "outcome", "Outcome", _other_names(upload))
        if kind != BY_CLASS:
            _positive(upload)
    with second:
        ask(
            SEGMENTED,
            "map_kind",
            kind,
            _change_kind,
            label="Scores",
            options=(ONE, BY_CLASS, BY_MODEL),
            help="One column has the score of the positive class. There can also be one column "
            "per class, or per model of the same rows.",
        )
    with third:
        _scores(upload, kind)
    more = set(mapping.changed()) - {"outcome", "score", "models", "slices", *LABEL_ROLES}
    # The columns of a log are not guessed, so they need no look.
    with st.expander("More columns and conversions", expanded=bool(more) and not upload.table.log):
        _more(upload)


def _positive(upload: Upload) -> None:
    mapping = upload.mapping
    shares = _outcome_labels(upload)
    labels = list(shares)

    def with_share(label: str) -> str:
        return f"{label} ({percent(shares[label])} of rows)" if shares.get(label) else label

    def select(role: str, label: str, chosen: Sequence[str], meaning: str) -> None:
        # A label that does not exist any more is still shown. A problem reports it.
        options = [*labels, *(name for name in chosen if name not in labels)]
        look: dict[str, Any] = {"label": label, "options": options, "placeholder": NONE}
        look |= {"help": meaning, "format_func": with_share}
        _ask(upload, role, st.multiselect, accept_new_options=upload.source is not None, **look)

    select(
        "positive",
        "Positive class",
        mapping.positives,
        "Several labels can count as positive. Rows with a word such as `unknown` are left out.",
    )
    if len(labels) > 2 or mapping.negatives or mapping.others_negative:
        if not mapping.others_negative:
            select(
                "negative",
                "Negative class",
                mapping.negatives,
                "Rows with another label are left out if rows with missing values are.",
            )
        _ask(upload, "others_negative", st.toggle, label="All other labels are negative")


def kind_of(mapping: Columns) -> str:
    if mapping.models:
        return BY_MODEL
    return BY_CLASS if isinstance(mapping.score, tuple) else ONE


def _other_names(upload: Upload) -> list[str]:
    """Columns that are not scores of a class, of which there can be a thousand."""
    classes = upload.mapping.score if isinstance(upload.mapping.score, tuple) else ()
    taken = set(classes)
    return [name for name in upload.table.columns if name not in taken]


def _scores(upload: Upload, kind: str) -> None:
    mapping, names = upload.mapping, upload.table.columns
    if kind == ONE:
        _select(upload, "score", "Score", names)
    elif kind == BY_MODEL:
        _ask(upload, "models", st.multiselect, label="Scores of models", options=names)
    else:
        ask(
            st.text_input,
            "map_classes",
            as_ranges(mapping.score_columns, names),
            _change_classes,
            label=f"Class columns ({len(mapping.score_columns):,})",
            help="Names separated by commas, ranges such as `p_0 … p_9` (or three dots), or `*` "
            "for any text: `p_*`.",
        )


def _more(upload: Upload) -> None:
    mapping, names = upload.mapping, _other_names(upload)
    classes = isinstance(mapping.score, tuple)

    def select(role: str, label: str, options: Sequence[str] = names) -> None:
        _select(upload, role, label, options, optional=True)

    left, middle, right = st.columns(3, gap="medium")
    with left:
        select("split", "Split (calibration or test)")
        if mapping.split is not None:
            select("test_value", "Value of test rows", _labels(upload.table, mapping.split))
        select("fold", "Cross-validation fold")
        select("weight", "Row weight")
        select("model", "Model column")
    with middle:
        select("group", "Cluster ID (rows that are not independent)")
        select("time", "Time")
        if mapping.day_first is not None:
            _ask(upload, "day_first", st.toggle, label="Dates have the day first")
        # An engine does not count predicted labels.
        if not classes and upload.source is None:
            select("predicted", "Predicted label")
    with right:
        look = {"label": "Slice by", "options": names, "placeholder": NONE}
        _ask(upload, "slices", st.multiselect, **look)
        _transform(upload)
        if mapping.decimal is not None:
            _select(upload, "decimal", "Decimal mark", [",", "."])
        if not classes:
            _ask(upload, "swap", st.toggle, label="Scores are for the negative class")
        _ask(upload, "drop_missing", st.toggle, label="Leave out rows with missing values")


def _select(
    upload: Upload, role: str, label: str, options: Sequence[Any], *, optional: bool = False
) -> None:
    value = getattr(upload.mapping, role)
    choices = [None, *options] if optional or value is None else list(options)
    if value is not None and value not in choices:
        choices.append(value)
    _ask(
        upload,
        role,
        st.selectbox,
        label=label,
        options=choices,
        format_func=lambda option: NONE if option is None else str(option),
        placeholder=NONE,
        accept_new_options=upload.source is not None and role == "test_value",
    )


def _transform(upload: Upload) -> None:
    mapping = upload.mapping
    transforms: Mapping[Transform, str] = (
        CLASS_TRANSFORMS if isinstance(mapping.score, tuple) else TRANSFORMS
    )
    # A choice that does not fit any more is still shown. A problem above reports it.
    words = {**transforms, mapping.transform: transforms.get(mapping.transform, mapping.transform)}
    look = {"label": "Score format", "options": list(words), "format_func": words.__getitem__}
    _ask(upload, "transform", st.selectbox, **look)


def _ask(upload: Upload, role: str, widget: Callable[..., Any], **more: Any) -> None:
    mapping = upload.mapping
    of_labels = {"positive": mapping.positives, "negative": mapping.negatives}
    value = of_labels.get(role, getattr(mapping, role))
    value = list(value) if isinstance(value, tuple) else value
    ask(widget, f"map_{role}", value, partial(_change, role), **more)


def _shown() -> tuple[Session, Upload]:
    """The data as they are mapped now. A click may arrive before the page shows the last one."""
    session = state.current()
    assert session.upload is not None
    return session, session.upload


def _change(role: str, chosen: Any) -> None:
    session, upload = _shown()
    value: Any = tuple(chosen) if isinstance(chosen, list) else chosen
    if role in ("positive", "negative"):
        value = value[0] if len(value) == 1 else value or None
    mapping = upload.mapping.chosen(**{role: value})
    state.map_anew(session, _with_labels(upload.table, mapping, role))


def _change_kind(kind: str) -> None:
    session, upload = _shown()
    old = upload.mapping
    table, scores = upload.table, old.score_columns
    plain = replace(old, score=None, classes=(), models=(), transform="none", swap=False)
    if kind == BY_CLASS:
        guessed = guess(table, Columns(outcome=old.outcome)).score
        mapping = replace(plain, score=guessed if isinstance(guessed, tuple) else scores)
        mapping = replace(mapping, positive=None, predicted=None)
    elif kind == BY_MODEL:
        mapping = replace(plain, models=scores, model=None)
    else:
        mapping = replace(plain, score=scores[0] if scores else None)
    state.map_anew(session, _with_labels(table, mapping, "outcome"))


def _change_classes(written: str) -> None:
    session, upload = _shown()
    chosen = from_ranges(written, upload.table.columns)
    state.map_anew(session, upload.mapping.chosen(score=chosen, classes=()))


def _with_labels(table: Table, mapping: Columns, role: str) -> Columns:
    """Guess the roles that depend on a changed column: the positive label, the test value."""
    if role in ("outcome", "predicted"):
        empty = replace(mapping, positive=None, negative=None, others_negative=False)
        return replace(empty, positive=guess(table, empty).positive)
    if role == "split":
        empty = replace(mapping, test_value=None)
        return replace(empty, test_value=guess(table, empty).test_value)
    return mapping


def _outcome_labels(upload: Upload) -> dict[str, float]:
    """Labels without letter case, spelled as the mapping has them, and their shares of the rows.

    The first rows of a source say nothing about its shares, so they are 0.
    """
    table, mapping = upload.table, upload.mapping
    if mapping.outcome is None or mapping.outcome not in table.columns:
        return {}
    spelled = {name.casefold(): name for name in mapping.positives}
    labels = folded(as_classes(table.frame[mapping.outcome]))
    names = [spelled.get(name.casefold(), name) for name in labels.names[:MAX_LABELS]]
    total = 0 if upload.source is not None else len(table.frame)
    counts = labels.counts()
    return {name: counts[k] / total if total else 0.0 for k, name in enumerate(names)}


def _labels(table: Table, column: str | None) -> list[str]:
    if column is None or column not in table.columns:
        return []
    return list(as_labels(table.frame[column]).names[:MAX_LABELS])


def preview(session: Session) -> None:
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
        # Streamlit's placeholder for missing values is a word that a cell may contain.
        placeholder="(empty)",
        alt="The first rows of the file.",
    )
    hidden = len(upload.table.columns) - len(order)
    if hidden:
        st.caption(f"{hidden:,} more columns are not shown.")


COUNTED = (
    "The file holds counts, so there are no rows to show here. Its columns were named when the "
    "rows were counted."
)
COUNTED_IN_SOURCE = (
    "The source counts the rows, and the rows stay there. This app reads the first ones to guess "
    "what the columns mean."
)
SOURCES = (
    "A token probability is measured, a stated confidence is what the model wrote, and a judge's "
    "score is what another model wrote."
)
N_FIRST_ROWS, EXAMPLES_PIXELS = 8, 420


def page() -> None:
    session = frame.begin("Data")
    upload = session.upload
    st.markdown(f"## {heading(session)}")
    if upload is None:
        uploaders.uploaders(session)
        uploaders.problems(session)
        example(session)
        st.stop()

    frame.source(session)
    if upload.is_uncounted or (upload.models and upload.question is None):
        st.page_link("app.py", label="**See the result**", icon=":material/arrow_forward:")
    uploaders.problems(session)
    if upload.tables:
        if upload.answers:
            answers(upload)
        st.markdown("### What the columns mean")
        if upload.source is not None:
            st.caption(COUNTED_IN_SOURCE)
        columns(upload)
    else:
        st.markdown("### What was counted")
        st.markdown(COUNTED)
    if upload.source is not None and not upload.is_uncounted:
        refresh, again = "Refresh from the source", (session, upload.mapping)
        icon = ":material/refresh:"
        st.button(refresh, key="refresh", icon=icon, on_click=state.map_anew, args=again)
    uploaders.unseen(session)
    if upload.checklist:
        with st.container(key="checklist", gap="xxsmall"):
            for sentence in upload.checklist:
                st.markdown(f":material/check: {sentence}")
    if upload.tables and (upload.source is None or upload.source.source.rows):
        st.markdown("### First rows")
        with st.container(key="first_rows"):
            uploaders.layout(session)
            preview(session)
    st.markdown("### Other data")
    uploaders.uploaders(session)
    uploaders.remove_test(session)
    other_example(session)


def answers(upload: Upload) -> None:
    """What was read of evaluation logs, by task and model."""
    st.markdown("### What was read")
    rows = [
        {str(name).capitalize(): value for name, value in row.items()} for row in upload.answers
    ]
    counts = {name: tables.whole_numbers() for name in ("Rows", "Scored", "Without confidence")}
    alt = "What was read of the logs, by task and model."
    with st.container(key="log_answers"):
        st.dataframe(rows, hide_index=True, column_config=counts, alt=alt)
    st.caption(f"Format: {plain(upload.table.log)}. {SOURCES}")


def heading(session: Session) -> str:
    upload = session.upload
    if upload is None and session.file_problems:
        return f"{plain(', '.join(session.received))} could not be read"
    if upload is None:
        return "One row per prediction: an outcome (0/1 or yes/no) and a probability"
    name = plain(upload.files)
    if upload.is_uncounted:
        return f"{name}: check the columns, then see the result"
    if upload.asks:
        return f"{name}: answer one question to see the result"
    if not upload.models:
        return f"{name} cannot be analysed yet"
    return f"{name} can be analysed"


def other_example(session: Session) -> None:
    with st.container(width=EXAMPLES_PIXELS):
        widgets.example_menu(session)


def example(session: Session) -> None:
    shown = EXAMPLES[session.example]
    models = state.load_example(session.example)
    rows = next(iter(models.values()))
    views = {name: model.view(session.settings.view) for name, model in models.items()}
    other_example(session)
    st.markdown(shown.story)
    with st.container(key="first_rows"):
        st.dataframe(
            {
                rows.outcome_name: next(iter(views.values())).outcome[:N_FIRST_ROWS].astype(int),
                # All models of an example have scored the same rows.
                **{
                    rows.score_name if len(models) == 1 else name: view.score[:N_FIRST_ROWS]
                    for name, view in views.items()
                },
            },
            hide_index=True,
            key="preview",
            width="content",
            alt="The first rows of the example.",
        )
    st.caption(f"The first {N_FIRST_ROWS} of {len(rows):,} rows.")
