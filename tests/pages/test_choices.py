"""Chips of changed settings: on the pages that the settings change, and on no others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.ui.pages.reports.report_form import report_of
from calib.ui.session import state
from calib.ui.session.choice import Choice, Fact, on
from calib.ui.session.choices import AXIS, CHOICES, COST_FN
from calib.ui.session.page_list import PAGES
from tests.choices import ANY_CHANGE
from tests.pages.harness import address, dropped, model_of, opened, press, session_of, start
from tests.rare import common_first

# These facts hold for the rows before a choice is made.
FACTS: set[Fact] = {"draws folds", "sets bins", "uses epsilon", "has columns"}
# Changes that these rows can show, if the first value that the declaration gives shows nothing.
SHOWN_BY_THESE_ROWS: dict[str, Any] = {
    "methods": ("uncalibrated", "histogram"),
    "n_bins": 3,
    "axis": "logit",
    "epsilon": 0.2,
    "n_folds": 3,
    "seed": 7,
    "band": "simultaneous",
    "shown": ("uncalibrated", "platt"),
    "metrics": ("kuiper_error",),
    "bin_at": 0.5,
    "score_range": (0.25, 0.5),
    "hidden": ("band",),
    "over_epsilon": ("splinecalib",),
    "columns": ("slope", "mce"),
    "after": "platt",
    "slice_by": "side",
    "cross": "side",
    "n_ranges": 3,
    "picked": (4,),
    "apart": 3,
    "time": "side",
    "unit": "year",
    "horizon": 20,
    "cost_fp": 50.0,
    "cost_fn": 0.02,
    "capacity": 0.3,
    "count_from": 0.3,
    "count_to": 0.7,
    "reproduced": "0.174",
    "sides": "above",
}
# With these methods every page shows changes of epsilon and of the methods.
BEFORE: dict[str, Any] = {
    "methods": ("uncalibrated", "platt", "spline"),
    "shown": ("uncalibrated", "spline"),
    "after": "spline",
    "time": "date",
    "n_bins": 2,
}
# Other data show these: a matrix, several models, an inspected bin. The last two change only
# Monitor, which has no chips.
OTHERWISE = {
    *("view", "model", "classes", "slice_kind", "since_change", "bin_of"),
    *("watched", "stored_monitor"),
}
CHANGED = {
    key: value for key, value in ANY_CHANGE.items() if key not in OTHERWISE
} | SHOWN_BY_THESE_ROWS
SHOWING = [title for title in PAGES if title not in ("Data", "Automate", "Monitor", "Learn")]


def rows(**more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 900
    score = rng.beta(0.7, 0.7, n).round(3)
    columns = {
        "outcome": (rng.random(n) < score**1.5).astype(int),
        "score": score,
        "ink": rng.normal(size=n).round(3),
        "side": rng.choice(["left", "right"], n),
        "date": [f"2024-{1 + i % 12:02d}-05" for i in range(n)],
    }
    return pd.DataFrame(columns | more)


def shown(title: str) -> AppTest:
    session = dropped(rows())
    session.take(session.upload.mapped(session.upload.mapping.chosen(slices=("ink", "side"))))
    for name, value in BEFORE.items():
        session.change(CHOICES[name], value)
    if title == "Calibrators":  # Its chart needs two methods that epsilon changes.
        session.change(CHOICES["methods"], (*BEFORE["methods"], "splinecalib"))
    app = start(title, session)
    # Its chart is drawn only while it is open.
    waits = {"Reliability": "static_diagram", "Decisions": "rates_by_slice"}
    return opened(app, waits[title]) if title in waits else app


def drawn(app: AppTest) -> list[str]:
    """All that a page shows but its controls and links; of Reports the report."""
    session = session_of(app)
    if session.page == "Reports":
        # Two reports of one analysis may fall into two seconds, and the seal holds the date, too.
        report = report_of(session, model_of(session))
        return [replace(report, created="", seal=None).json()]
    kinds = "markdown caption dataframe html metric plotly_chart info warning bidi_component"
    return [str(element.proto) for kind in kinds.split() for element in app.main.get(kind)]


def with_changes(app: AppTest, changes: dict[str, Any]) -> list[str]:
    """What the page shows under some changes, which are taken back after it."""
    session = session_of(app)
    before = session.chosen
    for name, value in changes.items():
        session.change(CHOICES[name], value)
    app.run()
    assert not app.exception
    found = drawn(app)
    session.chosen = before
    return found


def test_every_choice_acts_somewhere_and_is_tried_on_every_page():
    assert set(CHOICES) == set(CHANGED) | OTHERWISE
    assert all(choice.acts_on for choice in CHOICES.values())


def test_a_choice_cannot_be_declared_in_part_or_for_an_unknown_page(texts):
    with texts.raises(TypeError):
        Choice(key="colour", default="red")
    with texts.raises(ValueError):
        on("Home")


def test_what_the_data_and_the_other_choices_do_not_use_has_no_chip(texts):
    def facts(data: pd.DataFrame, **link: str) -> set[Fact]:
        return state.facts(dropped(data, **link))

    plain = rows()[["outcome", "score"]]
    assert facts(plain, m="platt") == {"draws folds", "sets bins"}
    assert facts(rows(), m="spline") == {"draws folds", "sets bins", "uses epsilon", "has columns"}
    for columns in ({"fold": [1, 2, 3] * 300}, {"split": ["calibration", "test"] * 450}):
        assert "draws folds" not in facts(plain.assign(**columns))
    assert "sets bins" not in facts(plain, auto="1")
    texts.shown(facts(plain, at="0.5"))
    for key, page, fact in (
        ("n_folds", "Calibrators", "draws folds"),
        ("n_bins", "Calibrators", "sets bins"),
        ("epsilon", "Calibrators", "uses epsilon"),
        ("cross", "Reports", "has columns"),
        ("slice_by", "Reliability", "in a bin"),
    ):
        assert CHOICES[key].acts(page, {fact})
        assert not CHOICES[key].acts(page, set())


def test_a_chip_resets_its_setting_and_all_of_them_only_those_of_the_page():
    app = start("Reliability", m="platt", bins="20", by="uniform", axis="logit", fn="9")
    press(app, "reset_n_bins")
    assert session_of(app).settings.n_bins == 15
    assert session_of(app).settings.strategy == "uniform"
    press(app, "reset_all")
    assert address(app) == {"v": "1", "fn": "9"}
    assert (session_of(app)[AXIS], session_of(app)[COST_FN]) == (None, 9.0)


@pytest.mark.parametrize("title", common_first(SHOWING, ["Slices"]))
def test_a_choice_changes_the_pages_on_which_it_has_a_chip_and_no_others(title):
    app = shown(title)
    before = drawn(app)
    assert drawn(app.run()) == before
    idle = {n: value for n, value in CHANGED.items() if not CHOICES[n].acts(title, FACTS)}
    assert with_changes(app, idle) == before
    for name in CHANGED.keys() - idle.keys():
        assert with_changes(app, {name: CHANGED[name]}) != before, name
