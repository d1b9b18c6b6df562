"""What a report takes along beside the analysis: the library's numbers, of ten rows and more."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.decisions import Costs, cost_curves, decide, net_benefit
from calib.analysis.periods import cut_periods, period_table
from calib.analysis.slices import Slicing, slice_by, slice_gaps, slice_tests
from calib.blocks.kinds import Annotated, Beside, Drawing, Table, Tabs, parts
from calib.crossfit.fitting import cross_fit_scores
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.codec import encode
from calib.reports.contents.disclosure import MIN_ROWS, merged_cells, merged_periods, merged_slices
from calib.reports.contents.sealing import seal_of
from calib.reports.render.sections import sections
from calib.reports.verify import NotVerified, verify_report
from tests.reports.conftest import MOMENT, site_frame

COSTS = Costs(1, 4)


def loaded(frame: pd.DataFrame, **more) -> calib.Predictions:
    columns = {"slices": ("site", "age"), "time": "day"} | more
    return calib.load(frame, outcome="it's", score="-p", **columns)


@pytest.fixture(scope="module")
def predictions() -> calib.Predictions:
    return loaded(site_frame(600))


@pytest.fixture(scope="module")
def analysis(predictions) -> calib.Analysis:
    return calib.analyze(predictions, calib.Settings(methods=("platt",)))


@pytest.fixture(scope="module")
def report(predictions, analysis) -> Report:
    parts = parts_of(predictions, analysis, costs=COSTS)
    return Report.from_analysis(analysis, parts=parts, created=MOMENT)


def test_large_slices_have_the_numbers_of_the_library(predictions, analysis, report):
    cut = slice_by(predictions.columns, ["site"])
    held_out = analysis.held_out
    for key in ("uncalibrated", "platt"):
        rows = held_out.row_view(key)
        expected = slice_gaps(rows, rows.score, cut).frame()
        frame = report.parts.slices[0].gaps[key].frame()
        large = expected.set_index("slice").loc[["north", "south"]]
        same = frame.set_index("slice").loc[["north", "south"]]
        for name in ("rows", "positives", "gap", "low", "high", "p_value"):
            np.testing.assert_allclose(same[name], large[name], rtol=1e-8)


def test_tests_of_large_slices_are_those_of_the_library(predictions, analysis, report):
    cut = slice_by(predictions.columns, ["site"])
    large = ["north", "south"]
    for key in ("uncalibrated", "platt"):
        rows = analysis.held_out.row_view(key)
        expected = slice_tests(rows, rows.score, cut).frame().set_index("slice").loc[large]
        slices = report.parts.slices[0].tests[key].frame().set_index("slice").loc[large]
        for name in ("rows", "slope", "slope_low", "slope_high", "ks", "p_value"):
            np.testing.assert_allclose(slices[name], expected[name], rtol=1e-8, err_msg=name)


def sealed(data: dict) -> str:
    return json.dumps(data | {"seal": encode(seal_of(data))})


def test_forged_or_missing_tests_of_slices_do_not_pass(predictions, analysis, texts):
    parts = parts_of(predictions, analysis, time="")
    data = json.loads(Report.from_analysis(analysis, parts=parts, grade="exact").json())
    verify_report(sealed(data))
    tests_by_method = data["parts"]["slices"][0]["tests"]
    tests = tests_by_method["uncalibrated"]
    printed, tests["p_adjusted"] = tests["p_adjusted"], [0.9] * len(tests["p_adjusted"])
    assert printed != tests["p_adjusted"]
    with pytest.raises(NotVerified, match=r"tests\.uncalibrated\.p_adjusted"):
        verify_report(sealed(data))
    missing = next(key for key in tests_by_method if key != "uncalibrated")
    del tests_by_method[missing]
    with texts.raises(ReportError):
        verify_report(sealed(data))


def test_by_rule_every_column_but_time_is_sliced_by_and_time_is_cut(report):
    assert [part.columns for part in report.parts.slices] == [("site",), ("age",)]
    assert report.parts.periods.column == "day"


def test_what_is_asked_for_is_taken(predictions, analysis):
    parts = parts_of(predictions, analysis, slices=[("age", "site")], n_ranges=2, time="")
    (part,) = parts.slices
    assert part.columns == ("age", "site")
    assert parts.periods is None
    assert parts.decisions is None
    years = parts_of(predictions, analysis, slices=[], unit="year").periods
    assert years.tables["platt"].names == ("2024", "2025")


def slice_tables(report: Report) -> list[Table]:
    (section,) = (section for section in sections(report) if section.title == "Slices")
    return [block for block in parts(section.blocks) if isinstance(block, Table)]


def test_slices_are_listed_in_the_order_of_their_values_and_with_their_column(report):
    shown = [[cells[0].text for cells in table.rows] for table in slice_tables(report)]
    expected = [
        [f"{part.columns[0]} {name}" for name in tests.names]
        for part in report.parts.slices
        for tests in part.tests.values()
    ]
    assert shown == expected
    assert any(
        part.tests["uncalibrated"].order.tolist() != [0, 1, 2] for part in report.parts.slices
    )


def test_slices_with_evidence_of_miscalibration_are_marked(report, texts):
    (part, _), table = report.parts.slices, slice_tables(report)[0]
    tests = replace(
        part.tests["uncalibrated"], p_adjusted=np.array([0.5, 0.01, 0.5])[: len(table.rows)]
    )
    parts = replace(report.parts, slices=(replace(part, tests={"uncalibrated": tests}),))
    forged = replace(report, parts=parts)
    (table,) = slice_tables(forged)
    assert [cells[0].marked for cells in table.rows] == [False, True, False][: len(table.rows)]
    (section,) = (section for section in sections(forged) if section.title == "Slices")
    texts.shown(section.markdown())
    assert f"**{table.rows[1][0].text}**" in table.markdown()


def test_only_scored_rows_count(predictions):
    frame = site_frame(600).assign(half=np.tile(["train", "test"], 300))
    split = loaded(frame, split="half", test_value="test")
    analysis = calib.analyze(split, calib.Settings(methods=("platt",)))
    part = parts_of(split, analysis).slices[0]
    assert part.gaps["uncalibrated"].rows.sum() == 300


def test_periods_have_the_numbers_of_the_library(predictions, analysis, report):
    rows = analysis.held_out.row_view("platt")
    expected = period_table(rows, rows.score, cut_periods(predictions.columns["day"]))
    table = report.parts.periods.tables["platt"]
    assert table.names == expected.names
    np.testing.assert_allclose(table.slope, expected.slope, rtol=1e-8)
    np.testing.assert_array_equal(table.rows, expected.rows)


def test_decisions_have_the_numbers_of_the_library(analysis, report):
    expected = decide(analysis.held_out, COSTS)
    for key, decision in report.parts.decisions.table.methods.items():
        for name in ("threshold", "true_positives", "false_positives", "cost", "change"):
            assert getattr(decision, name) == getattr(expected.methods[key], name), name


@pytest.mark.parametrize("n_small", [(4,), (4, 3), (9, 8, 7), (1,)])
def test_small_slices_are_one_and_large_enough(n_small):
    rows = [60, 12, *n_small]
    cut = Slicing(("a",), tuple("abcde"[: len(rows)]), np.repeat(np.arange(len(rows)), rows))
    merged, n = merged_slices(cut)
    counts = np.bincount(merged.codes)
    assert counts[counts > 0].min() >= MIN_ROWS
    assert counts.sum() == sum(rows)
    # They are merged with a larger one if they are too few together, because the rest would show
    # them.
    assert n == len(n_small) + (sum(n_small) < MIN_ROWS)
    assert counts[0] == 60


def test_slices_that_are_large_enough_stay():
    cut = Slicing(("a",), ("a", "b"), np.repeat([0, 1], [10, 11]))
    assert merged_slices(cut) == (cut, 0)


@pytest.mark.parametrize("n_missing", [0, 3, 20])
def test_small_periods_are_joined_and_few_missing_rows_never_alone(n_missing):
    months = np.repeat(np.arange(6), [40, 3, 30, 12, 5, 25])
    days = (np.datetime64("2024-01", "M") + months).astype("datetime64[us]")
    days[:n_missing] = np.datetime64("NaT")
    cut = merged_periods(cut_periods(days, "month"))
    counts = np.bincount(cut.codes[cut.codes >= 0])
    assert counts.min() >= MIN_ROWS
    assert cut.n_missing == 0 or cut.n_missing >= MIN_ROWS
    assert len(counts) == len(cut)
    assert "2024-02" not in cut.names


def test_one_period_beside_few_missing_rows_is_not_shown(analysis, predictions):
    days = np.full(50, np.datetime64("2024-01-01", "us"))
    days[:3] = np.datetime64("NaT")
    assert merged_periods(cut_periods(days, "year")) is None


def test_a_time_column_that_cannot_be_cut_is_told_and_nothing_fails(texts):
    rows = loaded(site_frame(600))
    # Files with such a column are refused, but rows in memory can have one.
    rows = replace(
        rows, columns={**rows.columns, "day": np.array([f"at {i:04d}" for i in range(600)])}
    )
    analysis = calib.analyze(rows, calib.Settings(methods=()))
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    texts.shown(report.parts.notes[0])
    assert report.parts.notes[0] in report.markdown().replace("\\", "")


def test_curves_over_thresholds_step_over_ten_rows_and_are_exact_there():
    rng = np.random.default_rng(0)
    score = rng.random(400)
    view = calib.Predictions.from_arrays(rng.random(400) < score, score).view()
    held_out = cross_fit_scores(CountedRows.of_rows(view), calib.Settings(methods=()))
    merged = merged_cells(held_out.cells["uncalibrated"])
    assert isinstance(merged, ScoreCells)
    assert merged.rows.min() >= MIN_ROWS
    assert merged.rows.sum() == 400
    assert merged.total_positive == held_out.cells["uncalibrated"].total_positive
    coarse = cross_fit_scores(CountedRows.of_rows(view), calib.Settings(methods=()))
    object.__setattr__(coarse, "cells", {"uncalibrated": merged})
    exact, stepped = (cost_curves(fits, COSTS) for fits in (held_out, coarse))
    # The rows flagged at a threshold are whole merged cells.
    steps = np.diff(stepped.cost["uncalibrated"])
    moved = np.flatnonzero(steps) + 1
    np.testing.assert_allclose(
        stepped.cost["uncalibrated"][moved - 1], exact.cost["uncalibrated"][moved - 1], atol=0.06
    )
    at = np.searchsorted(merged.score, exact.threshold, side="left")
    flagged = np.concatenate([np.cumsum(merged.rows[::-1])[::-1], [0.0]])[at]
    assert set(np.diff(np.unique(flagged)) >= MIN_ROWS) == {True}
    assert net_benefit(coarse).base_rate == pytest.approx(net_benefit(held_out).base_rate)


def test_a_method_that_flags_a_handful_has_no_decisions(predictions, analysis, texts):
    five = Costs(capacity=5 / 600)
    parts = parts_of(predictions, analysis, slices=[], costs=five)
    assert parts.decisions.left_out == ("uncalibrated", "platt")
    assert not parts.decisions.table.methods
    report = Report.from_analysis(analysis, parts=parts)
    said = report.markdown()
    texts.shown(said)
    assert report.html()


def test_a_threshold_that_is_a_score_has_three_digits(predictions, analysis):
    parts = parts_of(predictions, analysis, slices=[], costs=Costs(capacity=0.3))
    scores = analysis.held_out.scores["uncalibrated"]
    threshold = parts.decisions.table.methods["uncalibrated"].threshold
    assert threshold not in scores
    assert np.abs(scores - threshold).min() < 5e-4


def test_no_score_of_a_row_leaves_with_the_parts(report, analysis):
    def numbers(value):
        if isinstance(value, dict):
            return [n for item in value.values() for n in numbers(item)]
        if isinstance(value, list):
            return [n for item in value for n in numbers(item)]
        return [value] if isinstance(value, float) else []

    leaving = np.array(numbers(json.loads(report.json())["parts"]))
    for score in analysis.held_out.scores["uncalibrated"]:
        assert np.abs(leaving - score).min() > 1e-9


def test_sections_stand_between_the_methods_and_the_bins(report, analysis):
    titles = [section.title for section in sections(report)]
    place = titles.index("Cumulative difference")
    assert titles[place + 1 : place + 5] == ["Slices", "Over time", "Decisions", "Bins"]
    without = [section.title for section in sections(Report.from_analysis(analysis))]
    assert not {"Slices", "Over time", "Decisions"} & set(without)
    parts = {s.title: s for s in sections(report) if s.title in titles[place + 1 : place + 4]}
    for section in parts.values():
        kinds = {type(block) for block in section.blocks}
        assert kinds & {Table, Tabs}
        assert kinds & {Drawing, Beside, Annotated}


def test_the_words_say_what_was_merged(report, texts):
    small = report.parts.slices[0]
    assert small.n_merged == 2
    texts.shown(report.markdown())


def test_many_slices_are_cut_to_a_hundred_and_the_number_is_told(texts):
    frame = site_frame(3000).assign(site=np.repeat([f"s{i}" for i in range(150)], 20))
    rows = loaded(frame, slices=("site",))
    analysis = calib.analyze(rows, calib.Settings(methods=()))
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    part = report.parts.slices[0]
    assert (len(part.gaps["uncalibrated"]), part.n_left_out) == (100, 50)
    texts.shown(report.markdown())


@pytest.mark.parametrize(
    "options",
    [
        {"slices": [("colour",)]},
        {"time": "colour"},
    ],
)
def test_unknown_columns_are_refused(predictions, analysis, options, texts):
    with texts.raises(ValueError):
        parts_of(predictions, analysis, **options)


def test_parts_of_other_data_are_refused(predictions, analysis, report, texts):
    other = loaded(site_frame(600, seed=1))
    for wrong in ((other, analysis), (predictions, report.analysis)):
        with texts.raises(ValueError):
            parts_of(*wrong)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("slices.0.gaps", {}),
        ("slices.0.gaps.uncalibrated.rows", [1]),
        ("slices.0.gaps.uncalibrated.rows", [1.5]),
        ("slices.0.gaps.uncalibrated.names", []),
        ("periods.tables.magic", None),
        ("decisions.cost.cost.uncalibrated", [1.0]),
        ("decisions.left_out", ["magic"]),
        ("decisions.benefit.treat_all", [1.0]),
        ("decisions.table.costs.false_positive", -1),
        ("slices.0.tests.uncalibrated.rows", [1]),
        ("slices.0.tests", {"uncalibrated": None}),
    ],
)
def test_broken_parts_are_refused_in_a_sentence(report, path, value, texts):
    data = json.loads(report.json())
    *folders, last = path.split(".")
    place = data["parts"]
    for folder in folders:
        place = place[int(folder) if folder.isdecimal() else folder]
    place[last] = value
    with texts.raises(ReportError):
        Report.open(json.dumps(data))


def test_decisions_of_a_method_that_the_report_does_not_have_are_refused(report, texts):
    data = json.loads(report.json())
    methods = data["parts"]["decisions"]["table"]["methods"]
    methods["magic"] = next(iter(methods.values()))
    with texts.raises(ReportError):
        Report.open(json.dumps(data))


def test_a_calibrator_that_is_not_recommended_is_said_to_be_shown_and_why(predictions, analysis):
    for advised in ("platt", "uncalibrated", ""):
        advice = replace(analysis.recommendation, method=advised)
        changed = replace(analysis, recommendation=advice, after=None)
        parts = parts_of(predictions, changed, costs=Costs(1, 1))
        text = Report.from_analysis(changed, parts=parts, created=MOMENT).markdown()
        reason = "Platt scaling is shown for comparison, because its held-out log loss"
        assert text.count(reason) == (0 if advised == "platt" else 2)


def test_rates_are_in_per_cent_and_their_differences_in_points(report):
    def columns(title: str) -> dict[str, list[str]]:
        section = next(one for one in sections(report) if one.title == title)
        table = next(block for block in parts(section.blocks) if isinstance(block, Table))
        cells = zip(*([cell.text for cell in row] for row in table.rows), strict=True)
        return dict(zip(table.head, map(list, cells), strict=True))

    slices = columns("Slices")
    first = report.parts.slices[0].gaps["uncalibrated"]
    assert slices["Predicted"] == [f"{mean:.1%}" for mean in first.mean_score]
    assert slices["Observed"] == [f"{rate:.1%}" for rate in first.observed]
    assert slices["Difference (points)"][0] == f"{100 * first.gap[0]:+.1f}".replace("-", "−")
    assert all(cell.endswith("%") for cell in columns("Over time")["Observed"])
    assert columns("Decisions")["Threshold"][0] == "20%"
