"""Slices and periods: which are named, what a person chooses, and the search for segments."""

import re

import numpy as np
import pandas as pd
import pytest
import streamlit as st

import calib
from calib.blocks.slices import CENTRES_READING, MAX_DRAWN, TOO_FEW_CENTRES
from calib.features.segments import page as segments_page
from calib.figures.slice_rows import NOT_TESTED
from calib.ui.layout import tables as page_tables
from calib.ui.session import results, state, turns
from calib.ui.session.choices import APART
from calib.ui.session.session import Session
from calib.words import periods as period_wording
from tests.pages.harness import (
    address,
    copied,
    dropped,
    go,
    headings,
    model_of,
    opened,
    press,
    said,
    session_of,
    sited,
    start,
    tables,
    traces,
    unpacked,
)
from tests.rare import rare


def table(app, name):
    return copied(app, name)[0]


def now(app):
    """The copied numbers of the uncalibrated scores, with all rows first."""
    shown = table(app, "slices")
    return shown[shown["Scores"] == "Uncalibrated"].reset_index(drop=True)


def rows_of(app):
    """The HTML of each drawn row by its name, in order."""
    drawn = next(each["markup"] for each in tables(app) if each["name"] == "slices")
    rows = re.split(r'<div class="row[^"]*" role=row>', drawn)[1:]
    return {re.search(r"<b>(.*?)</b>", row)[1]: row for row in rows}


def marked(app):
    return [name for name, row in rows_of(app).items() if '<div class="now error">' in row]


def periods(app):
    shown = table(opened(app, "folded_periods_first"), "periods")
    return shown["Period"].str.extract(r"(.*) [\d,]+ rows?$")[0].tolist()


def test_a_slice_that_is_off_is_named_and_a_small_one_is_not_judged(texts):
    app = start("Slices", sited(), m="platt")
    texts.shown(said(app))
    assert now(app)["Slice"].tolist() == ["All rows", "site north", "site south", "site tiny"]
    # The slice with the strongest evidence is the first, and all rows are the last.
    rows = rows_of(app)
    assert list(rows) == ["site south", "site north", "site tiny", "All rows"]
    assert NOT_TESTED in rows["site tiny"]
    assert "p (Holm)" in now(app)
    assert set(marked(app)) == {"site south", "All rows"}


def test_all_rows_have_the_numbers_of_the_analysis(texts):
    app = start("Slices", m="platt")
    first = now(app).iloc[0]
    result = model_of(session_of(app)).analysis.uncalibrated
    assert (first["Slice"], int(first["Rows"])) == ("All rows", 1797)
    assert float(first["KS calibration error"]) == pytest.approx(result.ks.statistic, rel=1e-5)
    slope = result.metrics["slope"]
    ends = {"": slope.value, " low": slope.low, " high": slope.high}
    for end, value in ends.items():
        assert float(first[f"Slope{end}"]) == pytest.approx(value, rel=1e-5)
    texts.shown(said(app))
    # The rows mark the slices that the heading counts, and the controls offer them.
    ranges = ("up to 4.36", "4.36 to 4.73", "4.73 to 5.03", "5.03 to 5.36", "above 5.36")
    names = [f"ink {values}" for values in ranges]
    assert set(marked(app)) == {*names, "All rows"}
    app = opened(opened(app, "folded_overlay_first"), "folded_apart_first")
    assert set(app.multiselect(key="picked").options) == set(names)
    assert set(app.selectbox(key="apart").options) == set(names)


def test_the_next_centre_is_predicted_from_five_slices_on():
    app = opened(start("Slices", m="platt"), "folded_next_centre_first")
    found = calib.next_centre(calib.examples.EXAMPLES["naive_bayes"].load(), "ink")
    shown = table(app, "centres").set_index("Centre")
    new = next(name for name in shown.index if name.startswith("New centre"))
    low, high = found.ratios.new_group.low, found.ratios.new_group.high
    assert shown.loc[new, "O:E ratio"] == f"{low:.2f} to {high:.2f}"
    assert len(shown) == len(found.names) + 3
    assert CENTRES_READING.text in said(app)
    # Three slices have their numbers and their spread.
    app = opened(start("Slices", sited(), m="platt"), "folded_next_centre_first")
    shown = table(app, "centres").set_index("Centre")
    assert len(shown) == 3 + 2
    assert not any(name.startswith("New centre") for name in shown.index)
    assert TOO_FEW_CENTRES in said(app)


@pytest.mark.parametrize("example", ["churn", "naive_bayes"])
def test_overview_names_a_column_and_its_page_has_the_same_counts(example):
    app = start("Overview", ex=example, m="logistic")
    links = [one.proto for one in app.get("page_link")]
    line = next(one for one in links if one.label.startswith("**Slices"))
    words = line.label.replace("\\", "")
    column, *counts = re.search(r"\*\* (\w+): (\d+) of (\d+) off → (\d+)", words).groups()
    off, tested, left = map(int, counts)
    # The session outlives its address, so the page takes the column from that of the line.
    assert f"slice={column}" in line.query_string
    app.query_params["slice"] = column
    go(app, "Slices")
    assert app.selectbox(key="slice_by").value == column
    shown = {name: row for name, row in rows_of(app).items() if name != "All rows"}
    assert len(shown) == tested
    for when, n in (("now", off), ("after", left)):
        assert sum(f'<div class="{when} error">' in row for row in shown.values()) == n


def test_slices_that_are_too_extreme_on_both_sides_are_miscalibrated_without_a_gap(texts):
    rng = np.random.default_rng(8)
    z = rng.normal(0, 1.5, 3000)
    outcome = rng.random(3000) < 1 / (1 + np.exp(-0.5 * z))
    site = rng.choice(list("nsw"), 3000)
    frame = pd.DataFrame({"outcome": outcome * 1, "score": 1 / (1 + np.exp(-z)), "site": site})
    app = start("Slices", frame, m="platt")
    texts.shown(said(app))
    slopes = now(app)["Slope"][1:].astype(float)
    assert ((slopes > 0.4) & (slopes < 0.6)).all()


def test_choices_of_slices_are_in_the_link_and_survive_page_changes():
    app = start("Slices", ex="logistic", m="platt.beta")
    app.selectbox(key="cross").set_value("radius").run()
    app.number_input(key="n_ranges").set_value(3).run()
    app.selectbox(key="after").set_value("platt").run()
    assert len(now(app)) == 1 + 6
    wanted = {"cross": "radius", "ranges": "3", "after": "platt", "ex": "logistic"}
    assert wanted.items() <= address(app).items()
    assert go(app, "Decisions").selectbox(key="after").value == "platt"
    assert go(app, "Slices").selectbox(key="cross").value == "radius"
    again = start("Slices", **address(app))
    pd.testing.assert_frame_equal(table(again, "slices"), table(app, "slices"))


def test_picked_slices_are_forgotten_with_their_column(texts):
    app = start("Slices", m="platt", pick="3.1", apart="2")
    assert app.multiselect(key="picked").value == [3, 1]
    assert app.selectbox(key="apart").value == 2
    texts.shown(said(app))
    app.selectbox(key="slice_by").set_value("half").run()
    assert not {"pick", "apart"} & set(address(app))
    # A calibrator is fitted to a slice only if the slice is chosen.
    assert session_of(app)[APART] == APART.default
    assert "a separate calibrator" not in said(app)
    assert set(opened(app, "folded_overlay_first").multiselect(key="picked").value) == {0, 1}


def test_columns_that_a_link_asks_for_in_vain_are_named(texts):
    app = start("Slices", m="platt", slice="![](http://example.com/x.png)", time="nowhere")
    texts.shown(said(app))
    assert "nowhere" in said(app)
    assert not any("![](http" in caption.value for caption in app.caption)
    assert app.selectbox(key="slice_by").value == "ink"


def test_without_columns_the_page_says_what_to_do(texts):
    app = start("Slices", sited().drop(columns="site"), m="platt")
    texts.shown(said(app))
    assert "**Slice by** and **Time**" in said(app)
    assert not app.error


def test_periods_of_dates_and_rows_without_one(texts):
    frame = sited()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) // 4, unit="D")
    frame["date"] = days.astype(str)
    frame.loc[:6, "date"] = None
    app = start("Slices", frame, m="platt")
    texts.shown(said(opened(app, "folded_periods_first")))
    app.selectbox(key="unit").set_value("quarter").run()
    assert periods(app) == [f"2024 Q{q}" for q in (1, 2, 3, 4)]
    assert address(app)["unit"] == "quarter"
    app.selectbox(key="time").set_value("site").run()
    assert periods(app) == ["north", "south", "tiny"]


@rare
def test_months_that_are_written_as_dates_are_months(texts):
    frame = sited()
    frame["month"] = pd.to_datetime([f"2024-{1 + i % 8:02d}-01" for i in range(len(frame))])
    app = start("Slices", frame, m="platt", time="month")
    texts.shown(said(opened(app, "folded_periods_first")))
    assert periods(app) == [f"2024-{m:02d}" for m in range(1, 9)]


def test_the_only_column_of_dates_is_the_time_column_until_none_is_chosen(texts):
    app = start("Slices", ex="churn", m="platt")
    assert app.selectbox(key="time").value == "predicted_at"
    texts.shown(said(app))
    assert len(periods(app)) > 5
    assert "time" not in app.query_params
    app.selectbox(key="time").set_value("").run()
    assert "choose a **Time column** above" in said(app)
    assert address(app)["time"] == ""
    # Monitor has no work without a time.
    assert state.time_column(Session.from_link(address(app)), model_of(session_of(app)).rows) == ""
    assert go(app, "Monitor").selectbox(key="time").value == "predicted_at"


def test_slices_that_contain_the_wrong_one_are_tested_without_it(texts):
    app = start("Slices", ex="churn", slice="device")
    session = session_of(app)
    model = model_of(session)
    rows, plan = model.rows, model.plan
    rest = plan.inside & (rows.columns["plan"] != plan.plan.value)
    wrong = 0
    for device in np.unique(rows.columns["device"]):
        chosen = rest & (rows.columns["device"] == device)
        verdict = calib.from_predictions(rows.outcome[chosen], rows.scores[chosen]).verdict
        wrong += 3 * min(verdict.p_adjusted.values()) < 0.05
    assert len(marked(app)) == 4
    assert wrong == 0
    texts(lead_without := re.search(r"Without the rows of .*?\.", said(app))[0])
    assert f"any of {len(rows_of(app)) - 1} slices" in lead_without
    # The column of the slice itself shows which slice is wrong.
    app.selectbox(key="slice_by").set_value("plan").run()
    assert lead_without not in said(app)
    assert "Without" not in said(app)


def test_overview_and_slices_say_which_days_may_not_be_final_as_monitor_does(texts):
    app = start("Monitor", ex="churn")
    assert app.number_input(key="horizon").value == 30
    said_of = {page: said(go(app, page)) for page in ("Overview", "Slices")}
    drawn = rows_of(app)["All rows"]
    session = session_of(app)
    sentence = period_wording.counted_until(results.last_days(session, model_of(session)))
    assert "last 30 days" in sentence
    texts(sentence)
    assert sentence in said_of["Overview"]
    shown = next(each["markup"] for each in tables(app) if each["name"] == "slices")
    assert sentence in shown
    # The last of twelve months has 31 days, and only the outcomes of its first are final.
    assert f'<rect class=young x="{100 * (11 + 1 / 31) / 12:.2f}%"' in drawn
    hatched = traces(opened(app, "folded_periods_first"), "chart_periods")[
        "Outcomes may not be final"
    ]
    left = min(x for x in unpacked(hatched["x"]) if x is not None)
    assert left == pytest.approx(10.5 + 1 / 31)
    # With 0 Monitor leaves nothing out, and nothing is hatched.
    final = start("Slices", ex="churn", horizon="0")
    assert "young" not in rows_of(final)["All rows"]


def test_of_two_columns_of_dates_none_is_the_time_column():
    frame = sited()
    for name in ("opened", "closed"):
        frame[name] = [f"2024-{1 + i % 8:02d}-01" for i in range(len(frame))]
    session = dropped(frame)
    assert state.time_column(session, state.predictions(session)) == ""


def test_the_months_since_a_change_are_named_and_shaded(texts):
    rng, n = np.random.default_rng(1), 6000
    month = rng.integers(0, 24, n)
    score = rng.beta(2, 5, n).round(3)
    outcome = rng.random(n) < np.where(month >= 20, np.minimum(score + 0.12, 1), score)
    date = (np.datetime64("2024-01", "M") + month).astype("datetime64[D]").astype(str)
    site = rng.choice(["north", "south"], n)
    columns = {"outcome": outcome * 1, "score": score, "date": date, "site": site}
    app = start("Slices", pd.DataFrame(columns), m="platt")
    texts.shown(said(app))
    shaded = traces(opened(app, "folded_periods_first"), "chart_periods")["Changed"]
    # The area begins half a month before the first month.
    assert shaded["fill"] == "toself"
    assert round(min(unpacked(shaded["x"])), 2) == 19.5


def test_a_column_that_gives_the_outcome_away_is_warned_of(texts):
    frame = sited()
    frame["site"] = np.where(frame["outcome"] == 1, "cured", "ill")
    app = start("Slices", frame, m="platt")
    texts.shown(said(app))
    opened(app, "folded_apart_first").selectbox(key="apart").set_value(0).run()
    texts.shown(said(app))


def test_an_id_column_does_not_give_the_outcome_away():
    frame = sited(300)
    frame["site"] = [f"row {i}" for i in range(len(frame))]
    session = dropped(frame, m="platt")
    session.take(session.upload.mapped(session.upload.mapping.chosen(slices=("site",))))
    app = start("Slices", session)
    assert len(now(app)) == 1 + 300
    # The rows show the slices with the strongest evidence.
    assert len(rows_of(app)) == MAX_DRAWN + 1
    assert "reveals the outcome" not in said(app)


def test_two_columns_that_were_counted_together_are_crossed_as_in_rows():
    rows = sited().assign(plan=["basic", "pro", "pro"] * 400)
    given = {"outcome": "outcome", "score": "score", "slices": ["plan", "site"]}
    of_rows = calib.load(rows, **given)
    session = Session.from_link({"m": "platt"})
    found = []
    for data in (of_rows, calib.aggregate(of_rows, [("plan", "site")])):
        model = state.Model(data, calib.analyze(data, session.settings))
        assert list(data.crossable_with("site")) == ["plan"]
        cut = results.sliced(session, model, ("site", "plan"))
        gaps = results.gaps_of(session, cut, ["uncalibrated", "platt"])
        found.append({key: one.frame() for key, one in gaps.items()})
    for of_rows, counted in zip(*(each.values() for each in found), strict=True):
        assert len(of_rows) == 6
        # The counts have the columns, and so the slices, in the order of counting.
        numbers = [name for name in of_rows.select_dtypes("number") if name != "number"]
        one, other = (
            each[numbers].sort_values(["rows", "mean_score"], ignore_index=True)
            for each in (of_rows, counted)
        )
        pd.testing.assert_frame_equal(one, other)


def failing(n: int = 4000) -> pd.DataFrame:
    """Scores that are too high on phones in the north, and columns that say nothing."""
    rng = np.random.default_rng(0)
    score = rng.random(n).round(4)
    device, region = rng.choice(["phone", "web"], n), rng.choice(["north", "south", "west"], n)
    fails = (device == "phone") & (region == "north")
    outcome = (rng.random(n) < np.where(fails, score**2, score)) * 1
    columns = {"device": device, "region": region, "age": rng.normal(40, 9, n).round(2)}
    return pd.DataFrame({"outcome": outcome, "score": score, **columns})


def searched(rows: pd.DataFrame, *columns: str):
    session = dropped(rows, m="platt")
    session.take(session.upload.mapped(session.upload.mapping.chosen(slices=columns)))
    return press(start("Slices", session), "search_segments")


def test_the_search_says_where_the_scores_fail(texts):
    columns = ("device", "region", "answer")
    rows = failing().assign(answer=lambda table: np.where(table["outcome"], "yes", "no"))
    app = searched(rows, *columns)
    predictions = calib.load(rows, outcome="outcome", score="score", slices=columns)
    expected = calib.find_segments(predictions)
    assert expected.names == ("device phone × region north",)
    assert expected.sentence in said(app)
    (line,) = table(app, "segments").to_dict("records")
    assert line["Segment"].startswith("device phone × region north")
    assert line["Observed"].startswith(f"{expected.observed[0]:.1%}")
    assert line["Log loss saved"].startswith(f"{expected.saved[0]:.4f}")
    texts.shown(said(app))
    assert address(app)["search"] == "1"
    assert expected.sentence not in said(press(app, "search_segments"))
    assert "search" not in app.query_params


@rare
def test_a_search_that_takes_long_can_be_cancelled(monkeypatch):
    def endless(*_, progress, **__):
        progress(0.5, "Searching")
        st.stop()

    monkeypatch.setattr(segments_page, "find_segments", endless)
    monkeypatch.setattr(turns, "CANCEL_AFTER_SECONDS", -1.0)
    app = searched(failing(), "device", "region")
    # The rest of the page is there while the search works.
    assert table(app, "slices")["Slice"].str.startswith("device phone").any()
    assert "search" not in press(app, "cancel_segments").query_params
    assert app.button(key="search_segments").label == "Search"


@rare
def test_what_cannot_be_searched_is_said_and_the_page_stays(monkeypatch, texts):
    def refused(*_, **__):
        raise ValueError("Two halves need at least 2 clusters, got 1.")

    monkeypatch.setattr(segments_page, "find_segments", refused)
    app = searched(failing(), "device", "region")
    texts("\n".join([info.value for info in app.info]))
    assert table(app, "slices")["Slice"].str.startswith("device phone").any()


def test_slices_are_those_since_a_change_until_all_rows_are_asked_for(texts):
    app = start("Slices", ex="churn", m="logistic")
    plan = model_of(session_of(app)).plan
    rows, first = rows_of(app), now(app)
    assert int(first.iloc[0]["Rows"]) == int(plan.inside.sum())
    texts(headings(app)[1])
    # One count: that of Overview.
    held = results.parts(session_of(app), model_of(session_of(app)), ("uncalibrated",))
    wrong = next(one.wrong for one in held.before if one.column == "plan")
    assert [name for name in marked(app) if name != "All rows"] == ["plan prepaid"]
    assert wrong == 1
    # The other slices keep their scores, so only the slice of the plan has a button.
    assert [name for name, row in rows.items() if "name=row" in row] == ["plan prepaid"]
    assert "after" not in re.findall(r'class="(\w+)', rows["plan monthly"])
    # The change stands in all periods, and the dots since then are marked in the slice.
    assert all("<line class=change" in row for row in rows.values())
    assert rows["plan prepaid"].count('<circle class="error" cx') == 4
    assert '<circle class="error" cx' not in rows["plan monthly"]
    app.toggle(key="since_change").set_value(False).run()
    assert address(app)["since"] == "0"
    assert int(now(app).iloc[0]["Rows"]) == 36_500


def test_the_button_of_a_row_asks_for_a_calibrator_of_its_own(monkeypatch):
    app = start("Slices", sited(), m="platt")
    # With one calibrator for all rows both sites are miscalibrated.
    needing = [name for name, row in rows_of(app).items() if "name=row" in row]
    assert needing == ["site south", "site north", "All rows"]
    pressed = {"slices": "1"}
    monkeypatch.setattr(page_tables, "with_buttons", lambda key, *_: pressed.pop(key, None))
    app.run()
    assert session_of(app)[APART] == 1
    assert app.selectbox(key="apart").value == 1
