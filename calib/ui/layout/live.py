"""Controls that a chart follows at once, before all else on the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.ui.layout.frame import Body
from calib.ui.session import state
from calib.ui.session.session import Session

# Seconds in which a browser paints a chart. What arrives earlier is drawn together with it, and
# the chart waits for the whole page.
PAINTED = 0.12


def at_once(
    session: Session,
    model: state.Model,
    place: DeltaGenerator,
    controls: Callable[[Session], None],
    body: Body,
) -> None:
    """Draw controls in their place, and here what follows them; the rest of the page comes after.

    `controls` may change the bins, and what is only drawn. With several models side by side, the
    rest follows with its page, because charts share axes.
    """

    def follow() -> None:
        if session.painted and session.answered != session.chosen:
            # The browser drew the change before it sent it: only the rest of the page is left.
            st.rerun()
        with place:
            controls(session)
        body(replace(model, analysis=state.analysis(session, model.rows)))
        if session.answered != session.chosen:
            time.sleep(PAINTED)
            st.rerun()

    if session.pending is None:
        st.fragment(follow)()
        return
    if session.drawn == 0:
        with place:
            controls(session)
    body(model)
