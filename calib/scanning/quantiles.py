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
# Once a range has at most this many rows, their values are fetched and sorted here.
MAX_FETCHED_ROWS = 100_000


def quantiles(rows: nw.LazyFrame[Any], levels: Sequence[float]) -> list[float]:
    """Quantiles of the finite values of the column `VALUE`, as `numpy.quantile` gives them."""
    values = rows.select(VALUE).filter(nw.col(VALUE).is_finite())
    ranges = _counted_ranges(values)
    total = int(ranges["rows"].sum())
    result = []
    for place in (level * (total - 1) for level in levels if total):
        below = int(np.floor(place))
        low, high = _pair(values, ranges, below)
        share, step = place - below, high - low
        result.append(float(high - step * (1.0 - share) if share >= 0.5 else low + step * share))
    return result


def _counted_ranges(
    rows: nw.LazyFrame[Any], low: float = np.nan, high: float = np.nan
) -> pd.DataFrame:
    """Rows, least and largest value of equal ranges between two values, in increasing order."""
    value = nw.col(VALUE)
    if np.isnan(low):
        ends = collected(rows.select(value.min().alias("low"), value.max().alias("high")))
        low, high = ends["low"][0].as_py(), ends["high"][0].as_py()
        if low is None:
            return pd.DataFrame({"rows": [], "low": [], "high": []})
    else:
        rows = rows.filter((value >= low) & (value <= high))
    # The values are halved, because the difference of two numbers can overflow.
    width = max(high / 2.0 - low / 2.0, 5e-324)
    place = ((value / 2.0 - low / 2.0) / width * float(RANGES)).floor()
    ranges = (
        rows.with_columns(place.alias(PLACE), value.alias("calib_high"))
        .group_by(PLACE)
        .agg(
            nw.len().alias("rows"),
            nw.col(VALUE).min().alias("low"),
            nw.col("calib_high").max().alias("high"),
        )
    )
    return collected(ranges).to_pandas().sort_values("low", ignore_index=True)


def _pair(rows: nw.LazyFrame[Any], ranges: pd.DataFrame, rank: int) -> tuple[float, float]:
    """The values of a rank and of the next one."""
    after = np.inf
    while True:
        up_to = ranges["rows"].to_numpy().cumsum()
        at = int(np.searchsorted(up_to, rank, "right"))
        if at + 1 < len(ranges):
            after = float(ranges["low"][at + 1])
        rank -= int(up_to[at - 1]) if at else 0
        n, low, high = int(ranges["rows"][at]), float(ranges["low"][at]), float(ranges["high"][at])
        if low == high or n <= MAX_FETCHED_ROWS:
            break
        ranges = _counted_ranges(rows, low, high)
    if low < high:
        inside = rows.filter((nw.col(VALUE) >= low) & (nw.col(VALUE) <= high))
        values = np.sort(collected(inside)[VALUE].to_numpy())
        low, after = values[rank], values[rank + 1] if rank + 1 < n else after
    elif rank + 1 < n:
        after = low
    return float(low), float(after if np.isfinite(after) else low)
