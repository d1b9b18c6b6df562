"""Monitors: counts are only ever added, once, whatever happens to the process that adds them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import text

from calib.data.day_counts import DayCounts
from calib.store import Store, StoreError
from tests.rare import common_first
from tests.store.savers import counts_of_day

DAY = np.datetime64("2026-03-01")


def counts(*scores: float, kind: int = 1, day: np.datetime64 = DAY) -> DayCounts:
    n = len(scores)
    return DayCounts.of_rows(np.full(n, day), np.array(scores), np.full(n, kind), {})


def add(store: Store, made: DayCounts, fingerprint: str, **more: object) -> object:
    given = {"horizon": 30, "by": "Ada"} | more
    return store.monitors.add("churn", made, fingerprint=fingerprint, **given)


def positives(store: Store) -> int:
    return store.monitors.open("churn").counts.totals()["positive"]


def test_the_same_rows_count_once(store):
    assert add(store, counts(0.1, 0.2), "a") is None
    earlier = add(store, counts(0.1, 0.2), "a")
    assert (earlier.number, earlier.person, earlier.kind) == (1, "Ada", "rows")
    assert positives(store) == 2
    assert add(store, counts(0.1, 0.2), "b") is None
    assert positives(store) == 4
    assert len(store.monitors.open("churn").entries) == 2


def test_a_correction_is_a_new_entry_for_its_days_only(store):
    next_day = counts(0.5, day=DAY + 1)
    for fingerprint, made in (("a", counts(0.1, 0.2)), ("b", next_day)):
        add(store, made, fingerprint)
    add(store, counts(0.1, 0.2, 0.3), "c", correct=True)
    assert positives(store) == 4
    # A correction is added once, and rows that come after it count too.
    assert add(store, counts(0.1, 0.2, 0.3), "c", correct=True).number == 3
    add(store, counts(0.4), "d")
    assert positives(store) == 5
    # The first rows no longer count, so they can come back.
    assert add(store, counts(0.1, 0.2), "a", correct=True) is None
    assert positives(store) == 3
    assert [entry.number for entry in store.monitors.open("churn").entries] == [1, 2, 3, 4, 5]


def test_rows_count_once_also_after_a_correction_of_some_of_their_days(store):
    both = DayCounts.sum([counts(0.1, 0.2), counts(0.5, day=DAY + 1)])
    add(store, both, "a")
    add(store, counts(0.1, 0.2, 0.3), "b", correct=True)
    assert positives(store) == 4
    assert add(store, both, "a").number == 1
    assert add(store, counts(0.1, 0.2, 0.3), "b").number == 2
    assert positives(store) == 4
    # They can become the only ones again.
    assert add(store, both, "a", correct=True) is None
    assert positives(store) == 3
    assert add(store, both, "a", correct=True).number == 3


def test_an_entry_of_another_kind_is_not_taken_for_rows(store):
    add(store, counts(0.1), "a")
    store.monitors.add_calibrator("churn", date(2026, 4, 1), by="Ada")
    assert add(store, counts(0.2), "2026-04-01") is None
    assert positives(store) == 2


def test_rows_that_came_on_top_can_be_made_the_only_ones(store):
    add(store, counts(0.1, 0.2), "a")
    add(store, counts(0.3), "b")
    assert positives(store) == 3
    assert add(store, counts(0.3), "b", correct=True) is None
    assert positives(store) == 1
    assert add(store, counts(0.3), "b", correct=True).number == 3


def test_entries_are_never_changed(store):
    add(store, counts(0.1), "a")
    query = text("SELECT * FROM calib_monitor_days WHERE number = 1")
    with store._engine.connect() as connection:
        before = connection.execute(query).all()
    add(store, counts(0.9), "b", correct=True)
    with store._engine.connect() as connection:
        assert connection.execute(query).all() == before


def test_the_horizon_and_the_columns_stay(store, texts):
    add(store, counts(0.1), "a", columns={"score": "p"})
    assert store.monitors.settings("churn") == (30, {"score": "p"})
    assert store.monitors.settings("other") is None
    with texts.raises(StoreError, "each case"):
        add(store, counts(0.2), "b", horizon=7)
    with texts.raises(StoreError, "each case, 2"):
        add(store, counts(0.2), "b", columns={"score": "q"})
    assert positives(store) == 1
    with texts.raises(StoreError, "each case, 3"):
        store.monitors.open("other")
    with pytest.raises(StoreError, match="must have 1 to 60 characters"):
        store.monitors.open(" ")


def test_a_monitor_is_removed_with_its_counts(store, texts):
    add(store, counts(0.1), "a")
    assert store.monitors.names() == ("churn",)
    store.monitors.remove("churn", by="Grace")
    assert store.monitors.names() == ()
    assert store.changes()[0].change == "monitor removed"
    assert add(store, counts(0.1), "a") is None
    with texts.raises(StoreError, "each case"):
        store.monitors.remove("other", by="Grace")


def test_new_calibrators_are_days(store):
    add(store, counts(0.1), "a")
    for day in (date(2026, 4, 1), date(2026, 3, 1), date(2026, 4, 1)):
        store.monitors.add_calibrator("churn", day, by="Ada")
    monitor = store.monitors.open("churn")
    assert monitor.new_calibrators == (date(2026, 3, 1), date(2026, 4, 1))
    assert positives(store) == 1


def test_outcomes_of_days_that_were_added_too_early_wait_for_a_correction(store):
    both = np.full(3, DAY), np.array([0.1, 0.2, 0.3]), np.array([1, 0, 2])
    early, final = DayCounts.of_rows(*both, {}), counts(0.5, day=DAY + 1)
    add(store, early, "a")
    add(store, final, "b")
    added = text("UPDATE calib_monitor_entries SET added = :added")

    def set_added(moment: str) -> None:
        with store._engine.begin() as connection:
            connection.execute(added, {"added": moment})

    # On 1 April, all rows of 1 March are older than 30 days.
    set_added("2026-04-01T00:00:00.000000+00:00")
    assert store.monitors.open("churn").waiting == ()
    set_added("2026-03-31T23:59:59.000000+00:00")
    monitor = store.monitors.open("churn")
    # The second day has all its outcomes, so it can be used.
    assert monitor.waiting == (date(2026, 3, 1),)
    totals = {"negative": 0, "positive": 1, "missing": 3, "late": 0}
    assert monitor.counts.totals() == totals
    # The same rows count once, but they can say that their outcomes are final.
    assert add(store, early, "a").number == 1
    assert add(store, early, "a", correct=True) is None
    monitor = store.monitors.open("churn")
    assert (monitor.waiting, len(monitor.entries)) == ((), 3)
    assert monitor.counts.totals() == {"negative": 1, "positive": 2, "missing": 1, "late": 0}
    assert add(store, early, "a", correct=True).number == 3


def test_a_monitor_is_opened_for_some_days(store):
    for number in range(4):
        add(store, counts(0.1, day=DAY + number), str(number))
    monitor = store.monitors.open("churn", between=(date(2026, 3, 2), date(2026, 3, 3)))
    assert monitor.counts.rows_by_day() == {date(2026, 3, 2): 1, date(2026, 3, 3): 1}
    assert len(monitor.entries) == 4


def alerts_of(store: Store) -> list[tuple[str, str]]:
    return [(e.kind, e.fingerprint) for e in store.monitors.open("churn").entries[1:]]


def test_a_message_is_claimed_and_then_sent_once(store):
    add(store, counts(0.1), "a")
    claim, settle = store.monitors.claim_alert, store.monitors.settle_alert
    assert store.monitors.open("churn").last_alert == ""
    assert claim("churn", "opened 1", after="", by="Ada")
    assert not claim("churn", "opened 1", after="", by="Bob")
    assert store.monitors.open("churn").last_alert == ""
    settle("churn", "opened 1", sent=True, by="Ada")
    assert store.monitors.open("churn").last_alert == "opened 1"
    # A check that was computed before the message was sent does not send it again.
    assert not claim("churn", "opened 1", after="", by="Bob")
    assert claim("churn", "closed 1", after="opened 1", by="Bob")
    settle("churn", "closed 1", sent=True, by="Bob")
    assert alerts_of(store) == [("alert", "opened 1"), ("alert", "closed 1")]
    assert positives(store) == 1


def test_a_message_that_was_not_sent_is_claimed_again(store):
    add(store, counts(0.1), "a")
    assert store.monitors.claim_alert("churn", "opened 1", after="", by="Ada")
    store.monitors.settle_alert("churn", "opened 1", sent=False, by="Ada")
    assert alerts_of(store) == []
    assert store.monitors.claim_alert("churn", "opened 1", after="", by="Bob")
    # Its process was killed before it said whether the message was sent.
    with store._writing() as connection:
        old = "UPDATE calib_monitor_entries SET added = '2026-03-01T00:00:00.000000+00:00'"
        connection.execute(text(f"{old} WHERE kind = 'claim'"))
    assert store.monitors.claim_alert("churn", "opened 1", after="", by="Cy")
    assert alerts_of(store) == [("claim", "opened 1")]


def test_one_of_many_processes_claims_a_message(url):
    with Store(url) as store:
        add(store, counts(0.1), "a")

    def work(name: str) -> bool:
        with Store(url) as store:
            return store.monitors.claim_alert("churn", "opened 1", after="", by=name)

    with ThreadPoolExecutor(6) as threads:
        assert sorted(threads.map(work, "abcdef")) == [False] * 5 + [True]


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE calib_monitors; --", "a\x1b[31m\u202eb", "%_\\", "日本"]
)
def test_any_name_is_a_name(store, name):
    made = counts(0.1)
    store.monitors.add(name, made, fingerprint="a", horizon=1, source=name, by=name)
    store.monitors.add("other", made, fingerprint="a", horizon=1, by="Ada")
    assert len(store.monitors.names()) == 2
    assert store.monitors.open(name).counts.n_rows == 1
    store.monitors.remove(name, by=name)
    assert store.monitors.names() == ("other",)


def test_damaged_counts_are_a_sentence(store, texts):
    add(store, counts(0.1), "a")
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE calib_monitor_days SET content = :x"), {"x": b"\x00"})
    with texts.raises(StoreError, "each case"):
        store.monitors.open("churn")
    (problem,) = store.verify().problems
    texts.shown(problem)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE calib_monitors SET horizon = 'x'",
        "UPDATE calib_monitors SET columns = 'x'",
        "UPDATE calib_monitors SET columns = '[1]'",
        "UPDATE calib_monitor_days SET day = 'x'",
        "UPDATE calib_monitor_entries SET fingerprint = 'x'",
    ],
)
def test_a_damaged_monitor_is_a_sentence(store, damage, texts):
    add(store, counts(0.1), "a")
    store.monitors.add_calibrator("churn", date(2026, 4, 1), by="Ada")
    with store._engine.begin() as connection:
        connection.execute(text(damage))
    with texts.raises(StoreError):
        store.monitors.open("churn")
    assert len(store.verify().problems) == 1


def test_a_damaged_moment_does_not_hide_the_counts(store):
    add(store, counts(0.1, kind=2), "a")
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE calib_monitor_entries SET added = 'x'"))
    monitor = store.monitors.open("churn")
    assert (monitor.entries[0].moment, monitor.waiting) == (None, ())


def test_writers_at_once_add_each_day_once(url):
    def work(number: int) -> object:
        with Store(url) as store:
            return add(store, counts_of_day(number % 8), str(number % 8))

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(work, range(24)))
    assert sum(result is None for result in results) == 8
    with Store(url) as store:
        monitor = store.monitors.open("churn")
    assert [entry.number for entry in monitor.entries] == [*range(1, 9)]
    assert monitor.counts.n_rows == 8 * 200


@pytest.mark.parametrize("times", common_first([5, 50], [5]))
def test_killed_writers_lose_and_double_nothing(
    times: int, url: str, other_processes: Callable[..., str]
):
    confirmed = [int(line) for line in other_processes("added", url, times, 0.2).split()]
    assert len(confirmed) >= times // 2
    assert len(set(confirmed)) == len(confirmed)
    with Store(url) as store:
        monitor = store.monitors.open("m")
    kept = sorted(int(entry.fingerprint) for entry in monitor.entries)
    # A process may be killed between its commit and its confirmation.
    assert set(confirmed) <= set(kept)
    assert kept == list(range(len(kept)))
    expected = pd.concat([counts_of_day(number).frame() for number in kept], ignore_index=True)
    pd.testing.assert_frame_equal(monitor.counts.frame(), expected)


def test_monitors_of_the_second_schema_begin_empty(url, report):
    with Store(url) as store:
        report_id = store.save(report)
        with store._engine.begin() as connection:
            for table in ("monitor_days", "monitor_entries", "monitors"):
                connection.execute(text(f"DROP TABLE calib_{table}"))
            connection.execute(text("DELETE FROM calib_schema"))
            line = "INSERT INTO calib_schema (version, applied) VALUES (2, 'x')"
            connection.execute(text(line))
    with Store(url) as store:
        assert store.monitors.names() == ()
        add(store, counts(0.1), "a")
        assert store.open(report_id).title == "March"
