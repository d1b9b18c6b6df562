"""Reliability: what it opens with, its tables, lines, bands and bins, and what the browser gets."""

import json
import re
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest

from calib.loading.examples import EXAMPLES
from calib.metrics import variational_estimate
from calib.metrics.binned import increasing_bins
from calib.text import percent, plain
from calib.ui.pages.reliability import answer
from calib.ui.session import results, state
from calib.ui.session.choices import AUTO_BINS, AXIS, STRATEGY, TAB, TAB_LABELS
from calib.ui.session.session import Session
from tests.pages.harness import (
    address,
    dropped,
    go,
    markup,
    model_of,
    opened,
    press,
    rows,
    said,
    session_of,
    start,
    traces,
)
from tests.rare import rare

SHOWN = ("uncalibrated", "logistic")


def static(**link: str):
    """The page with the diagram for those who cannot use the explorer."""
    return opened(start("Reliability", **link), "static_diagram")


def test_lines_are_drawn_when_they_are_asked_for():
    app = static(m="platt")
    assert "CORP line" not in traces(app, "chart_reliability")
    app.pills(key="lines").set_value(["corp", "smooth"]).run()
    assert {"CORP line", "Smooth line"} <= set(traces(app, "chart_reliability"))
    assert address(app)["line"] == "corp.smooth"
    assert "CORP line" in said(app)
    assert "CORP line" not in traces(press(app, "reset_lines"), "chart_reliability")


def test_the_simultaneous_band_is_wider_and_goes_into_link_chip_and_words(texts):
    app = static(m="platt")
    alone = traces(app, "chart_reliability")["95% consistency band"]
    texts.shown(said(app))
    app.toggle(key="band").set_value(True).run()
    together = traces(app, "chart_reliability")["95% simultaneous band"]
    assert together["y"] != alone["y"]
    assert address(app)["band"] == "simultaneous"
    texts.shown(said(app))
    assert "95% consistency band" in traces(press(app, "reset_band"), "chart_reliability")
    assert not app.toggle(key="band").value


@rare
def test_band_and_lines_are_those_of_the_first_of_two_methods(texts):
    texts.shown(said(start("Reliability", line="corp", show="beta.platt")))


def test_more_than_two_methods_have_a_diagram_each_with_their_own_band():
    link = {"m": "platt.beta", "show": "uncalibrated.platt.beta", "at": "0.7", "of": "beta"}
    app = start("Reliability", **link)
    for key in ("uncalibrated", "platt", "beta"):
        (chart,) = [
            chart.proto.id
            for chart in app.get("plotly_chart")
            if chart.proto.id.endswith(f"chart_reliability_{key}")
        ]
        drawn = traces(app, chart)
        assert "95% consistency band" in drawn
        assert ("Inspected bin" in drawn) == (key == "beta")


def test_how_to_read_stays_open_on_all_pages_once_it_was_opened():
    app = start("Reliability", m="platt")
    (expander,) = [e for e in app.expander if e.label == "How to read it"]
    assert not expander.proto.expanded
    session_of(app).explains = True
    session_of(app).change(TAB, "cumulative")
    app.run()
    (expander,) = [e for e in app.expander if e.label == "How to read it"]
    assert expander.proto.expanded


def test_only_the_chosen_tab_is_drawn():
    drawn = {"bins": "calib_explorer", "panels": "calib_drawing"}
    app = start("Reliability", m="platt")
    for tab in TAB_LABELS:
        session_of(app).change(TAB, tab)
        app.run()
        offered = [each.label for each in app.tabs if each.label in TAB_LABELS.values()]
        assert offered == [*TAB_LABELS.values()]
        components = {each.proto.component_name for each in app.get("bidi_component")}
        assert components & {*drawn.values()} == {*filter(None, [drawn.get(tab)])}
        assert bool(app.get("plotly_chart")) == (tab != "panels")
        assert address(app).get("tab", "bins") == tab
        assert not [each for each in app.button if each.key == "reset_tab"]


def test_the_bins_of_overview_open_their_tab_whichever_was_open_before():
    app = start("Overview", m="platt", tab="panels")
    (link,) = [one.proto for one in app.get("page_link") if "Bins" in one.proto.label]
    opened_by = dict(parse_qsl(link.query_string))
    assert opened_by["tab"] == "bins"
    app.query_params.clear()
    for name, value in opened_by.items():
        app.query_params[name] = value
    go(app, "Reliability")
    assert session_of(app)[TAB] == "bins"
    assert "tab" not in address(app)
    # The navigation has no tab, and keeps the one that was open.
    session_of(app).change(TAB, "cumulative")
    go(app, "Overview")
    app.query_params.clear()
    assert session_of(go(app, "Reliability"))[TAB] == "cumulative"


@pytest.mark.parametrize("page", ["Reliability", "Calibrators"])
def test_few_rows_are_not_drawn(page, texts):
    app = start(page, rows(8), m="platt")
    texts.shown(said(app), "each case")
    assert not [c for c in app.get("plotly_chart") if "chart_sensitivity" not in c.proto.id]


def test_a_band_that_leaves_no_dot_outside_is_a_sentence_and_so_is_a_diagram_of_such_bins(texts):
    wide = start("Reliability", rows(60), m="platt", bins="30")
    texts.shown(" ".join(box.value for box in wide.info))
    assert not [c for c in wide.get("plotly_chart") if "chart_reliability" in c.proto.id]
    app = opened(start("Reliability", rows(60), m="platt", bins="8"), "static_diagram")
    texts.shown(said(app))
    assert "95% consistency band" not in traces(app, "chart_reliability")
    app.slider(key="n_bins").set_value(2).run()
    assert "No band" not in said(app)
    assert "95% consistency band" in traces(app, "chart_reliability")


def test_the_strip_marks_the_bins_in_use():
    app = static(m="platt", bins="22", by="uniform")
    assert traces(app, "chart_sensitivity")["Current choice"]["x"] == [22]
    app.slider(key="n_bins").set_value(9).run()
    assert traces(app, "chart_sensitivity")["Current choice"]["x"] == [9]


def test_a_control_of_the_explorer_has_no_double_beside_it():
    def keys(app):
        return {one.key for kind in (app.slider, app.segmented_control, app.pills) for one in kind}

    own = {"n_bins", "strategy", "shown", "axis"}
    app = start("Reliability", m="platt")
    assert not own & keys(app)
    assert own <= keys(opened(app, "static_diagram"))


def test_it_opens_with_the_verdicts_of_the_shown_methods_and_the_next_step(texts):
    app = start("Reliability")
    analysis = model_of(Session()).analysis
    texts(answer.sentences(Session(), analysis, SHOWN))
    shown = [text.value for text in app.markdown]
    at = shown.index(f"## {answer.sentences(Session(), analysis, SHOWN)}")
    assert shown[at + 1] == f"**Uncalibrated**: {plain(analysis.verdict.finding)}"
    assert "show" not in app.query_params
    assert app.button(key="use").label == "Get the code"
    assert press(app, "use").selectbox(key="use_method").value == "logistic"


def test_methods_with_the_same_verdict_have_one_sentence(texts):
    analysis = model_of(Session()).analysis
    four = ("uncalibrated", "platt", "logistic", "beta")
    texts(answer.sentences(Session(), analysis, four))
    assert "**" not in answer.finding(Session(), analysis, ("logistic",))


def test_where_no_calibrator_is_recommended_there_is_no_next_step(texts):
    app = start("Reliability", ex="logistic", m="platt")
    texts.shown(said(app))
    assert not [b for b in app.button if b.key == "use"]


def test_rare_positives_start_on_log_odds_axes_unless_a_person_chose(texts):
    session = Session(example="rare_event")
    analysis = model_of(session).analysis
    assert answer.axis(session, analysis) == "logit"
    texts(answer.axis_note(session, analysis))
    session.change(AXIS, "linear")
    assert answer.axis(session, analysis) == "linear"
    assert answer.axis_note(session, analysis) == ""
    assert answer.axis(Session(), model_of(Session()).analysis) == "linear"


def table_of(app, about):
    """The lines of a table, each as the texts of its cells."""
    lines = re.findall("<tr[^>]*>(.*?)</tr>", markup(app, about))
    return [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", line) for line in lines]


def test_every_bin_and_all_rows_have_expected_and_observed_positives(texts):
    app = start("Reliability", m="platt", bins="100")
    head, *lines = table_of(app, "Bins: Uncalibrated")
    view = EXAMPLES["naive_bayes"].load().view()
    columns = {name: [line[i] for line in lines] for i, name in enumerate(head)}
    assert sum(map(int, columns["Rows"][:-1])) == len(view.score)
    assert sum(map(int, columns["Observed"][:-1])) == view.outcome.sum()
    assert columns["Scores"][-1] == "All rows"
    assert columns["Expected"][-1] == f"{view.score.sum():.1f}"
    assert sum("largest gap" in name for name in columns["Scores"]) == 1
    assert all(p.startswith("p ") for p in columns["p (Holm)"])
    head, *lines = table_of(app, "All methods")
    *_, first = lines  # Its log loss is the highest.
    assert first[0] == "Uncalibrated"
    assert len(lines) == 2
    ratio = f"{view.outcome.sum() / view.score.sum():.3f}"
    assert first[1].startswith(f"{ratio}<small>891 of 833.1")
    texts.shown(head)
    texts.shown(head[-2])
    texts.shown(head[-1])
    error = variational_estimate(view)
    ends = f"{error.error.low:.1%} to {error.error.high:.1%}"
    assert first[-1].startswith(f"{error.error.value:.1%}<small>{ends}")
    assert f"under {percent(error.underconfident.value)}" in first[-1]


def test_rows_in_clusters_count_less_in_the_test_of_a_bin():
    rng = np.random.default_rng(3)
    score = rng.random(300).round(3)
    rows = pd.DataFrame({"outcome": (rng.random(300) < score**1.4).astype(int), "score": score})
    copies = pd.concat([rows.assign(group=np.arange(300))] * 4)
    p = []
    for table in (copies.drop(columns="group"), copies):
        session = dropped(table, m="platt")
        tests = results.bins_tested(session, model_of(session).analysis, "uncalibrated")
        p.append(tests.p_value)
    assert np.mean(p[1]) > np.mean(p[0])
    assert np.all(p[1] >= p[0])


def swept(example: str, strategy: str = "quantile") -> int:
    return increasing_bins(EXAMPLES[example].load().view().cells(), strategy)


def test_auto_follows_the_data():
    session = Session()
    session.change(AUTO_BINS, True)
    for example, strategy in (("naive_bayes", "quantile"), ("svm", "quantile"), ("svm", "uniform")):
        session.choose_example(example)
        session.change(STRATEGY, strategy)
        state.follow_auto(session, model_of(session).analysis)
        assert session.settings.n_bins == swept(example, strategy)


def test_auto_ends_where_it_is_reset_and_leaves_its_number():
    app = static(auto="1", m="platt")
    assert app.slider(key="n_bins").disabled
    assert "reset_n_bins" not in {b.key for b in app.button}
    slider = press(app, "reset_auto_bins").slider(key="n_bins")
    assert not slider.disabled
    assert slider.value == swept("naive_bayes")


@pytest.mark.parametrize("example", EXAMPLES)
@rare
def test_every_example_has_a_number_of_bins_to_choose(example):
    assert 2 <= swept(example) <= 100


def explorer_components(app):
    """The messages of the cells, of the stops and of the explorer."""
    found = {each.proto.component_name: each.proto for each in app.get("bidi_component")}
    return (found[f"calib_explorer{part}"] for part in ("_cells", "_stops", ""))


def test_what_the_explorer_draws_is_not_sent_again_with_a_choice():
    app = static(m="platt")
    before, stops_before, _ = explorer_components(app)
    app.slider(key="n_bins").set_value(33).run()
    cells, stops, explorer = explorer_components(app)
    assert cells.bytes == before.bytes
    assert len(cells.bytes) > 10_000
    # The same message: Streamlit sends its hash to a browser that has it.
    assert cells.SerializeToString() == before.SerializeToString()
    told, named = json.loads(explorer.json), json.loads(cells.bytes)["of"]
    assert stops.SerializeToString() == stops_before.SerializeToString()
    assert len(stops.bytes) < 110_000
    assert told["chosen"]["n_bins"] == 33
    assert told["of"] == named
    # The bins of the chosen stop come along, and those of all others are not sent again.
    assert len(explorer.json) < 1000 + 33 * 120
