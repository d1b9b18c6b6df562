"""What follows a choice without the rest of the page."""

import pytest
import streamlit as st

from calib.ui import follow, state
from calib.ui.state import Session


@pytest.fixture
def session(monkeypatch):
    made = Session()
    monkeypatch.setattr(state, "current", lambda: made)
    return made


@pytest.fixture
def asked(monkeypatch):
    found = []
    monkeypatch.setattr(st, "rerun", found.append)
    return found


def test_a_page_without_parts_is_drawn_as_a_whole(session, asked):
    follow.follow()
    assert asked == []
    assert not session.hurried


def test_parts_follow_in_the_order_they_were_drawn_and_the_frame_last(session, asked, monkeypatch):
    monkeypatch.setattr(st, "fragment", lambda *_, **__: lambda *_: None)
    for key in ("navigation", "changed", "diagram", "bins"):
        follow.part(key, lambda: None)
    follow.follow()
    assert asked == [("diagram", "bins", "changed", "navigation")]
    assert session.hurried


def test_only_what_is_drawn_first_is_waited_for(session, asked, monkeypatch):
    drawn, waited = [], []
    monkeypatch.setattr(st, "fragment", lambda draw, **_: draw)
    monkeypatch.setattr(follow.time, "sleep", lambda _: waited.append(len(drawn)))
    for key in ("diagram", "bins"):
        follow.part(key, lambda: None)
    assert waited == []  # a whole page does not wait
    follow.follow()
    for key in ("diagram", "bins"):
        follow.part(key, lambda: drawn.append(0))
    assert waited == [1]
