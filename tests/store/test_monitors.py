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
    with pytest.raises(StoreError, match="has a horizon of 30 days, got 7"):
        add(store, counts(0.2), "b", horizon=7)
    with pytest.raises(StoreError, match="Other columns need another monitor"):
        add(store, counts(0.2), "b", columns={"score": "q"})
    assert positives(store) == 1
    with pytest.raises(StoreError, match="There is no monitor 'other'"):
        store.monitors.open("other")
    with pytest.raises(StoreError, match="must have 1 to 60 characters"):
        store.monitors.open(" ")


def test_a_monitor_is_removed_with_its_counts(store):
    add(store, counts(0.1), "a")
    assert store.monitors.names() == ("churn",)
    store.monitors.remove("churn", by="Grace")
    assert store.monitors.names() == ()
    assert store.changes()[0].change == "monitor removed"
    assert add(store, counts(0.1), "a") is None
    with pytest.raises(StoreError, match="There is no monitor"):
        store.monitors.remove("other", by="Grace")


def test_new_calibrators_are_days(store):
    add(store, counts(0.1), "a")
    for day in (date(2026, 4, 1), date(2026, 3, 1), date(2026, 4, 1)):
        store.monitors.add_calibrator("churn", day, by="Ada")
    monitor = store.monitors.open("churn")
    assert monitor.new_calibrators == (date(2026, 3, 1), date(2026, 4, 1))
    assert positives(store) == 1


def test_damaged_counts_are_a_sentence(store):
    add(store, counts(0.1), "a")
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE calib_monitor_days SET content = :x"), {"x": b"\x00"})
    with pytest.raises(StoreError, match=r"'churn' cannot be read: The counts of 2026-03-01 are"):
        store.monitors.open("churn")


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
    assert confirmed
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
