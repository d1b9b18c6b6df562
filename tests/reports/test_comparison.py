"""Two reports: what changed, and which numbers may be held against each other."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report, compare_reports
from calib.reports.comparison.changes import BIASED
from calib.text import printed_change
from tests.rare import rare
from tests.reports.conftest import HOSTILE, MOMENT, overconfident
from tests.reports.test_html import Reader

ROOT = Path(__file__).parents[2]


def made(
    number: int = 0,
    n: int = 500,
    honest: bool = False,
    split: bool = False,
    folds: int = 0,
    **settings,
):
    outcome, score = overconfident(n, number)
    if honest:
        outcome = np.random.default_rng(number + 100).random(n) < score
    test = np.arange(n) % 2 == 0 if split else None
    fold = np.arange(n) % folds if folds else None
    predictions = Predictions.from_arrays(
        outcome, score, name=f"data {number}", test=test, fold=fold
    )
    analysis = analyze(predictions, Settings(**({"methods": ("platt",)} | settings)))
    return Report.from_analysis(analysis, title=f"Report {number}", created=MOMENT)


@pytest.fixture(scope="module")
def first() -> Report:
    return made(0, n=1500, methods=("platt", "spline"))


@pytest.fixture(scope="module")
def second() -> Report:
    return made(1, n=900, honest=True, methods=("platt", "spline"))


def metric(comparison, method, column):
    (change,) = [
        change
        for change in comparison.metrics
        if (change.method, change.column.key) == (method, column)
    ]
    return change


def changed(changes) -> list[str]:
    return [change.name for change in changes if change.changed]


def test_it_says_what_changed(first, second):
    comparison = compare_reports(first, second)
    assert changed(comparison.settings) == []
    assert {"Name", "Fingerprint", "Rows scored", "Observed frequency"} <= set(
        changed(comparison.data)
    )
    assert "Score column" not in changed(comparison.data)
    assert changed(comparison.verdict)[0] == "Verdict"
    assert not comparison.same_rows


@pytest.mark.parametrize("column", ["log_loss", "brier_score", "slope", "auc"])
@pytest.mark.parametrize("method", ["uncalibrated", "platt"])
def test_differences_have_the_published_interval(first, second, method, column):
    one, two = (report.analysis.methods[method].metrics[column] for report in (first, second))
    difference = metric(compare_reports(first, second), method, column).difference
    assert difference.value == two.value - one.value
    low = math.sqrt((two.value - two.low) ** 2 + (one.high - one.value) ** 2)
    high = math.sqrt((two.high - two.value) ** 2 + (one.value - one.low) ** 2)
    assert (difference.value - difference.low, difference.high - difference.value) == pytest.approx(
        (low, high)
    )


@pytest.mark.parametrize("column", ["ece_uniform", "ece_quantile", "mce", "ks_error"])
def test_errors_have_a_difference_and_no_interval(first, second, column):
    change = metric(compare_reports(first, second), "platt", column)
    assert change.difference.value == change.second.value - change.first.value
    assert math.isnan(change.difference.low)
    assert change.reason == BIASED


REFUSED = [
    ({"n_bins": 10}, "platt", "ece_uniform", "n_bins differs: 15 and 10"),
    ({"n_bins": 10}, "platt", "mce", "n_bins differs: 15 and 10"),
    ({"strategy": "uniform"}, "uncalibrated", "mce", "strategy differs: quantile and uniform"),
    ({"n_folds": 3}, "platt", "log_loss", "n_folds differs: 5 and 3"),
    (
        {"epsilon": 0.01, "methods": ("spline",)},
        "spline",
        "auc",
        "epsilon differs: automatic and 0.01",
    ),
    ({"view": "class:0"}, "uncalibrated", "log_loss", "view differs: class:1 and class:0"),
    ({"split": True}, "platt", "log_loss", "scored on folds and on test rows"),
    ({"folds": 5}, "platt", "log_loss", "n_folds differs: 5 and 5 named"),
]
KEPT = [
    ({"n_bins": 10}, "platt", "log_loss"),
    ({"strategy": "uniform"}, "platt", "ece_quantile"),
    ({"n_folds": 3}, "uncalibrated", "log_loss"),
    ({"epsilon": 0.01}, "platt", "log_loss"),
    ({"split": True}, "uncalibrated", "log_loss"),
    ({"seed": 4}, "platt", "log_loss"),
]


@pytest.mark.parametrize(("options", "method", "column", "reason"), REFUSED)
def test_what_other_settings_made_is_refused_with_its_setting(
    first, options, method, column, reason
):
    change = metric(compare_reports(first, made(1, **options)), method, column)
    assert math.isnan(change.difference.value)
    assert change.reason == reason


def test_what_is_refused_has_no_printed_difference_and_names_the_bins_of_both(first):
    comparison = compare_reports(first, made(0, n=1500, n_bins=10, methods=("platt", "spline")))
    changed, metrics, *_ = comparison.document().sections
    assert [value.text for value in changed.blocks[1].rows[0]] == ["n_bins", "15", "10"]
    table = metrics.blocks[0].tables[comparison.metrics[0].label]
    rows = {row[0].text: row for row in table.rows}
    name, *_, difference, reason = rows["ECE, 15 quantile bins"]
    assert (difference.text, reason.text) == ("–", "[1]")
    assert "10" in name.detail.split()
    assert rows["Log loss"][3].text == "0.0000"


@pytest.mark.parametrize(("options", "method", "column"), KEPT)
def test_what_a_setting_does_not_touch_is_compared(first, options, method, column):
    change = metric(compare_reports(first, made(1, **options)), method, column)
    assert change.difference.value == change.second.value - change.first.value


def test_other_levels_have_no_common_interval(first, texts):
    change = metric(compare_reports(first, made(1, confidence_level=0.9)), "platt", "log_loss")
    assert not math.isnan(change.difference.value)
    assert math.isnan(change.difference.low)
    texts(change.reason)


def test_methods_of_one_alone_are_named(first, texts):
    comparison = compare_reports(first, made(1, methods=("platt", "beta")))
    assert (comparison.only_first, comparison.only_second) == (("Spline",), ("Beta",))
    assert {change.method for change in comparison.metrics} == {"uncalibrated", "platt"}
    texts.shown(comparison.markdown())


def test_the_same_rows_are_told_to_be_paired(first, texts):
    comparison = compare_reports(first, made(0, n=1500, n_bins=10))
    assert comparison.same_rows
    texts.shown(comparison.markdown())
    assert "these intervals are too wide" not in compare_reports(first, made(1)).markdown()


def test_both_curves_are_overlaid_unless_they_show_different_problems(first, second, texts):
    page = compare_reports(first, second).html()
    assert page.count('class="plot"') == 1
    for report in (first, second):
        assert report.analysis.verdict.sentence in Reader(page).text
    other = compare_reports(first, made(1, view="class:0")).html()
    assert 'class="plot"' not in other
    texts.shown(Reader(other).text)


def test_every_number_is_in_html_and_markdown(first, second):
    comparison = compare_reports(first, second)
    for text in (Reader(comparison.html()).text, comparison.markdown()):
        for change in comparison.metrics:
            values, digits = (change.first.value, change.second.value), change.column.digits
            # Calibration errors are per cents, and their changes points.
            is_error = change.column.key.startswith(("ks_", "ece_", "mce"))
            factor, places, unit = (100.0, 1, "%") if is_error else (1.0, digits, "")
            before, after = (factor * value for value in values)
            assert f"{before:,.{places}f}{unit}" in text
            # The printed numbers differ by the printed difference.
            points = " points" if is_error else ""
            assert f"{printed_change(before, after, places)}{points}" in text


def test_the_frame_has_a_row_a_number(first, second):
    comparison = compare_reports(first, second)
    frame = comparison.frame().set_index(["method", "metric"])
    change = metric(comparison, "platt", "log_loss")
    assert frame.loc[("platt", "log_loss"), "difference_low"] == change.difference.low
    assert len(frame) == len(comparison.metrics)


def test_hostile_names_stay_text(first, hostile_report):
    comparison = compare_reports(first, hostile_report)
    reader = Reader(comparison.html())
    assert "img" not in {tag for tag, _ in reader.tags}
    assert HOSTILE[0] in reader.text
    assert not [name for _, attributes in reader.tags for name in attributes if name[:2] == "on"]


def test_an_opened_report_compares_as_the_fresh_one(first, second):
    opened = compare_reports(Report.open(first.json()), Report.open(second.json()))
    assert opened.markdown() == compare_reports(first, second).markdown()


@rare
def test_numbers_need_no_plotly():
    code = (
        "import sys; sys.modules['plotly'] = None\n"
        "import calib, calib.cli\n"
        "from calib.reports import Report, compare_reports, parts_of\n"
        "rows = calib.examples.EXAMPLES['logistic'].load()\n"
        "analysis = calib.analyze(rows, calib.Settings(methods=()))\n"
        "report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))\n"
        "Report.open(report.json()).tables()\n"
        "compare_reports(report, report).frame()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_report_says_that_the_data_name_the_folds(texts):
    report = made(folds=4, n_folds=3)
    texts.shown(report.html())
    texts.shown(report.html())
    texts.shown(made(n_folds=3).html())
