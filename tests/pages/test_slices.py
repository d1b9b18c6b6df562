"""Slices and decisions as pages: what a person chooses is shown, kept, and told apart."""

import base64
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import calib
from calib.ui.pages.decisions.page import take_cost
from calib.ui.session import choices, results, turns
from tests.copied_tables import copied_tables, drawn_tables
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


def table(app: AppTest, name: str) -> pd.DataFrame:
    return copied_tables(app, name)[0]


def test_a_slice_that_is_off_is_named_and_a_small_one_is_not_judged():
    app = upload(made(), "slices")
    assert "1 of 2 slices shows evidence of miscalibration\\: site south" in said(app)
    shown = table(app, "slices")
    names = shown["Slice"].str.rpartition(" ")[0].str.rpartition(" ")[0].tolist()
    assert names == ["All rows", "site north", "site south", "site tiny"]
    for judged in ("Gap, p (Holm)", "Calibration, p (Holm)"):
        assert shown[judged].tolist()[-1] == "< 30 rows"
    assert marked(app) == ["site south"]


def marked(app: AppTest) -> list[str]:
    drawn = drawn_tables(app, "slices")[0]["markup"]
    return re.findall(r"<tr class=marked><th scope=row>(.*?)<", drawn)


def test_all_rows_have_the_numbers_of_the_analysis():
    app = start("slices")
    first = table(app, "slices").iloc[0]
    analysis = calib.analyze(calib.examples.EXAMPLES["naive_bayes"].load(), {"methods": ()})
    result = analysis.uncalibrated
    assert first["Slice"] == "All rows 1,797 rows"
    assert first["KS calibration error"] == f"{result.ks.statistic:.1%}"
    slope = result.metrics["slope"]
    assert first["Slope"] == f"{slope.value:.2f} {slope.low:.2f} to {slope.high:.2f}"
    heading = "5 of 5 slices show evidence of miscalibration, most clearly ink 5.03 to 5.36."
    assert heading in said(app).replace("\\", "")
    # The table marks the slices that the heading counts.
    ranges = ("up to 4.36", "4.36 to 4.73", "4.73 to 5.03", "5.03 to 5.36", "above 5.36")
    assert marked(app) == [f"ink {values}" for values in ranges]


def test_slices_that_are_too_extreme_on_both_sides_are_miscalibrated_without_a_gap():
    rng = np.random.default_rng(8)
    z = rng.normal(0, 1.5, 3000)
    outcome = rng.random(3000) < 1 / (1 + np.exp(-0.5 * z))
    site = rng.choice(list("nsw"), 3000)
    frame = pd.DataFrame({"outcome": outcome * 1, "score": 1 / (1 + np.exp(-z)), "site": site})
    app = upload(frame, "slices")
    assert "3 of 3 slices show evidence of miscalibration, most clearly" in said(app)
    assert "No slice has a significant gap" in said(app)
    slopes = table(app, "slices")["Slope"][1:].str.split().str[0].astype(float)
    assert ((slopes > 0.4) & (slopes < 0.6)).all()


def test_choices_of_slices_are_in_the_link_and_survive_page_changes():
    app = start("slices", ex="logistic")
    app.selectbox(key="cross").set_value("radius").run()
    app.number_input(key="n_ranges").set_value(3).run()
    app.selectbox(key="after").set_value("platt").run()
    assert not app.exception
    assert len(table(app, "slices")) == 1 + 6
    wanted = {"cross": "radius", "ranges": "3", "after": "platt", "ex": "logistic"}
    assert wanted.items() <= dict(app.query_params).items()
    go(app, "decisions")
    assert app.selectbox(key="after").value == "platt"
    go(app, "slices")
    assert app.selectbox(key="cross").value == "radius"
    again = start("slices", **wanted)
    pd.testing.assert_frame_equal(table(again, "slices"), table(app, "slices"))


def test_picked_slices_are_forgotten_with_their_column():
    app = start("slices", pick="3.1", apart="2")
    assert app.multiselect(key="picked").value == [3, 1]
    assert app.selectbox(key="apart").value == 2
    assert "a separate calibrator" in said(app)
    app.selectbox(key="slice_by").set_value("half").run()
    assert not app.exception
    assert not {"pick", "apart"} & set(app.query_params)
    # A calibrator is fitted to a slice only if the slice is chosen.
    assert app.selectbox(key="apart").value is None
    assert "a separate calibrator" not in said(app)
    assert set(app.multiselect(key="picked").value) == {0, 1}


def test_columns_that_a_link_asks_for_in_vain_are_named():
    app = start("slices", slice="![](http://example.com/x.png)", time="nowhere")
    text = said(app)
    assert "columns that these data do not have" in text
    assert "nowhere" in text
    assert "![](http" not in text
    assert app.selectbox(key="slice_by").value == "ink"


def test_without_columns_the_page_says_what_to_do():
    app = upload(made().drop(columns="site"), "slices")
    assert "## These data have no columns to slice by." in said(app)
    assert "**Slice by** and **Time**" in said(app)
    assert not app.error


def test_periods_of_dates_and_rows_without_one(texts):
    frame = made()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) // 4, unit="D")
    frame["date"] = days.astype(str)
    frame.loc[:6, "date"] = None
    app = upload(frame, "slices")
    texts.shown(said(app))
    app.selectbox(key="unit").set_value("quarter").run()
    assert periods(app) == [f"2024 Q{q}" for q in (1, 2, 3, 4)]
    assert app.query_params["unit"] == "quarter"
    app.selectbox(key="time").set_value("site").run()
    assert periods(app) == ["north", "south", "tiny"]


def test_the_only_column_of_dates_is_the_time_column_until_none_is_chosen():
    app = start("slices", ex="churn", m="platt")
    assert app.selectbox(key="time").value == "predicted_at"
    assert "the only column of dates" in said(app)
    assert len(periods(app)) > 5
    assert "time" not in app.query_params
    app.selectbox(key="time").set_value("").run()
    assert "choose a **Time column** above" in said(app)
    assert app.query_params["time"] == ""
    again = start("slices", **dict(app.query_params.items()))
    assert again.selectbox(key="time").value == ""
    go(app, "monitor")
    assert app.selectbox(key="time").value == "predicted_at"


def test_of_two_columns_of_dates_none_is_the_time_column():
    frame = made()
    for name in ("opened", "closed"):
        frame[name] = [f"2024-{1 + i % 8:02d}-01" for i in range(len(frame))]
    app = upload(frame, "slices")
    assert app.selectbox(key="time").value == ""


def periods(app: AppTest) -> list[str]:
    return table(app, "periods")["Period"].str.extract(r"(.*) [\d,]+ rows?$")[0].tolist()


def test_the_months_since_a_change_are_named_and_shaded():
    rng, n = np.random.default_rng(1), 6000
    month = rng.integers(0, 24, n)
    score = rng.beta(2, 5, n).round(3)
    outcome = rng.random(n) < np.where(month >= 20, np.minimum(score + 0.12, 1), score)
    date = (np.datetime64("2024-01", "M") + month).astype("datetime64[D]").astype(str)
    site = rng.choice(["north", "south"], n)
    columns = {"outcome": outcome * 1, "score": score, "date": date, "site": site}
    app = upload(pd.DataFrame(columns), "slices")
    assert "### Since September 2025 predictions are too low" in said(app)
    spec = json.loads(app.get("plotly_chart")[-1].proto.spec)
    shaded = [t for t in spec["data"] if t.get("fill") == "toself" and t["name"] == "Changed"]
    # The areas of three panels begin half a month before the first month. The last has the tests.
    assert len(shaded) == 3
    assert {round(min(unpacked(t["x"])), 2) for t in shaded} == {19.5}


def test_a_column_that_gives_the_outcome_away_is_warned_of(texts):
    frame = made()
    frame["site"] = np.where(frame["outcome"] == 1, "cured", "ill")
    app = upload(frame, "slices")
    texts.shown(said(app))
    app.selectbox(key="apart").set_value(0).run()
    texts.shown(said(app))


@pytest.mark.parametrize(
    ("named", "threshold"), [({}, 1 / 2), ({"fp": "1", "fn": "4"}, 1 / 5), ({"cap": "0.25"}, None)]
)
def test_the_rule_is_applied_and_its_counts_add_up(named, threshold):
    app = start("decisions", **named)
    said = "The 25% of rows with the highest scores are flagged." in answer(app)
    assert said == (threshold is None)
    if threshold is not None:
        drawn = live(app)
        assert drawn["thresholds"][drawn["stop"]] == threshold
        assert f"At a threshold of {threshold:.0%}, calibration" in answer(app)
    made = html_table(app, "True positives").set_index("Method")
    kinds = [f"{sign} {kind}" for sign in ("True", "False") for kind in ("positives", "negatives")]
    counts = made.loc["Uncalibrated", kinds].astype(float)
    assert counts.sum() == pytest.approx(1797, abs=0.5)
    assert ("Lowest cost on these rows" in made) == ("cap" not in named)


@pytest.mark.parametrize("named", [{}, {"cap": "0.1"}])
def test_only_what_the_cost_chart_draws_is_explained(named):
    app = with_static(start("decisions", ex="naive_bayes", after="isotonic", **named))
    drawn = app.get("plotly_chart")[1].proto.spec
    assert ("chosen in hindsight" in said(app)) == ("lowest cost on these rows" in drawn)
    assert ("as the capacity allows" in said(app)) == ("capacity reached" in drawn)
    assert "not rank methods" in said(app)


def test_the_answer_says_first_what_is_decided_of_a_thousand_rows():
    app = start("decisions", ex="naive_bayes")
    lead, flagged, counted = answer(app).split("class=lead>")[1].split("<p class=counted>")
    assert lead == (
        "Use calibrated scores to estimate how many are positive; there is no evidence that they "
        "improve decisions.</p>"
    )
    assert flagged == (
        "Of 1,000 rows you would flag the 458 with a score of at least 50% and miss 104 positives; "
        "after calibration you would flag 478 and miss 93.</p>"
    )
    assert counted.startswith(
        "Of the 458, 392 were positive. The sum of their scores predicts 421 (too many), that of "
        "calibrated scores 395.</p>"
    )
    drawn = live(app)
    assert drawn["change"].startswith("Change in cost per 1,000 rows: −2 (95% CI −9 to +5)")
    assert drawn["judged"] == ["too many", ""]
    # The dots of the cost chart are explained beside them, where the chart is folded away.
    assert "Dots of the cost chart" not in said(app)


def test_where_a_method_falls_below_flagging_all_or_none_is_said():
    app = with_static(start("decisions", ex="naive_bayes", after="isotonic"))
    curves = {
        trace["name"]: unpacked(trace["y"])
        for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    }
    thresholds = np.linspace(0, 1, 201)[:-1]
    above = thresholds[(curves["Uncalibrated"] < -1e-9) & (curves["Flag all"] <= 0)]
    # The tested thresholds are 0.5% apart.
    last = 100 * above[0] - 0.5
    useful = live(app)["useful"]
    assert useful.startswith("The scores are useful at thresholds from ")
    assert f" to {last:g}%" in useful
    blind = np.maximum(curves["Flag all"], 0)
    assert ((blind - curves["Isotonic"]) > 1e-9).any()
    assert useful.endswith("; after calibration up to 99%, except 1 of 199 tested")
    # Charts without the moving title have the sentence below them, if a method is worse.
    assert "Isotonic is useful " not in said(app)
    by_capacity = {"ex": "naive_bayes", "cap": "0.1"}
    assert "Isotonic is useful " in said(start("decisions", **by_capacity, after="isotonic"))
    assert " is useful " not in said(start("decisions", **by_capacity, after="logistic"))


def test_observed_and_expected_positives_of_the_bands_add_up():
    app = start("decisions", ex="naive_bayes")
    bands = html_table(app, "Uncalibrated score").set_index("Uncalibrated score")
    counts = bands[["Rows", "Observed", "Uncalibrated expects"]].replace(",", "", regex=True)
    counts = counts.astype(float)
    assert counts.loc["All rows", "Rows"] == 1797
    sums = counts.iloc[:10].sum()
    assert np.allclose(sums, counts.loc["All rows"], atol=0.5)
    upper = counts.loc[[f"{low}% to {low + 10}%" for low in range(50, 100, 10)]].sum()
    assert np.allclose(upper, counts.loc["Chosen: 50% to 100%"], atol=0.5)


def test_a_hand_changes_the_costs_of_all_pages_and_nonsense_does_not():
    app = start("decisions", fp="2")
    drawn = live(app)
    assert drawn["thresholds"][drawn["stop"]] == pytest.approx(2 / 3)
    session = app.session_state["calib"]
    for sent, cost in [({"cost_fn": 8.0}, 8.0), ({"cost_fn": -1}, 8.0), ({"cost_fn": "x"}, 8.0)]:
        take_cost(session, {"sent": sent})
        assert session[choices.COST_FN] == cost
    take_cost(session, {"sent": None})
    app.run()
    assert app.query_params["fn"] == "8"
    assert "At a threshold of 20%, calibration" in answer(app)


def live(app: AppTest) -> dict:
    """What the browser draws, so that it follows a hand."""
    sent = (json.loads(e.proto.json) for e in app.get("bidi_component") if e.proto.json)
    (data,) = [each for each in sent if isinstance(each, dict) and "ratios" in each]
    return data


def with_static(app: AppTest) -> AppTest:
    """The page with its static charts open."""
    app.session_state["static_decisions"] = True
    return app.run()


def answer(app: AppTest) -> str:
    (made,) = [e.proto.body for e in app.get("html") if "class=counted" in e.proto.body]
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
    assert periods(app) == [f"2024-{m:02d}" for m in range(1, 9)]


def test_an_id_column_does_not_give_the_outcome_away():
    frame = made(300)
    frame["site"] = [f"row {i}" for i in range(len(frame))]
    app = upload(frame, "data")
    app.multiselect(key="map_slices").set_value(["site"]).run()
    go(app, "slices")
    assert len(table(app, "slices")) == 1 + 300
    assert "gives the outcome away" not in said(app)


def test_costs_and_capacity_are_controls(texts):
    app = start("decisions")
    app.number_input(key="cost_fn").set_value(9.0).run()
    assert "At a threshold of 10%, calibration" in answer(app)
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
    counts = html_table(app, "Observed")
    chosen = counts[counts["Uncalibrated score"].str.contains("Chosen: 90% to 100%")]
    assert chosen["Observed"].tolist() == ["566"]
    assert app.query_params["from"] == "0.9"


def test_compas_error_rates_by_race(shared):
    app = start("data")
    data = (shared / "data/corp/BROWARD_CLEAN.csv").read_bytes()
    app.file_uploader[0].upload("BROWARD_CLEAN.csv", data, "text/csv").run()
    next(b for b in app.button if b.key == "repair_ratings").click().run()
    assert not app.error
    go(app, "slices")
    app.selectbox(key="slice_by").set_value("race").run()
    rates = table(app, "error-rates")
    documented = {"All rows": (32.35, 37.40), "race 2": (44.85, 27.99), "race 1": (23.45, 47.72)}
    for name, (false_positive, false_negative) in documented.items():
        (row,) = rates[rates["Slice"].str.startswith(f"{name} ")].to_dict("records")
        assert row["False-positive rate"].startswith(f"{false_positive:.2f}%")
        assert row["False-negative rate"].startswith(f"{false_negative:.2f}%")
    # The false-negative rates of race 6 and race 2 are farther apart than those of race 1 and 2.
    people = pd.read_csv(io.BytesIO(data))
    missed = people[people["two_year_recid"] == 1].groupby("race")["compas_decile_score"]
    highest, lowest = (f"{(missed.get_group(race) < 5).mean():.1%}" for race in (6, 2))
    sentence = said(app).replace("\\", "")
    assert f"Largest difference: false-negative rate {highest} for race 6, {lowest} " in sentence


def test_slices_are_picked_by_their_names():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/slices.py").run()
    ranges = ("up to 4.36", "4.36 to 4.73", "4.73 to 5.03", "5.03 to 5.36", "above 5.36")
    names = {f"ink {values}" for values in ranges}
    assert set(app.multiselect(key="picked").options) == names
    assert set(app.selectbox(key="apart").options) == names


def failing(n: int = 4000) -> pd.DataFrame:
    """Scores that are too high on phones in the north, and columns that say nothing."""
    rng = np.random.default_rng(0)
    score = rng.random(n).round(4)
    device, region = rng.choice(["phone", "web"], n), rng.choice(["north", "south", "west"], n)
    fails = (device == "phone") & (region == "north")
    outcome = (rng.random(n) < np.where(fails, score**2, score)) * 1
    columns = {"device": device, "region": region, "age": rng.normal(40, 9, n).round(2)}
    return pd.DataFrame({"outcome": outcome, "score": score, **columns})


def searched(rows: pd.DataFrame, columns: list[str]) -> AppTest:
    app = upload(rows, "data")
    app.multiselect(key="map_slices").set_value(columns).run()
    go(app, "slices")
    app.button(key="search_segments").click().run()
    assert not app.exception
    return app


def test_the_search_says_where_the_scores_fail():
    rows = failing()
    app = searched(rows, ["device", "region", "age"])
    predictions = calib.load(
        rows, outcome="outcome", score="score", slices=["device", "region", "age"]
    )
    expected = calib.find_segments(predictions)
    assert expected.names == ("device phone × region north",)
    assert expected.sentence in said(app).replace("\\", "")
    (line,) = table(app, "segments").to_dict("records")
    assert line["Segment"].startswith("device phone × region north")
    assert line["Observed"].startswith(f"{expected.observed[0]:.1%}")
    assert line["Log loss saved"].startswith(f"{expected.saved[0]:.4f}")
    assert app.query_params["search"] == "1"
    app.button(key="search_segments").click().run()
    assert expected.sentence not in said(app).replace("\\", "")
    assert "search" not in app.query_params


def test_columns_that_are_not_searched_are_named():
    rows = failing().assign(answer=lambda table: np.where(table["outcome"], "yes", "no"))
    app = searched(rows, ["device", "region", "answer"])
    assert "Not searched: answer: It reveals the outcome" in said(app).replace("\\", "")


def test_a_search_that_takes_long_can_be_cancelled(monkeypatch):
    def endless(*_, progress, **__):
        progress(0.5, "Searching")
        st.stop()

    monkeypatch.setattr(results, "find_segments", endless)
    monkeypatch.setattr(turns, "CANCEL_AFTER_SECONDS", -1.0)
    app = searched(failing(), ["device", "region"])
    # The rest of the page is there while the search works.
    assert table(app, "slices")["Slice"].str.startswith("device phone").any()
    app.button(key="cancel_segments").click().run()
    assert not app.exception
    assert "search" not in app.query_params
    assert app.button(key="search_segments").label == "Search"


def test_what_cannot_be_searched_is_said_and_the_page_stays(monkeypatch):
    def refused(*_, **__):
        raise ValueError("Two halves need at least 2 clusters, got 1.")

    monkeypatch.setattr(results, "find_segments", refused)
    app = searched(failing(), ["device", "region"])
    assert [info.value for info in app.info] == ["Two halves need at least 2 clusters, got 1\\."]
    assert table(app, "slices")["Slice"].str.startswith("device phone").any()


def test_counts_have_no_search(tmp_path):
    app = start("slices", ex="svm")
    assert "search_segments" in [button.key for button in app.button]
    counted = calib.aggregate(calib.load(made(), outcome="outcome", score="score", slices=["site"]))
    counted.save(tmp_path / "counts.parquet")
    app = start("data", m="platt")
    path = tmp_path / "counts.parquet"
    app.file_uploader[0].upload("counts.parquet", path.read_bytes(), "application/octet-stream")
    app.run()
    go(app, "slices")
    assert "site south" in said(app)
    assert "search_segments" not in [button.key for button in app.button]
