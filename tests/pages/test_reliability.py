"""The Reliability page's own controls, without a browser: lines, strip, Auto."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.loading.examples import EXAMPLES
from calib.metrics import variational_estimate
from calib.metrics.binned import increasing_bins
from calib.text import percent, plain
from tests.pages.test_pages import (
    ROOT,
    button,
    go,
    metric_tables,
    open_static,
    rows,
    said,
    start,
    upload,
)


def swept(example: str) -> int:
    return increasing_bins(EXAMPLES[example].load().view().cells())


def traces(app, chart):
    """Traces of a chart by their name (the app sends no uids)."""
    (found,) = [c for c in open_static(app).get("plotly_chart") if chart in c.proto.id]
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
    alone = traces(app, "chart_reliability")["95% consistency band"]
    texts.shown(said(app))
    app.toggle(key="band").set_value(True).run()
    together = traces(app, "chart_reliability")["95% simultaneous band"]
    assert together["y"] != alone["y"]
    assert app.query_params["band"] == "simultaneous"
    texts.shown(said(app))
    button(app, "reset_band").click().run()
    texts.shown(traces(app, "chart_reliability"))
    assert not app.toggle(key="band").value


def test_band_and_lines_are_those_of_the_first_of_two_methods(texts):
    app = go(start(line="corp", show="beta.platt"), "reliability")
    texts.shown(said(app))


def test_it_opens_with_the_uncalibrated_scores_and_the_recommended_calibrator():
    app = go(start(), "reliability")
    assert app.pills(key="shown").value == ["uncalibrated", "logistic"]
    assert {"Uncalibrated", "Logistic (on log-odds)"} <= set(traces(app, "chart_reliability"))
    assert "show" not in app.query_params
    assert not [b.key for b in app.button if (b.key or "").startswith("reset")]


def test_more_than_two_methods_have_a_diagram_each_with_their_own_band():
    app = go(start(show="uncalibrated.beta.spline", at="0.7", of="beta"), "reliability")
    names = [chart.proto.id for chart in app.get("plotly_chart")]
    for key in ("uncalibrated", "beta", "spline"):
        (chart,) = [name for name in names if name.endswith(f"chart_reliability_{key}")]
        drawn = traces(app, chart)
        assert "95% consistency band" in drawn
        assert ("Inspected bin" in drawn) == (key == "beta")


def test_how_to_read_stays_open_on_all_pages_once_it_was_opened():
    app = go(start(), "reliability")
    (expander,) = [e for e in app.expander if e.label == "How to read it"]
    assert not expander.proto.expanded
    app.session_state["calib"].explains = True
    go(app, "cumulative")
    (expander,) = [e for e in app.expander if e.label == "How to read it"]
    assert expander.proto.expanded


def test_few_rows_and_bands_that_leave_no_dot_outside_are_not_drawn():
    few = upload(start(m="platt"), rows(8), "few.csv")
    go(few, "reliability")
    assert "No diagram: 8 rows cannot show a pattern." in [box.value for box in few.info]
    go(few, "functions")
    assert "No chart: 8 rows cannot show a pattern." in [box.value for box in few.info]
    assert not few.get("plotly_chart")
    wide = go(upload(start(bins="30"), rows(60), "wide.csv"), "reliability")
    assert "with about 2 rows per bin" in " ".join(box.value for box in wide.info)
    assert not [c for c in wide.get("plotly_chart") if "chart_reliability" in c.proto.id]


def test_the_strip_marks_the_bins_in_use():
    app = go(start(bins="22", by="uniform"), "reliability")
    assert traces(app, "chart_sensitivity")["Current choice"]["x"] == [22]
    assert "The conclusion" in said(app)
    app.slider(key="n_bins").set_value(9).run()
    assert traces(app, "chart_sensitivity")["Current choice"]["x"] == [9]


def test_a_control_of_the_explorer_has_no_double_beside_it():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/reliability.py").run()
    own = {"n_bins", "strategy", "shown", "axis"}
    drawn = {found.key for kind in (app.slider, app.segmented_control, app.pills) for found in kind}
    assert not own & drawn
    drawn = {
        found.key
        for kind in (open_static(app).slider, app.segmented_control, app.pills)
        for found in kind
    }
    assert own <= drawn


def heading(app):
    return next(text.value for text in app.markdown if text.value.startswith("## "))


def test_it_opens_with_the_verdicts_of_the_shown_methods():
    app = go(start(), "reliability")
    assert heading(app) == (
        "## Uncalibrated: overconfident. Logistic (recommended): no evidence of miscalibration."
    )
    app.pills(key="shown").set_value(["uncalibrated", "platt", "logistic", "beta"]).run()
    answer = "Beta and Logistic (recommended): no evidence of miscalibration."
    assert answer in heading(app)
    assert "too" in heading(app).partition("Platt scaling: ")[2]


def finding(app):
    """The sentence below the heading."""
    texts = [text.value for text in app.markdown]
    return texts[texts.index(heading(app)) + 1]


def test_below_it_stand_the_finding_and_the_next_step():
    app = go(start(), "reliability")
    analysis = calib.analyze(EXAMPLES["naive_bayes"].load())
    assert finding(app) == f"**Uncalibrated**: {plain(analysis.verdict.finding)}"
    assert button(app, "use").label == "Get Logistic (on log-odds) as code"
    button(app, "use").click().run()
    assert app.selectbox(key="use_method").value == "logistic"
    assert "**" not in finding(go(start(show="logistic"), "reliability"))


def test_where_no_calibrator_is_recommended_there_is_no_next_step():
    app = go(start(ex="logistic"), "reliability")
    assert "would be detected" in finding(app)
    assert not [b for b in app.button if b.key == "use"]


def drawn_axis(app):
    return json.loads(explorer_components(app)[1].json)["chosen"]["axis"]


def test_rare_positives_start_on_log_odds_axes_unless_a_person_chose():
    app = go(start(ex="rare_event"), "reliability")
    assert drawn_axis(app) == "logit"
    assert "Log-odds axes, because only 2.6%" in said(app)
    chosen = go(start(ex="rare_event", axis="linear"), "reliability")
    assert drawn_axis(chosen) == "linear"
    assert "Log-odds axes" not in said(chosen)
    assert drawn_axis(go(start(), "reliability")) == "linear"


def test_a_band_that_is_wider_than_half_is_a_sentence():
    wide = upload(start(bins="8"), rows(60), "wide.csv")
    app = go(wide, "reliability")
    assert "No band: with about 7 rows per bin" in said(app)
    assert "95% consistency band" not in traces(app, "chart_reliability")
    app.slider(key="n_bins").set_value(2).run()
    assert "No band" not in said(app)
    assert "95% consistency band" in traces(app, "chart_reliability")


def table_of(app, key):
    """The lines of a table, each as the texts of its cells."""
    (body,) = [body for body in metric_tables(app) if f'aria-label="{key}' in body]
    lines = re.findall("<tr[^>]*>(.*?)</tr>", body)
    return [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", line) for line in lines]


def test_every_bin_and_all_rows_have_expected_and_observed_positives():
    head, *lines = table_of(go(start(bins="100"), "reliability"), "Bins: Uncalibrated")
    rows = EXAMPLES["naive_bayes"].load().view()
    columns = {name: [line[i] for line in lines] for i, name in enumerate(head)}
    assert sum(map(int, columns["Rows"][:-1])) == len(rows.score)
    assert sum(map(int, columns["Observed"][:-1])) == rows.outcome.sum()
    assert columns["Scores"][-1] == "All rows"
    assert columns["Expected"][-1] == f"{rows.score.sum():.1f}"
    assert sum("largest gap" in name for name in columns["Scores"]) == 1
    assert all(p.startswith("p ") for p in columns["p (Holm)"])


def test_rows_in_clusters_count_less_in_the_test_of_a_bin():
    rng = np.random.default_rng(3)
    score = rng.random(300).round(3)
    rows = pd.DataFrame({"outcome": (rng.random(300) < score**1.4).astype(int), "score": score})
    copies = pd.concat([rows.assign(group=np.arange(300))] * 4)
    p = []
    for table in (copies.drop(columns="group"), copies):
        app = go(upload(start(m="platt"), table.to_csv(index=False), "x.csv"), "reliability")
        lines = table_of(app, "Bins: Uncalibrated")[1:-1]
        p.append([float(re.sub("[^0-9.]", "", line[5])) for line in lines])
    assert np.mean(p[1]) > np.mean(p[0])
    assert np.all(np.array(p[1]) >= p[0])


def test_every_method_has_its_numbers_in_total():
    app = go(start(), "reliability")
    head, *lines = table_of(app, "All methods")
    lines.reverse()
    assert lines[0][0] == "Uncalibrated"  # Its log loss is the highest.
    assert len(lines) == 7
    rows = EXAMPLES["naive_bayes"].load().view()
    ratio = f"{rows.outcome.sum() / rows.score.sum():.3f}"
    assert lines[0][1].startswith(f"{ratio}<small>891 of 833.1")
    assert "KS calibration error" in head
    assert head[-2].startswith("ECE (expected calibration error)")
    assert head[-1].startswith("Error without bias")
    error = variational_estimate(rows)
    ends = f"{error.error.low:.1%} to {error.error.high:.1%}"
    assert lines[0][-1].startswith(f"{error.error.value:.1%}<small>{ends}")
    assert f"under {percent(error.underconfident.value)}" in lines[0][-1]


def test_auto_follows_the_data_and_the_slider_shows_its_choice():
    app = go(start(), "reliability")
    app.toggle(key="auto_bins").set_value(True).run()
    slider = app.slider(key="n_bins")
    assert slider.disabled
    assert slider.value == swept("naive_bayes")
    assert app.query_params["auto"] == "1"
    app.segmented_control(key="strategy").set_value("uniform").run()
    cells = EXAMPLES["naive_bayes"].load().view().cells()
    assert app.slider(key="n_bins").value == increasing_bins(cells, "uniform")
    go(app, "")
    app.radio(key="example_list").set_value("svm").run()
    go(app, "reliability")
    svm = EXAMPLES["svm"].load().view().cells()
    assert app.slider(key="n_bins").value == increasing_bins(svm, "uniform")


def test_auto_ends_where_it_is_reset_and_leaves_its_number():
    app = go(start(auto="1"), "reliability")
    assert [b.key for b in app.button if (b.key or "").startswith("reset")] == ["reset_auto_bins"]
    button(app, "reset_auto_bins").click().run()
    slider = app.slider(key="n_bins")
    assert not slider.disabled
    assert slider.value == swept("naive_bayes")


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_has_a_number_of_bins_to_choose(example):
    assert 2 <= swept(example) <= 100


def explorer_components(app):
    """The messages of the cells and of the explorer."""
    found = {each.proto.component_name: each.proto for each in app.get("bidi_component")}
    return found["calib_explorer_cells"], found["calib_explorer"]


def test_what_the_explorer_draws_is_not_sent_again_with_a_choice():
    app = go(start(), "reliability")
    before, _ = explorer_components(app)
    app.slider(key="n_bins").set_value(33).run()
    cells, explorer = explorer_components(app)
    assert cells.bytes == before.bytes
    assert len(cells.bytes) > 20_000
    # The same message: Streamlit sends its hash to a browser that has it.
    assert cells.SerializeToString() == before.SerializeToString()
    told, named = json.loads(explorer.json), json.loads(cells.bytes)["of"]
    assert told["chosen"]["n_bins"] == 33
    assert told["of"] == named
    assert len(explorer.json) < 1000
