import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url

from calib.store import Store, StoreError, database_url


def test_the_address_comes_first_then_the_folder_then_the_user():
    both = {"CALIB_DATABASE_URL": "postgresql://db/team", "CALIB_HOME": "/srv"}
    assert database_url(both).render_as_string() == "postgresql+psycopg://db/team"
    assert database_url({"CALIB_HOME": "/srv"}).database == str(Path("/srv/reports.db"))


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG specification is Linux's: skipped")
def test_the_user_folder_of_linux(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    own = "/home/ada/.local/share/calib/reports.db"
    assert database_url({"XDG_DATA_HOME": "/data"}).database == "/data/calib/reports.db"
    assert database_url({}).database == own
    assert database_url({"XDG_DATA_HOME": "relative"}).database == own
    assert database_url({"CALIB_HOME": "~/c"}).database == "/home/ada/c/reports.db"


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support/calib"), ("win32", "AppData/Local/calib")],
)
def test_the_user_folder_of_other_systems(monkeypatch, platform, folder):
    monkeypatch.setattr(sys, "platform", platform)
    assert database_url({}).database == str(Path.home() / folder / "reports.db")


def test_windows_may_name_the_folder(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert database_url({"LOCALAPPDATA": "/local"}).database == "/local/calib/reports.db"


def test_the_process_environment_is_the_default(monkeypatch, tmp_path):
    monkeypatch.delenv("CALIB_DATABASE_URL", raising=False)
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "new" / "folder"))
    with Store.from_environment() as store:
        assert store.list() == ()
    assert (tmp_path / "new" / "folder" / "reports.db").exists()
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "address",
    [
        "mysql://ada:secret@db/team",
        "sqlite://",
        "sqlite:///:memory:",
        "team:secret",
        "postgresql://ada:secret@db:port/team",
        "postgresqlite://x",
    ],
)
def test_an_address_of_another_kind_is_refused_without_its_password(address, texts):
    with texts.raises(StoreError) as caught:
        database_url({"CALIB_DATABASE_URL": address})
    assert "secret" not in str(caught.value)


def test_a_driver_in_the_address_makes_no_difference():
    given = database_url(
        {"CALIB_DATABASE_URL": "postgresql+psycopg2://ada@db/team?sslmode=require"}
    )
    assert given == make_url("postgresql+psycopg://ada@db/team?sslmode=require")
