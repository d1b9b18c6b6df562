"""Quantiles of a column of any length, in bounded memory: by counting ever finer ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from calib.scanning.screening import collected

VALUE, PLACE = "calib_value", "calib_range"
RANGES = 65_536
# So many rows are fetched by value.
FEW = 100_000


def quantiles(rows: nw.LazyFrame[Any], levels: Sequence[float]) -> list[float]:
    """Quantiles of the finite values of the column `VALUE`, as `numpy.quantile` gives them."""
    known = rows.select(VALUE).filter(nw.col(VALUE).is_finite())
    first = _counts(known)
    total = int(first["rows"].sum())
    return [_quantile(known, first, level * (total - 1)) for level in levels] if total else []


def _counts(rows: nw.LazyFrame[Any], low: float = np.nan, high: float = np.nan) -> pd.DataFrame:
    """Rows of equal ranges between two values, and the least and largest of each; increasing."""
    value = nw.col(VALUE)
    if np.isnan(low):
        ends = collected(rows.select(value.min().alias("low"), value.max().alias("high")))
        low, high = ends["low"][0].as_py(), ends["high"][0].as_py()
        if low is None:
            return pd.DataFrame({"rows": [], "low": [], "high": []})
    else:
        rows = rows.filter((value >= low) & (value <= high))
    # Halves, since the distance of two numbers may overflow.
    width = max(high / 2.0 - low / 2.0, 5e-324)
    place = ((value / 2.0 - low / 2.0) / width * float(RANGES)).floor()
    found = (
        rows.with_columns(place.alias(PLACE), value.alias("calib_high"))
        .group_by(PLACE)
        .agg(
            nw.len().alias("rows"),
            nw.col(VALUE).min().alias("low"),
            nw.col("calib_high").max().alias("high"),
        )
    )
    return collected(found).to_pandas().sort_values("low", ignore_index=True)


def _quantile(rows: nw.LazyFrame[Any], counts: pd.DataFrame, place: float) -> float:
    below = int(np.floor(place))
    low, high = _pair(rows, counts, below)
    share, step = place - below, high - low
    return float(high - step * (1.0 - share) if share >= 0.5 else low + step * share)


def _pair(rows: nw.LazyFrame[Any], counts: pd.DataFrame, rank: int) -> tuple[float, float]:
    """The values of a rank and of the next one."""
    after = np.inf
    while True:
        up_to = counts["rows"].to_numpy().cumsum()
        at = int(np.searchsorted(up_to, rank, "right"))
        if at + 1 < len(counts):
            after = float(counts["low"][at + 1])
        rank -= int(up_to[at - 1]) if at else 0
        n, low, high = int(counts["rows"][at]), float(counts["low"][at]), float(counts["high"][at])
        if low == high or n <= FEW:
            break
        counts = _counts(rows, low, high)
    if low < high:
        inside = rows.filter((nw.col(VALUE) >= low) & (nw.col(VALUE) <= high))
        values = np.sort(collected(inside)[VALUE].to_numpy())
        low, after = values[rank], values[rank + 1] if rank + 1 < n else after
    elif rank + 1 < n:
        after = low
    return float(low), float(after if np.isfinite(after) else low)
