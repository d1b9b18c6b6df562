"""What follows a choice without the rest of the page."""

from contextlib import nullcontext

import pytest
import streamlit as st

from calib.ui import follow
from calib.ui.follow import Parts


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn, in order; pauses among it."""
    found = []
    monkeypatch.setattr(follow.time, "sleep", lambda _: found.append("pause"))
    return found


@pytest.fixture
def again(monkeypatch):
    """Fragments of the page: calling one is a fragment's rerun."""
    fragments = []

    def fragment(function):
        def call(*args):
            fragments.append(lambda: function(*args))
            function(*args)

        return call

    monkeypatch.setattr(st, "fragment", fragment)
    return fragments


def parts(drawn, *body):
    def part(name):
        return nullcontext(), lambda: drawn.append(name)

    return Parts(part("links"), [part(name) for name in body], [part("controls")])


def test_a_page_without_parts_only_draws_its_controls(drawn, again):
    parts(drawn).draw(lambda: drawn.append("prepare"))
    assert drawn == ["controls"]
    assert again == []


def test_what_is_drawn_first_is_painted_before_the_others(drawn, again):
    parts(drawn, "diagram", "table").draw(lambda: drawn.append("prepare"))
    assert drawn == ["diagram", "table", "controls", "links"]  # a whole page does not wait
    drawn.clear()
    again[0]()
    assert drawn == ["prepare", "diagram", "pause", "table", "controls", "links"]
