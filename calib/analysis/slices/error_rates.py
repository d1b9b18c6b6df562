"""False-positive and false-negative rates of every slice, once scores became decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.slices.slicing import Slicing
from calib.core.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked
from calib.numerics.clusters import mean_design_effects
from calib.numerics.intervals import wilson_interval


@dataclass(frozen=True, slots=True, eq=False)
class SliceErrorRates(Locked):
    """Error rates of each slice that has rows; arrays of shape (k,), NaN where no row can err.

    Attributes
    ----------
    names : tuple of str
    rows, negatives, positives : ndarray of int
    flagged : ndarray
        Share of the slice's rows that are decided to be positive.
    false_positive, false_positive_low, false_positive_high : ndarray
        Share of the negative rows that are flagged, with its Wilson interval.
    false_negative, false_negative_low, false_negative_high : ndarray
        Share of the positive rows that are not flagged.
    """

    names: tuple[str, ...]
    rows: IntArray
    negatives: IntArray
    positives: IntArray
    flagged: FloatArray
    false_positive: FloatArray
    false_positive_low: FloatArray
    false_positive_high: FloatArray
    false_negative: FloatArray
    false_negative_low: FloatArray
    false_negative_high: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per slice."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "names"}
        return pd.DataFrame({"slice": self.names, **own})


def slice_error_rates(
    rows: BinaryView, flagged: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceErrorRates:
    """Who is wronged by a decision, slice by slice.

    Parameters
    ----------
    rows : BinaryView
    flagged : ndarray of shape (n,), in [0, 1]
        1 where a row is decided to be positive, 0 where not, and between where ties are broken by
        lot: `Decision.flag`.
    slicing : Slicing
        Of the same rows.
    confidence_level : float
        Of the Wilson intervals; weighted rows count as (sum w)^2 / sum w^2, those of clusters by
        their design effect.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.core.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 0, 1, 1], [0.2, 0.6, 0.7, 0.4]).view()
    >>> rates = slice_error_rates(rows, (rows.score >= 0.5) * 1.0, Slicing.whole(4))
    >>> rates.false_positive, rates.false_negative
    (array([0.5]), array([0.5]))
    """
    cell = 2 * slicing.codes + rows.outcome

    def total(values: FloatArray | None) -> FloatArray:
        """Sums by slice (down) and outcome (across); the number of rows if None."""
        sums = np.bincount(cell, values, minlength=2 * len(slicing))
        return sums.astype(float).reshape(-1, 2)

    count = total(rows.count)
    kept = np.flatnonzero(count.sum(axis=1) > 0)
    count = count[kept]
    of, squares = total(rows.weights)[kept], total(rows.squared_weights)[kept]
    hits = total(flagged * rows.weights)[kept]
    effect = _design_effect(rows, flagged, cell, 2 * len(slicing)).reshape(-1, 2)[kept]

    def rate(wrong: FloatArray, outcome: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        among = of[:, outcome]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(wrong / among, 0.0, 1.0)
            effective = among**2 / (effect[:, outcome] * squares[:, outcome])
            low, high = wilson_interval(share, effective, confidence_level)
        nothing = among == 0.0
        return share, np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)

    negatives, positives = count.astype(np.int64).T
    return SliceErrorRates(
        tuple(slicing.names[i] for i in kept),
        negatives + positives,
        negatives,
        positives,
        hits.sum(axis=1) / of.sum(axis=1),
        *rate(hits[:, 0], 0),
        *rate(of[:, 1] - hits[:, 1], 1),
    )


def _design_effect(
    rows: BinaryView, flagged: FloatArray, cell: IntArray, n_cells: int
) -> FloatArray:
    """Of the share that is flagged, by slice and outcome."""
    if rows.group is None:
        return np.ones(n_cells)
    weight = rows.weights
    of = np.bincount(cell, weight, minlength=n_cells)
    hits = np.bincount(cell, weight * flagged, minlength=n_cells)
    share = np.divide(hits, of, out=np.zeros(n_cells), where=of > 0.0)
    return mean_design_effects(weight * (flagged - share[cell]), cell, rows.group, n_cells)
