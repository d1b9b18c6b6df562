"""What a report prints about its making, run as it is printed: the same report comes of it."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.decisions import Costs
from calib.cli import main
from calib.crossfit.settings import default_settings
from calib.loading.examples import EXAMPLES
from calib.reports import Report, parts_of
from calib.reports.contents.settings_file import SavedSettings
from calib.reports.render.reproduction import command_line, library_call
from tests.rare import common_first, rare
from tests.reports.conftest import MOMENT, site_frame

PLATT = calib.Settings(methods=("platt",))
ALL = calib.Settings(
    methods=("platt",), n_bins=8, strategy="uniform", n_folds=3, seed=1, confidence_level=0.9
)
CROSSED = {
    "slices": [("site",), ("age",), ("site", "age")],
    "n_ranges": 3,
    "unit": "quarter",
    "costs": Costs(1, 4, 0.25),
}
WORDS = {
    "title": "March, 'first'",
    "author": "-Ada",
    "note": "two\nlines \\\n$HOME `x`",
    "held_out_declared": "yes",
}
HOSTILE_NAME = "$(touch hacked) `touch hacked`; touch hacked & '\"<img src=x>"
TRUTH, SCORE = {"outcome": "it's"}, {"outcome": "it's", "score": "-p"}


def rows(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = site_frame(n).assign(
        times=rng.integers(1, 4, n),
        home=rng.integers(0, n // 3, n),
        half=rng.choice(["test", "train"], n),
        kind=rng.choice(["north wind", "-south"], n),
    )
    said = np.where(frame["it's"] == 1, "lost", "kept")
    return frame.assign(
        said=said,
        percent=100 * frame["-p"],
        other=1 - frame["-p"],
        odds=np.log(frame["-p"] / (1 - frame["-p"])),
        guess=rng.choice(["lost", "kept"], n),
        gaps=frame["-p"].where(rng.random(n) < 0.95),
        beta_score=frame["-p"] ** 2,
    )


def matrix(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    odds = rng.normal(size=(n, 4))
    scores = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    label = [rng.choice(4, p=row) for row in scores]
    columns = {f"probs_{name}": scores[:, i] for i, name in enumerate("abcd")}
    return pd.DataFrame({"kind": np.array(list("abcd"))[label], **columns})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    frame = rows()
    frame.to_csv(made / "it's scores.csv", index=False)
    frame.to_parquet(made / "-rows.parquet", index=False)
    rows(200).to_csv(made / "more: b.csv", index=False)
    frame.rename(columns={"-p": HOSTILE_NAME}).to_csv(made / f"{HOSTILE_NAME}.csv", index=False)
    matrix().to_csv(made / "kinds.csv", index=False)
    rng = np.random.default_rng(7)
    logits = rng.normal(size=(300, 5)).astype(np.float32)
    np.savez(made / "net.npz", logits=logits, y=rng.integers(0, 5, 300), w=np.arange(300) % 3 + 1)
    return made


# The file has other columns that look like scores, so a warning is given.
SEVERAL_SCORES = pytest.mark.filterwarnings("ignore:.*taken for the score:calib.InputWarning")
# Each case has a file, arguments of calib.load, settings, arguments of parts_of, and texts.
CASES = {
    "plain": ("it's scores.csv", SCORE, PLATT, {}, {}),
    "everything": (
        "it's scores.csv",
        SCORE | {"weight": "times", "group": "home", "slices": ("site", "age"), "time": "day"},
        ALL,
        CROSSED,
        WORDS,
    ),
    "parquet": ("-rows.parquet", SCORE | {"name": "March"}, PLATT, {}, {}),
    "split": ("it's scores.csv", SCORE | {"split": "half"}, PLATT, {}, {}),
    "turned split": (
        "it's scores.csv",
        SCORE | {"split": "half", "test_value": "train"},
        PLATT,
        {},
        {},
    ),
    "folds": ("it's scores.csv", SCORE | {"fold": "kind"}, replace(PLATT, n_folds=3), {}, {}),
    "two files": ("it's scores.csv", SCORE | {"test": "more: b.csv"}, PLATT, {}, {}),
    "percent": (
        "it's scores.csv",
        {"outcome": "said", "score": "percent", "positive": "lost", "transform": "percent"},
        PLATT,
        {},
        {},
    ),
    "other class": (
        "it's scores.csv",
        {"outcome": "said", "score": "other", "positive": "lost", "swap": True},
        PLATT,
        {},
        {},
    ),
    "odds": ("it's scores.csv", TRUTH | {"score": "odds", "transform": "logit"}, PLATT, {}, {}),
    "predicted": (
        "it's scores.csv",
        {"outcome": "said", "predicted": "guess", "score": "-p"},
        PLATT,
        {},
        {},
    ),
    "left out": ("it's scores.csv", TRUTH | {"score": "gaps", "drop_missing": True}, PLATT, {}, {}),
    "one of several": (
        "it's scores.csv",
        SCORE | {"model": "kind", "model_value": "-south"},
        PLATT,
        {},
        {},
    ),
    "another time": (
        "it's scores.csv",
        SCORE | {"slices": ("site", "age"), "time": "day"},
        PLATT,
        {"time": "age"},
        {},
    ),
    "hostile": (
        f"{HOSTILE_NAME}.csv",
        TRUTH | {"score": HOSTILE_NAME},
        PLATT,
        {},
        {"title": HOSTILE_NAME},
    ),
    "matrix": (
        "kinds.csv",
        {"outcome": "kind", "score": tuple(f"probs_{name}" for name in "abcd")},
        calib.Settings(view="class:1", methods=("temperature",)),
        {},
        {},
    ),
    "classes in another order": (
        "kinds.csv",
        {"outcome": "kind", "score": tuple(f"probs_{name}" for name in "badc")},
        None,
        {},
        {},
    ),
    "logits": (
        "net.npz",
        {"outcome": "y", "class_columns": "logits_*", "transform": "softmax", "weight": "w"},
        calib.Settings(view="top:1", methods=("temperature",)),
        {},
        {},
    ),
}


def made(folder: Path, case: str) -> Report:
    file, columns, settings, taken, words = CASES[case]
    if "test" in columns:
        columns = columns | {"test": folder / columns["test"]}
    return written(calib.load(folder / file, **columns), settings, taken, words)


def written(predictions, settings, taken, words) -> Report:
    chosen = settings or default_settings(predictions)
    analysis = calib.analyze(predictions, chosen)
    return Report.from_analysis(
        analysis, parts=parts_of(predictions, analysis, **taken), created=MOMENT, **words
    )


def undated(report: Report) -> str:
    words = {name: getattr(report, name) for name in ("title", "author", "note")}
    return report.edited(**words, created=MOMENT).json()


def stated(report: Report) -> str:
    """The report as a command gives it again that names what was guessed at first."""
    data = report.analysis.data
    origin = data.origin and replace(data.origin, guessed=())
    analysis = replace(report.analysis, data=replace(data, origin=origin))
    return undated(replace(report, analysis=analysis))


def by_python(report: Report) -> str:
    names: dict[str, Report] = {}
    exec(library_call(report), names)
    return undated(names["report"])


def by_command(report: Report, file: str = "settings.json") -> str:
    """The report that the printed command makes from a file of settings, or from the report."""
    command, *arguments = shlex.split(command_line(report))
    assert command == "calib"
    assert arguments[-4:] == ["--settings", "settings.json", "-o", "report.html"]
    if file == "settings.json":
        Path(file).write_text(SavedSettings.of(report).json(), encoding="utf-8")
    else:
        report.save(file)
    assert main([*arguments[:-3], file, "-o", "again.json"]) == 0
    return undated(Report.open("again.json"))


@SEVERAL_SCORES
# All methods of a matrix take three times as long as one.
@pytest.mark.parametrize("case", common_first(CASES, list(CASES)[:1]))
def test_what_is_printed_makes_the_same_report(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    report = made(folder, case)
    assert by_python(report) == stated(report)
    assert by_command(report) == stated(report)
    assert by_command(report, "its report.json") == stated(report)


@rare
@pytest.mark.parametrize("case", common_first(["everything", "hostile"], ["hostile"]))
def test_a_shell_takes_the_printed_command(case, folder):
    report = made(folder, case)
    # The command runs the module, because the project may not be installed.
    calib = f'calib() {{ {shlex.quote(sys.executable)} -m calib "$@"; }}'
    (folder / "settings.json").write_text(SavedSettings.of(report).json(), encoding="utf-8")
    command = f"{calib}\n{command_line(report).replace('report.html', 'shell.json')}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    again = Report.open(folder / "shell.json")
    assert (done.returncode, done.stderr) == (0, f"{again.analysis.data.read_as}\n")
    assert undated(again) == stated(report)
    assert not (folder / "hacked").exists()


@rare
@pytest.mark.parametrize(
    "shape", common_first(["one a column", "one below the other", "one a file"], ["one a file"])
)
def test_a_report_of_one_of_several_models(shape, folder, monkeypatch):
    monkeypatch.chdir(folder)
    file, columns, chosen = {
        "one a column": ("it's scores.csv", {"models": ("-p", "beta_score")}, "beta_score"),
        "one below the other": ("it's scores.csv", SCORE | {"model": "kind"}, "-south"),
        "one a file": (["it's scores.csv", "more: b.csv"], SCORE, "more: b"),
    }[shape]
    models = calib.loading.load_models(file, **(TRUTH | columns))
    report = written(models[chosen], PLATT, {}, {})
    assert by_python(report) == stated(report)
    assert by_command(report) == stated(report)


@rare
@pytest.mark.parametrize("key", ["logistic", "rounds"])
def test_an_example_is_called_by_its_name(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    predictions = list(EXAMPLES[key].load_models().values())[-1]
    report = written(predictions, PLATT, {}, {"held_out_declared": "yes"})
    assert by_python(report) == stated(report)
    assert by_command(report) == stated(report)


@SEVERAL_SCORES
def test_a_report_without_parts(folder, monkeypatch):
    monkeypatch.chdir(folder)
    analysis = calib.analyze(
        calib.load(folder / "it's scores.csv", slices=("site",), **SCORE), PLATT
    )
    report = Report.from_analysis(analysis, created=MOMENT)
    assert by_python(report) == stated(report)
    assert by_command(report) == stated(report)


@rare
@SEVERAL_SCORES
def test_a_report_of_some_slice_columns(folder, monkeypatch, texts):
    monkeypatch.chdir(folder)
    predictions = calib.load(folder / "it's scores.csv", slices=("site", "age"), **SCORE)
    report = written(predictions, PLATT, {"slices": [("age",)]}, {})
    assert by_python(report) == stated(report)
    assert by_command(report) == stated(report)
    texts.shown(report.markdown())


def test_rows_of_no_file_are_told(folder, texts):
    frame = pd.read_csv(folder / "it's scores.csv")
    report = written(calib.load(frame, **SCORE), PLATT, {}, {})
    texts.shown(report.markdown())
    texts.shown(library_call(report))
    arrays = calib.Predictions.from_arrays(frame["it's"], frame["-p"])
    texts.shown(written(arrays, PLATT, {}, {}).markdown())


def test_the_same_rows_of_another_file_are_reported_as_that_file(folder):
    first, second = (
        calib.load(folder / name, **SCORE) for name in ("it's scores.csv", "-rows.parquet")
    )
    assert first.fingerprint == second.fingerprint
    analysis = calib.analyze(second, PLATT, earlier=calib.analyze(first, PLATT))
    assert analysis.data == calib.analyze(second, PLATT).data


def test_a_name_cannot_leave_its_argument(hostile_report):
    words = ["calib", "report", "FILE", "--settings", "settings.json", "-o", "report.html"]
    assert shlex.split(command_line(hostile_report)) == words
    compile(library_call(hostile_report), "call", "exec")


def test_limits_are_in_the_call_and_in_the_command(analysis):
    report = Report.from_analysis(analysis, limits={"max_ks": 0.02, "min_p": 0.01})
    assert "limits={'max_ks': 0.02, 'min_p': 0.01}" in library_call(report)
    assert " --max-ks 0.02 --min-p 0.01 -o report.html" in command_line(report)
