"""One recommendation of scores that changed: in the analysis, on its pages and in its report."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calib
from calib.analysis.decisions import expected_counts
from calib.analysis.plans import choose_plan, choosing, why_no_plan, with_plan
from calib.analysis.recommendation import Plan
from calib.analysis.summary import Held, Parts, shown_methods
from calib.blocks.kinds import Table
from calib.cli import main
from calib.data.predictions import Predictions
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.evidence import PLAN
from calib.reports.verify import verify_report
from calib.ui.pages.calibrators import page as compare
from calib.ui.pages.decisions import answer
from calib.ui.pages.overview import with_reason
from calib.ui.session import choices, state
from calib.ui.session.results import decisions, with_plan_of
from calib.words.checks import of_parts
from calib.words.decisions import advice
from calib.words.overview import why_shown
from tests.pages.harness import dropped, start
from tests.rare import rare


def broken(n: int = 3000) -> pd.DataFrame:
    """Half a year of rows, whose outcomes are more frequent from 1 September on."""
    rng = np.random.default_rng(3)
    day = np.datetime64("2026-06-01") + np.arange(n) * 180 // n
    z = rng.normal(-0.5, 1.0, n)
    late = day >= np.datetime64("2026-09-01")
    y = rng.random(n) < expit(z + np.where(late, 1.2, 0.0))
    score = expit(z).round(6)
    return pd.DataFrame({"y": y * 1, "score": score, "site": rng.choice(["a", "b"], n), "day": day})


@pytest.fixture(scope="module")
def planned():
    rows = calib.load(broken(), outcome="y", score="score", time="day")
    analysis = calib.analyze(rows, {"methods": ("logistic",)})
    return rows, analysis, choose_plan(rows, analysis, "day")


@pytest.fixture(scope="module")
def session():
    return dropped(broken(), m="logistic")


@pytest.fixture(scope="module")
def report(planned):
    rows, analysis, choice = planned
    made = with_plan(analysis, choice)
    return Report.from_analysis(made, parts=parts_of(rows, made, time="day"), grade="exact")


def test_a_plan_for_some_rows_is_recommended_alone(planned):
    _, analysis, choice = planned
    assert analysis.recommendation.method == "logistic"
    assert choice.plan.kind == "rows since"
    made = with_plan(analysis, choice)
    assert (made.recommendation.method, made.recommendation.plan) == ("", choice.plan)
    assert (made.after, made.after_sentence) == (None, "")
    assert made.verdict.answer == analysis.verdict.answer == "not calibrated"
    # The method of the plan, of all rows, stands beside the scores, and is not the advice.
    assert shown_methods(made) == ("uncalibrated", "logistic")
    assert "recommend" not in why_shown(made, "logistic").lower()


def test_a_plan_for_all_rows_is_the_advice_of_the_analysis(planned):
    _, analysis, choice = planned
    kept = replace(choice, plan=Plan("all rows", "logistic"))
    assert with_plan(analysis, kept) is analysis
    assert with_plan(analysis, None) is analysis


def test_the_pages_of_a_file_that_changed_recommend_its_plan_only(session):
    rows = state.predictions(session)
    raw = state.Model(rows, state.analysis(session, rows))
    model = with_plan_of(session, raw)
    assert raw.analysis.recommendation.method == "logistic"
    assert model.plan.plan == model.analysis.recommendation.plan
    assert model.analysis.recommendation.method == ""
    to_best = compare.differences_from_best(session, model.analysis)
    assert "ecommend" not in compare.finding(model.analysis, to_best)
    decided, shown = decisions(session, model.analysis), ("uncalibrated", "logistic")
    flagged = expected_counts(model.analysis.held_out, 0.5, methods=shown)
    look = {"weighted": False}
    assert advice(decided, flagged, shown) in answer(decided, flagged, shown, **look)
    assert advice(decided, flagged, shown) not in answer(
        decided, flagged, shown, **look, planned=True
    )


def test_other_bins_keep_the_plan(session):
    rows = state.predictions(session)
    plans = []
    for n_bins in (10, 20):
        session.change(choices.N_BINS, n_bins)
        plans.append(with_plan_of(session, state.Model(rows, state.analysis(session, rows))).plan)
    assert plans[0] is plans[1]


@rare
@pytest.mark.parametrize("page", ["Reliability", "Slices", "Calibrators", "Decisions"])
def test_every_page_with_calibrators_of_all_rows_links_to_the_plan(session, page):
    app = start(page, session)
    links = [each for each in app.main if each.type == "page_link"]
    (note,) = [link for link in links if "is recommended" in link.proto.label]
    assert note.proto.page == "overview" or note.proto.page == ""
    said = " ".join(each.value for each in (*app.markdown, *app.caption) if each.value)
    assert "(recommended)" not in said
    assert "Recommended:" not in said


def test_a_report_holds_the_plan_as_facts_and_is_verified(planned, report):
    choice = planned[2]
    opened = Report.open(report.json())
    assert opened.analysis.recommendation.plan == choice.plan
    held = json.loads(report.json())["analysis"]["recommendation"]
    assert held["plan"]["since"] == choice.since.isoformat()
    assert verify_report(report.json()).not_verified[0] == PLAN
    tables = [b for part in report.document().sections for b in part.blocks if isinstance(b, Table)]
    assert not any(row[0].detail == "recommended" for table in tables for row in table.rows)
    assert choice.plan.words in report.markdown()


@pytest.mark.parametrize(
    ("place", "value"),
    [(("method",), "logistic"), (("plan", "method"), "stack"), (("plan", "since"), "May")],
)
def test_a_report_with_two_recommendations_is_refused(report, place, value):
    data = json.loads(report.json())
    inner = data["analysis"]["recommendation"]
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(ReportError):
        Report.open(json.dumps(data))


def test_the_command_line_reports_the_plan(tmp_path):
    broken().to_csv(tmp_path / "rows.csv", index=False)
    given = ["--outcome", "y", "--score", "score", "--methods", "logistic", "--time-column", "day"]
    saved = tmp_path / "report.json"
    assert main(["report", str(tmp_path / "rows.csv"), *given, "-o", str(saved)]) == 0
    advice = Report.open(saved).analysis.recommendation
    assert (advice.method, advice.plan.kind) == ("", "rows since")


def test_data_without_a_plan_say_why(planned, monkeypatch, texts):
    rows, analysis, _ = planned
    assert why_no_plan(rows, analysis) == ""
    monkeypatch.setattr(choosing, "MAX_PLAN_ROWS", 2000)
    assert why_no_plan(rows, analysis) == "more than 2,000 rows"
    assert choose_plan(rows, analysis, "day") is None
    counts = calib.aggregate(rows, ["site"])
    assert why_no_plan(counts, analysis) == "counts"
    assert choose_plan(counts, analysis, "day") is None
    matrix = Predictions.from_arrays(rows.outcome, np.column_stack([1 - rows.scores, rows.scores]))
    texts(why_no_plan(matrix, analysis))
    test = Predictions.from_arrays(rows.outcome, rows.scores, test=np.arange(len(rows)) % 2 == 0)
    tested = state.Model(test, calib.analyze(test, {"methods": ("logistic",)}))
    assert why_no_plan(test, tested.analysis) == "test rows"
    # Overview says it where periods fail after what is recommended, and nowhere else.
    failing, holding = (Held("day", "month", wrong, 6) for wrong in (3, 0))
    monkeypatch.undo()
    usual = state.Model(rows, analysis)

    def about(model, then):
        parts = Parts((failing,), (then,))
        return with_reason(model, parts, of_parts(parts, of_time=True)).about

    assert "test rows" in about(tested, failing)
    assert "test rows" not in about(tested, holding)
    assert "get no calibrator" not in about(usual, failing)
