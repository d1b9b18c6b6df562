"""Rows with whatever makes engines differ, counted once from the rows in memory."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.aggregate import Aggregate

SLICES = ["site", "plan", "age", "visits"]
# The crossing has a column with missing values and one that is cut into ranges.
CUTS = [*SLICES, ("plan", "age")]


@cache
def drawn(n: int = 200_000) -> pd.DataFrame:
    rng = np.random.default_rng(16)
    score = rng.beta(0.3, 0.6, n)
    score[:1000], score[1000:1500], score[2000:2100] = 0.0, 1.0, 1e-300
    # The scores have ties, a crowded cell that is cut into parts, the least float, -0.0 and ends.
    score[3000:9000] = 0.3
    score[9000:9100] = 5e-324
    score[9100:9200] = -0.0
    score[20_000:40_000] = rng.random(20_000) * 2e-5 + 0.4
    score[50_000:60_000] = score[50_000:60_000].round(2)
    score[70_000:70_100] = 1.0 - 1e-12 * rng.random(100)
    seconds = rng.integers(0, 40 * 86_400, n).astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "outcome": np.where(rng.random(n) < score, "yes", "no"),
            "score": score,
            "narrow": score.astype(np.float32),
            "weight": rng.random(n) * 3.0 + 0.1,
            "site": rng.choice(["north", "south", "west"], n),
            "plan": pd.Series(rng.choice(["a", "b"], n)).where(rng.random(n) > 0.1),
            "age": rng.normal(50.0, 10.0, n),
            "visits": rng.integers(0, 30, n),
            "day": np.datetime64("2024-01-01T10:00:00.000000") + seconds,
            "part": np.where(rng.random(n) < 0.3, "test", "cal"),
            "fold": rng.integers(0, 5, n),
        }
    )


@cache
def in_memory(
    score: str, weight: str | None, max_scores: int, *, step: int = 1, n: int = 200_000
) -> Aggregate:
    rows = drawn(n)[["outcome", score, "weight", "day", *SLICES]].iloc[::step]
    predictions = calib.load(
        rows,
        outcome="outcome",
        score=score,
        slices=SLICES,
        time="day",
        weight=weight,
        positive="yes",
        exact=True,
    )
    return calib.aggregate(predictions, CUTS, max_scores=max_scores)


def assert_same(counted: Aggregate, expected: Aggregate, rtol: float = 1e-12) -> None:
    """Keys, counts and the ends of cells are equal, and sums up to rounding."""
    names = ("parts", "class_names", "time_kind", "weighted", "exact", "fold_names", "set_aside")
    assert {n: getattr(counted, n) for n in names} == {n: getattr(expected, n) for n in names}
    order = ["model", "column", "value", "test", "fold", "group", "outcome", "key"]
    frames = [
        aggregate.frame().assign(key=aggregate.table.key).sort_values(order, ignore_index=True)
        for aggregate in (counted, expected)
    ]
    # A scan returns the ends of a cell, but not those of each of its entries.
    for name, least in (("low", "min"), ("high", "max")):
        for frame in frames:
            frame[name] = frame.groupby(["model", "column", "key"])[name].transform(least)
    for name in (*order, "rows", "low", "high"):
        np.testing.assert_array_equal(frames[0][name], frames[1][name], err_msg=name)
    for name in ("weight", "weight_sq", "score"):
        np.testing.assert_allclose(frames[0][name], frames[1][name], rtol=rtol, err_msg=name)


@pytest.fixture
def rows() -> pd.DataFrame:
    return drawn()
