from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows
from sqlalchemy import make_url

from calib.store import Store, StoreError, database_url


def test_the_address_comes_first_then_the_folder_then_the_user():
    both = {"CALIB_DATABASE_URL": "postgresql://db/team", "CALIB_HOME": "/srv"}
    assert database_url(both).render_as_string() == "postgresql+psycopg://db/team"
    assert database_url({"CALIB_HOME": "/srv"}).database == str(Path("/srv/reports.db"))


def test_a_folder_may_begin_with_the_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert database_url({"CALIB_HOME": "~/c"}).database == "/home/ada/c/reports.db"


@pytest.mark.parametrize(
    ("system", "environment", "folder"),
    [
        (Unix, {}, "/home/ada/.local/share/calib"),
        (Unix, {"XDG_DATA_HOME": "/data"}, "/data/calib"),
        (Unix, {"XDG_DATA_HOME": "relative"}, "/home/ada/.local/share/calib"),
        (MacOS, {}, "/home/ada/Library/Application Support/calib"),
        (Windows, {}, "/CSIDL_LOCAL_APPDATA/calib"),
    ],
)
def test_the_user_folder_of_each_system(monkeypatch, system, environment, folder):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in ({"HOME": "/home/ada"} | environment).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)
    monkeypatch.setattr("platformdirs.windows.get_win_folder", lambda name: f"/{name}")
    assert database_url({}).database == f"{folder}/reports.db"


def test_without_a_home_the_error_names_the_setting(monkeypatch, texts):
    def no_home(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("calib.store.engine.user_data_path", no_home)
    with texts.raises(StoreError):
        database_url({})


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
