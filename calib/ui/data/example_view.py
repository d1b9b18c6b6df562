"""What the Data page shows of a built-in example."""

from __future__ import annotations

import streamlit as st

from calib.loading.examples import EXAMPLES
from calib.ui.session import state
from calib.ui.session.session import Session

FIRST_ROWS = 8


def show(session: Session) -> None:
    """The example's story and its first rows."""
    example = EXAMPLES[session.example]
    models = state.load_example(session.example)
    rows = next(iter(models.values()))
    views = {name: model.view(session.settings.view) for name, model in models.items()}
    st.markdown(f"### Example: {example.title}")
    st.markdown(example.story)
    st.dataframe(
        {
            rows.outcome_name: next(iter(views.values())).outcome[:FIRST_ROWS].astype(int),
            # All models of an example have scored the same rows.
            **{
                rows.score_name if len(models) == 1 else name: view.score[:FIRST_ROWS]
                for name, view in views.items()
            },
        },
        hide_index=True,
        key="preview",
        width="content",
        alt="The first rows of the example.",
    )
    st.caption(f"The first {FIRST_ROWS} of {len(rows):,} rows.")
