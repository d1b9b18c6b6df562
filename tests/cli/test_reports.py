"""`calib reports`: what an operator does with saved reports."""

import sqlite3
from pathlib import Path

import pytest

from calib.cli.main import main
from calib.reports import Report
from calib.store import Store
from tests.store.conftest import report

__all__ = ["report"]


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Report) -> str:
    monkeypatch.setenv("CALIB_HOME", str(tmp_path))
    with Store.from_environment() as store:
        return store.save(report, owner="ada@example.org")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["reports", *arguments]) == status
    return "".join(capsys.readouterr())


def test_a_report_is_listed_deleted_and_restored(saved, capsys):
    assert saved in said(capsys, "list")
    assert said(capsys, "delete", saved, "--by", "Grace") == f"{saved} deleted\n"
    listed = said(capsys, "list")
    assert "deleted 20" in listed
    assert "Grace" in listed
    assert said(capsys, "restore", saved) == f"{saved} restored\n"
    log = said(capsys, "log")
    assert [line.split("\t")[1] for line in log.splitlines()] == ["restored", "deleted", "saved"]
    assert "the operator (" in log
    assert "ada@example.org" in log


def test_what_is_removed_for_good_cannot_be_restored(saved, capsys):
    said(capsys, "delete", saved, "--for-good")
    assert "was deleted" in said(capsys, "restore", saved, status=2)


def test_a_whole_database_is_said_to_be_whole_and_exported(saved, capsys, tmp_path, texts):
    texts.shown(said(capsys, "verify"))
    said(capsys, "verify", "--export", str(tmp_path / "copies"))
    assert Report.open(tmp_path / "copies" / f"{saved}.json").title == "March"


def test_damage_is_named_and_told_by_the_status(saved, capsys, tmp_path):
    with sqlite3.connect(tmp_path / "reports.db") as connection:
        connection.execute("DROP TRIGGER calib_reports_stay")
        connection.execute("UPDATE calib_reports SET content = x'00'")
    connection.close()
    printed = said(capsys, "verify", status=1)
    assert f"{saved!r}" in printed
    assert "1 problem" in printed


def test_an_id_that_is_not_there(saved, capsys, texts):
    texts.shown(said(capsys, "delete", "x", status=2))
