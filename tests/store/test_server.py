"""A server that is locked, a disk that is full, a folder that is read-only."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert

from calib.reports import Report
from calib.store import Store, StoreError
from calib.store.engine import checked_url
from calib.store.tables import monitors
from calib.ui.session.team_store import STORE_TIMEOUT_SECONDS
from tests.rare import rare

ROOT = Path(__file__).parents[2]
NOBODY = 65534
# A page promises an answer within this time, in seconds, by its own time-out.
PROMISED = 5.0


def check_promptly(*calls: Callable[[], object]) -> None:
    """Each call gives up in time; they wait side by side."""

    def caught(call: Callable[[], object]) -> tuple[str, float]:
        start = time.monotonic()
        with pytest.raises(StoreError) as error:
            call()
        return str(error.value), time.monotonic() - start

    with ThreadPoolExecutor(len(calls)) as threads:
        for said, seconds in threads.map(caught, calls):
            assert seconds < PROMISED
            assert said.endswith(("Is it running?", "Try again in a moment."))


def patient(url: str) -> Store:
    """A store as a page has it."""
    return Store(url, patience=STORE_TIMEOUT_SECONDS)


def test_locked_tables_are_told_within_five_seconds(postgres_url, report):
    with patient(postgres_url) as store:
        saved = store.save(report)
        plain = checked_url(postgres_url).set(drivername="postgresql")
        with psycopg.connect(plain.render_as_string(hide_password=False)) as other:
            other.execute("LOCK TABLE calib_reports IN ACCESS EXCLUSIVE MODE")
            check_promptly(store.list, lambda: store.delete(saved, by="Ada"))
        assert store.count() == 1


def test_the_server_is_told_to_give_up_too(postgres_url):
    with patient(postgres_url) as store, store._engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "search_path",
            )
        }
    assert settings.pop("search_path").startswith("calib_")
    assert settings == {
        "statement_timeout": "4s",
        "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "40s",
    }


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 4 MB."""
    folder = Path(tempfile.mkdtemp(prefix="calib-disk-"))
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        folder.rmdir()
        pytest.skip("Only root may make a small disk: skipped")
    yield folder
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


@rare
@pytest.mark.skipif(sys.platform != "linux", reason="makes a disk by Linux's mount: skipped")
def test_a_full_disk_refuses_all_changes_until_space_is_free(small_disk, report, texts):
    url = f"sqlite:///{small_disk}/reports.db"
    with Store(url) as store:
        saved = store.save(report)
        with store._writing() as connection:
            values = {"name": "m", "created": "x", "horizon": "3", "columns": "{}"}
            connection.execute(insert(monitors).values(values))
    fill(small_disk)
    with texts.raises(StoreError, "open"):
        Store(url)
    (small_disk / "other").unlink()
    with Store(url) as store:
        assert store.count() == 1
        fill(small_disk)
        with texts.raises(StoreError, "save"):
            save_until_it_fails(store, report)
        before = store.count()
        with texts.raises(StoreError, "delete"):
            store.delete(saved, by="Ada", for_good=True)
        with texts.raises(StoreError, "remove"):
            store.monitors.remove("m", by="Ada")
        assert store.open(saved).title == "March"
        assert (store.count(), store.monitors.names()) == (before, ("m",))
        (small_disk / "other").unlink()
        store.delete(saved, by="Ada", for_good=True)
        store.monitors.remove("m", by="Ada")
        assert (store.count(), store.monitors.names()) == (before - 1, ())


def fill(folder: Path) -> None:
    with (folder / "other").open("wb", buffering=0) as other, suppress(OSError):
        while other.write(bytes(1024)):
            pass


def save_until_it_fails(store: Store, report: Report) -> None:
    while True:
        store.save(report)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="file modes are Unix's: skipped")
def test_a_read_only_folder_still_lists_and_opens(other_processes, report):
    # Only its owner can enter tmp_path, and root can write everywhere.
    folder = Path(tempfile.mkdtemp())
    try:
        with Store(f"sqlite:///{folder / 'reports.db'}") as store:
            store.save(report)
        folder.chmod(0o555)
        code = (
            "from calib.store import Store, StoreError\n"
            f"store = Store('sqlite:///{folder}/reports.db')\n"
            "entry = store.list()[0]\n"
            "print(store.read_only, store.count(), store.open(entry.id).title)\n"
            "try: store.delete(entry.id, by='Ada')\n"
            "except StoreError as error: print(error)"
        )
        printed = other_processes("nobody", code)
        assert printed.startswith("True 1 March\n")
        assert f"{folder}/reports.db" in printed
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def damage(path: Path, report_id: str) -> None:
    """Write garbage over the page that holds one report's row."""
    whole = bytearray(path.read_bytes())
    # In a row of the table, the id is followed by two moments. In indexes and in the log there are
    # fewer.
    match = re.search(re.escape(report_id.encode()) + rb"20.{30}20", whole, re.DOTALL)
    assert match is not None
    page = match.start() // 4096 * 4096
    whole[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(whole))


def test_damaged_rows_are_named_and_skipped(tmp_path, report):
    path = tmp_path / "reports.db"
    with Store(f"sqlite:///{path}") as store:
        ids = [store.save(report) for _ in range(12)]
        assert store.verify().problems == ()
    damage(path, ids[5])
    with Store(f"sqlite:///{path}") as store:
        listed = {entry.id: entry.title for entry in store.list()}
        assert set(listed) == set(ids)
        assert list(listed.values()).count("March") >= 8
        verification = store.verify()
        assert verification.n_reports == 12
        assert any(ids[5] in problem for problem in verification.problems)
        exported = store.export(tmp_path / "copy")
    written = {file.stem for file in (tmp_path / "copy").iterdir()}
    assert exported.problems == verification.problems
    assert ids[5] not in written
    assert len(written) >= 8


def test_an_entry_that_says_something_else_than_its_report_is_named(sqlite_url, report):
    with Store(sqlite_url) as store:
        saved = store.save(report)
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER calib_reports_stay")
            connection.exec_driver_sql("UPDATE calib_reports SET title = 'April'")
        (problem,) = store.verify().problems
        assert f"{saved!r}" in problem
