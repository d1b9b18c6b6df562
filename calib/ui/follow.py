"""Parts of a page that follow a choice on their own, without the rest of it.

A page drawn as a whole costs the server ten times what its diagram costs. What changes with the
bins is drawn in parts; a control that moves the bins asks for these parts alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import streamlit as st

from calib.ui import state

# Seconds in which a browser paints a chart. What arrives earlier is drawn together with it, and
# the chart waits for the whole page.
PAINTED = 0.12
# Parts of every page; they follow what its body draws.
LAST = ("changed", "navigation")


def part(key: str, draw: Callable[[], None]) -> None:
    """Draw a part of the page here, and again whenever `follow` is called.

    The part that the body of a page draws first also follows first, before all others.

    Parameters
    ----------
    key : str
        Its own on the page.
    draw : callable
        Reads the session's settings anew, and draws.
    """
    session = state.current()
    if key not in LAST:
        session.following = (*session.following, key)
    st.fragment(_draw, key=key)(draw)


def _draw(draw: Callable[[], None]) -> None:
    draw()
    session = state.current()
    if session.hurried:
        session.hurried = False
        time.sleep(PAINTED)


def follow() -> None:
    """Let the parts of the page follow, and nothing else; for the end of a callback.

    On a page without parts all follows, as after any callback.
    """
    session = state.current()
    if session.following:
        session.hurried = True
        st.rerun((*session.following, *LAST))


def changer(name: str, key: str, convert: Callable[[Any], Any] | None = None) -> None:
    """Write a widget's value into the session, as `state.changer`, for the parts to follow."""
    state.changer(name, key, convert)
    follow()
