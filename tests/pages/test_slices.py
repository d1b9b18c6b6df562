"""Slices and decisions as pages: what a person chooses is shown, kept, and told apart."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_pages import metric_tables

ROOT = Path(__file__).resolve().parents[2]


def start(page: str, **named: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in named.items():
        app.query_params[name] = value
    app.run()
    return go(app, page)


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}.py" if page else "app.py").run()
    assert not app.exception
    return app


def upload(frame: pd.DataFrame, page: str) -> AppTest:
    app = start("data", m="platt")
    app.file_uploader[0].upload("mine.csv", frame.to_csv(index=False).encode(), "text/csv").run()
    assert not app.exception
    return go(app, page)


def made(n: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(n).round(4)
    site = rng.choice(["north", "south", "tiny"], n, p=[0.6, 0.39, 0.01])
    outcome = rng.random(n) < np.where(site == "south", score**2, score)
    return pd.DataFrame({"outcome": outcome * 1, "score": score, "site": site})


def said(app: AppTest) -> str:
    return " ".join(e.value for e in (*app.markdown, *app.caption, *app.info, *app.warning))


def table(app: AppTest, first: str) -> pd.DataFrame:
    return tables(app, first)[0]


def tables(app: AppTest, first: str) -> list[pd.DataFrame]:
    """One of each method, the uncalibrated scores first."""
    return [t.value for t in app.dataframe if t.value.columns[0] == first]


def test_a_slice_that_is_off_is_named_and_a_small_one_is_not_judged():
    app = upload(made(), "slices")
    assert "Strongest evidence\\: south" in said(app)
    for judged in ("Gap, p (Holm)", "Calibration, p (Holm)"):
        shown = next(each for each in tables(app, "Slice") if judged in each)
        assert shown["Slice"].tolist()[0] == "south"
        assert shown["Slice"].tolist()[-1] == "tiny"
        assert shown[judged].tolist()[-1] == "< 30 rows"


def test_slices_that_are_too_extreme_on_both_sides_are_miscalibrated_without_a_gap():
    rng = np.random.default_rng(8)
    z = rng.normal(0, 1.5, 3000)
    outcome = rng.random(3000) < 1 / (1 + np.exp(-0.5 * z))
    site = rng.choice(list("nsw"), 3000)
    frame = pd.DataFrame({"outcome": outcome * 1, "score": 1 / (1 + np.exp(-z)), "site": site})
    app = upload(frame, "slices")
    assert "3 of 3 tested slices are miscalibrated" in said(app)
    assert "No slice has a significant gap" in said(app)
    slopes = table(app, "Slice")["Slope (95% CI)"].str.split().str[0].astype(float)
    assert ((slopes > 0.4) & (slopes < 0.6)).all()


def test_choices_of_slices_are_in_the_link_and_survive_page_changes():
    app = start("slices", ex="logistic")
    app.selectbox(key="cross").set_value("radius").run()
    app.slider(key="n_ranges").set_value(3).run()
    app.selectbox(key="after").set_value("platt").run()
    assert not app.exception
    assert len(tables(app, "Slice")[0]) == 6
    wanted = {"cross": "radius", "ranges": "3", "after": "platt", "ex": "logistic"}
    assert wanted.items() <= dict(app.query_params).items()
    go(app, "decisions")
    assert app.selectbox(key="after").value == "platt"
    go(app, "slices")
    assert app.selectbox(key="cross").value == "radius"
    again = start("slices", **wanted)
    pd.testing.assert_frame_equal(tables(again, "Slice")[0], tables(app, "Slice")[0])


def test_picked_slices_are_forgotten_with_their_column():
    app = start("slices", pick="3.1", apart="2")
    assert app.multiselect(key="picked").value == [3, 1]
    assert app.selectbox(key="apart").value == 2
    app.selectbox(key="slice_by").set_value("half").run()
    assert not app.exception
    assert not {"pick", "apart"} & set(app.query_params)
    assert set(app.multiselect(key="picked").value) == {0, 1}


def test_columns_that_a_link_asks_for_in_vain_are_named():
    app = start("slices", slice="![](http://example.com/x.png)", time="nowhere")
    text = said(app)
    assert "columns that these data do not have" in text
    assert "nowhere" in text
    assert "![](http" not in text
    assert app.selectbox(key="slice_by").value == "ink"


def test_without_columns_the_page_says_what_to_do(texts):
    app = upload(made().drop(columns="site"), "slices")
    texts.shown(said(app))
    assert not app.error


def test_periods_of_dates_and_rows_without_one(texts):
    frame = made()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) // 4, unit="D")
    frame["date"] = days.astype(str)
    frame.loc[:6, "date"] = None
    app = upload(frame, "slices")
    texts.shown(said(app))
    app.selectbox(key="unit").set_value("quarter").run()
    assert table(app, "Period")["Period"].tolist() == [f"2024 Q{q}" for q in (1, 2, 3, 4)]
    assert app.query_params["unit"] == "quarter"
    app.selectbox(key="time").set_value("site").run()
    assert table(app, "Period")["Period"].tolist() == ["north", "south", "tiny"]


def test_a_column_that_gives_the_outcome_away_is_warned_of(texts):
    frame = made()
    frame["site"] = np.where(frame["outcome"] == 1, "cured", "ill")
    app = upload(frame, "slices")
    texts.shown(said(app))
    texts.shown(said(app))


@pytest.mark.parametrize(
    ("named", "rule"),
    [
        ({}, "The threshold 0.5 follows from your costs (1 : 1 unless you change them)."),
        ({"fp": "1", "fn": "4"}, "The threshold 0.2 follows from your costs (4 : 1)."),
        ({"cap": "0.25"}, "The 25.000% of rows with the highest scores are flagged."),
    ],
)
def test_the_rule_is_said_and_its_counts_add_up(named, rule):
    app = start("decisions", **named)
    assert rule in answer(app)
    made = html_table(app, "True positives").set_index("Method")
    kinds = [f"{sign} {kind}" for sign in ("True", "False") for kind in ("positives", "negatives")]
    counts = made.loc["Uncalibrated", kinds].astype(float)
    assert counts.sum() == pytest.approx(1797, abs=0.5)
    assert ("Lowest cost on these rows" in made) == ("cap" not in named)


@pytest.mark.parametrize("named", [{}, {"cap": "0.1"}])
def test_only_what_the_cost_chart_draws_is_explained(named):
    app = start("decisions", ex="naive_bayes", after="isotonic", **named)
    drawn = app.get("plotly_chart")[0].proto.spec
    assert ("chosen in hindsight" in said(app)) == ("lowest cost on these rows" in drawn)
    assert ("as the capacity allows" in said(app)) == ("capacity reached" in drawn)
    assert "They do not rank methods" in said(app)


def test_where_a_method_falls_below_flagging_all_or_none_is_said():
    app = start("decisions", ex="naive_bayes", after="isotonic")
    curves = {
        trace["name"]: unpacked(trace["y"])
        for trace in json.loads(app.get("plotly_chart")[1].proto.spec)["data"]
    }
    thresholds = np.linspace(0, 1, 201)[:-1]
    above = thresholds[(curves["Uncalibrated"] < -1e-9) & (curves["Flag all"] <= 0)]
    wanted = f"Uncalibrated scores are worse than flagging nobody above about {above[0]:g}"
    text = said(app).replace("\\", "")
    assert wanted in text
    blind = np.maximum(curves["Flag all"], 0)
    assert f"Uncalibrated {(blind - curves['Uncalibrated']).max():.2g}" in text
    assert ((blind - curves["Isotonic"]) > 1e-9).any()
    assert "Isotonic is worse than flagging" in text


def test_observed_and_expected_positives_of_the_bands_add_up():
    app = start("decisions", ex="naive_bayes")
    bands = html_table(app, "Uncalibrated score").set_index("Uncalibrated score")
    counts = bands[["Rows", "Observed", "Uncalibrated expects"]].replace(",", "", regex=True)
    counts = counts.astype(float)
    assert counts.loc["All rows", "Rows"] == 1797
    sums = counts.iloc[:10].sum()
    assert np.allclose(sums, counts.loc["All rows"], atol=0.5)
    upper = counts.loc[["0.5 to 0.6", "0.6 to 0.7", "0.7 to 0.8", "0.8 to 0.9", "0.9 to 1"]].sum()
    assert np.allclose(upper, counts.loc["Chosen: 0.5 to 1"], atol=0.5)


def answer(app: AppTest) -> str:
    (made,) = [e.proto.body for e in app.get("html") if "class=lead" in e.proto.body]
    return made


def html_table(app: AppTest, column: str) -> pd.DataFrame:
    (made,) = [body for body in metric_tables(app) if f">{column}</th>" in body]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in made.split("<tr")[1:]]
    return pd.DataFrame(rows[1:], columns=rows[0])


def unpacked(values: dict | list) -> np.ndarray:
    if isinstance(values, list):
        return np.asarray(values)
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def test_months_that_are_written_as_dates_are_months(texts):
    frame = made()
    frame["month"] = pd.to_datetime([f"2024-{1 + i % 8:02d}-01" for i in range(len(frame))])
    app = upload(frame, "slices")
    app.selectbox(key="time").set_value("month").run()
    texts.shown(said(app))
    assert table(app, "Period")["Period"].tolist() == [f"2024-{m:02d}" for m in range(1, 9)]


def test_an_id_column_does_not_give_the_outcome_away():
    frame = made(300)
    frame["site"] = [f"row {i}" for i in range(len(frame))]
    app = upload(frame, "data")
    app.multiselect(key="map_slices").set_value(["site"]).run()
    go(app, "slices")
    assert len(tables(app, "Slice")[0]) == 300
    assert "gives the outcome away" not in said(app)


def test_costs_and_capacity_are_controls(texts):
    app = start("decisions")
    app.number_input(key="cost_fn").set_value(9.0).run()
    assert "The threshold 0.1 follows from your costs (9 : 1)." in answer(app)
    app.segmented_control(key="decide_by").set_value("Capacity").run()
    assert app.query_params["cap"] == "0.1"
    app.number_input(key="capacity").set_value(20.0).run()
    assert app.query_params["cap"] == "0.2"
    go(app, "slices")
    texts.shown(said(app))
    go(app, "decisions")
    assert app.number_input(key="capacity").value == 20.0
    app.segmented_control(key="decide_by").set_value("Costs").run()
    assert "cap" not in app.query_params


def test_a_range_of_scores_is_counted():
    app = start("decisions")
    app.slider(key="count_range").set_value((0.9, 1.0)).run()
    assert not app.exception
    wanted = "Among the 617 rows with a score of at least 0.9, uncalibrated scores expect 608.9"
    assert wanted in answer(app)
    assert "566 were observed: too many" in answer(app)
    assert app.query_params["from"] == "0.9"


def test_compas_error_rates_by_race(shared):
    app = start("data")
    data = (shared / "data/corp/BROWARD_CLEAN.csv").read_bytes()
    app.file_uploader[0].upload("BROWARD_CLEAN.csv", data, "text/csv").run()
    next(b for b in app.button if b.key == "repair_ratings").click().run()
    assert not app.error
    go(app, "slices")
    app.selectbox(key="slice_by").set_value("race").run()
    rates = next(t for t in tables(app, "Slice") if "False-positive rate" in t).set_index("Slice")
    documented = {"All rows": (32.35, 37.40), "2": (44.85, 27.99), "1": (23.45, 47.72)}
    for name, (false_positive, false_negative) in documented.items():
        assert rates.loc[name, "False-positive rate"].startswith(f"{false_positive:.2f}%")
        assert rates.loc[name, "False-negative rate"].startswith(f"{false_negative:.2f}%")


def test_slices_are_picked_by_their_names():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/slices.py").run()
    names = {"up to 4.36", "4.36 to 4.73", "4.73 to 5.03", "5.03 to 5.36", "above 5.36"}
    assert set(app.multiselect(key="picked").options) == names
    assert set(app.selectbox(key="apart").options) == names
