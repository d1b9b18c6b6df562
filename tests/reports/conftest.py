"""Analyses to report on: an ordinary one, and one whose names are hostile."""

import numpy as np
import pandas as pd
import pytest

from calib.analysis import Analysis, analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report
from tests.once import computed_once  # noqa: F401

MOMENT = "2026-03-01T09:05:00+00:00"
HOSTILE = (
    "<img src=x onerror=window.hacked=1>",
    "</script><script>window.hacked=1</script>",
    "![](http://x.invalid/a.png)",
    "[here](http://x.invalid) www.x.invalid me@x.invalid",
    "=cmd|' /C calc'!A1",
    "<!-- a --> $x$ `y` | z\n# heading\n\n- item",
)


def overconfident(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes and scores, every score a full double that no other row has."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    odds = np.sqrt(score / (1 - score))
    return rng.random(n) < odds / (1 + odds), score


@pytest.fixture(scope="session")
def analysis() -> Analysis:
    outcome, score = overconfident(800)
    predictions = Predictions.from_arrays(outcome, score, name="scores.csv")
    return analyze(predictions, Settings(methods=("platt", "isotonic"), n_bins=12))


@pytest.fixture(scope="session")
def report(analysis: Analysis) -> Report:
    return Report.from_analysis(analysis, title="March", author="Ada", created=MOMENT)


@pytest.fixture(scope="session")
def hostile_report() -> Report:
    """Every text that a person or a file can bring is hostile."""
    outcome, score = overconfident(300)
    predictions = Predictions.from_arrays(
        outcome, score, name=" ".join(HOSTILE), class_names=HOSTILE[:2]
    )
    for field, text in {
        "score_name": HOSTILE[1] + HOSTILE[5],
        "outcome_name": HOSTILE[0],
        "set_aside": dict.fromkeys(HOSTILE, 3),
    }.items():
        object.__setattr__(predictions, field, text)
    return Report.from_analysis(
        analyze(predictions, Settings(methods=("platt",))),
        title=" ".join(HOSTILE),
        author=HOSTILE[2],
        note="\n".join(HOSTILE),
        created=MOMENT,
    )


def site_frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Scores of four sites, two of them small, over two years."""
    outcome, score = overconfident(n, seed)
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 730, n), "D")
    return pd.DataFrame(
        {
            "it's": outcome.astype(int),
            "-p": score,
            "site": rng.choice(["north", "south", "east", "west"], n, p=[0.6, 0.37, 0.015, 0.015]),
            "age": rng.integers(20, 60, n).astype(float),
            "day": days,
        }
    )
