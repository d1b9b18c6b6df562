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
from tests.pages.test_matrices import npz
from tests.pages.test_pages import PAGES, go, metric_tables, said, start, upload
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


def control(app, kind: str, key: str):
    return next(found for found in getattr(app, kind) if found.key == key)


def test_every_page_shows_two_models_side_by_side():
    app = start(ex="rounds", m="platt.spline")
    for page in ("", *PAGES):
        go(app, page)
        assert not app.error
        # Compare shows all models in one table.
        if page not in ("data", "reports", "compare"):
            assert names(app) == ["round 1", "round 100"], page


@pytest.mark.parametrize("page", ["reliability", "cumulative", "functions"])
def test_a_method_has_one_style_in_all_models_of_a_page(page: str):
    # Platt is recommended for the first model, and the stack for the last.
    app = go(start(ex="rounds", show="uncalibrated.platt"), page)
    drawn = [json.loads(e.proto.spec)["data"] for e in app.get("plotly_chart")]
    named = [
        [trace for trace in traces if trace["name"] == "Platt scaling (on scores)"]
        for traces in drawn
    ]
    first, last = (json.dumps(traces) for traces in named if traces)
    # Functions draws the methods that are not recommended paler.
    color = METHOD_STYLES["platt"].color
    for found in (first, last):
        assert color in found or faded(color, 1.0).removesuffix("1.0)") in found


def test_each_slow_model_has_a_button_that_cancels(monkeypatch):
    monkeypatch.setattr(turns, "CANCEL_AFTER_SECONDS", 0.0)
    app = upload(start(m="platt"), LONG.iloc[::-1].to_csv(index=False))
    app = go(app, "cumulative")
    assert not app.exception
    assert names(app) == ["b", "a"]


def test_the_first_and_the_last_are_shown_until_others_are_chosen(texts):
    app = start(ex="rounds")
    control(app, "multiselect", "models").set_value(["round 30", "round 3", "round 10"]).run()
    # In the order of training, whatever the order of the clicks; pages and links keep them.
    assert names(app) == ["round 3", "round 10", "round 30"]
    assert app.query_params["model"] == "round 3~round 10~round 30"
    app = go(app, "reliability")
    assert names(app) == ["round 3", "round 10", "round 30"]


def test_one_chosen_model_is_a_page_as_it_is_without_others(texts):
    app = go(start(ex="rounds", model="round 10"), "reliability")
    assert names(app) == []
    texts.shown(said(app))
    # The static diagram, below the explorer, and the sensitivity.
    assert len(app.get("plotly_chart")) == 2


def test_what_a_link_asks_for_and_is_not_there_is_told(texts):
    app = start(ex="rounds", model="round 10~round 40")
    texts.shown(app.warning[0].value)
    assert app.multiselect(key="models").value == ["round 10"]


def test_names_with_any_character_come_back_from_a_link():
    frame = LONG.assign(model=LONG.model.map({"a": "x~y & z", "b": "ü/%7E"}))
    app = upload(start(m="platt"), frame.to_csv(index=False))
    app = go(app, "")
    app.pills(key="models").set_value(["x~y & z"]).run()
    link, refused = decode(dict(app.query_params))
    assert link.chosen[MODELS] == ("x~y & z",)
    assert not refused


def test_controls_work_for_all_models_at_once():
    app = go(start(ex="rounds"), "reliability")
    app.slider(key="n_bins").set_value(4).run()
    assert not app.exception
    assert said(app).count("4 bins with rows") == 4  # There are two models with two methods each.
    app.toggle(key="auto_bins").set_value(True).run()
    assert not app.exception


@pytest.mark.parametrize(("frame", "names_"), [(LONG, ["a", "b"]), (WIDE, ["prob_a", "prob_b"])])
def test_models_of_one_file(frame, names_, texts):
    app = upload(start(m="platt"), frame.to_csv(index=False))
    assert "2 models" in said(app)
    assert not app.error
    app = go(app, "compare")
    (table,) = metric_tables(app)
    assert [name in table for name in names_] == [True, True]
    texts.shown(said(app))


def test_two_models_are_compared_in_one_sentence_one_table_and_one_chart():
    app = go(upload(start(m="platt"), LONG.to_csv(index=False)), "compare")
    a, b = (-np.log(np.where(Y == 1, p, 1.0 - p)) for p in (A, B))
    heading = next(e.value for e in app.markdown if e.value.startswith("## ")).replace("\\", "")
    match = re.fullmatch(
        r"## (\w) is better by ([\d.]+) log loss \(95% CI ([\d.]+) to ([\d.]+)\)\.", heading
    )
    assert match
    assert match[1] == ("a" if a.mean() < b.mean() else "b")
    size, low, high = map(float, match.groups()[1:])
    difference = np.abs((a - b).mean())
    half = 1.96 * (a - b).std() / np.sqrt(len(Y))
    assert size == pytest.approx(difference, abs=0.001)
    assert (low, high) == pytest.approx((difference - half, difference + half), rel=0.05)
    (table,) = metric_tables(app)
    assert f"{abs((b - a).mean()):+.4f}" in table
    assert "from the best" in table
    assert table.count("best</td>") == 2
    (chart,) = app.get("plotly_chart")
    drawn = [trace for trace in json.loads(chart.proto.spec)["data"] if trace.get("error_y")]
    assert len({trace["marker"]["color"] for trace in drawn}) == 2


def test_several_files_are_a_model_each(texts):
    app = go(start(), "data")
    files = [
        (f"{name}.csv", WIDE[["y", column]].to_csv(index=False).encode(), "text/csv")
        for name, column in (("epoch 10", "prob_b"), ("epoch 2", "prob_a"))
    ]
    app.file_uploader[0].set_value(files).run()
    assert not app.exception
    texts.shown(said(app))
    app = go(app, "")
    assert names(app) == ["epoch 2", "epoch 10"]


def test_scores_of_models_are_mapped_by_hand(texts):
    app = upload(start(m="platt"), WIDE.rename(columns={"prob_a": "one", "prob_b": "two"}).to_csv())
    control(app, "segmented_control", "map_kind").set_value("By model").run()
    control(app, "multiselect", "map_models").set_value(["one", "two"]).run()
    texts.shown(said(app))


def test_a_column_that_names_no_models_is_given_up_by_hand():
    app = upload(start(m="platt"), LONG.to_csv(index=False))
    control(app, "selectbox", "map_model").set_value(None).run()
    assert "1,000 rows." in said(app)


def test_compare_says_which_model_is_best_and_draws_checkpoints(texts):
    app = go(start(ex="rounds"), "compare")
    texts.shown(said(app))
    charts = [chart.proto.id for chart in app.get("plotly_chart")]
    assert sum("chart_models" in found for found in charts) == 1
    control(app, "selectbox", "after").set_value("isotonic").run()
    texts.shown(said(app))


def test_an_example_forgets_the_models_of_another():
    app = start(ex="rounds", model="round 10")
    app.selectbox(key="menu_example").set_value("svm").run()
    assert not app.warning
    assert "model" not in app.query_params


@rare
def test_checkpoints_of_a_network_are_matrices_side_by_side(texts):
    logits = RNG.normal(0.0, 1.0, (600, 3))
    label = (logits + RNG.gumbel(size=logits.shape)).argmax(axis=1)
    app = go(start(m="temperature"), "data")
    files = [
        (f"epoch_{epoch}.npz", npz(logits=epoch * logits, y=label), "application/zip")
        for epoch in (1, 2, 3)
    ]
    app.file_uploader[0].set_value(files).run()
    # One repair for all of them.
    texts.shown(app.error[0].value)
    next(found for found in app.button if found.key == "repair_logits").click().run()
    assert not app.error
    for page in ("", *PAGES, "classes"):
        go(app, page)
        assert not app.error
    app = go(app, "compare")
    texts.shown(said(app))
    ids = [chart.proto.id for chart in app.get("plotly_chart")]
    assert sum("chart_models" in found for found in ids) == 1


def test_an_example_shows_the_scores_of_all_its_models():
    app = go(start(ex="rounds"), "data")
    (preview,) = app.dataframe
    assert list(preview.value) == ["outcome", *(f"round {n}" for n in (1, 3, 10, 30, 100))]


@pytest.mark.parametrize("page", ["", "reliability"])
def test_a_second_score_is_said_above_the_answer_and_compared_by_one_click(page):
    rng = np.random.default_rng(0)
    forest, bayes = rng.random(400), rng.random(400)
    outcome = (rng.random(400) < forest) * 1
    table = {"churned": outcome, "random_forest": forest, "naive_bayes": bayes}
    # The repeated rows are a note, which stands below what a click can settle.
    frame = pd.DataFrame(table).round(4)
    text = pd.concat([frame, frame[:5]]).to_csv(index=False)
    app = go(upload(start(m="platt"), text), page)
    line = next(each.value for each in app.caption if each.value.startswith("File: "))
    assert "score: random_forest" in line.replace("\\", "")
    warned = [each.value for each in app.warning if "naive_bayes" in each.value]
    assert len(warned) == 1
    next(each for each in app.button if each.label == "Compare both models").click().run()
    assert not app.exception
    assert names(app) == ["random_forest", "naive_bayes"]
    assert not [each for each in app.warning if "was taken for the score" in each.value]


@pytest.mark.parametrize(
    ("page", "named"),
    [
        ("compare", {"ex": "naive_bayes", "cols": "ece_quantile"}),
        ("compare", {"ex": "rounds"}),
        ("classes", {"ex": "digits"}),
    ],
)
def test_the_initials_of_the_expected_calibration_error_are_explained(page, named):
    assert "expected calibration error" in said(go(start(**named), page))
