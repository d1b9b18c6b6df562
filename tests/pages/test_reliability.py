"""The Reliability page's own controls, without a browser: lines, strip, Auto."""

import json

import pytest

from calib.loading.examples import EXAMPLES
from calib.metrics.sweep import increasing_bins
from tests.pages.test_pages import button, go, said, start

SWEPT = {key: increasing_bins(example.load().view().cells()) for key, example in EXAMPLES.items()}


def traces(app, chart):
    """Traces of a chart by their name (the app sends no uids)."""
    if "static_diagram" in app.session_state and not app.session_state["static_diagram"]:
        app.session_state["static_diagram"] = True
        app.run()
    (found,) = [c for c in app.get("plotly_chart") if chart in c.proto.id]
    return {trace.get("name"): trace for trace in json.loads(found.proto.spec)["data"]}


def test_lines_are_drawn_when_they_are_asked_for():
    app = go(start(), "reliability")
    assert "CORP line" not in traces(app, "chart_reliability")
    app.pills(key="lines").set_value(["corp", "smooth"]).run()
    assert {"CORP line", "Smooth line"} <= set(traces(app, "chart_reliability"))
    assert app.query_params["line"] == "corp.smooth"
    assert "CORP line" in said(app)
    button(app, "reset_lines").click().run()
    assert "CORP line" not in traces(app, "chart_reliability")


def test_the_simultaneous_band_is_wider_and_goes_into_link_chip_and_words(texts):
    app = go(start(), "reliability")
    alone = traces(app, "chart_reliability")["95% band, per bin"]
    texts.shown(said(app))
    app.toggle(key="band").set_value(True).run()
    together = traces(app, "chart_reliability")["95% band, simultaneous"]
    assert together["y"] != alone["y"]
    assert app.query_params["band"] == "simultaneous"
    texts.shown(said(app))
    button(app, "reset_band").click().run()
    texts.shown(traces(app, "chart_reliability"))
    assert not app.toggle(key="band").value


def test_lines_are_those_of_the_first_method_shown(texts):
    app = go(start(line="corp", show="platt"), "reliability")
    texts.shown(said(app))


def test_the_strip_marks_the_bins_in_use():
    app = go(start(bins="22", by="uniform"), "reliability")
    assert traces(app, "chart_sensitivity")["Your choice"]["x"] == [22]
    assert "The verdict" in said(app)
    app.slider(key="n_bins").set_value(9).run()
    assert traces(app, "chart_sensitivity")["Your choice"]["x"] == [9]


def test_auto_follows_the_data_and_the_slider_shows_its_choice():
    app = go(start(), "reliability")
    app.toggle(key="auto_bins").set_value(True).run()
    slider = app.slider(key="n_bins")
    assert slider.disabled
    assert slider.value == SWEPT["naive_bayes"]
    assert app.query_params["auto"] == "1"
    app.segmented_control(key="strategy").set_value("uniform").run()
    cells = EXAMPLES["naive_bayes"].load().view().cells()
    assert app.slider(key="n_bins").value == increasing_bins(cells, "uniform")
    go(app, "")
    app.pills(key="example").set_value("svm").run()
    go(app, "reliability")
    svm = EXAMPLES["svm"].load().view().cells()
    assert app.slider(key="n_bins").value == increasing_bins(svm, "uniform")


def test_auto_ends_where_it_is_reset_and_leaves_its_number():
    app = go(start(auto="1"), "reliability")
    assert [b.key for b in app.button if (b.key or "").startswith("reset")] == ["reset_auto_bins"]
    button(app, "reset_auto_bins").click().run()
    slider = app.slider(key="n_bins")
    assert not slider.disabled
    assert slider.value == SWEPT["naive_bayes"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_has_a_number_of_bins_to_choose(example):
    assert 2 <= SWEPT[example] <= 100
