"""A data set with a time column, as if it had been monitored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.base import Data
from calib.data.predictions import Predictions
from calib.data.slicing import MISSING, slice_by
from calib.data.views import BinaryView
from calib.features.monitor.result import Monitored
from calib.features.monitor.rows import ALL_ROWS
from calib.features.monitor.rules import THREE_YEARS, monitored
from calib.numerics.arrays import BoolArray, canonical_order
from calib.numerics.binning import equal_weights
from calib.text import count, listed, plural, quoted

# Evidence of every slice on every day is kept, which takes memory in proportion to their number.
MAX_SLICES = 500


def monitor(
    predictions: Data,
    *,
    time: str,
    horizon: int = 0,
    slices: str | None = None,
    today: Any = None,
    alpha: float = 0.05,
    reset: Sequence[Any] = (),
    looks: int = THREE_YEARS,
    view: str = "class:1",
) -> Monitored:
    """Monitor a data set with a time column, as if someone had looked at it every day.

    All outcomes are used as if they were final at the horizon. A data set does not say when each
    outcome arrived, so rows that were chosen because their outcome is known mislead.

    Parameters
    ----------
    predictions : Predictions or Aggregate
        Rows of equal weight. Rows without a time are left out. Of rows in clusters (`group` of
        `calib.load`), one row of each cluster is tested, drawn at random with a fixed seed.
    time : str
        Name of the column with the date of each prediction.
    horizon : int
        Days after which an outcome is final.
    slices : str, optional
        Name of the column whose slices are tested too. Needs rows.
    today : date, optional
        The last complete day. Default: the last day of the data plus the horizon, so that all rows
        are tested.
    alpha, reset, looks
        See `calib.features.monitor.rules.monitored`.
    view : str
        The scores and outcomes that are tested.

    Raises
    ------
    ValueError
        If the column is unknown or has no dates, the rows have unequal weights or a cluster on
        several days, or there are more than 500 slices.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> day = np.datetime64("2026-01-01") + np.arange(40_000) // 200
    >>> p = rng.beta(1, 3, 40_000)
    >>> odds = p / (1 - p) * np.where(day < np.datetime64("2026-05-01"), 1.0, 1.5)
    >>> y = rng.random(40_000) < odds / (1 + odds)
    >>> data = calib.Predictions.from_arrays(y, p, columns={"day": day})
    >>> result = calib.monitor(data, time="day", horizon=30)
    >>> result.state, str(result.since_low), str(result.since_high)
    ('alarm', '2026-04-30', '2026-05-02')
    """
    if time not in predictions.columns:
        raise ValueError(
            f"time must be one of the columns ({listed(list(predictions.columns)) or 'none'}), "
            f"got {time!r}."
        )
    values, rows = predictions.timed(time, view)
    if values.dtype.kind != "M":
        raise ValueError(
            f"time must be a column of dates, got {time!r}. Convert it to dates first."
        )
    if not equal_weights(rows.cells()):
        raise ValueError(
            "Rows must have equal weights, because a bet on a weighted row has no mean of 1. Leave "
            "the weights out to monitor the rows as they are."
        )
    dated = ~np.isnat(values)
    tested = dated & _one_per_cluster(rows, values.astype("datetime64[D]"), dated)
    number = np.round(rows.counts).astype(np.float64)
    every = pd.DataFrame(
        {
            "day": values.astype("datetime64[D]").astype("datetime64[s]"),
            "slice": ALL_ROWS,
            "score": rows.score,
            "positive": np.where(rows.outcome, number, 0.0),
            "negative": np.where(rows.outcome, 0.0, number),
            "missing": 0,
            "late": 0,
        }
    )
    parts = [every]
    if slices is not None:
        if not isinstance(predictions, Predictions):
            raise ValueError("slices need rows, got counts. Leave the slices out.")
        cut = slice_by(predictions.columns, [slices])
        if len(cut) > MAX_SLICES:
            raise ValueError(
                f"At most {MAX_SLICES} slices can be tested, got {count(len(cut))} of "
                f"{quoted(slices)}. Choose a column with fewer values."
            )
        # The empty name is that of all rows.
        names = np.array([name or MISSING for name in cut.names], dtype=object)
        parts.append(every.assign(slice=names[cut.codes]))
    frame = pd.concat([part[tested] for part in parts], ignore_index=True)
    if today is None:
        last = frame["day"].max() if len(frame) else pd.Timestamp(0)
        today = last + pd.Timedelta(days=horizon)
    result = monitored(frame, horizon=horizon, today=today, alpha=alpha, reset=reset, looks=looks)
    return replace(result, n_in_clusters=int(dated.sum() - tested.sum()))


def _one_per_cluster(rows: BinaryView, day: NDArray[np.datetime64], dated: BoolArray) -> BoolArray:
    """One random row of each cluster, or all rows if there are no clusters.

    A bet needs rows that are independent given the past. One row of each cluster is, if no cluster
    is on several days. Which one must not depend on its outcome.
    """
    if rows.group is None:
        return np.ones(len(rows), dtype=np.bool_)
    number = day.astype(np.int64)
    pairs = np.unique(np.column_stack([rows.group, number])[dated], axis=0)
    if n_several := int((np.bincount(pairs[:, 0]) > 1).sum()):
        several = plural(n_several, "cluster")
        raise ValueError(
            f"A cluster must be on one day, got {several} on several days, whose "
            "rows depend on those of earlier days. Keep one row per cluster, or leave the cluster "
            "column out if the rows are independent."
        )
    # Clusters are numbered by content, so that the draw does not depend on the order of the rows.
    order, group = canonical_order((rows.score, number), rows.outcome, rows.group)
    assert group is not None
    draw = np.random.default_rng(0).random(len(order))
    drawn = np.lexsort([draw, group, ~dated[order]])
    _, places = np.unique(group[drawn], return_index=True)
    chosen = np.zeros(len(rows), dtype=np.bool_)
    chosen[order[drawn[places]]] = True
    return chosen
