import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from calib.store import Store, StoreError
from calib.store.location import checked_url

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "reports.db"


def test_a_locked_file_is_waited_for_and_then_told(path, report):
    with Store(f"sqlite:///{path}", patience=0.2) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=f"database {path} is busy: .* Try again"):
            store.save(report)
        assert store.list() == ()
        other.execute("ROLLBACK")
        other.close()
        assert store.open(store.save(report)).title == "March"


def test_a_file_that_is_no_database(path):
    path.write_text("outcome,score\n" * 1000)
    with pytest.raises(StoreError, match=f"database {path} is damaged, or is no database"):
        Store(f"sqlite:///{path}")


def test_a_damaged_page_is_told(path, report):
    with Store(f"sqlite:///{path}") as store:
        ids = [store.save(report) for _ in range(30)]
    content = bytearray(path.read_bytes())
    # All pages but the first hold rows now: 0xff is no kind of page.
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"), Store(f"sqlite:///{path}") as store:
        store.open(ids[0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "This is no report"),
        (b"no gzip", "it is damaged"),
        (b"\x1f\x8b\x08" + b"\0" * 40, "it is damaged"),
        (gzip.compress(b"{}")[:-3], "it is damaged"),
        (gzip.compress(b'{"schema_version": 999}'), "was written by a newer version of calib"),
    ],
    # gzip writes the time: names must be the same in every process.
    ids=["empty", "no gzip", "no data", "cut short", "newer"],
)
def test_a_damaged_report_is_told_and_the_others_open(path, report, content, reason):
    with Store(f"sqlite:///{path}") as store:
        whole = store.save(report)
        with store._engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO calib_reports SELECT 'x', saved, created, title, data_name, "
                "fingerprint, author, note, verdict, sentence, searched, ? FROM calib_reports",
                (content,),
            )
        with pytest.raises(StoreError, match=f"The saved report 'x' cannot be opened: .*{reason}"):
            store.open("x")
        assert store.open(whole).title == "March"
        assert store.count() == 2


@pytest.mark.parametrize("column", ["saved", "created", "title", "author", "sentence", "content"])
@pytest.mark.parametrize(
    "value",
    ["x'fffe'", "CAST(x'fffe41' AS TEXT)", "'yesterday'", "''", "7", "'9999-12-31T23:59:59-14:00'"],
)
def test_a_list_with_a_damaged_entry_opens_and_shows_it(path, report, column, value):
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
            with pytest.raises(StoreError, match=f"report '{damaged}' cannot be opened"):
                store.open(damaged)
        else:
            assert store.open(damaged).title == "March"
        assert store.open(whole).title == "March"


def test_a_damaged_line_of_the_log_is_shown(path, report):
    with Store(f"sqlite:///{path}") as store:
        gone = store.save(report)
        store.delete(gone, by="Ada")
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE calib_deletions SET deleted = 'once', title = x'ff'")
        (line,) = store.deletions()
        assert (line.title, line.deleted, line.deleted_by) == ("(damaged)", None, "Ada")
        with pytest.raises(StoreError, match=f"'{gone}' was deleted at an unknown time.* by Ada"):
            store.open(gone)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"The folder for reports, .*file/x, cannot be made"):
        Store(f"sqlite:///{tmp_path / 'file' / 'x' / 'reports.db'}")


def test_a_path_that_is_a_folder(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be written to.*CALIB_HOME"):
        Store(f"sqlite:///{tmp_path}")


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="file modes are Unix's: skipped")
@pytest.mark.parametrize("existing", [True, False])
def test_a_folder_that_is_read_only(existing):
    # Not in tmp_path, which only its owner can enter, and root may write everywhere.
    folder = Path(tempfile.mkdtemp())
    try:
        if existing:
            Store(f"sqlite:///{folder / 'reports.db'}").close()
        folder.chmod(0o555)
        code = (
            "import os\nfrom calib.store import Store, StoreError\n"
            f"if os.getuid() == 0: os.setuid({NOBODY})\n"
            f"try: Store('sqlite:///{folder}/reports.db').list()\n"
            "except StoreError as error: print(error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert f"{folder}/reports.db cannot be written to. Allow it" in done.stdout, done.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_postgresql_that_is_not_there(tmp_path):
    with pytest.raises(
        StoreError, match=r"'team' on .* cannot be reached: .* Is it running"
    ) as told:
        Store(f"postgresql://ada:secret@/team?host={tmp_path}", patience=2.0)
    assert "secret" not in str(told.value)


def test_postgresql_without_that_database(socket):
    with pytest.raises(StoreError, match=r"'nothing' on .* does not exist"):
        Store(f"postgresql://calib@/nothing?host={socket}")


def test_postgresql_without_that_user(socket):
    with pytest.raises(StoreError, match=r"'postgres' on .* refuses this user or password"):
        Store(f"postgresql://nobody@/postgres?host={socket}")


def test_postgresql_that_forbids_tables(postgres_url):
    engine = create_engine(checked_url(postgres_url))
    with engine.begin() as connection:
        connection.execute(text("CREATE ROLE reader LOGIN"))
    engine.dispose()
    with pytest.raises(StoreError, match="does not let this user create or use its tables"):
        Store(postgres_url.replace("calib@", "reader@"))


def test_postgresql_without_its_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        StoreError, match=r"needs the package psycopg.*pip install 'psycopg\[binary\]"
    ):
        Store("postgresql://db/team")
