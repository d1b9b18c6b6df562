"""A metric is one decorated function: tables, reports, links and options take it from there."""

import json
import math

import numpy as np
import pytest

import calib
from calib.cli.main import main
from calib.metrics import METRICS, score_metrics
from calib.metrics.base import Metric
from calib.reports import Report
from tests.rare import members

RNG = np.random.default_rng(5)
SCORE = RNG.random(600)
OUTCOME = RNG.random(600) < SCORE**1.5


def rows(**others):
    return calib.Predictions.from_arrays(OUTCOME, SCORE, **others)


@pytest.fixture
def registered():
    """A metric as a colleague would add it, for the time of one test."""

    def above_half(cells):
        return float(cells.weight[cells.score > 0.5].sum() / cells.total_weight)

    METRICS.add(
        "above_half",
        Metric(
            "above_half",
            "Share above 0.5",
            above_half,
            "Share of rows with a score above 0.5.",
            (0.0, 1.0),
            "none",
            "",
            "",
        ),
    )
    yield "above_half"
    METRICS._entries.pop("above_half")


def test_a_new_metric_appears_everywhere(registered, tmp_path, capsys):
    settings = calib.Settings(methods=("platt",), metrics=(registered,))
    analysis = calib.analyze(rows(), settings)
    table = analysis.table()
    assert table.loc["uncalibrated", registered] == pytest.approx((SCORE > 0.5).mean())
    # The metric is a share of independent rows, so its interval is close to the binomial one.
    half = 1.96 * math.sqrt(0.25 / len(SCORE))
    low = table.loc["uncalibrated", f"{registered}_low"]
    assert table.loc["uncalibrated", registered] - low == pytest.approx(half, rel=0.2)
    report = Report.from_analysis(analysis)
    assert "Share above 0.5" in report.markdown()
    kept = json.loads(report.json())["analysis"]
    assert registered in kept["methods"]["platt"]["metrics"]
    assert Report.open(report.json()).analysis.settings.metrics == (registered,)
    path, pairs = tmp_path / "scores.csv", zip(OUTCOME, SCORE, strict=True)
    path.write_text("y,p\n" + "".join(f"{int(y)},{p:.6f}\n" for y, p in pairs))
    assert main(["report", str(path), "--metrics", registered, "-o", str(tmp_path / "r.md")]) == 0
    assert "Share above 0.5" in (tmp_path / "r.md").read_text()


@pytest.fixture(scope="module")
def first():
    return calib.analyze(rows(), calib.Settings(methods=()))


@pytest.mark.parametrize("key", members(score_metrics()))
def test_every_metric_can_be_added(key, first):
    analysis = calib.analyze(rows(), calib.Settings(methods=(), metrics=(key,)), earlier=first)
    columns = [column.key for column in analysis.columns]
    assert len(columns) == len(set(columns))
    metric = METRICS[key]
    if key in columns:
        cells = analysis.held_out.cells["uncalibrated"]
        bins = {name: getattr(analysis.settings, name) for name in ("n_bins", "strategy")}
        taken = {name: value for name, value in bins.items() if metric.takes(name)}
        estimate = analysis.uncalibrated.metrics[key]
        assert estimate.value == pytest.approx(metric.number(cells, **taken), abs=1e-12)
        if metric.interval is not None:
            assert metric.bounds[0] <= estimate.low <= estimate.high <= metric.bounds[1]


def test_an_added_metric_follows_the_bins():
    one = calib.analyze(rows(), calib.Settings(methods=(), metrics=("adaptive_calibration_error",)))
    two = calib.analyze(
        rows(),
        calib.Settings(methods=(), metrics=("adaptive_calibration_error",), n_bins=5),
        earlier=one,
    )
    values = [
        analysis.uncalibrated.metrics["adaptive_calibration_error"].value for analysis in (one, two)
    ]
    assert values == [
        calib.metrics.adaptive_calibration_error(OUTCOME, SCORE, n_bins=n) for n in (15, 5)
    ]


def test_intervals_of_added_metrics_go_by_cluster():
    wide, narrow = (
        calib.analyze(
            calib.Predictions.from_arrays(
                np.repeat(OUTCOME[:60], 10), np.repeat(SCORE[:60], 10), **columns
            ),
            calib.Settings(methods=(), metrics=("signed_calibration_error",)),
        ).uncalibrated.metrics["signed_calibration_error"]
        for columns in ({"group": np.repeat(np.arange(60), 10)}, {})
    )
    # Ten copies of a row have no more information than the row, so the interval is sqrt(10) times
    # as wide.
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(
        math.sqrt(10), rel=0.25
    )


def test_an_unknown_metric_is_refused(texts):
    with texts.raises(ValueError):
        calib.Settings(metrics=("eec",))


def test_a_metric_is_shown_with_four_digits_unless_it_says_otherwise(registered):
    assert METRICS[registered].digits == 4
    assert METRICS["brier_score"].digits == METRICS["ks_error"].digits == 4
    assert METRICS["distinct_scores"].digits == 0
