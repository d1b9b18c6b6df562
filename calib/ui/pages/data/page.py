"""Data: upload predictions, map their columns, and see what is wrong with them."""

from __future__ import annotations

import streamlit as st

from calib.loading.examples import EXAMPLES
from calib.ui.controls import connected_tables, uploaders, widgets
from calib.ui.layout import frame
from calib.ui.pages.data import connect, mapping
from calib.ui.session import state
from calib.ui.session.session import Session

COUNTED = (
    "The file holds counts, so there are no rows to show here. Its columns were named when the "
    "rows were counted."
)
COUNTED_IN_SOURCE = "The source counted the rows, and the rows stayed there."
N_FIRST_ROWS = 8


def page() -> None:
    session = frame.begin("Data")
    with widgets.toolbar():
        widgets.example_menu(session)
    st.markdown("## Data")
    if session.upload is not None:
        frame.source(session)
    uploaders.uploaders(session)
    uploaders.paste(session)
    connect.show(session)
    if session.upload is None:
        uploaders.problems(session)
        example(session)
        st.stop()

    upload = session.upload
    if upload.counted:
        st.markdown("### What was counted")
        st.markdown(COUNTED if upload.source is None else COUNTED_IN_SOURCE)
        connected_tables.refresh(session)
    elif upload.source is not None:
        st.markdown("### The sample")
        connected_tables.refresh(session)
    else:
        st.markdown("### What the columns mean")
        mapping.columns(mapping.Mapped.of(session, mapping.UPLOAD))
    uploaders.problems(session)
    if upload.checklist:
        with st.container(key="checklist", gap="xxsmall"):
            for sentence in upload.checklist:
                st.markdown(f":material/check: {sentence}")
    uploaders.remove_test(session)
    uploaders.unseen(session)
    if upload.models:
        st.page_link("app.py", label="**See the result**", icon=":material/arrow_forward:")

    if not upload.counted:
        st.markdown("### First rows")
        mapping.preview(session)


def example(session: Session) -> None:
    shown = EXAMPLES[session.example]
    models = state.load_example(session.example)
    rows = next(iter(models.values()))
    views = {name: model.view(session.settings.view) for name, model in models.items()}
    st.markdown(f"### Example: {shown.title}")
    st.markdown(shown.story)
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
