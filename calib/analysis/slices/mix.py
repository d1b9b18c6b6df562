"""Slice mix: shares of slices among selected rows and among all other rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.slicing import Slicing
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.intervals import wilson_interval
from calib.numerics.resampling import cluster_squares


@dataclass(frozen=True, slots=True, eq=False)
class SliceMix(Locked):
    """Share of each slice among selected rows and among all others. Arrays have the shape (k,).

    Attributes
    ----------
    columns, names : tuple of str
        Columns that were cut, and names of the slices.
    rows_inside, rows_outside : ndarray of int
        Number of rows of each slice among the selected rows, and among the others.
    inside, outside : ndarray
        Share of the slice in each of the two, by weight.
    difference, low, high : ndarray
        Inside minus outside, and its interval.
    confidence_level : float
        Confidence level of the intervals.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    rows_inside: IntArray
    rows_outside: IntArray
    inside: FloatArray
    outside: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    confidence_level: float

    def __len__(self) -> int:
        return len(self.names)

    @property
    def order(self) -> IntArray:
        """Positions sorted by the size of the difference, largest first."""
        return np.argsort(-np.abs(self.difference), kind="stable").astype(np.int64)

    def frame(self) -> pd.DataFrame:
        """One row per slice, largest difference first."""
        names = ("rows_inside", "rows_outside", "inside", "outside", "difference", "low", "high")
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame({"slice": self.names, **columns}).iloc[self.order]


def slice_mix(
    slicing: Slicing,
    inside: BoolArray,
    weight: FloatArray | None = None,
    group: IntArray | None = None,
    *,
    confidence_level: float = 0.95,
) -> SliceMix:
    """Compare the shares of slices among selected rows with those among all other rows.

    The interval of the difference is Newcombe's, from the Wilson intervals of both shares. These
    use the effective number of rows, (sum w)^2 / sum w^2, divided by the design effect of clusters.
    That a cluster can have rows on both sides is ignored.

    Parameters
    ----------
    slicing : Slicing
        Slices of n rows.
    inside : ndarray of bool, shape (n,)
        Whether each row is selected.
    weight : ndarray of shape (n,), optional
        Weights, all above 0. Default: every row has weight 1.
    group : ndarray of int, shape (n,), optional
        Cluster of each row.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If no row is selected, or all rows are.

    References
    ----------
    Newcombe 1998, "Interval estimation for the difference between independent proportions",
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I, method 10.

    Examples
    --------
    >>> import numpy as np
    >>> cut = Slicing(("site",), ("north", "south"), np.repeat([0, 1], [60, 40]))
    >>> mix = slice_mix(cut, np.arange(100) < 50)
    >>> mix.inside, mix.outside
    (array([1., 0.]), array([0.2, 0.8]))
    """
    chosen = np.asarray(inside, dtype=np.bool_)
    if not 0 < chosen.sum() < len(chosen):
        raise ValueError(
            "rows must be both inside and outside, "
            f"got {int(chosen.sum())} and {int((~chosen).sum())}."
        )
    (rows_inside, share_inside, low, high), (rows_outside, share_outside, there_low, there_high) = (
        _shares(slicing, side, weight, group, confidence_level) for side in (chosen, ~chosen)
    )
    difference = share_inside - share_outside
    return SliceMix(
        columns=slicing.columns,
        names=slicing.names,
        rows_inside=rows_inside,
        rows_outside=rows_outside,
        inside=share_inside,
        outside=share_outside,
        difference=difference,
        low=difference - np.hypot(share_inside - low, there_high - share_outside),
        high=difference + np.hypot(high - share_inside, share_outside - there_low),
        confidence_level=confidence_level,
    )


def _shares(
    slicing: Slicing,
    rows: BoolArray,
    weight: FloatArray | None,
    group: IntArray | None,
    level: float,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Rows and share of each slice among some rows, with the Wilson interval of the share."""
    codes = slicing.codes[rows]
    weights = np.ones(len(codes)) if weight is None else weight[rows]
    total = np.bincount(codes, weights, minlength=len(slicing)).astype(np.float64)
    n = np.full(len(slicing), weights.sum() ** 2 / (weights @ weights))
    share = total / total.sum()
    if group is not None:
        n = n / _design_effect(weights, codes, group[rows], share)
    count = np.bincount(codes, minlength=len(slicing)).astype(np.int64)
    return count, share, *wilson_interval(share, n, level)


def _design_effect(
    weight: FloatArray, codes: IntArray, group: IntArray, share: FloatArray
) -> FloatArray:
    """Design effect of each share: its variance relative to independent rows, at least 1."""
    k, whole = len(share), np.bincount(group, weight)
    # The sum over clusters of (weight of the slice - share * weight of the cluster)^2 is expanded.
    squares, _ = cluster_squares(weight, codes, group, k)
    shared = np.bincount(codes, weight * whole[group], minlength=k)
    by_cluster = squares - 2.0 * share * shared + share**2 * (whole @ whole)
    squared = np.bincount(codes, weight * weight, minlength=k)
    alone = squared * (1.0 - 2.0 * share) + share**2 * (weight @ weight)
    n = int((whole > 0.0).sum())
    inside = (share > 0.0) & (share < 1.0)
    effect = np.ones(k)
    if n > 1:
        effect[inside] = np.maximum(1.0, by_cluster[inside] / alone[inside] * n / (n - 1.0))
    return effect
