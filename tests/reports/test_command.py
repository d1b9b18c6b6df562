"""What a report prints about its making, run as it is printed."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.decisions import Costs
from calib.reports import Report, parts_of
from calib.reports.command import command_line, library_call
from tests.reports.conftest import MOMENT, site_frame

FINGERPRINT = "assert predictions.fingerprint == fingerprint"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "it's scores.csv"
    site_frame(400).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=["plain", "everything"])
def report(request, file) -> Report:
    columns = {"outcome": "it's", "score": "-p", "slices": ("site", "age"), "time": "day"}
    predictions = calib.load(file, **columns)
    if request.param == "plain":
        analysis = calib.analyze(predictions, calib.Settings(methods=("platt",)))
        return Report.from_analysis(analysis, parts=parts_of(predictions, analysis))
    settings = calib.Settings(methods=("platt",), n_bins=8, strategy="uniform", n_folds=3, seed=1)
    analysis = calib.analyze(predictions, settings)
    parts = parts_of(
        predictions,
        analysis,
        slices=[("site",), ("age",), ("site", "age")],
        n_ranges=3,
        unit="quarter",
        costs=Costs(1, 4, 0.25),
    )
    return Report.from_analysis(analysis, parts=parts, held_out_declared="yes")


def numbers(report: Report) -> str:
    return report.edited(title="", author="", note="", created=MOMENT).json()


def test_the_printed_call_makes_the_same_report(report, file, tmp_path, monkeypatch):
    call = library_call(report)
    assert FINGERPRINT in call
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(call.replace('"..."', repr(str(file))).replace("report.html", "report.json"), made)
    same = {"held_out_declared": report.held_out_declared}
    expected = made["Report"].from_analysis(made["analysis"], parts=made["parts"], **same)
    assert numbers(expected) == numbers(report)
    assert (tmp_path / "report.json").exists()


def test_the_printed_command_makes_the_same_report(report, file, tmp_path):
    python, m, package, *arguments = shlex.split(command_line(report).replace("\\\n", " "))
    assert (python, m, package) == ("python", "-m", "calib")
    arguments[arguments.index("FILE")] = str(file)
    arguments[-1] = str(tmp_path / "report.json")
    assert main(arguments) == 0
    assert numbers(Report.open(tmp_path / "report.json")) == numbers(report)


def test_an_example_is_called_by_its_name():
    predictions = calib.examples.EXAMPLES["logistic"].load()
    analysis = calib.analyze(predictions, calib.Settings(methods=()))
    call = library_call(Report.from_analysis(analysis, parts=parts_of(predictions, analysis)))
    made = {}
    exec(call.replace('report.save("report.html")', ""), made)
    assert made["predictions"] is predictions


def test_a_name_cannot_leave_its_argument(hostile_report, tmp_path):
    words = shlex.split(command_line(hostile_report).replace(" \\\n    ", " "))
    assert words[:5] == ["python", "-m", "calib", "report", "FILE"]
    assert all(word.startswith("--") for word in words[5:-2])
    compile(library_call(hostile_report), "call", "exec")


def test_a_matrix_is_read_by_all_its_columns(problem, tmp_path, monkeypatch):
    scores, label = problem
    columns = {f"p {name}": scores[:, i] for i, name in enumerate("abcd")}
    frame = pd.DataFrame({"kind": np.array(list("abcd"))[label], **columns})
    file = tmp_path / "kinds.csv"
    frame.to_csv(file, index=False)
    predictions = calib.load(file, outcome="kind", score=tuple(columns))
    analysis = calib.analyze(predictions, calib.Settings(view="top:1", methods=("temperature",)))
    report = Report.from_analysis(analysis, parts=parts_of(predictions, analysis))

    made = {}
    monkeypatch.chdir(tmp_path)
    exec(library_call(report).replace('"..."', repr(str(file))), made)
    assert numbers(made["report"]) == numbers(report)
    arguments = shlex.split(command_line(report).replace("\\\n", " "))[3:]
    arguments[arguments.index("FILE")] = str(file)
    arguments[-1] = str(tmp_path / "report.json")
    assert main(arguments) == 0
    assert numbers(Report.open(tmp_path / "report.json")) == numbers(report)
