"""What a spreadsheet would run is text in our CSV."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from calib.reports.render.files import to_csv


def cells(table: pd.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(to_csv(table).decode())))


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", " =1", "|x", "%x"]
)
def test_text_that_starts_a_formula_gets_an_apostrophe(text):
    (head, (cell,)) = cells(pd.DataFrame({text: [text]}))
    assert head == [f"'{text}"]
    assert cell == f"'{text}"


def test_numbers_dates_and_missing_values_stay_as_they_are():
    table = pd.DataFrame(
        {
            "gap": [-0.5, np.nan],
            "day": pd.to_datetime(["2020-01-01", None]),
            "site": ["a,b", None],
        }
    )
    assert cells(table) == [
        ["gap", "day", "site"],
        ["-0.5", "2020-01-01", "a,b"],
        ["", "", ""],
    ]
