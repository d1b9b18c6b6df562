"""Reports of parts, added up, against the report of the whole."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calib
from calib.analysis.decisions import Costs
from calib.data.predictions import Predictions
from calib.data.remark import code_of
from calib.reports import Report, ReportError, parts_of
from calib.reports.contents.codec import encode
from calib.reports.pooling import pool_reports
from calib.reports.verified_report import verify_report
from tests.rare import common_first, rare
from tests.test_counts_alone import agree

N_ROWS = 2000
SETTINGS = calib.Settings(methods=("platt", "isotonic"))
RNG = np.random.default_rng(5)
SCORE = RNG.beta(0.6, 0.8, N_ROWS)
OUTCOME = RNG.random(N_ROWS) < SCORE**1.4
WEIGHT = RNG.exponential(size=N_ROWS) + 0.1
TEST = RNG.random(N_ROWS) < 0.5


@cache
def whole_of(kind: str = "plain") -> Report:
    return report_of(np.arange(N_ROWS), kind)


def report_of(rows: np.ndarray, kind: str = "plain", grade: str = "exact", **more) -> Report:
    if kind == "weights":
        more["sample_weight"] = WEIGHT[rows]
    if kind == "test rows":
        more["test"] = TEST[rows]
    data = Predictions.from_arrays(OUTCOME[rows], SCORE[rows], name="site", **more)
    analysis = calib.analyze(data, SETTINGS)
    parts = parts_of(data, analysis, slices=[], costs=Costs(false_negative=3))
    return Report.from_analysis(analysis, parts=parts, grade=grade, held_out_declared="yes")


def parts(k: int, *given, **options) -> dict[str, Report]:
    cut = np.array_split(np.random.default_rng(k).permutation(N_ROWS), k)
    return {f"{i}.json": report_of(rows, *given, **options) for i, rows in enumerate(cut)}


@rare
@pytest.mark.parametrize(
    ("k", "kind"),
    common_first(
        [(k, kind) for k in (2, 5, 20) for kind in ("plain", "weights", "test rows")],
        [(2, "weights")],
    ),
)
def test_the_sum_of_parts_is_the_whole(k: int, kind: str):
    whole, pooled = whole_of(kind), pool_reports(parts(k, kind))
    same = replace(
        pooled.analysis,
        data=whole.analysis.data,
        warnings=whole.analysis.warnings,
    )
    if kind == "weights":
        agree(same, whole.analysis)  # Sums of weights depend on their order in the last bits.
    else:
        assert encode(same) == encode(whole.analysis)
        assert encode(pooled.parts.decisions) == encode(whole.parts.decisions)
    assert pooled.held_out_declared == "yes"
    assert pooled.analysis.data.n_rows == whole.analysis.data.n_rows
    verify_report(pooled.json())


@rare
def test_guarded_parts_are_near_the_whole():
    whole, pooled = whole_of(), pool_reports(parts(3, grade="guarded"))
    metrics, expected = (report.analysis.uncalibrated.metrics for report in (pooled, whole))
    for name, near in (("log_loss", 0.02), ("brier_score", 0.006), ("auc", 0.01)):
        assert metrics[name].value == pytest.approx(expected[name].value, abs=near)
        # Cells of several reports overlap, so no bound is claimed.
        assert np.isnan(metrics[name].resolution)
    assert "is not known" in pooled.warnings[0]
    assert "grouped" not in {code_of(warning) for warning in pooled.warnings}
    assert pooled.evidence.grade == "guarded"
    assert pooled.analysis.data.n_rows == N_ROWS
    verify_report(pooled.json())


def test_what_does_not_go_together_is_refused(texts):
    rows = np.arange(400)
    first, second = report_of(rows[:200]), report_of(rows[200:])
    other = replace(second.analysis.settings, seed=9)
    alone = {"a.json": first}
    with texts.raises(ReportError):
        pool_reports(alone)
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": first})
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": report_of(rows[200:], grade="guarded")})
    analysis = calib.analyze(Predictions.from_arrays(OUTCOME[200:400], SCORE[200:400]), other)
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": Report.from_analysis(analysis, grade="exact")})
    grouped = report_of(rows[200:], group=rows[200:] // 10)
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": grouped})
    changed = replace(second, title="Other")
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": changed})
    split = report_of(rows[200:], fold=rows[200:] % 3)
    with texts.raises(ReportError):
        pool_reports(alone | {"b.json": split})


@rare
@pytest.mark.parametrize("grade", ["exact", "guarded"])
def test_the_same_rows_are_refused_in_any_order_and_with_fewer_digits(grade: str):
    rng, rows = np.random.default_rng(2), np.arange(600)

    def report(score, outcome):
        analysis = calib.from_predictions(outcome, score, settings=SETTINGS)
        return Report.from_analysis(analysis, grade=grade)

    score, outcome = SCORE[rows], OUTCOME[rows]
    order = rng.permutation(rows)
    first = {"a.json": report(score, outcome)}
    for other in (
        report(score[order], outcome[order]),
        report(score.round(12), outcome),
        report(score[order].round(12), outcome[order]),
    ):
        with pytest.raises(ReportError, match=r"a\.json and b\.json .* would count twice"):
            pool_reports(first | {"b.json": other})


@pytest.mark.parametrize("kept", [590, 600])
def test_exact_reports_that_share_most_rows_are_refused(kept: int):
    first = {"a.json": report_of(np.arange(600))}
    other = report_of(np.r_[np.arange(kept), 700:711])
    with pytest.raises(ReportError, match=f"share {kept} of 600 scores"):
        pool_reports(first | {"b.json": other})


def test_sites_with_the_same_few_scores_are_pooled():
    rng = np.random.default_rng(1)
    reports = {}
    for name in ("a.json", "b.json"):
        score = rng.random(500).round(2)
        analysis = calib.from_predictions(rng.random(500) < score, score, settings=SETTINGS)
        reports[name] = Report.from_analysis(analysis, grade="exact")
    assert pool_reports(reports).analysis.data.n_rows == 1000


def test_rows_with_weights_are_not_pooled_with_rows_without():
    first, second = report_of(np.arange(500)), report_of(np.arange(500, 1000), "weights")
    with pytest.raises(ReportError, match=r"only b\.json of a\.json and b\.json has weights"):
        pool_reports({"a.json": first, "b.json": second})
