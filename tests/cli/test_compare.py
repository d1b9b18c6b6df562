"""compare: the numbers of the library, from two files."""

import json
import math
from pathlib import Path

import pytest

import calib
from calib.reports import Report, compare_reports
from tests.cli.conftest import frame


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> tuple[Path, Path]:
    made = tmp_path_factory.mktemp("reports")
    paths = made / "march.json", made / "april.json"
    settings = calib.Settings(methods=("platt",), n_bins=10), calib.Settings(methods=("platt",))
    for seed, (path, chosen) in enumerate(zip(paths, settings, strict=True)):
        rows = calib.load(frame(500, seed), outcome="y", score="p", name=path.stem)
        Report.from_analysis(calib.analyze(rows, chosen), title=path.stem).save(path)
    return paths


def test_the_files_say_what_the_library_says(run, two, tmp_path):
    outputs = [tmp_path / name for name in ("c.html", "c.md", "c.json")]
    done = run("compare", *two, *(part for path in outputs for part in ("-o", path)))
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [str(path) for path in outputs]
    expected = compare_reports(*map(Report.open, two))
    assert outputs[0].read_text() == expected.html()
    assert outputs[1].read_text() == expected.markdown()
    assert outputs[2].read_text() == expected.json()


def test_without_a_file_it_is_told_as_markdown(run, two):
    done = run("compare", *two)
    assert (done.status, done.err) == (0, "")
    assert done.out == compare_reports(*map(Report.open, two)).markdown()


def test_the_json_holds_every_number_and_every_refusal(two):
    comparison = compare_reports(*map(Report.open, two))
    data = json.loads(comparison.json())
    assert (data["first"]["title"], data["second"]["title"]) == ("march", "april")
    assert not data["same_rows"]
    assert [setting["name"] for setting in data["settings"] if setting["changed"]] == ["n_bins"]
    for row, change in zip(data["metrics"], comparison.metrics, strict=True):
        assert (row["method"], row["metric"]) == (change.method, change.column.key)
        assert row["first"] == change.first.value
        assert row["reason"] == change.reason
        value = change.difference.value
        assert row["difference"] == (None if math.isnan(value) else value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "broken.json: This is not a report: it is not valid JSON"),
        (b'{"schema_version": 99}', "broken.json: This report was written by another version"),
        (None, "broken.json: No report can be read from"),
    ],
)
def test_what_is_no_report_is_a_sentence_and_status_2(run, two, tmp_path, content, sentence):
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_bytes(content)
    for pair in ((two[0], path), (path, two[1])):
        done = run("compare", *pair, "-o", tmp_path / "c.md")
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("calib: ")
        assert sentence in done.err
        assert not (tmp_path / "c.md").exists()


def test_another_suffix_is_refused_before_the_work(run, tmp_path, texts):
    done = run("compare", "none.json", "none.json", "-o", tmp_path / "c.pdf")
    assert done.status == 2
    texts.shown(done.err)
