"""One of several models on every page, and how they come in: a column, columns, or files."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from calib.data.base import no_progress
from calib.ui.pages.reports import report_form
from calib.ui.session import state, turns
from calib.ui.session.choices import MAX_COMPARED, MODEL
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


def test_every_page_shows_the_best_model_until_another_is_chosen(monkeypatch):
    # Each slow model has a button that cancels.
    monkeypatch.setattr(turns, "CANCEL_AFTER_SECONDS", 0.0)
    app = start("Overview", LONG.iloc[::-1], m="platt")
    assert list(session_of(app).upload.models) == ["b", "a"]
    best = state.best_model(session_of(app), no_progress).name
    for page in WITH_ANALYSIS:
        assert not go(app, page).error
        assert app.selectbox(key="model").value == best, page
    other = "b" if best == "a" else "a"
    app.selectbox(key="model").set_value(other).run()
    for page in WITH_ANALYSIS:
        assert go(app, page).selectbox(key="model").value == other, page


def test_the_first_model_is_kept_while_settings_change_and_is_in_the_link(texts):
    app = start("Overview", LONG, m="platt")
    shown = app.selectbox(key="model").value
    texts(compared(app))
    assert address(app)["model"] == shown
    # The person did not choose it, and the settings list only what was changed.
    assert MODEL not in session_of(app).explicit
    assert not [button for button in app.button if button.key == "reset_model"]
    app.multiselect(key="methods").set_value(["isotonic"]).run()
    assert app.selectbox(key="model").value == shown


def compared(app) -> str:
    """The sentence beside the choice of the model."""
    return next(each.value for each in app.caption if "recommended calibrators" in each.value)


def test_an_old_link_with_several_models_shows_the_first_of_them():
    app = start("Overview", LONG, m="platt", model="b~a")
    assert app.selectbox(key="model").value == "b"
    assert address(app)["model"] == "b"
    assert not app.warning


def test_many_models_are_not_compared_before_one_is_shown(texts):
    scores = {f"prob_{k}": A ** (1 + k) for k in range(MAX_COMPARED + 1)}
    app = start("Overview", pd.DataFrame({"y": Y, **scores}), m="platt")
    assert app.selectbox(key="model").value == "prob_0"
    (said_beside,) = (each.value for each in app.caption if "models is best" in each.value)
    texts(said_beside)


@rare
def test_every_page_shows_the_models_of_the_example():
    app = start("Overview", ex="rounds", m="platt.spline")
    for page in PAGES:
        assert not go(app, page).error


def test_what_a_link_asks_for_and_is_not_there_is_told(texts):
    app = start("Overview", LONG, m="platt", model="c")
    texts.shown(app.warning[0].value)
    assert app.selectbox(key="model").value in ("a", "b")


def test_names_with_any_character_come_back_from_a_link():
    session = dropped(LONG.assign(model=LONG.model.map({"a": "x~y & z", "b": "ü/%7E"})))
    session.change(MODEL, "x~y & z")
    link, refused = decode(session.link())
    assert link.chosen[MODEL] == "x~y & z"
    assert not refused


@pytest.mark.parametrize(("frame", "named"), [(LONG, ["a", "b"]), (WIDE, ["prob_a", "prob_b"])])
def test_two_models_of_one_file_are_compared_in_one_sentence_one_table_and_one_chart(
    frame, named, texts
):
    app = start("Calibrators", frame, m="platt")
    texts.shown(said(app), "paired")
    a, b = (-np.log(np.where(Y == 1, p, 1.0 - p)) for p in (A, B))
    heading = next(e.value for e in app.markdown if e.value.startswith("## ")).replace("\\", "")
    match = re.fullmatch(
        r"## (\w+) is significantly better by ([\d.]+) log loss "
        r"\(95% CI ([\d.]+) to ([\d.]+)\)\.",
        heading,
    )
    assert match
    assert match[1] == named[0 if a.mean() < b.mean() else 1]
    size, low, high = map(float, match.groups()[1:])
    difference = np.abs((a - b).mean())
    half = 1.96 * (a - b).std() / np.sqrt(len(Y))
    assert size == pytest.approx(difference, abs=0.001)
    assert (low, high) == pytest.approx((difference - half, difference + half), rel=0.05)
    table = next(one for one in metric_tables(app) if "from the best" in one)
    assert all(name in table for name in named)
    assert f"{abs((b - a).mean()):+.4f}" in table
    texts.shown(table, "words")
    assert table.count("best</td>") == 2
    chart = next(one for one in app.get("plotly_chart") if "chart_models" in one.proto.id)
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
    app = start("Calibrators", ex="rounds")
    texts.shown(said(app))
    charts = [chart.proto.id for chart in app.get("plotly_chart")]
    assert sum("chart_models" in found for found in charts) == 1
    app.selectbox(key="after").set_value("isotonic").run()
    texts.shown(said(app))
    texts.shown(said(app), "words")


def test_an_example_forgets_the_models_of_another():
    session = Session.from_link({"ex": "rounds", "model": "round 10"})
    session.choose_example("svm")
    assert "model" not in session.link()


@rare
def test_checkpoints_of_a_network_are_matrices(texts):
    logits = RNG.normal(0.0, 1.0, (600, 3))
    label = (logits + RNG.gumbel(size=logits.shape)).argmax(axis=1)
    files = {f"epoch_{epoch}.npz": npz(logits=epoch * logits, y=label) for epoch in (1, 2, 3)}
    app = start("Data", files, m="temperature")
    # One repair for all of them.
    texts.shown(app.error[0].value)
    assert not press(app, "repair_logits").error
    for page in WITH_ANALYSIS:
        assert not go(app, page).error
    app = go(app, "Calibrators")
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
    assert drawn(app).selectbox(key="model").options == [
        "Model: random_forest",
        "Model: naive_bayes",
    ]
    assert not asked()


def test_the_report_of_one_model_shows_all_of_them():
    session = session_of(start("Reports", LONG, m="platt"))
    rows, name = state.predictions(session), state.model_name(session)
    model = state.Model(rows, state.analysis(session, rows), name)
    part = report_form.report_of(session, model).parts.models
    assert part.shown == name
    assert list(part.comparison.models) == ["a", "b"]
