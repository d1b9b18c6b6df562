"""Tables as CSV: the analysis' numbers, and no cell that a spreadsheet would run."""

import csv
import io
import zipfile
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report, parts_of
from tests.reports.conftest import HOSTILE
from tests.reports.kept import KEPT

PRINTED = ("metrics", "tests", "bins_uncalibrated", "bins_platt", "settings", "maps")


@pytest.fixture(scope="module")
def kept() -> Report:
    """With slices, periods and decisions."""
    return Report.open(KEPT)


@pytest.fixture(scope="module")
def matrix_report(problem) -> Report:
    scores, label = problem
    rows = Predictions.from_arrays(label, scores)
    return Report.from_analysis(analyze(rows, Settings(view="top:1", methods=("temperature",))))


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
    files = unpacked(report)
    for name, text in files.items():
        for row in csv.reader(io.StringIO(text, newline="")):
            assert not [cell for cell in row if cell.startswith(("=", "@", "+"))], name
    assert "'@SUM(1)" in files["slices_1.csv"]


class Printed(HTMLParser):
    """The cells of every table of a page: the text of each, and its smaller print."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[list[str]]]] = []
        self.place = ""
        self.feed(page)

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append(["", ""])
        elif tag == "small" and self.tables and self.tables[-1] and self.tables[-1][-1]:
            cell = self.tables[-1][-1][-1]
            cell[1] += ", " if cell[1] else ""  # Each detail is on its own line.
        if tag in ("td", "th", "span", "small", "script", "style"):
            self.place = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "span", "small", "script", "style"):
            self.place = ""

    def handle_data(self, text: str) -> None:
        if self.place in ("td", "th", "span", "small"):
            self.tables[-1][-1][-1][self.place == "small"] += text


def cells(table: list[list[list[str]]]) -> list[list[str]]:
    """Rows below the head, column by column: texts, then smaller print where there is any."""
    _, *rows = table
    columns = []
    for values in zip(*rows, strict=True):
        texts, details = zip(*values, strict=True)
        columns += [texts, *([details] if any(details) else [])]
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", ["report", "kept", "matrix_report", "hostile_report"])
def test_every_table_of_the_page_is_a_file_of_the_same_cells(name, request):
    report = request.getfixturevalue(name)
    # The answer above the contents is not printed as tables.
    pages = Printed(report.html().split("<nav")[1]).tables
    files = unpacked(report)
    printed = [text for name, text in sorted(files.items()) if name.startswith("as_printed/")]
    listed, *printed = [list(csv.reader(io.StringIO(text, newline=""))) for text in printed]
    assert len(printed) == len(pages) == len(listed) - 1
    for page, file in zip(pages, printed, strict=True):
        rows = [[cell.removeprefix("'") for cell in row] for row in file[1:]]
        assert rows == cells(page)
    assert "as_printed/00_tables.csv" in files


def test_the_whole_matrix_and_the_warnings_are_files(matrix_report, kept):
    rows = pd.read_csv(io.StringIO(unpacked(matrix_report)["whole_matrix.csv"]))
    results = matrix_report.analysis.multiclass.results
    assert list(rows["log_loss"]) == sorted(
        result.metrics["log_loss"].value for result in results.values()
    )
    said = pd.read_csv(io.StringIO(unpacked(kept)["warnings.csv"]))["warning"]
    assert tuple(said) == kept.analysis.warnings
