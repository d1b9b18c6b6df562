"""Controls in a process without pages."""

from functools import partial

import pytest
import streamlit as st

from calib.analysis import LiveAnalysis
from calib.ui.controls import widgets
from calib.ui.pages.reliability import bin_view, explorer
from calib.ui.session.session import Session


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict:
    """The values of the widgets of a session."""
    found: dict = {}
    monkeypatch.setattr(st, "session_state", found)
    return found


def test_a_late_answer_for_a_page_that_was_left_changes_nothing(answers) -> None:
    asked: list[dict] = []
    taken: list[int] = []
    widgets.ask(lambda **given: asked.append(given), "n_bins", 15, taken.append)
    assert answers == {"n_bins": 15}
    asked[0]["on_change"]()
    answers.clear()
    asked[0]["on_change"]()
    assert taken == [15]


@pytest.mark.parametrize(
    "answer",
    [
        partial(bin_view.pick, key="chart_reliability"),
        partial(explorer._take, shown=("uncalibrated",)),
    ],
)
def test_a_late_click_on_a_chart_that_was_left_changes_nothing(answer, answers) -> None:
    session, before = Session(), Session().chosen
    answer(session, LiveAnalysis.__new__(LiveAnalysis))
    assert session.chosen == before
    assert not session.painted
