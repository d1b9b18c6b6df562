"""Which rows can be decided automatically: the controls, the certificate and its curve."""

from __future__ import annotations

import streamlit as st

from calib.analysis.decisions import certify
from calib.blocks import decisions as decision_blocks
from calib.text import plain
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks
from calib.ui.session import choices, state
from calib.ui.session.results import error_limit
from calib.ui.session.session import Session


def section(session: Session, model: state.Model) -> None:
    """Certify the uncalibrated scores, and draw what follows."""
    limit, settings = error_limit(session, model), session.settings
    st.markdown("### Which rows can be decided automatically, by their uncalibrated scores?")
    with st.container(
        horizontal=True,
        vertical_alignment="bottom",
        gap="medium",
        key="certified_toolbar",
    ):
        control(session, choices.SIDES, value=limit.sides)
        control(session, choices.MAX_ERROR)
        control(session, choices.CERTAINTY)
    try:
        made = session.memo(
            certify,
            model.rows,
            limit.max_error,
            limit.confidence,
            sides=limit.sides,
            view=settings.view,
            seed=settings.seed,
        )
    except ValueError as error:
        st.info(plain(f"Not certified: {error}"))
        return
    blocks.show_all(session.memo(decision_blocks.certified, made, drawn=True))
