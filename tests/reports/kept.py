"""The report of every schema that is kept in fixtures/, and how the last one was made.

Before the first release, a changed schema overwrites its file: python -m tests.reports.kept
After it, a changed schema is a new step in calib/reports/contents/codec.py and a new file.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import calib
from calib.analysis.decisions import Costs
from calib.reports import Report, parts_of
from calib.reports.contents.codec import SCHEMA_VERSION

FOLDER = Path(__file__).parent / "fixtures"
KEPT = FOLDER / f"schema_{SCHEMA_VERSION}.json"


def loans(n: int = 400) -> pd.DataFrame:
    """Overconfident scores in percent, with weights, two slice columns and a time."""
    rng = np.random.default_rng(0)
    score = rng.random(n)
    odds = np.cbrt(score / (1 - score))
    return pd.DataFrame(
        {
            "defaulted": (rng.random(n) < odds / (1 + odds)).astype(int),
            "risk": 100 * score,
            "times": rng.integers(1, 4, n),
            "site": rng.choice(["north", "south", "east"], n, p=[0.6, 0.37, 0.03]),
            "age": rng.integers(20, 60, n).astype(float),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 730, n), "D"),
        }
    )


def made() -> Report:
    """A report with slices, periods and decisions."""
    columns = {"outcome": "defaulted", "score": "risk", "weight": "times", "time": "day"}
    rows = calib.load(loans(), **columns, slices=["site", "age"], transform="percent", name="loans")
    analysis = calib.analyze(rows, {"methods": ("platt",), "n_bins": 8})
    slices = [("site",), ("age",), ("site", "age")]
    return Report.from_analysis(
        analysis,
        parts=parts_of(rows, analysis, slices=slices, costs=Costs(1.0, 4.0)),
        title="Loans, with slices",
        author="Ada",
        note="Kept to be opened by every later version.",
        held_out_declared="yes",
        created="2026-06-01T09:05:00+00:00",
    )


if __name__ == "__main__":
    made().save(KEPT)
