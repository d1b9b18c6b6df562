"""A report of data with several models: all of them in a table, and what verification finds."""

import json

import numpy as np
import pytest

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.model_comparison import ModelComparison, compare_models
from calib.cli.main import main
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import NotVerified, Report, ReportError, parts_of, verify_report
from calib.reports.contents.evidence import MODELS
from tests.reports.conftest import MOMENT

RNG = np.random.default_rng(3)
SCORE = RNG.random(600).round(2)
OUTCOME = RNG.random(600) < SCORE
SETTINGS = Settings(methods=("platt",), n_bins=8)
ROWS = {
    "old": Predictions.from_arrays(OUTCOME, SCORE**2),
    "new": Predictions.from_arrays(OUTCOME, SCORE),
}


@pytest.fixture(scope="module")
def analysis() -> LiveAnalysis:
    return analyze(ROWS["old"], SETTINGS)


@pytest.fixture(scope="module")
def comparison() -> ModelComparison:
    return compare_models(ROWS, SETTINGS, method="platt")


def made(analysis: LiveAnalysis, comparison: ModelComparison, grade: str = "guarded") -> Report:
    parts = parts_of(ROWS["old"], analysis, models=comparison, model="old")
    return Report.from_analysis(analysis, parts=parts, grade=grade)


@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_all_models_are_in_the_report_which_verifies(analysis, comparison, grade):
    report = made(analysis, comparison, grade)
    part = report.parts.models
    assert part.shown == "old"
    assert part.comparison.best("uncalibrated") == "new"
    assert part.comparison.frame().equals(comparison.frame())
    for text in (report.html(), report.markdown()):
        assert "Models compared" in text
        assert all(name in text for name in ROWS)
    assert MODELS in verify_report(report.json()).not_verified


def test_a_report_of_one_model_has_no_entry_for_models(analysis):
    report = Report.from_analysis(analysis, parts=parts_of(ROWS["old"], analysis))
    assert "models" not in json.loads(report.json())["parts"]
    assert "Models compared" not in report.html()


@pytest.mark.parametrize("grade", ["guarded", "exact"])
@pytest.mark.parametrize("place", ["metrics", "differences"])
def test_a_changed_number_of_a_model_is_found(analysis, comparison, grade, place):
    data = json.loads(made(analysis, comparison, grade).json())
    models = data["parts"]["models"]["comparison"]["models"]
    models["old"][place]["uncalibrated"]["log_loss"]["value"] += 0.01
    with pytest.raises(NotVerified, match=r"parts\.models"):
        verify_report(Report.open_json(data).edited(created=MOMENT).json())


def test_a_model_of_fewer_than_ten_rows_is_not_in_a_report(analysis):
    few = Predictions.from_arrays([0, 1, 0, 1, 1], [0.9, 0.1, 0.9, 0.1, 0.9])
    compared = compare_models({**ROWS, "few": few}, SETTINGS, method="platt")
    part = parts_of(ROWS["old"], analysis, models=compared, model="old").models
    assert list(part.comparison.models) == ["old", "new"]


def test_the_shown_model_is_one_of_them(analysis, comparison):
    with pytest.raises(ValueError, match="older"):
        parts_of(ROWS["old"], analysis, models=comparison, model="older")
    data = json.loads(made(analysis, comparison).json())
    data["parts"]["models"]["shown"] = "older"
    with pytest.raises(ReportError, match="older"):
        Report.open_json(data)


def test_a_report_of_a_named_model_of_a_file_shows_all_its_models(tmp_path):
    table = [f"{name},{int(y)},{p}" for name, rows in ROWS.items() for y, p in rows_of(rows)]
    file, path = tmp_path / "scores.csv", tmp_path / "report.json"
    file.write_text("\n".join(["model,y,p", *table]))
    named = ("--outcome", "y", "--score", "p", "--model", "model", "--model-value", "old")
    assert main(["report", str(file), *named, "--methods", "platt", "-o", str(path)]) == 0
    part = Report.open(path).parts.models
    assert part.shown == "old"
    assert list(part.comparison.models) == ["old", "new"]


def rows_of(rows: Predictions) -> list[tuple[bool, float]]:
    return list(zip(rows.outcome.tolist(), rows.scores.tolist(), strict=True))
