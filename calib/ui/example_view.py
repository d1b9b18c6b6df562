"""What the Data page shows of a built-in example."""

from __future__ import annotations

import streamlit as st

from calib.examples import EXAMPLES
from calib.ui import state
from calib.ui.state import Session

FIRST_ROWS = 8


def show(session: Session) -> None:
    """The example's story and its first rows."""
    example = EXAMPLES[session.example]
    rows = next(iter(state.load_example(session.example).values()))
    view = rows.view(session.settings.view)
    st.markdown(f"### Example: {example.title}")
    st.markdown(example.story)
    st.dataframe(
        {
            rows.outcome_name: view.outcome[:FIRST_ROWS].astype(int),
            rows.score_name: view.score[:FIRST_ROWS],
        },
        hide_index=True,
        key="preview",
        width="content",
        alt="The first rows of the example.",
    )
    st.caption(f"The first {FIRST_ROWS} of {len(rows):,} rows.")
