"""How the methods are cross-fitted: folds and seed, and what they change."""

from __future__ import annotations

import streamlit as st

from calib.core.predictions import Predictions
from calib.ui import state
from calib.ui.links import MAX_SEED
from calib.ui.state import Session
from calib.ui.widgets import show_value
from calib.ui.words import named_folds

FEWEST, MOST = 2, 20
CROSS_FITTED = (
    "Rows are dealt into folds; each fold is scored by maps fitted on the others. More folds leave "
    "a map more rows to learn from, and take longer. Another **seed** deals and resamples anew: "
    "what changes with it is noise."
)
SPLIT = (
    "These data name calibration and test rows, so there are no folds. Another **seed** resamples "
    "anew: what changes with it is noise."
)


def _named(rows: Predictions) -> str:
    return (
        f"Methods are cross-fitted in {named_folds(rows.origin)}, {len(rows.fold_names)} folds: "
        "each is scored by maps fitted on the others. Their number is not set here. Another "
        "**seed** resamples anew: what changes with it is noise."
    )


def control(session: Session, rows: Predictions | None) -> None:
    """Number of folds, where they are drawn, and seed, in an expander."""
    split = rows is not None and rows.test is not None
    named = rows is not None and rows.fold is not None
    with st.expander("How it is cross-fitted"):
        st.caption(SPLIT if split else _named(rows) if rows and named else CROSS_FITTED)
        if not named:
            show_value("n_folds", session.settings.n_folds)
            st.slider(
                "Folds",
                FEWEST,
                MOST,
                key="n_folds",
                on_change=state.changer,
                args=("n_folds", "n_folds"),
                disabled=split,
            )
        show_value("seed", session.settings.seed)
        st.number_input(
            "Seed",
            0,
            MAX_SEED,
            step=1,
            key="seed",
            on_change=state.changer,
            args=("seed", "seed"),
        )
