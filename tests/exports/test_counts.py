"""A calibrator from counts is exported with the conversion of the scores that were counted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.aggregate import Aggregate
from calib.data.aggregating import aggregate
from calib.exports import ExportError, describe
from calib.reports import Report
from calib.reports.render.reproduction import library_call
from tests.rare import common_first

FITTED = {"methods": ("uncalibrated", "beta")}
CONVERSIONS = {
    ("percent", False): lambda p: 100.0 * p,
    ("logit", False): lambda p: np.log(p / (1.0 - p)),
    ("none", True): lambda p: 1.0 - p,
    ("percent", True): lambda p: 100.0 - 100.0 * p,
}


def drawn(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    p = rng.uniform(0.01, 0.99, n)
    return p, (rng.random(n) < p**2).astype(int)


def saved(counts: Aggregate, folder: Path) -> Aggregate:
    counts.save(folder / "counts.parquet")
    return Aggregate.load(folder / "counts.parquet")


def loaded(rows: pd.DataFrame, **options) -> Aggregate:
    return aggregate(calib.load(rows, outcome="y", score="p", **options))


def scanned(rows: pd.DataFrame, **options) -> Aggregate:
    return calib.scan(rows, outcome="y", score="p", **options)


COUNTED = {
    "scan": lambda rows, _, options: scanned(rows, **options),
    "aggregate": lambda rows, _, options: loaded(rows, **options),
    "saved": lambda rows, folder, options: saved(scanned(rows, **options), folder),
    "JSON": lambda rows, _, options: Aggregate.from_json(loaded(rows, **options).to_json()),
    "added": lambda rows, folder, options: (
        saved(scanned(rows[::2], **options), folder) + loaded(rows[1::2], **options)
    ),
    "one of two models": lambda rows, _, options: calib.scan(
        rows.assign(q=rows["p"]), outcome="y", models=["p", "q"], **options
    ).of_model("q"),
}


@pytest.mark.parametrize(("transform", "swap"), common_first(CONVERSIONS, [("percent", True)]))
@pytest.mark.parametrize("made", common_first(COUNTED, ["scan", "added"]))
def test_the_file_gives_the_calibrated_scores_of_the_raw_column(made, transform, swap, tmp_path):
    p, y = drawn()
    raw = CONVERSIONS[transform, swap](p)
    rows = pd.DataFrame({"y": y, "p": raw})
    counts = COUNTED[made](rows, tmp_path, {"transform": transform, "swap": swap})
    analysis = calib.analyze(counts, FITTED)
    path = calib.export(
        analysis.held_out.calibrators["beta"], tmp_path / "map.py", analysis=analysis
    )
    names = {}
    exec(path.read_text(), names)
    values = [names["calibrate"](score) for score in raw.tolist()]
    assert values == pytest.approx(calib.calibrator("beta").fit(p, y).predict(p), rel=1e-9)


def test_a_report_from_counts_and_its_counts_know_the_conversion(tmp_path):
    p, y = drawn()
    options = {"transform": "percent", "swap": True}
    counts = scanned(pd.DataFrame({"y": y, "p": 100.0 - 100.0 * p}), **options)
    report = Report.from_analysis(calib.analyze(counts, FITTED))
    assert "transform='percent', swap=True" in library_call(report)
    assert "Aggregate.load(file)" in library_call(report)
    (tmp_path / "report.json").write_text(report.json())
    again = Report.open(tmp_path / "report.json")
    assert again.analysis.data.origin == again.evidence.cells.origin == counts.origin


def test_a_conversion_of_rows_is_refused_for_a_single_score(texts):
    p, y = drawn()
    rows = pd.DataFrame({"y": y, "p_0": -p, "p_1": p, "p_2": 0.0})
    scores = ["p_0", "p_1", "p_2"]
    counts = calib.scan(rows, outcome="y", score=scores, transform="softmax", view="class:1")
    analysis = calib.analyze(counts, FITTED)
    fitted = analysis.held_out.calibrators["beta"]
    with texts.raises(ExportError):
        describe(fitted, analysis=analysis)
