import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.decisions import Costs
from calib.figures.chart import missing
from calib.reports import Report, parts_of
from calib.ui.session.upload import Upload
from tests.rare import common_first, rare

ROOT = Path(__file__).parents[2]
FAST = ("--methods", "platt,isotonic")


def undated(report: Report) -> str:
    # The seal depends on the date.
    return replace(report, created="2026-03-01", seal=None).json()


def written(path: Path) -> str:
    return undated(Report.open(path))


def library(data: Path, settings: calib.Settings, words: dict[str, str], **columns) -> str:
    predictions = calib.load(data, **columns)
    analysis = calib.analyze(predictions, settings)
    return undated(Report.from_analysis(analysis, parts=parts_of(predictions, analysis), **words))


CASES = {
    "csv": ("scores.csv", (), {}),
    "parquet": ("scores.parquet", (), {}),
    "split": ("scores.csv", ("--split", "half"), {"split": "half"}),
    "value": (
        "scores.csv",
        ("--split", "half", "--test-value", "train"),
        {"split": "half", "test_value": "train"},
    ),
    "weight": (
        "scores.csv",
        ("--weight", "times", "--group", "household", "--positive", "no", "--swap"),
        {"weight": "times", "group": "household", "positive": "no", "swap": True},
    ),
    "fold": ("scores.csv", ("--fold", "times"), {"fold": "times"}),
    "percent": ("percent.csv", ("--transform", "percent"), {"transform": "percent"}),
    "names": (
        "scores.csv",
        ("--name", "March", "--slice", "half", "--drop-missing"),
        {"name": "March", "slices": ("half",), "drop_missing": True},
    ),
}


# The tests in tests/loading show how columns are read.
@pytest.mark.parametrize("case", common_first(CASES, {"weight"}))
def test_the_command_line_gives_the_report_of_the_library(case, folder, run, tmp_path, texts):
    file, options, columns = CASES[case]
    arguments = ("--outcome", "y", "--score", "p", *options)
    done = run("report", folder / file, *arguments, *FAST, "-o", tmp_path / "r.json")
    assert (done.status, done.out) == (0, f"{tmp_path / 'r.json'}\n")
    texts.shown(done.err, "each case")
    assert done.err.count("\n") == 1
    settings = calib.Settings(methods=("platt", "isotonic"))
    expected = library(folder / file, settings, {}, outcome="y", score="p", **columns)
    assert written(tmp_path / "r.json") == expected


def test_every_setting_and_every_word_arrives(folder, run, tmp_path):
    options = ["--methods", "platt, spline", "--strategy", "uniform", "--bins", "9", "--seed", "3"]
    options += ["--epsilon", "0.01", "--folds", "3", "--level", "0.9", "--view", "class:0"]
    options += ["--title", "March", "--author", "Ada", "--note", "two\nlines", "--held-out", "yes"]
    path = tmp_path / "r.json"
    done = run("report", folder / "scores.csv", "--test", folder / "more.csv", *options, "-o", path)
    assert done.status == 0, done.err
    settings = calib.Settings(
        view="class:0",
        methods=("platt", "spline"),
        strategy="uniform",
        n_bins=9,
        epsilon=0.01,
        n_folds=3,
        seed=3,
        confidence_level=0.9,
    )
    words = {"title": "March", "author": "Ada", "note": "two\nlines", "held_out_declared": "yes"}
    expected = library(folder / "scores.csv", settings, words, test=folder / "more.csv")
    assert written(path) == expected


def test_the_page_reads_the_same_report_from_the_same_file(folder, run, tmp_path):
    file = folder / "scores.csv"
    assert run("report", file, *FAST, "-o", tmp_path / "r.json").status == 0
    rows = Upload.of(calib.loading.read(file.read_bytes(), file.name)).predictions
    # A page fits with default bins too, and bins again for other settings.
    fitted = calib.analyze(rows, calib.Settings(methods=("platt", "isotonic")).fitting())
    analysis = calib.analyze(rows, calib.Settings(methods=("platt", "isotonic")), earlier=fitted)
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    assert written(tmp_path / "r.json") == undated(report)


@rare
def test_twice_the_same_bytes_in_two_processes(folder, run, tmp_path):
    command = ("report", folder / "scores.csv", *FAST, "-o")
    here, other = tmp_path / "here.json", tmp_path / "other.json"
    assert run(*command, here).status == 0
    # The other process has another seed of hashes than this one.
    seed = os.environ.get("PYTHONHASHSEED", "random")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "calib", *map(str, (*command, other))],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "2" if seed == "1" else "1"},
        capture_output=True,
        check=False,
    )
    line = b"outcome: y, score: p, positive: yes, slices: half (guessed)"
    (told,) = done.stderr.splitlines()
    assert (done.returncode, told.startswith(line)) == (0, True)
    assert written(here) == written(other)


def test_the_suffix_decides_and_every_output_is_written(folder, run, tmp_path):
    paths = [tmp_path / name for name in ("a.html", "b.JSON", "c.md")]
    outputs = [part for path in paths for part in ("-o", path)]
    done = run("report", folder / "scores.csv", "--methods", "platt", *outputs)
    assert done.status == 0, done.err
    assert done.out.splitlines() == [str(path) for path in paths]
    report = Report.open(paths[1])
    assert paths[0].read_text() == report.html()
    assert paths[2].read_text() == report.markdown()


def test_progress_goes_to_standard_error_on_request_or_to_a_terminal(
    folder, run, tmp_path, monkeypatch
):
    command = ("report", folder / "scores.csv", *FAST, "-o", tmp_path / "r.json")
    asked = run(*command, "--progress")
    assert asked.out == f"{tmp_path / 'r.json'}\n"
    assert "Fold 5 of 5" in asked.err
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    assert run(*command).err == asked.err


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("r.pdf", "--output must end in one of .html, .json, .md, .zip, got 'r.pdf'."),
        ("none/r.json", "--output must lie in a folder that exists, got"),
        ("folder.json", "folder.json cannot be written: Is a directory."),
    ],
)
def test_an_output_that_cannot_be_written(folder, run, tmp_path, output, sentence):
    (tmp_path / "folder.json").mkdir()
    done = run("report", folder / "scores.csv", "--methods", "", "-o", tmp_path / output)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err.splitlines()[-1]


def test_html_without_plotly_is_refused_before_the_work(folder, run, tmp_path, monkeypatch, texts):
    monkeypatch.setattr("calib.cli.options.find_spec", lambda _: None)
    done = run("report", folder / "scores.csv", "-o", tmp_path / "r.html")
    assert done.status == 2
    texts.shown(done.err)


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as packed:
        return packed.namelist()


def test_slices_time_and_costs_are_options(folder, run, tmp_path):
    options = ("--slice", "half", "--slice", "times", "--cross", "half", "times", "--time", "day")
    costs = ("--cost-fn", "4", "--unit", "month", "--ranges", "3")
    path = tmp_path / "r.json"
    rows = pd.read_csv(folder / "scores.csv").assign(day="2024-01-05")
    rows.to_csv(tmp_path / "days.csv", index=False)
    done = run("report", tmp_path / "days.csv", *FAST, *options, *costs, "-o", path)
    assert done.status == 0, done.err
    predictions = calib.load(tmp_path / "days.csv", slices=("half", "times"), time="day")
    analysis = calib.analyze(predictions, calib.Settings(methods=("platt", "isotonic")))
    parts = parts_of(
        predictions,
        analysis,
        slices=[("half",), ("times",), ("half", "times")],
        n_ranges=3,
        unit="month",
        costs=Costs(false_negative=4),
    )
    assert written(path) == undated(Report.from_analysis(analysis, parts=parts))


def test_an_unknown_column_to_cross_is_a_sentence(folder, run, tmp_path, texts):
    options = ("--slice", "half", "--cross", "half", "colour")
    done = run("report", folder / "scores.csv", *FAST, *options, "-o", tmp_path / "r.json")
    assert (done.status, done.out) == (2, "")
    texts.shown(done.err)


@rare
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_images_go_into_the_archive_with_the_tables(folder, run, tmp_path, texts):
    path = tmp_path / "r.zip"
    done = run(
        "report",
        folder / "scores.csv",
        "--methods",
        "",
        "--images",
        "svg",
        "--progress",
        "-o",
        path,
    )
    assert done.status == 0, done.err
    members = {"metrics.csv", "01_verdict.svg", "02_cumulative_difference.svg"}
    assert members <= set(names(path)), names(path)
    texts.shown(done.err)


def test_images_need_an_archive(folder, run, tmp_path, texts):
    path = tmp_path / "r.html"
    done = run("report", folder / "scores.csv", "--images", "png", "-o", path)
    assert done.status == 2
    texts.shown(done.err)


def test_a_matrix_begins_where_matrices_begin(run, tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([2.0, 2.0, 2.0], 400).round(6)
    label = (scores.cumsum(axis=1) > rng.random(400)[:, None]).argmax(axis=1)
    lines = [f"{'abc'[k]},{','.join(map(str, row))}" for k, row in zip(label, scores, strict=True)]
    source = tmp_path / "matrix.csv"
    source.write_text("label,a,b,c\n" + "\n".join(lines) + "\n")
    arguments = ("--outcome", "label", "--score", "a", "--score", "b", "--score", "c")
    path = tmp_path / "r.json"
    done = run("report", source, *arguments, "--methods", "temperature", "-o", path)
    assert done.status == 0, done.err
    settings = json.loads(path.read_text())["analysis"]["settings"]
    assert (settings["view"], settings["methods"]) == ("top:1", ["uncalibrated", "temperature"])
    done = run(
        "check", source, *arguments, "--view", "class:2", "--method", "vector", "--max-ks", "0.2"
    )
    assert done.status == 0, done.err


def test_counts_of_several_files_are_added(folder, run, tmp_path):
    rows = pd.read_csv(folder / "scores.csv")
    halves = {"north": rows[:250], "south": rows[250:]}
    columns = {"outcome": "y", "score": "p", "slices": ["half"]}
    counts = {name: calib.scan(half, **columns) for name, half in halves.items()}
    for name, counted in counts.items():
        counted.save(tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in halves]
    done = run("report", *files, *FAST, "--name", "all", "-o", tmp_path / "r.json")
    assert done.status == 0, done.err
    total = replace(counts["north"] + counts["south"], name="all")
    analysis = calib.analyze(total, calib.Settings(methods=("platt", "isotonic")))
    report = Report.from_analysis(analysis, parts=parts_of(total, analysis))
    assert written(tmp_path / "r.json") == undated(report)


def test_rows_that_would_count_twice_and_files_of_rows_are_refused(folder, run, tmp_path, texts):
    rows = pd.read_csv(folder / "scores.csv")
    (tmp_path / "again").mkdir()
    for path, part in (("a.parquet", rows), ("again/b.parquet", rows[::-1])):
        calib.scan(part, outcome="y", score="p").save(tmp_path / path)
    refused = [
        ("a.parquet", "a.parquet"),
        ("a.parquet", "again/b.parquet"),
        ("a.parquet", folder / "scores.csv"),
    ]
    for files in refused:
        paths = (tmp_path / file for file in files)
        done = run("report", *paths, *FAST, "-o", tmp_path / "r.json")
        assert (done.status, done.out) == (2, "")
        texts(done.err.replace(str(folder), str(tmp_path)).replace(f"{tmp_path}/", ""))
