import gzip
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from calib.store import Store, StoreError
from calib.store.engine import checked_url
from tests.rare import common_first

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "reports.db"


def test_a_locked_file_is_waited_for_and_then_told(path, report, texts):
    with Store(f"sqlite:///{path}", patience=0.2) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with texts.raises(StoreError):
            store.save(report)
        assert store.list() == ()
        other.execute("ROLLBACK")
        other.close()
        assert store.open(store.save(report)).title == "March"


def test_a_file_that_is_no_database(path, texts):
    path.write_text("outcome,score\n" * 1000)
    with texts.raises(StoreError):
        Store(f"sqlite:///{path}")


def test_a_damaged_page_is_told(path, report, texts):
    with Store(f"sqlite:///{path}") as store:
        ids = [store.save(report) for _ in range(30)]
    content = bytearray(path.read_bytes())
    # All pages except the first then have the byte 0xff, which is not a kind of page.
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with texts.raises(StoreError), Store(f"sqlite:///{path}") as store:
        store.open(ids[0])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        b"\x1f\x8b\x08" + b"\0" * 40,
        gzip.compress(b"{}")[:-3],
        gzip.compress(b'{"schema_version": 999}'),
    ],
    # The bytes of gzip contain the time, and names of tests must be the same in every process.
    ids=["empty", "no gzip", "no data", "cut short", "newer"],
)
def test_a_damaged_report_is_told_and_the_others_open(path, report, content, texts):
    with Store(f"sqlite:///{path}") as store:
        whole = store.save(report)
        with store._engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO calib_reports SELECT 'x', saved, created, title, data_name, "
                "fingerprint, author, note, verdict, sentence, searched, ? FROM calib_reports",
                (content,),
            )
        with texts.raises(StoreError):
            store.open("x")
        assert store.open(whole).title == "March"
        assert store.count() == 2


@pytest.mark.parametrize(
    "column",
    common_first(
        ["saved", "created", "title", "author", "sentence", "content"], ["created", "content"]
    ),
)
@pytest.mark.parametrize(
    "value",
    ["x'fffe'", "CAST(x'fffe41' AS TEXT)", "'yesterday'", "''", "7", "'9999-12-31T23:59:59-14:00'"],
)
def test_a_list_with_a_damaged_entry_opens_and_shows_it(path, report, column, value, texts):
    with Store(f"sqlite:///{path}") as store:
        damaged, whole = store.save(report, tags=["a"]), store.save(report)
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER calib_reports_stay")
            connection.exec_driver_sql(
                f"UPDATE calib_reports SET {column} = {value} WHERE id = ?", (damaged,)
            )
        listed = {entry.id: entry for entry in store.list()}
        assert set(listed) == {damaged, whole}
        assert all(isinstance(text, str) for text in (listed[damaged].title, *store.authors()))
        if column in ("saved", "created"):
            assert getattr(store.entry(damaged), column) is None
        if column == "content":
            with texts.raises(StoreError):
                store.open(damaged)
        else:
            assert store.open(damaged).title == "March"
        assert store.open(whole).title == "March"


def test_a_damaged_line_of_the_log_is_shown(path, report, texts):
    with Store(f"sqlite:///{path}") as store:
        gone = store.save(report)
        store.delete(gone, by="Ada")
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE calib_deletions SET deleted = 'once', title = x'ff'")
        (line,) = store.deletions()
        assert (line.title, line.deleted, line.deleted_by) == ("(damaged)", None, "Ada")
        with texts.raises(StoreError):
            store.open(gone)


def test_a_folder_that_cannot_be_made(tmp_path, texts):
    (tmp_path / "file").write_text("")
    with texts.raises(StoreError):
        Store(f"sqlite:///{tmp_path / 'file' / 'x' / 'reports.db'}")


def test_a_path_that_is_a_folder(tmp_path, texts):
    with texts.raises(StoreError):
        Store(f"sqlite:///{tmp_path}")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="file modes are Unix's: skipped")
def test_a_read_only_folder_without_reports(other_processes):
    # Only its owner can enter tmp_path, and root can write everywhere.
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o555)
        code = (
            "from calib.store import Store, StoreError\n"
            f"try: Store('sqlite:///{folder}/reports.db').list()\n"
            "except StoreError as error: print(error)"
        )
        printed = other_processes("nobody", code)
        assert f"{folder}/reports.db" in printed
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_postgresql_that_is_not_there(tmp_path):
    # Most of this sentence comes from the server.
    with pytest.raises(StoreError, match=r"'team' on .*") as error:
        Store(f"postgresql://ada:secret@/team?host={tmp_path}", patience=2.0)
    assert "secret" not in str(error.value)


def test_postgresql_without_that_database(socket, texts):
    with texts.raises(StoreError):
        Store(f"postgresql://calib@/nothing?host={socket}")


def test_postgresql_without_that_user(socket, texts):
    with texts.raises(StoreError):
        Store(f"postgresql://nobody@/postgres?host={socket}")


def test_postgresql_that_forbids_tables(postgres_url, texts):
    engine = create_engine(checked_url(postgres_url))
    with engine.begin() as connection:
        connection.execute(text("CREATE ROLE reader LOGIN"))
    engine.dispose()
    with texts.raises(StoreError):
        Store(postgres_url.replace("calib@", "reader@"))


def test_postgresql_without_its_driver(monkeypatch, texts):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with texts.raises(StoreError):
        Store("postgresql://db/team")
