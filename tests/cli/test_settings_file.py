"""--settings: a report, or the settings of one, in place of options."""

import json

import numpy as np
import pandas as pd
import pytest

from calib.analysis.decisions import Costs
from calib.cli import main
from calib.reports import Report
from calib.reports.contents.settings_file import SavedSettings

MADE = (
    *("--outcome", "y", "--score", "p", "--positive", "no", "--swap", "--weight", "times"),
    *("--slice", "half", "--methods", "platt", "--bins", "9", "--level", "0.9"),
    *("--cost-fn", "4", "--title", "March", "--held-out", "yes"),
)


@pytest.fixture(scope="module")
def stored(folder, tmp_path_factory):
    """A folder with a report, its settings, and the report of a matrix."""
    made = tmp_path_factory.mktemp("settings")
    assert main(["report", str(folder / "scores.csv"), *MADE, "-o", str(made / "r.json")]) == 0
    settings = SavedSettings.of(Report.open(made / "r.json")).json()
    (made / "settings.json").write_text(settings)
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([2.0, 2.0, 2.0], 300)
    rows = pd.DataFrame(scores, columns=["p_a", "p_b", "p_c"])
    rows["y"] = [rng.choice(list("abc"), p=row) for row in scores]
    rows.to_csv(made / "matrix.csv", index=False)
    arguments = ["--outcome", "y", "--score", "p_a", "--score", "p_b", "--score", "p_c"]
    arguments += ["--view", "class:2", "--methods", "temperature", "-o", str(made / "matrix.json")]
    assert main(["report", str(made / "matrix.csv"), *arguments]) == 0
    return made


@pytest.fixture
def again(run, stored, folder, tmp_path):
    """The report that is made with these settings and options."""

    def make(*options: object, settings: str = "r.json", file: object = None) -> Report:
        path = tmp_path / "again.json"
        data = file or folder / "scores.csv"
        done = run("report", data, "--settings", stored / settings, *options, "-o", path)
        assert done.status == 0, done.err
        return Report.open(path)

    return make


@pytest.mark.parametrize("settings", ["r.json", "settings.json"])
def test_a_report_and_its_settings_make_the_same_report(stored, again, settings):
    first, second = Report.open(stored / "r.json"), again(settings=settings)
    words = {"title": "", "author": "", "note": "", "created": "2026-03-01"}
    assert second.title == "March"
    assert second.edited(**words).seal == first.edited(**words).seal


def test_an_option_beside_the_settings_wins(again):
    options = ("--title", "April", "--bins", "12", "--slice", "times", "--cost-fp", "2")
    report = again(*options, "--ranges", "5")
    assert (report.title, report.analysis.settings.n_bins) == ("April", 12)
    assert report.analysis.settings.methods == ("uncalibrated", "platt")
    assert report.parts.slice_columns == [("times",)]
    assert report.parts.decisions.table.costs == Costs(2, 4)
    assert report.analysis.data.origin.columns.weight == "times"


@pytest.mark.parametrize(
    ("made_with", "options", "replaced"),
    [
        ("--split half", "--fold times", {"fold": "times", "split": ""}),
        ("--fold times", "--test more.csv", {"test": "more.csv", "fold": ""}),
        ("--positive no", "--outcome half --positive train", {"positive": "train"}),
    ],
)
def test_an_option_takes_the_place_of_what_it_excludes(
    run, folder, tmp_path, monkeypatch, made_with, options, replaced
):
    monkeypatch.chdir(folder)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    arguments = (
        "--outcome",
        "y",
        "--score",
        "p",
        "--methods",
        "",
        "--no-parts",
        *made_with.split(),
    )
    assert run("report", "scores.csv", *arguments, "-o", first).status == 0
    done = run("report", "scores.csv", "--settings", first, *options.split(), "-o", second)
    assert done.status == 0, done.err
    origin = Report.open(second).analysis.data.origin
    read_with = origin.entries()
    assert {name: read_with.get(name, "") for name in replaced} == replaced


def test_a_report_without_parts_has_none_again_unless_an_option_names_some(run, folder, tmp_path):
    path = tmp_path / "plain.json"
    arguments = ("--outcome", "y", "--score", "p", "--methods", "", "--no-parts")
    assert run("report", folder / "scores.csv", *arguments, "-o", path).status == 0
    command = ("report", folder / "scores.csv", "--settings", path, "-o", tmp_path / "r.json")
    for options, has_parts in ((), False), (("--cost-fn", "3"), True):
        assert run(*command, *options).status == 0
        assert (Report.open(tmp_path / "r.json").parts is not None) == has_parts


def test_a_test_file_lies_beside_the_predictions(run, folder, tmp_path):
    path = tmp_path / "r.json"
    named = ("--test", folder / "more.csv", "--outcome", "y", "--score", "p", "--methods", "")
    assert run("report", folder / "scores.csv", *named, "-o", path).status == 0
    settings = json.loads(SavedSettings.of(Report.open(path)).json())
    assert settings["origin"]["test"] == "more.csv"
    settings["origin"]["test"] = "/etc/more.csv"
    path.write_text(json.dumps(settings))
    command = ("report", folder / "scores.csv", "--settings", path, "-o", tmp_path / "again.json")
    assert run(*command).status == 0
    assert Report.open(tmp_path / "again.json").analysis.data.origin.test == "more.csv"


def test_check_and_export_take_the_settings(run, stored, folder, tmp_path, texts):
    arguments = ("--settings", stored / "r.json")
    done = run("check", folder / "scores.csv", *arguments, "--max-ks", "1", "--method", "platt")
    assert done.status == 0, done.err
    texts.shown(done.out)
    assert "weight: times" in done.err
    from_settings, from_options = tmp_path / "settings.js", tmp_path / "options.js"
    command = ("export", folder / "scores.csv", "--method", "platt")
    assert run(*command, *arguments, "-o", from_settings).status == 0
    columns = MADE[: MADE.index("--slice")]
    assert run(*command, *columns, "-o", from_options).status == 0
    # The last line has the checksum of a file that also names the settings.
    one, other = (path.read_text().splitlines()[:-1] for path in (from_settings, from_options))
    assert one == other


def test_counts_and_examples_have_columns_of_their_own(run, stored, again, folder, tmp_path):
    cells = tmp_path / "cells.parquet"
    arguments = ("--outcome", "y", "--score", "p", "--slice", "half", "--positive", "no")
    assert run("scan", folder / "scores.parquet", *arguments, "-o", cells).status == 0
    assert again(file=cells).analysis.settings.n_bins == 9
    settings = ("--settings", stored / "r.json", "--max-ks", "1")
    done = run("check", "example:logistic", *settings)
    assert (done.status, done.err.splitlines()[0][:16]) == (0, "outcome: outcome")


REFUSED = {
    "none.json": None,
    "rows.json": "y,p\n1,0.5\n",
    "other.json": "{}",
    "newer.json": '{"settings_version": 2}',
    "incomplete.json": '{"settings_version": 1}',
    "unknown.json": '{"settings_version": 1, "settings": {"n_binz": 3}}',
    "no number.json": '{"settings_version": 1, "settings": {"n_bins": "x"}}',
    "small.json": '{"settings_version": 1, "settings": {"n_bins": 1}}',
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_has_no_settings_is_refused_in_a_sentence(run, folder, tmp_path, name, texts):
    if (text := REFUSED[name]) is not None:
        (tmp_path / name).write_text(text)
    done = run("check", folder / "scores.csv", "--settings", tmp_path / name, "--max-ks", "1")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"calib: --settings {name}: ")
    texts(done.err.replace(str(tmp_path), "FOLDER"))


@pytest.mark.parametrize("case", ["columns", "view", "slices"])
def test_settings_of_other_data_are_refused_in_a_sentence(run, stored, folder, case, texts):
    options = {
        "columns": (folder / "scores.csv", "--settings", stored / "matrix.json"),
        "view": (
            folder / "scores.csv",
            *("--settings", stored / "matrix.json", "--outcome", "y", "--score", "p"),
            *("--positive", "yes"),
        ),
        "slices": (stored / "matrix.csv", "--settings", stored / "r.json"),
    }[case]
    done = run("check", *options, "--max-ks", "1")
    assert (done.status, done.out) == (2, "")
    texts(done.err)
