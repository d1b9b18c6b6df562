"""Several models side by side: the control that chooses them, and their columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import cycle
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.figures import same_axes
from calib.text import plain, quoted
from calib.ui.controls.widgets import ask
from calib.ui.session import state
from calib.ui.session.choices import MODELS, PILLS
from calib.ui.session.session import MAX_SHOWN, Pending, Session


def control(session: Session) -> None:
    names = list(state.models(session))
    if len(names) < 2:
        return
    _refuse(session, names)

    def change(chosen: Collection[str]) -> None:
        # The models are in the order of the data, not in the order of the clicks.
        session.change(MODELS, tuple(name for name in names if name in chosen))

    shown = list(state.shown_models(session))
    if len(names) <= MAX_SHOWN:
        look: dict[str, Any] = {"label": "Models", "format_func": plain}
        ask(PILLS, "models", shown, change, options=names, **look)
    else:
        label = f"Models (at most {MAX_SHOWN})"
        look = {"label": label, "max_selections": MAX_SHOWN}
        ask(st.multiselect, "models", shown, change, options=names, **look)


def _refuse(session: Session, names: Sequence[str]) -> None:
    """Say which models of a link cannot be shown, and show the others."""
    wanted = session[MODELS]
    missing = [name for name in wanted if name not in names]
    shown = tuple(name for name in names if name in wanted)
    if missing:
        quotes = ", ".join(map(quoted, missing[:3]))
        st.warning(f"There is no model {quotes} among these, so it is not shown.")
    if len(shown) > MAX_SHOWN:
        st.warning(f"Only the first {MAX_SHOWN} of {len(shown)} models are side by side.")
    if shown[:MAX_SHOWN] != wanted:
        session.change(MODELS, shown[:MAX_SHOWN])


def columns(n: int) -> Sequence[DeltaGenerator]:
    with st.container(key="side_by_side"):
        return st.columns(n, gap="medium")


def finish(pending: Pending) -> None:
    """Draw what waited for all models: charts on common axes, then what is drawn once."""
    for waiting in pending.charts.values():
        places, charts, plots = zip(*waiting, strict=True)
        for place, shown, plot in zip(places, same_axes(charts), plots, strict=True):
            with place:
                plot(shown)
    if not pending.once:
        return
    st.divider()
    for column, draw in zip(cycle(st.columns(2, gap="large")), pending.once.values(), strict=False):
        with column:
            draw()
