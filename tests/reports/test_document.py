import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib
from calib.reports import Report, ReportError
from calib.reports.contents.codec import SCHEMA_VERSION, upgraded
from tests.kept import REPORTS
from tests.reports.conftest import MOMENT
from tests.reports.kept import KEPT


def test_an_opened_report_renders_as_the_fresh_one_did(report):
    opened = Report.open(report.json())
    assert opened.html() == report.html()
    assert opened.markdown() == report.markdown()
    assert opened.json() == report.json()


def test_the_same_analysis_gives_the_same_bytes(analysis, report):
    again = Report.from_analysis(analysis, title="March", author="Ada", created=MOMENT)
    assert again.json() == report.json()
    assert again.html() == report.html()


def test_json_is_strict_and_says_what_it_holds(report, texts):
    def refuse(name):
        raise AssertionError(name)

    data = json.loads(report.json(), parse_constant=refuse)
    assert data["schema_version"] == SCHEMA_VERSION
    texts(data["contains"])
    assert data["versions"]["calib"] == calib.__version__
    assert data["settings_changed"] == ["methods", "n_bins"]
    assert data["analysis"]["settings"]["seed"] == 0
    assert "held_out" not in data["analysis"]


def test_numbers_survive(analysis, report):
    opened = Report.open(report.json()).analysis
    for key, method in analysis.methods.items():
        assert dict(opened.methods[key].differences) == dict(method.differences)
        assert opened.methods[key].ks == method.ks
        for name, estimate in method.metrics.items():
            kept = opened.methods[key].metrics[name]
            assert kept.value == estimate.value
            np.testing.assert_equal(kept.noise_floor, estimate.noise_floor)
    assert opened.uncalibrated.metrics["ece_uniform"].noise_floor > 0.0
    assert opened.settings == analysis.settings
    assert opened.data == analysis.data
    assert opened.recommendation == analysis.recommendation


def test_save_and_open_by_path(report, tmp_path):
    for suffix, text in (
        (".json", report.json()),
        (".html", report.html()),
        (".md", report.markdown()),
    ):
        path = tmp_path / f"report{suffix}"
        report.save(path)
        assert path.read_bytes().decode() == text
    assert Report.open(tmp_path / "report.json").json() == report.json()
    assert Report.open(str(tmp_path / "report.json")).json() == report.json()
    assert Report.open((tmp_path / "report.json").read_bytes()).json() == report.json()


def test_save_refuses_another_suffix(report, tmp_path, texts):
    with texts.raises(ValueError):
        report.save(tmp_path / "r.pdf")
    assert not list(tmp_path.iterdir())


def test_the_public_function_makes_a_report(analysis, tmp_path, texts):
    calib.report(analysis).save(tmp_path / "report.html")
    texts.shown((tmp_path / "report.html").read_text())


def changed(report: Report, path: str, value: object) -> str:
    data = json.loads(report.json())
    *folders, last = path.split(".")
    place = data
    for folder in folders:
        place = place[int(folder) if isinstance(place, list) else folder]
    place[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema_version", SCHEMA_VERSION + 1),
        ("schema_version", "1"),
        ("created", "yesterday"),
        ("held_out_declared", "maybe"),
        ("analysis.columns.0.digits", -1),
        ("analysis.compact_logit.score", [1e300]),
        ("settings_changed", ["magic"]),
        ("analysis", []),
        ("analysis.settings.n_bins", 1),
        ("analysis.settings.n_bins", 9.5),
        ("analysis.recommendation.method", "magic"),
        ("analysis.methods.platt.key", "beta"),
        ("analysis.methods.platt.metrics", {}),
        ("analysis.methods.platt.reliability.rows", [20]),
        ("analysis.methods.platt.histogram", ["x"]),
        ("analysis.methods.platt.differences", {}),
        ("analysis.methods", {}),
        ("analysis.columns", []),
    ],
)
def test_a_newer_or_broken_report_is_refused_in_a_sentence(report, path, value, texts):
    with texts.raises(ReportError):
        Report.open(changed(report, path, value))


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xff\xfe\x00",
        "{",
        '{"schema_version": NaN}',
        '{"a":' * 100_000,
        "{}",
        b"[1, 2]",
        "no/such/report.json",
        Path("no/such/report.json"),
        '{"title": "one", "title": "another"}',
    ],
)
def test_what_is_no_report_is_refused_in_a_sentence(source, texts):
    with texts.raises(ReportError):
        Report.open(source)


def test_a_number_too_large_for_a_double_is_refused(report, texts):
    text = report.json().replace('"epsilon": null', '"epsilon": 1e999', 1)
    with texts.raises(ReportError):
        Report.open(text)


def test_a_file_that_cannot_be_written_leaves_what_was_there(report, tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"report\.json"):
        report.save(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_edited_words_make_a_new_report_with_the_same_numbers(report):
    before = report.json()
    new = report.edited(title="April", author="Bo", note="n", created="2026-04-01")
    assert (new.title, new.author, new.note, new.created) == ("April", "Bo", "n", "2026-04-01")
    assert new.analysis is report.analysis
    assert Report.open(new.json()).heading == "April"
    assert report.json() == before


def test_a_report_of_every_schema_is_kept():
    kept = {json.loads(path.read_bytes())["schema_version"] for path in REPORTS}
    assert kept == set(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_reports_of_every_schema_open_and_say_the_same(path):
    report = Report.open(path)
    kept = json.loads(path.read_bytes())
    assert report.schema_version == SCHEMA_VERSION
    said = report.html() + report.markdown()
    for text in (kept["title"], kept["analysis"]["verdict"]["sentence"].split(" (")[0]):
        assert text in said
    for method in kept["analysis"]["methods"].values():
        assert f"{method['metrics']['log_loss']['value']:.4f}" in said


def test_a_changed_schema_needs_a_step():
    assert Report.open(KEPT).json() == KEPT.read_text()


def test_each_step_leads_to_the_next_schema(texts):
    def renamed(data: dict[str, Any]) -> dict[str, Any]:
        return {"heading" if name == "title" else name: value for name, value in data.items()}

    def with_language(data: dict[str, Any]) -> dict[str, Any]:
        return data | {"language": "en"}

    steps = (renamed, with_language)
    first = {"schema_version": 1, "title": "March"}
    third = {"schema_version": 3, "heading": "March", "language": "en"}
    assert upgraded(first, steps) == third
    assert upgraded({"schema_version": 2, "heading": "March"}, steps) == third
    assert upgraded(third, steps) == third
    assert upgraded(first, ()) == first == {"schema_version": 1, "title": "March"}
    with texts.raises(ReportError):
        upgraded(third, steps[:1])
