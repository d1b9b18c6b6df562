"""Tables as CSV: the analysis' numbers, and no cell that a spreadsheet would run."""

import csv
import io
import zipfile

import numpy as np
import pandas as pd

from calib.analysis import analyze
from calib.predictions import Predictions
from calib.reports import Report, parts_of
from calib.settings import Settings
from tests.reports.conftest import HOSTILE

PRINTED = ("metrics", "tests", "bins_uncalibrated", "bins_platt", "settings", "maps")


def unpacked(report: Report) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(report.tables())) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def test_every_table_is_a_file(report):
    assert set(unpacked(report)) >= {f"{name}.csv" for name in PRINTED}


def test_numbers_are_whole(report, analysis):
    rows = pd.read_csv(io.StringIO(unpacked(report)["metrics.csv"]), index_col="key")
    for key, method in analysis.methods.items():
        assert rows.loc[key, "log_loss"] == method.metrics["log_loss"].value
    bins = pd.read_csv(io.StringIO(unpacked(report)["bins_uncalibrated.csv"]))
    np.testing.assert_array_equal(bins["rows"], analysis.uncalibrated.reliability.rows)


def test_twice_the_same_bytes(report):
    assert report.tables() == Report.open(report.json()).tables()


def test_hostile_names_are_text_in_every_table():
    sites = np.repeat([*HOSTILE, "@SUM(1)", "+1"], 50)
    score = np.tile(np.linspace(0.01, 0.99, 50), len(sites) // 50)
    rows = Predictions.from_arrays(np.arange(len(sites)) % 2, score, columns={"=site": sites})
    analysis = analyze(rows, Settings(methods=("platt",)))
    report = Report.from_analysis(analysis, parts=parts_of(rows, analysis))
    found = unpacked(report)
    for name, text in found.items():
        for row in csv.reader(io.StringIO(text, newline="")):
            assert not [cell for cell in row if cell.startswith(("=", "@", "+"))], name
    assert "'@SUM(1)" in found["slices_1.csv"]
