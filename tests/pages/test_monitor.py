"""The page Monitor: its example, a person's own rows, stored monitors, and what it refuses."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.day_counts import DayCounts
from calib.features.monitor.page import advice
from calib.features.monitor.result import Monitored
from calib.features.monitor.rules import monitored
from calib.features.monitor.watching import commands
from calib.loading.examples import EXAMPLES
from calib.store import Store, StoreError, database_url
from calib.text import days_between
from tests.pages.harness import (
    address,
    answers,
    drawings,
    dropped,
    headings,
    markup,
    press,
    said,
    start,
)
from tests.pages.test_hostile import bare, trap
from tests.rare import rare

WRONG = "Miscalibrated since about 1 May 2026."


def example(horizon: int = 30, slices: str = "plan") -> Monitored:
    rows = EXAMPLES["churn"].load()
    last = rows.columns["predicted_at"].max()
    return calib.monitor(rows, time="predicted_at", horizon=horizon, slices=slices, today=last)


def state(app) -> str:
    """The state beside the answer."""
    pill = next(word for word in answers(app)[0].split() if word in ("Alarm", "Calm", "Too"))
    return pill.replace("Too", "Too early")


def days(n_days: int = 60, per_day: int = 50, **columns: object) -> pd.DataFrame:
    """Calibrated rows."""
    rng = np.random.default_rng(1)
    n = n_days * per_day
    score = rng.beta(2, 5, n).round(3)
    day = pd.Timestamp("2026-02-01") + pd.to_timedelta(np.arange(n) // per_day, unit="D")
    outcome = (rng.random(n) < score).astype(int)
    frame = pd.DataFrame({"outcome": outcome, "score": score, "day": day.strftime("%Y-%m-%d")})
    return frame.assign(**columns)


def test_the_example_says_since_when_and_what_to_do(texts):
    app, result = start("Monitor", ex="churn"), example()
    assert headings(app)[1] == result.headline == WRONG
    assert state(app) == "Alarm"
    texts.shown(answers(app)[0], "words")
    texts(advice(result))
    assert advice(result).replace("\\", "") in said(app)
    low, high = result.since_low, result.since_high
    assert (high - low).days <= 4
    # The predictions of a day are evident when their outcomes are known.
    assert (result.episode.raised - result.episode.day).days == 30
    assert result.evident in answers(app)[0]
    texts.shown(said(app), "words, 2")
    chart, *of_slices = drawings(app)
    assert days_between(low, high) in chart
    # The slice with an alarm is first.
    assert [
        name in of for name, of in zip(("prepaid", "yearly", "monthly"), of_slices, strict=True)
    ]
    assert "prepaid: alarm" in of_slices[0]


def test_a_chosen_slice_shows_its_counts_without_another_analysis(monkeypatch, texts):
    app, result = start("Monitor", ex="churn"), example()
    everything = markup(app, "Score ranges")

    def fail(*_args: object, **_more: object) -> None:
        raise AssertionError("Monitored again.")

    monkeypatch.setattr("calib.features.monitor.page.monitor", fail)
    app.selectbox(key="watched").set_value("prepaid").run()
    assert not app.exception
    first = result.ranges_of("prepaid").iloc[0]
    shown = markup(app, "Score ranges")
    assert shown != everything
    assert f"<td>{first['rows']:,.0f}</td><td>{first['positive']:,.0f}</td>" in shown
    texts.shown(drawings(app)[0])
    assert address(app)["watched"] == "prepaid"
    last = markup(app, "Periods: prepaid")
    assert all(f"<td>{rows:,.0f}</td>" in last for rows in result.periods_of("prepaid")["rows"])


def test_an_address_restores_the_settings_and_cannot_choose_what_is_not_there(texts):
    app = start("Monitor", ex="churn", horizon="60", slice="device", watched="ios")
    assert app.number_input(key="horizon").value == 60
    assert app.selectbox(key="slice_by").value == "device"
    assert app.selectbox(key="watched").value == "ios"
    assert headings(app)[1] == example(60, "device").headline
    texts.shown(said(app))
    nothing = {"horizon": "-3", "slice": "nothing", "watched": "nobody", "time": "plan"}
    app = start("Monitor", ex="churn", **nothing)
    assert "horizon" in app.warning[0].value
    assert app.number_input(key="horizon").value == 30
    assert app.selectbox(key="slice_by").value == "plan"
    assert app.selectbox(key="watched").value == ""
    assert app.selectbox(key="time").value == "predicted_at"


def test_data_without_dates_lead_to_the_example(texts):
    app = start("Monitor", m="platt")
    texts(headings(app)[1])
    # A pale picture shows what the page would be.
    (ghost,) = drawings(app)
    assert days_between(example().since_low, example().since_high) in ghost
    assert headings(press(app, "monitor_example"))[1] == WRONG


def test_a_person_whose_file_has_no_dates_is_led_to_its_columns():
    app = start("Monitor", days().drop(columns="day"))
    (button,) = [each for each in app.main.button if each.proto.type == "primary"]
    assert button.key == "monitor_example"
    assert "example" not in button.label
    # The only other thing is the picture.
    assert len(drawings(app)) == 1


def test_calm_rows_of_a_person(texts):
    app = start("Monitor", days(place=["north", "south"] * 1500))
    texts(headings(app)[1])
    assert state(app) == "Calm"
    assert "recalibrate" not in [one.key for one in app.button]
    texts.shown(answers(app)[0])
    texts.shown(said(app))
    assert app.number_input(key="horizon").value == 0
    app.number_input(key="horizon").set_value(20).run()
    texts(headings(app)[1])


def test_too_few_days(texts):
    app = start("Monitor", days(3, 5), horizon="30")
    texts(headings(app)[1])
    assert "Wait" in said(app)
    assert "hatched" in drawings(app)[0]


def test_clusters_are_refused_with_what_to_do(texts):
    app = start("Monitor", days(cluster_id=np.arange(3000) // 3))
    texts(headings(app)[1])
    texts.shown(answers(app)[0])
    assert app.button(key="monitor_example")


@rare
def test_a_column_of_very_many_values_is_no_slice(texts):
    session = dropped(days(code=[f"c{i % 700}" for i in range(3000)]))
    session.take(session.upload.mapped(session.upload.mapping.chosen(slices=("code",))))
    app = start("Monitor", session)
    texts.shown(said(app))
    assert state(app) == "Calm"


def test_names_of_slices_are_no_markdown():
    names = [trap("one"), trap("two")]
    app = start("Monitor", days(**{trap("column"): names * 1500}), watched=names[0])
    assert app.selectbox(key="watched").value == names[0]
    assert not bare(app)


@rare
def test_models_are_monitored_one_at_a_time():
    frame = days()
    other = np.clip(frame["score"] + 0.3, 0.01, 0.99)
    text = pd.concat([frame.assign(model="a"), frame.assign(model="b", score=other)])
    app = start("Monitor", text)
    assert app.selectbox(key="model").options == ["a", "b"]
    assert state(app) == "Calm"
    app.selectbox(key="model").set_value("b").run()
    assert state(app) == "Alarm"


def test_the_advice_names_a_slice_if_slices_are_wrong_in_opposite_ways(texts):
    frame = days(40, 100, place=["north", "south"] * 2000)
    rng = np.random.default_rng(4)
    times = np.where(frame["place"] == "north", 1.6, 1.0 / 1.6)
    odds = times * frame["score"] / (1.0 - frame["score"])
    frame["outcome"] = (rng.random(len(frame)) < odds / (1.0 + odds)) * 1
    rows = calib.load(frame, outcome="outcome", score="score", slices=["place"], time="day")
    result = calib.monitor(rows, time="day", slices="place", today="2026-03-12")
    assert result.state == "calm"
    assert "Keep the scores" not in advice(result)
    texts.shown(advice(result))


@pytest.fixture
def stored(tmp_path, monkeypatch) -> Store:
    """A store with a monitor that is wrong in the south from 2 April on."""
    monkeypatch.setenv("CALIB_HOME", str(tmp_path))
    frame = days(120, 100, place=["north", "south"] * 6000)
    wrong = (frame["day"] >= "2026-04-02") & (frame["place"] == "south")
    rng = np.random.default_rng(2)
    frame.loc[wrong, "outcome"] = (rng.random(wrong.sum()) < frame["score"][wrong] + 0.2) * 1
    code, places = pd.factorize(frame["place"], sort=True)
    counts = DayCounts.of_rows(
        frame["day"].to_numpy("datetime64[D]"),
        frame["score"].to_numpy(),
        frame["outcome"].to_numpy(),
        {"place": (code, list(places))},
    )
    store = Store(database_url())
    store.monitors.add("churn", counts, fingerprint="churn", horizon=10, by="a test")
    return store


def test_a_stored_monitor_is_chosen_and_named_by_the_link(stored, monkeypatch, texts):
    app = start("Monitor", m="platt")
    app.selectbox(key="stored_monitor").set_value("churn").run()
    monitor = stored.monitors.open("churn")
    yesterday = dt.datetime.now(dt.UTC).date() - dt.timedelta(days=1)
    result = monitored(monitor.counts.frame(), horizon=10, today=yesterday)
    assert headings(app)[1] == result.headline
    assert result.state == state(app).lower() == "alarm"
    texts.shown(answers(app)[0])
    assert address(app)["monitor"] == "churn"
    assert "horizon" not in [one.key for one in app.number_input]
    texts.shown(said(app))
    app.selectbox(key="watched").set_value("place=south").run()
    rows = result.ranges_of("place=south")["rows"][0]
    assert f"<td>{rows:,.0f}</td>" in markup(app, "Score ranges")
    # A link to it needs no file, and says what is not tested.
    monkeypatch.setattr("calib.store.monitors.Monitor.notes", ("Some days wait.",))
    link = {"data": "c3018ed03540", "file": "x.csv", "rows": "500", "monitor": "churn"}
    again = start("Monitor", **link)
    assert headings(again)[1] == result.headline
    texts.shown(said(again))


@rare
def test_a_new_calibrator_closes_the_alarm_and_is_drawn(stored, texts):
    stored.monitors.add_calibrator("churn", dt.date(2026, 5, 1), by="a test")
    app = start("Monitor", monitor="churn", m="platt")
    assert "New calibrator" in drawings(app)[0]
    assert "2 April 2026" not in headings(app)[1]
    texts.shown(said(app))


def test_a_stored_monitor_that_is_not_there_is_said(stored, texts):
    app = start("Monitor", ex="churn", monitor=trap("gone"))
    texts.shown(said(app))
    assert headings(app)[1] == WRONG
    assert not bare(app)


def test_a_store_that_fails_leaves_the_data(monkeypatch):
    def fail(*_args: object) -> None:
        raise StoreError("No answer.")

    monkeypatch.setattr("calib.features.monitor.page.opened_store", fail)
    app = start("Monitor", ex="churn")
    assert headings(app)[1] == WRONG
    assert "stored_monitor" not in [one.key for one in app.selectbox]


def test_a_person_watches_the_rows_of_a_file_every_day(tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_HOME", str(tmp_path))
    app = start("Monitor", days(place=["north", "south"] * 1500), horizon="20")
    # A run of a whole page closes the dialog.
    for _ in range(2):
        app.session_state["monitor_name"] = "my model"
        app.session_state["monitor_webhook"] = "https://example.org/x?y=1&z=2"
        press(press(app, "watch"), "save_monitor")
        monitor = Store(database_url()).monitors.open("my model")
        # The same rows count once.
        assert monitor.counts.n_rows == 3000
    assert monitor.horizon == 20
    assert monitor.columns["time"] == "day"
    assert monitor.columns["slices"] == ["place"]
    code = commands("my model", "https://example.org/x?y=1&z=2")
    assert code.splitlines() == [
        "calib monitor add day.parquet --name 'my model'",
        "CALIB_WEBHOOK='https://example.org/x?y=1&z=2' calib monitor check --name 'my model'",
    ]
    app.session_state["monitor_name"] = "my model"
    assert [one.value for one in press(app, "watch").code] == [code]
    # The address is not saved.
    assert not [p for p in tmp_path.rglob("*.db*") if b"example.org" in p.read_bytes()]


def test_an_example_and_a_read_only_server_are_not_watched(monkeypatch):
    app = start("Monitor", ex="churn")
    assert app.button(key="watch").disabled
    monkeypatch.setenv("CALIB_READ_ONLY", "1")
    assert "watch" not in [one.key for one in start("Monitor", days()).button]


@rare
def test_the_code_of_a_new_calibrator_has_the_first_day_as_its_condition():
    app = press(start("Monitor", ex="churn"), "recalibrate")
    assert not app.exception
    (code,) = [one.value for one in app.code]
    assert "2026-05-01" in code
    assert "prepaid" in code
