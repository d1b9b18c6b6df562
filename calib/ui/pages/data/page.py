"""Data: upload predictions, map their columns, and see what is wrong with them."""

from __future__ import annotations

import streamlit as st

from calib.loading.examples import EXAMPLES
from calib.text import plain
from calib.ui.controls import uploaders, widgets
from calib.ui.layout import frame, tables
from calib.ui.pages.data import mapping
from calib.ui.session import state
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload

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
        mapping.columns(upload)
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
            mapping.preview(session)
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
