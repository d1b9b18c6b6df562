"""Chips of changed settings: on the pages that the settings change, and on no others."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.ui.pages.reports.report_form import report_of
from calib.ui.session import state
from calib.ui.session.choices import AXIS, CHOICES, COST_FN
from calib.ui.session.choices.choice import Choice, Fact, on
from calib.ui.session.page_list import PAGES
from tests.choices import ANY_CHANGE
from tests.pages.test_pages import ROOT, start, upload
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
    "cost_fp": 3.0,
    "cost_fn": 5.0,
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
# Other data show these: a matrix, several models, an inspected bin. The last three change only
# Monitor, which has no chips.
OTHERWISE = {"view", "models", "classes", "bin_of", "horizon", "watched", "stored_monitor"}
CHANGED = {
    key: value for key, value in ANY_CHANGE.items() if key not in OTHERWISE
} | SHOWN_BY_THESE_ROWS
SHOWING = [
    title
    for title in PAGES
    if title not in ("Data", "Classes", "Judge", "Monitor", "Gallery", "Methods")
]


def rows() -> bytes:
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
    return pd.DataFrame(columns).to_csv(index=False).encode()


def opened(title: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page(PAGES["Data"]).run()
    app.file_uploader[0].upload("mine.csv", rows(), "text/csv").run()
    app.multiselect(key="map_slices").set_value(["ink", "side"]).run()
    session = app.session_state["calib"]
    for name, value in BEFORE.items():
        session.change(CHOICES[name], value)
    if title == "Functions":  # Its chart needs two methods that epsilon changes.
        session.change(CHOICES["methods"], (*BEFORE["methods"], "splinecalib"))
    app.switch_page(PAGES[title]).run()
    if title == "Reliability":  # Its chart is drawn only while it is open.
        app.session_state["static_diagram"] = True
        app.run()
    assert not app.exception
    return app


def drawn(app: AppTest) -> list[str]:
    """All that a page shows but its controls and links; of Reports the report."""
    session = app.session_state["calib"]
    if session.page == "Reports":
        rows = state.predictions(session)
        model = state.Model(rows, state.analysis(session, rows))
        # Two reports of one analysis may fall into two seconds, and the seal holds the date, too.
        return [replace(report_of(session, model), created="", seal=None).json()]
    shown = "markdown caption dataframe html metric plotly_chart info warning bidi_component"
    return [str(element.proto) for kind in shown.split() for element in app.main.get(kind)]


def with_changes(app: AppTest, changes: dict[str, Any]) -> list[str]:
    """What the page shows under some changes, which are taken back after it."""
    session = app.session_state["calib"]
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


def test_a_choice_cannot_be_declared_in_part_or_for_an_unknown_page():
    with pytest.raises(TypeError, match=r"missing .* required keyword-only arguments"):
        Choice(key="colour", default="red")
    with pytest.raises(ValueError, match=r"pages must be among .* got 'Home'"):
        on("Home")


@pytest.mark.parametrize("column", ["fold", "split"])
def test_folds_have_no_chip_where_the_data_name_them(column):
    table = pd.read_csv(io.BytesIO(rows()))
    table[column] = ["calibration", "test"] * 450 if column == "split" else [1, 2, 3] * 300
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["folds"], app.query_params["m"] = "7", "platt"
    app.run()
    assert [b for b in app.button if b.key == "reset_n_folds"]
    app.switch_page(PAGES["Data"]).run()
    app.file_uploader[0].upload("mine.csv", table.to_csv(index=False).encode(), "text/csv").run()
    app.switch_page(PAGES["Compare"]).run()
    assert app.session_state["calib"].settings.n_folds == 7
    assert not [b for b in app.button if b.key == "reset_n_folds"]


def test_what_acts_on_a_bin_has_a_chip_where_a_bin_is_looked_into():
    app = opened("Reliability")
    with_changes(app, {"slice_by": "side"})
    assert not [b for b in app.button if b.key == "reset_slice_by"]
    with_changes(app, {"slice_by": "side", "bin_at": 0.5})
    assert [b for b in app.button if b.key == "reset_slice_by"]


def test_resetting_all_leaves_alone_what_has_no_chip_here():
    app = opened("Reliability")
    session = app.session_state["calib"]
    session.change(AXIS, "logit")
    session.change(COST_FN, 9.0)
    app.run()
    next(b for b in app.button if b.key == "reset_all").click().run()
    assert (session[AXIS], session[COST_FN]) == (None, 9.0)


@pytest.mark.parametrize("title", common_first(SHOWING, ["Slices"]))
def test_a_choice_changes_the_pages_on_which_it_has_a_chip_and_no_others(title):
    app = opened(title)
    before = drawn(app)
    assert drawn(app.run()) == before
    idle = {n: value for n, value in CHANGED.items() if not CHOICES[n].acts(title, FACTS)}
    assert with_changes(app, idle) == before
    for name in CHANGED.keys() - idle.keys():
        assert with_changes(app, {name: CHANGED[name]}) != before, name


@pytest.mark.parametrize(
    ("link", "reset", "acts"),
    [
        ({"eps": "0.01", "m": "platt.beta"}, "reset_epsilon", ["functions"]),
        ({"slice": "site", "ranges": "3", "m": "platt"}, "reset_slice_by", []),
        ({"slice": "site", "ranges": "3", "m": "platt"}, "reset_n_ranges", []),
    ],
)
def test_a_choice_has_no_chip_where_the_data_or_methods_do_not_use_it(link, reset, acts):
    plain = pd.read_csv(io.BytesIO(rows()))[["outcome", "score"]].to_csv(index=False)
    app, found = upload(start(**link), plain), []
    for page in ("compare", "functions", "reports"):
        app.switch_page(f"pages/{page}.py").run()
        found += [page for button in app.button if button.key == reset]
    assert found == acts
