"""The page Monitor: its example, a person's own rows, and what it refuses."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.analysis.monitor import Monitored, monitored
from calib.data.day_counts import DayCounts
from calib.loading.examples import EXAMPLES
from calib.store import Store, StoreError, database_url
from calib.ui.session import identity
from tests.pages.test_hostile import bare, trap
from tests.pages.test_pages import answers, go, headings, key_numbers, said, start, upload


def opened(**address: str) -> AppTest:
    return go(start(**({"ex": "churn"} | address)), "monitor")


def example(horizon: int = 30, slices: str = "plan") -> Monitored:
    rows = EXAMPLES["churn"].load()
    last = rows.columns["predicted_at"].max()
    return calib.monitor(rows, time="predicted_at", horizon=horizon, slices=slices, today=last)


def days(n_days: int = 60, per_day: int = 50, **columns: object) -> pd.DataFrame:
    """Calibrated rows."""
    rng = np.random.default_rng(1)
    n = n_days * per_day
    score = rng.beta(2, 5, n).round(3)
    day = pd.Timestamp("2026-02-01") + pd.to_timedelta(np.arange(n) // per_day, unit="D")
    outcome = (rng.random(n) < score).astype(int)
    frame = pd.DataFrame({"outcome": outcome, "score": score, "day": day.strftime("%Y-%m-%d")})
    return frame.assign(**columns)


def uploaded(frame: pd.DataFrame) -> AppTest:
    return go(upload(start(), frame.to_csv(index=False)), "monitor")


def table(app: AppTest, name: str) -> str:
    """The markup of a table of the page."""
    parts = [one.proto.json for one in app.get("bidi_component")]
    (markup,) = (part for part in parts if f'aria-label=\\"{name}' in part)
    return markup


def charts(app: AppTest) -> list[str]:
    return [one.proto.json for one in app.get("bidi_component") if "<svg" in one.proto.json]


def test_the_example_says_since_when_and_what_to_do():
    app, result = opened(), example()
    assert headings(app)[1] == result.headline == "Miscalibrated since about 1 May 2026."
    numbers = key_numbers(app)
    assert list(numbers) == ["State", "Since", "Cost now"]
    assert numbers["State"] == "Alarm"
    assert numbers["Since"] == "1 May 2026"
    assert float(numbers["Cost now"]) == pytest.approx(result.cost.value, abs=1e-4)
    assert "Example, not your data" in answers(app)[0]
    assert "Look at slice `prepaid` first" in said(app)
    assert "15 April to 10 May 2026" in answers(app)[0]
    assert "3,000 rows with an outcome are younger than the horizon" in said(app)
    (chart,) = charts(app)
    assert "Alarm: 1 in 20 over the whole life" in chart
    assert "Change began" in chart


def test_a_chosen_slice_shows_its_counts_without_another_analysis(monkeypatch):
    app, result = opened(), example()
    everything = table(app, "Score ranges")

    def fail(*_args: object, **_more: object) -> None:
        raise AssertionError("Monitored again.")

    monkeypatch.setattr("calib.ui.session.results.monitor", fail)
    app.selectbox(key="watched").set_value("prepaid").run()
    assert not app.exception
    first = result.ranges_of("prepaid").iloc[0]
    shown = table(app, "Score ranges")
    assert shown != everything
    assert f"<td>{first['rows']:,.0f}</td><td>{first['positive']:,.0f}</td>" in shown
    assert "in points: prepaid" in charts(app)[0]
    assert app.query_params["watched"] == "prepaid"
    periods = result.periods_of("prepaid")
    last = table(app, "Periods: prepaid")
    assert all(f"<td>{rows:,.0f}</td>" in last for rows in periods["rows"])


def test_an_address_restores_the_settings():
    app = opened(horizon="60", slice="device", watched="ios")
    assert app.number_input(key="horizon").value == 60
    assert app.selectbox(key="slice_by").value == "device"
    assert app.selectbox(key="watched").value == "ios"
    assert headings(app)[1] == example(60, "device").headline
    assert "6,000 rows with an outcome are younger" in said(app)


def test_a_link_cannot_choose_what_is_not_there():
    app = opened(horizon="-3", slice="nothing", watched="nobody", time="plan")
    assert "horizon" in app.warning[0].value
    assert app.number_input(key="horizon").value == 30
    assert app.selectbox(key="slice_by").value == "plan"
    assert app.selectbox(key="watched").value == ""
    assert app.selectbox(key="time").value == "predicted_at"


def test_data_without_dates_lead_to_the_example():
    app = go(start(), "monitor")
    assert headings(app)[1] == "These data have no column of dates"
    assert not charts(app)
    app.button(key="monitor_example").click().run()
    assert headings(app)[1] == "Miscalibrated since about 1 May 2026."


def test_calm_rows_of_a_person():
    app = uploaded(days(place=["north", "south"] * 1500))
    assert headings(app)[1] == "No evidence of miscalibration in 60 days."
    assert key_numbers(app)["State"] == "Calm"
    assert key_numbers(app)["Since"] == "–"
    assert "As if monitored every day" in answers(app)[0]
    assert "Keep the scores" in said(app)
    assert app.number_input(key="horizon").value == 0
    app.number_input(key="horizon").set_value(20).run()
    assert headings(app)[1] == "No evidence of miscalibration in 40 days."


def test_too_few_days():
    app = uploaded(days(3, 5))
    assert headings(app)[1] == "Too early to tell: 15 rows tested, 0 too young."
    app.number_input(key="horizon").set_value(30).run()
    assert headings(app)[1] == "Too early to tell: 0 rows tested, 15 too young."
    assert "Wait" in said(app)
    assert "hatched" in charts(app)[0]


def test_clusters_and_weights_are_refused_with_what_to_do():
    clusters = uploaded(days(cluster_id=np.arange(3000) // 3))
    assert headings(clusters)[1] == "These rows cannot be monitored"
    assert "Keep one row per cluster" in said(clusters)
    weights = uploaded(days(weight=1.0 + np.arange(3000) % 2))
    assert headings(weights)[1] == "These rows cannot be monitored"
    assert "Leave the weights out" in said(weights)
    assert weights.button(key="monitor_example")


def test_a_column_of_very_many_values_is_no_slice():
    app = upload(start(), days(code=[f"c{i % 700}" for i in range(3000)]).to_csv(index=False))
    app.multiselect(key="map_slices").set_value(["code"]).run()
    go(app, "monitor")
    assert "At most 500 slices can be tested" in said(app)
    assert key_numbers(app)["State"] == "Calm"


def test_names_of_slices_are_no_markdown():
    names = [trap("one"), trap("two")]
    app = uploaded(days(**{trap("column"): names * 1500}))
    assert not bare(app)
    app.selectbox(key="watched").set_value(names[0]).run()
    assert not app.exception
    assert not bare(app)


def test_models_are_monitored_one_at_a_time():
    frame = days()
    other = np.clip(frame["score"] + 0.3, 0.01, 0.99)
    text = pd.concat([frame.assign(model="a"), frame.assign(model="b", score=other)])
    app = uploaded(text)
    assert app.selectbox(key="monitored_model").options == ["a", "b"]
    assert key_numbers(app)["State"] == "Calm"
    app.selectbox(key="monitored_model").set_value("b").run()
    assert key_numbers(app)["State"] == "Alarm"


def test_counts_have_no_slices(tmp_path):
    frame = days().assign(day=lambda rows: pd.to_datetime(rows["day"]))
    rows = calib.load(frame, outcome="outcome", score="score", time="day")
    calib.aggregate(rows).save(tmp_path / "days.parquet")
    app = go(start(), "data")
    app.file_uploader[0].upload("days.parquet", (tmp_path / "days.parquet").read_bytes()).run()
    app = go(app, "monitor")
    assert headings(app)[1] == "No evidence of miscalibration in 60 days."
    assert "slice_by" not in [one.key for one in app.selectbox]


def store_monitor(name: str, frame: pd.DataFrame, horizon: int = 10) -> Store:
    code, places = pd.factorize(frame["place"], sort=True)
    counts = DayCounts.of_rows(
        frame["day"].to_numpy("datetime64[D]"),
        frame["score"].to_numpy(),
        frame["outcome"].to_numpy(),
        {"place": (code, list(places))},
    )
    store = Store(database_url())
    store.monitors.add(name, counts, fingerprint=name, horizon=horizon, by="a test")
    return store


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A store with a monitor that is wrong in the south from 2 April on."""
    monkeypatch.setenv("CALIB_HOME", str(tmp_path))
    frame = days(120, 100, place=["north", "south"] * 6000)
    wrong = (frame["day"] >= "2026-04-02") & (frame["place"] == "south")
    rng = np.random.default_rng(2)
    frame.loc[wrong, "outcome"] = (rng.random(wrong.sum()) < frame["score"][wrong] + 0.2) * 1
    return store_monitor("churn", frame)


def test_a_stored_monitor_is_chosen_and_named_by_the_link(stored):
    app = go(start(), "monitor")
    assert headings(app)[1] == "These data have no column of dates"
    app.selectbox(key="stored_monitor").set_value("churn").run()
    monitor = stored.monitors.open("churn")
    yesterday = dt.datetime.now(dt.UTC).date() - dt.timedelta(days=1)
    result = monitored(monitor.counts.frame(), horizon=10, today=yesterday)
    assert headings(app)[1] == result.headline
    assert result.state == key_numbers(app)["State"].lower() == "alarm"
    assert "Stored monitor, until" in answers(app)[0]
    assert app.query_params["monitor"] == "churn"
    assert "horizon" not in [one.key for one in app.number_input]
    assert "Look at slice `place=south` first" in said(app)
    app.selectbox(key="watched").set_value("place=south").run()
    assert f"<td>{result.ranges_of('place=south')['rows'][0]:,.0f}</td>" in table(
        app, "Score ranges"
    )
    again = go(start(monitor="churn"), "monitor")
    assert headings(again)[1] == result.headline


def test_what_a_stored_monitor_does_not_test_is_said(stored, monkeypatch):
    monkeypatch.setattr("calib.store.monitors.Monitor.notes", ("Some days wait.",))
    assert "Some days wait." in said(go(start(monitor="churn"), "monitor"))


def test_the_advice_names_a_slice_if_slices_are_wrong_in_opposite_ways():
    frame = days(40, 100, place=["north", "south"] * 2000)
    rng = np.random.default_rng(4)
    times = np.where(frame["place"] == "north", 1.6, 1.0 / 1.6)
    odds = times * frame["score"] / (1.0 - frame["score"])
    frame["outcome"] = (rng.random(len(frame)) < odds / (1.0 + odds)) * 1
    app = uploaded(frame)
    assert key_numbers(app)["State"] == "Calm"
    assert "Keep the scores" not in said(app)
    assert "Look at slice" in said(app)


def test_a_link_to_a_stored_monitor_needs_no_file(stored):
    app = go(start(data="c3018ed03540", name="x.csv", rows="500", monitor="churn"), "monitor")
    assert headings(app)[1].startswith("Miscalibrated since about")


def test_a_new_calibrator_closes_the_alarm_and_is_drawn(stored):
    stored.monitors.add_calibrator("churn", dt.date(2026, 5, 1), by="a test")
    app = go(start(monitor="churn"), "monitor")
    assert "New calibrator" in charts(app)[0]
    assert key_numbers(app)["Since"] != "2 April 2026"
    assert "### Score ranges since" in said(app)


def test_a_stored_monitor_that_is_not_there_is_said(stored):
    app = go(start(ex="churn", monitor=trap("gone")), "monitor")
    assert "There is no stored monitor" in said(app)
    assert headings(app)[1] == "Miscalibrated since about 1 May 2026."
    assert not bare(app)


def test_a_store_that_fails_leaves_the_data(monkeypatch):
    def fail(*_args: object) -> None:
        raise StoreError("No answer.")

    monkeypatch.setattr("calib.ui.pages.monitor.opened_store", fail)
    app = opened()
    assert headings(app)[1] == "Miscalibrated since about 1 May 2026."
    assert "stored_monitor" not in [one.key for one in app.selectbox]


def test_stored_monitors_need_the_sign_in_where_one_is_configured(stored, monkeypatch):
    monkeypatch.setattr(identity, "is_configured", lambda: True)
    app = go(start(monitor="churn"), "monitor")
    assert [one.label for one in app.button] == ["Sign in"]
    assert not charts(app)
