"""What was confirmed is there and whole: with many writers, and with killed ones."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from calib.reports import Report
from calib.store import Store
from tests.rare import common_first, rare

Savers = Callable[..., dict[str, str]]


@pytest.fixture
def savers(other_processes: Callable[..., str], report: Report, tmp_path: Path) -> Savers:
    """Title by id of all that the processes were told is saved."""
    path = tmp_path / "report.json"
    report.save(path)

    def saved(mode: str, url: str, *numbers: float) -> dict[str, str]:
        printed = other_processes(mode, url, str(path), *numbers)
        return dict(line.split() for line in printed.splitlines())

    return saved


def check_whole(store: Store, report: Report, confirmed: dict[str, str]) -> None:
    entries = {entry.id: entry for entry in store.list(limit=100_000)}
    assert confirmed.items() <= {(key, entry.title) for key, entry in entries.items()}
    for report_id, entry in entries.items():
        expected = replace(report, title=entry.title).json()
        assert store.open(report_id).json() == expected
        assert entry.tags == ("saver",)


@rare
@pytest.mark.parametrize("processes", common_first([6, 20], [6]))
def test_processes_that_start_and_save_at_once_lose_nothing(processes, url, report, savers):
    confirmed = savers("together", url, processes, 5)
    assert len(confirmed) == 5 * processes
    with Store(url) as store:
        assert store.count() == 5 * processes
        check_whole(store, report, confirmed)


@rare
def test_twenty_threads_of_one_store_lose_nothing(store, report):
    def save(number: int) -> tuple[str, str]:
        title = f"thread-{number}"
        return store.save(replace(report, title=title), tags=["saver"]), title

    with ThreadPoolExecutor(20) as threads:
        confirmed = dict(threads.map(save, range(60)))
    assert store.count() == 60
    check_whole(store, report, confirmed)


@rare
@pytest.mark.parametrize("times", common_first([10, 50], [10]))
def test_killed_many_times_every_confirmed_report_is_whole_and_none_is_half(
    times, url, report, savers
):
    confirmed = savers("killed", url, times, 0.1)
    # Every other process lives until it has saved one report.
    assert len(confirmed) >= times // 2
    with Store(url) as store:
        check_whole(store, report, confirmed)


def test_a_commit_is_on_the_disk_before_it_is_confirmed(sqlite_url):
    with Store(sqlite_url) as store, store._engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


@rare
def test_a_saver_that_fails_is_seen(savers, tmp_path):
    (tmp_path / "reports.db").write_bytes(b"no database" * 1000)
    with pytest.raises(AssertionError, match="DamagedError"):
        savers("together", f"sqlite:///{tmp_path / 'reports.db'}", 1, 1)
