"""A report of a matrix: the whole of it beside one view, opened as it was written."""

import json

import numpy as np
import pytest

from calib.analysis import analyze
from calib.analysis.decisions import Costs
from calib.crossfit.matrix_comparison import MulticlassComparison
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report
from calib.reports.contents.codec import ReportError
from calib.reports.contents.slices_periods_decisions import parts_of


@pytest.fixture(scope="module")
def predictions(problem):
    scores, label = problem
    half = np.where(np.arange(len(label)) % 2 == 0, "even", "odd")
    names = ("<b>ant</b>", "bee", "cat", "dog")
    return Predictions.from_arrays(label, scores, class_names=names, columns={"half": half})


@pytest.fixture(scope="module")
def analysis(predictions):
    return analyze(predictions, Settings(view="top:1", methods=("temperature", "isotonic")))


@pytest.mark.parametrize("view", ["top:1", "class:0", "within:2"])
def test_every_view_is_reported_and_opened_again(predictions, analysis, view):
    settings = Settings(view=view, methods=("temperature", "isotonic"))
    seen = analyze(predictions, settings, earlier=analysis)
    parts = parts_of(predictions, seen, costs=Costs())
    report = Report.from_analysis(seen, parts=parts)
    opened = Report.open(report.json())
    assert opened.markdown() == report.markdown()
    assert "<b>ant</b>" not in opened.html()
    assert type(opened.analysis.multiclass) is MulticlassComparison
    frame = opened.analysis.multiclass.frame()
    assert frame.equals(analysis.multiclass.frame())


def test_metrics_of_the_matrix_are_printed(analysis, texts):
    said = Report.from_analysis(analysis).markdown()
    loss = analysis.multiclass.results["temperature"].metrics["log_loss"].value
    texts.shown(said)
    assert f"{loss:.4f}" in said.split("## The whole matrix")[1].split("##")[0]
    assert "softmax(ln P / " in said


def test_no_row_of_the_matrix_is_in_the_report(analysis):
    data = json.loads(Report.from_analysis(analysis).json())
    assert not {"scored", "held_out"} & set(data["analysis"]["multiclass"])


def test_slices_are_judged_by_each_methods_own_outcomes(predictions, analysis):
    parts = parts_of(predictions, analysis)
    even = predictions.columns["half"] == "even"
    for key, gaps in parts.slices[0].gaps.items():
        view = analysis.held_out.row_view(key)
        gap = view.outcome[even].mean() - view.score[even].mean()
        assert gaps.gap[gaps.names.index("even")] == pytest.approx(gap, abs=1e-12)


def test_a_damaged_matrix_is_refused(analysis, texts):
    data = json.loads(Report.from_analysis(analysis).json())
    del data["analysis"]["multiclass"]["results"]["isotonic"]["metrics"]["ks_top_2"]
    with texts.raises(ReportError):
        Report.open(json.dumps(data))
    del data["analysis"]["multiclass"]["results"]["uncalibrated"]
    with texts.raises(ReportError):
        Report.open(json.dumps(data))
