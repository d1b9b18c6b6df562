"""Files that earlier versions made: none was edited, and each is opened, verified and run.

If one of these tests fails, the change of the program is wrong, and not the file: people have such
files. docs/stability.md says what they can rely on.
"""

import hashlib
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pytest

import calib
from calib.calibrators import CALIBRATORS
from calib.cli.main import main
from calib.metrics.cumulative import KS
from calib.reports import Report
from calib.reports.contents.evidence import GRADES
from calib.words.verdicts import TEST_NAMES
from tests.kept import DIGESTS, FOLDER, NUMBERS, REPORTS, VERSIONS
from tests.kept.make import named_by, numbers_of, public_names

# Before version 1.0.0 no command was promised. `calib report a.parquet b.parquet` adds counts up.
REMOVED = {"calib pool"}
SUFFIXES = (".json", ".sql", ".py", ".js", ".onnx")
EXPORTS = [
    path
    for version in VERSIONS
    for path in sorted((FOLDER / version).iterdir())
    if path.suffix in SUFFIXES and path not in REPORTS and path.name != NUMBERS
]


def of(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def numbers(path: Path) -> Any:
    """The numbers that were written beside a file when it was made."""
    return json.loads((path.parent / NUMBERS).read_text())


@pytest.mark.parametrize("version", VERSIONS)
def test_no_kept_file_was_edited_added_or_removed(version):
    folder = FOLDER / version
    actual = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != DIGESTS
    }
    lines = (line.split() for line in (folder / DIGESTS).read_text().splitlines())
    assert actual == {name: digest for digest, name in lines}


@pytest.mark.parametrize("path", [*REPORTS, *EXPORTS], ids=of)
def test_a_kept_file_is_verified(path, capsys):
    status = main(["verify", str(path)])
    assert (status, capsys.readouterr().out.partition(":")[0]) == (0, result_of(path))


def result_of(path: Path) -> str:
    """The counts of the scores of guarded reports are not in them."""
    return (
        "consistent"
        if path in REPORTS and Report.open(path).evidence.grade == "guarded"
        else "pass"
    )


def test_kept_reports_are_verified_after_the_program_is_reworded(monkeypatch, capsys):
    kept = Report.open(REPORTS[-1]).analysis
    verdict = "calib.words.verdicts"
    monkeypatch.setattr(f"{verdict}.KINDS", {kept.verdict.kind: "wrong"})
    monkeypatch.setattr(f"{verdict}.TEST_NAMES", dict.fromkeys(TEST_NAMES, "A test"))
    monkeypatch.setattr("calib.words.recommendations.advice_sentence", lambda *_, **__: "Do it.")
    monkeypatch.setattr("calib.metrics.cumulative.KS", (*KS[:2], "Brown's path"))
    monkeypatch.setattr("calib.reports.contents.evidence.CONTAINS", dict.fromkeys(GRADES, "Few."))
    monkeypatch.setattr("calib.reports.contents.disclosure.MERGED", "Bins are larger.")
    monkeypatch.setattr(type(CALIBRATORS["platt"]), "label", "Sigmoid")
    again = calib.analyze(Report.open(REPORTS[-1]).evidence.cells, kept.settings)
    assert again.verdict.sentence != kept.verdict.sentence
    assert again.recommendation.sentence == "Do it."
    for path in REPORTS:
        status = main(["verify", str(path)])
        assert (status, capsys.readouterr().out.partition(":")[0]) == (0, result_of(path))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_name_that_programs_write_is_still_there(version):
    names = public_names()
    kept = numbers(FOLDER / version / NUMBERS)["names"]
    for kind in kept.keys() - REMOVED:
        assert set(kept[kind]) - set(names[kind]) == set(), kind


@pytest.mark.parametrize("version", VERSIONS)
def test_kept_counts_give_their_numbers(version):
    path = FOLDER / version / "counts.parquet"
    given = numbers_of(calib.Aggregate.load(path))
    kept = numbers(path)["counts"]
    assert list(given.pop("columns")) == kept.pop("columns")
    assert given == pytest.approx(kept, rel=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_kept_links_name_the_same_data_and_choices(version):
    path = FOLDER / version / NUMBERS
    for name, kept in numbers(path)["links"].items():
        given = named_by((FOLDER / version / name).read_text())
        assert json.loads(json.dumps(given)) == kept


def of_json(path: Path, rows: Any) -> Any:
    return calib.load_calibrator(path).predict(rows)


def of_python(path: Path, rows: Any) -> Any:
    names: dict[str, Any] = {}
    exec(path.read_text(), names)
    return [names["calibrate"](row) for row in rows]


def of_javascript(path: Path, rows: Any) -> Any:
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    code = (
        f"import {{ calibrate }} from {json.dumps(path.as_uri())};"
        f"console.log(JSON.stringify({json.dumps(rows)}.map(row => calibrate(row))))"
    )
    command = ["node", "--no-warnings", "--input-type=module", "--eval", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def of_onnx(path: Path, rows: Any) -> Any:
    session = onnxruntime.InferenceSession(path.read_bytes())
    return session.run(["calibrated"], {"scores": np.array(rows)})[0]


def of_sql(path: Path, rows: Any) -> Any:
    connect = sqlite3.connect if "sqlite" in path.name else duckdb.connect
    names = ["score"] if np.ndim(rows) == 1 else ["ant", "bee", "cow"]
    with closing(connect(":memory:")) as database:
        columns = ", ".join(f"{name} DOUBLE" for name in names)
        database.execute(f"CREATE TABLE scores (row INTEGER, {columns})")
        marks = ", ".join("?" for _ in ["row", *names])
        table = [[i, *np.atleast_1d(row).tolist()] for i, row in enumerate(rows)]
        database.executemany(f"INSERT INTO scores VALUES ({marks})", table)
        done = database.execute(path.read_text())
        place = {column[0]: i for i, column in enumerate(done.description)}
        found = sorted(done.fetchall(), key=lambda row: row[place["row"]])
    calibrated = [name for name in place if name.startswith("calibrated")]
    values = [[row[place[name]] for name in calibrated] for row in found]
    return values if np.ndim(rows) == 2 else [row[0] for row in values]


RUN: dict[str, Callable[[Path, Any], Any]] = {
    ".json": of_json,
    ".py": of_python,
    ".js": of_javascript,
    ".onnx": of_onnx,
    ".sql": of_sql,
}
# Their engines are servers. `calib verify` runs these queries in DuckDB.
ON_SERVERS = ("postgres", "bigquery")


@pytest.mark.parametrize(
    "path", [path for path in EXPORTS if not path.stem.endswith(ON_SERVERS)], ids=of
)
def test_a_kept_calibrator_gives_its_probabilities(path):
    kept = numbers(path)["exports"]
    method = path.stem.partition("-")[0]
    given = RUN[path.suffix](path, kept["matrix" if method == "vector" else "scores"])
    assert np.asarray(given) == pytest.approx(np.array(kept[method]), rel=1e-12, abs=1e-14)
