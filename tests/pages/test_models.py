"""Several models on every page, and how they come in: a column, a column each, a file each."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from calib.figures import METHOD_STYLES
from calib.figures.theme import faded
from calib.ui.session import turns
from calib.ui.session.choices import MODELS
from calib.ui.session.links import decode
from calib.ui.session.page_list import PAGES, WITH_ANALYSIS
from calib.ui.session.session import Session
from tests.pages.harness import (
    address,
    drawn,
    dropped,
    go,
    metric_tables,
    press,
    said,
    session_of,
    start,
)
from tests.pages.test_matrices import npz
from tests.rare import rare

RNG = np.random.default_rng(4)
Y = RNG.integers(0, 2, 500)
A = np.clip(0.3 * Y + RNG.uniform(0.1, 0.6, 500), 0, 1)
B = A**2 / (A**2 + (1 - A) ** 2)
LONG = pd.concat([pd.DataFrame({"model": m, "y": Y, "p": s}) for m, s in (("a", A), ("b", B))])
WIDE = pd.DataFrame({"y": Y, "prob_a": A, "prob_b": B})


def names(app) -> list[str]:
    icon = ":material/model_training:"
    shown = [e.value.split("**")[1] for e in app.markdown if e.value.startswith(icon)]
    return [name.replace("\\_", "_") for name in shown]


def test_every_page_shows_two_models_side_by_side(monkeypatch):
    # Each slow model has a button that cancels.
    monkeypatch.setattr(turns, "CANCEL_AFTER_SECONDS", 0.0)
    app = start("Overview", LONG.iloc[::-1], m="platt")
    # Compare has one table of all models, and a report is about one of them.
    for page in (page for page in WITH_ANALYSIS if page not in ("Classes", "Compare", "Reports")):
        assert not go(app, page).error
        assert names(app) == ["b", "a"], page


@rare
def test_every_page_shows_the_models_of_the_example():
    app = start("Overview", ex="rounds", m="platt.spline")
    for page in PAGES:
        assert not go(app, page).error


@pytest.mark.parametrize("page", ["Reliability", "Cumulative", "Functions"])
@rare
def test_a_method_has_one_style_in_all_models_of_a_page(page: str):
    # Platt is recommended for the first model, and the stack for the last.
    app = start(page, ex="rounds", show="uncalibrated.platt")
    specs = [json.loads(e.proto.spec)["data"] for e in app.get("plotly_chart")]
    named = [
        [trace for trace in traces if trace["name"] == "Platt scaling (on scores)"]
        for traces in specs
    ]
    first, last = (json.dumps(traces) for traces in named if traces)
    # Functions draws the methods that are not recommended paler.
    color = METHOD_STYLES["platt"].color
    for found in (first, last):
        assert color in found or faded(color, 1.0).removesuffix("1.0)") in found


@rare
def test_models_are_shown_in_the_order_of_the_data_whatever_the_order_of_the_clicks():
    app = start("Overview", ex="rounds", m="platt")
    app.multiselect(key="models").set_value(["round 30", "round 3", "round 10"]).run()
    assert names(app) == ["round 3", "round 10", "round 30"]
    assert address(app)["model"] == "round 3~round 10~round 30"
    assert names(go(app, "Reliability")) == ["round 3", "round 10", "round 30"]


def test_one_chosen_model_is_a_page_as_it_is_without_others():
    app = start("Reliability", LONG, m="platt", model="b")
    assert names(app) == []
    # The browser draws the diagram itself, and Plotly the sensitivity.
    assert len(app.get("plotly_chart")) == 1


def test_what_a_link_asks_for_and_is_not_there_is_told(texts):
    app = start("Overview", LONG, m="platt", model="b~c")
    texts.shown(app.warning[0].value)
    assert app.pills(key="models").value == ["b"]


def test_names_with_any_character_come_back_from_a_link():
    session = dropped(LONG.assign(model=LONG.model.map({"a": "x~y & z", "b": "ü/%7E"})))
    session.change(MODELS, ("x~y & z",))
    link, refused = decode(session.link())
    assert link.chosen[MODELS] == ("x~y & z",)
    assert not refused


def test_controls_work_for_all_models_at_once():
    app = start("Reliability", LONG, m="platt")
    app.slider(key="n_bins").set_value(4).run()
    assert not app.exception
    assert said(app).count("4 bins with rows") == 4  # There are two models with two methods each.
    app.toggle(key="auto_bins").set_value(True).run()
    assert not app.exception


@pytest.mark.parametrize(("frame", "named"), [(LONG, ["a", "b"]), (WIDE, ["prob_a", "prob_b"])])
def test_two_models_of_one_file_are_compared_in_one_sentence_one_table_and_one_chart(
    frame, named, texts
):
    app = start("Compare", frame, m="platt")
    texts.shown(said(app), "paired")
    a, b = (-np.log(np.where(Y == 1, p, 1.0 - p)) for p in (A, B))
    heading = next(e.value for e in app.markdown if e.value.startswith("## ")).replace("\\", "")
    match = re.fullmatch(
        r"## (\w+) is better by ([\d.]+) log loss \(95% CI ([\d.]+) to ([\d.]+)\)\.", heading
    )
    assert match
    assert match[1] == named[0 if a.mean() < b.mean() else 1]
    size, low, high = map(float, match.groups()[1:])
    difference = np.abs((a - b).mean())
    half = 1.96 * (a - b).std() / np.sqrt(len(Y))
    assert size == pytest.approx(difference, abs=0.001)
    assert (low, high) == pytest.approx((difference - half, difference + half), rel=0.05)
    (table,) = metric_tables(app)
    assert all(name in table for name in named)
    assert f"{abs((b - a).mean()):+.4f}" in table
    assert "from the best" in table
    assert table.count("best</td>") == 2
    (chart,) = app.get("plotly_chart")
    shown = [one for one in json.loads(chart.proto.spec)["data"] if one.get("error_y")]
    assert len({trace["marker"]["color"] for trace in shown}) == 2


def test_several_files_are_a_model_each(texts):
    app = start("Data", m="platt")
    files = [
        (f"{name}.csv", WIDE[["y", column]].to_csv(index=False).encode(), "text/csv")
        for name, column in (("epoch 10", "prob_b"), ("epoch 2", "prob_a"))
    ]
    app.file_uploader[0].set_value(files)
    texts.shown(said(drawn(app)))
    assert list(session_of(app).upload.models) == ["epoch 2", "epoch 10"]


def test_scores_of_models_are_mapped_by_hand(texts):
    app = start("Data", WIDE.rename(columns={"prob_a": "one", "prob_b": "two"}), m="platt")
    app.segmented_control(key="map_kind").set_value("By model").run()
    app.multiselect(key="map_models").set_value(["one", "two"]).run()
    texts.shown(said(app))


def test_a_column_that_names_no_models_is_given_up_by_hand():
    app = start("Data", LONG, m="platt")
    assert "2 models" in said(app)
    app.selectbox(key="map_model").set_value(None).run()
    assert "1,000 rows." in said(app)


@rare
def test_compare_says_which_model_is_best_and_draws_checkpoints(texts):
    app = start("Compare", ex="rounds")
    texts.shown(said(app))
    charts = [chart.proto.id for chart in app.get("plotly_chart")]
    assert sum("chart_models" in found for found in charts) == 1
    app.selectbox(key="after").set_value("isotonic").run()
    texts.shown(said(app))
    assert "expected calibration error" in said(app)


def test_an_example_forgets_the_models_of_another():
    session = Session.from_link({"ex": "rounds", "model": "round 10"})
    session.choose_example("svm")
    assert "model" not in session.link()


@rare
def test_checkpoints_of_a_network_are_matrices_side_by_side(texts):
    logits = RNG.normal(0.0, 1.0, (600, 3))
    label = (logits + RNG.gumbel(size=logits.shape)).argmax(axis=1)
    files = {f"epoch_{epoch}.npz": npz(logits=epoch * logits, y=label) for epoch in (1, 2, 3)}
    app = start("Data", files, m="temperature")
    # One repair for all of them.
    texts.shown(app.error[0].value)
    assert not press(app, "repair_logits").error
    for page in WITH_ANALYSIS:
        assert not go(app, page).error
    app = go(app, "Compare")
    texts.shown(said(app))
    ids = [chart.proto.id for chart in app.get("plotly_chart")]
    assert sum("chart_models" in found for found in ids) == 1


def test_an_example_shows_the_scores_of_all_its_models():
    (preview,) = start("Data", ex="rounds").dataframe
    assert list(preview.value) == ["outcome", *(f"round {n}" for n in (1, 3, 10, 30, 100))]


@pytest.mark.parametrize("page", ["Overview", "Reliability"])
def test_a_second_score_is_said_above_the_answer_and_compared_by_one_click(page):
    rng = np.random.default_rng(0)
    forest, bayes = rng.random(400), rng.random(400)
    outcome = (rng.random(400) < forest) * 1
    table = {"churned": outcome, "random_forest": forest, "naive_bayes": bayes}
    # The repeated rows are a note, which stands below what a click can settle.
    frame = pd.DataFrame(table).round(4)
    app = start(page, pd.concat([frame, frame[:5]]), m="platt")
    assert "score: random_forest" in said(app)

    def asked() -> list[str]:
        return [each.value for each in app.markdown if "`naive_bayes` all look" in each.value]

    assert len(asked()) == 1
    next(each for each in app.button if each.label == "Compare both models").click()
    assert names(drawn(app)) == ["random_forest", "naive_bayes"]
    assert not asked()
