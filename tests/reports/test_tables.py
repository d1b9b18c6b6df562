"""Tables as CSV: the analysis' numbers, and no cell that a spreadsheet would run."""

import csv
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from calib.reports import Report
from calib.reports.tables import FORMULA, tables, to_csv
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


@pytest.mark.parametrize("text", [*HOSTILE, "+1", "-1+2", "@SUM(1)", "\t=1", "\r=1", "＝1"])
def test_text_is_never_a_formula_and_reads_as_it_was(text):
    written = to_csv(pd.DataFrame({text: [text, 'a "b", c']}))
    head, first, second = csv.reader(io.StringIO(written, newline=""))
    for (cell,) in (head, first):
        assert not cell.startswith(FORMULA)
        assert cell.removeprefix("'") == text
    assert second == ['a "b", c']


def test_negative_numbers_stay_numbers():
    frame = pd.DataFrame({"gap": [-0.5, float("nan")]})
    assert pd.read_csv(io.StringIO(to_csv(frame)))["gap"].tolist()[0] == -0.5


def test_hostile_names_are_text_in_every_table(hostile_report):
    for name, frame in tables(hostile_report).items():
        for row in csv.reader(io.StringIO(to_csv(frame), newline="")):
            assert not [cell for cell in row if cell.startswith("=")], name
