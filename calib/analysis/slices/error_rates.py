"""Error rates of decisions in each slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.groups import Groups
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import Slicing
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, arrays_of
from calib.numerics.intervals import wilson_interval
from calib.numerics.resampling import mean_design_effects


@dataclass(frozen=True, slots=True, eq=False)
class SliceErrorRates(Locked):
    """Error rates of each slice that has rows. Arrays have the shape (k,).

    Attributes
    ----------
    names : tuple of str
    rows, negatives, positives : ndarray of int
        Number of rows, of negative rows and of positive rows.
    flagged : ndarray
        Share of the rows that are flagged.
    false_positive, false_positive_low, false_positive_high : ndarray
        Share of the negative rows that are flagged, with its Wilson interval. NaN if the slice has
        no negative rows.
    false_negative, false_negative_low, false_negative_high : ndarray
        Share of the positive rows that are not flagged, with its Wilson interval. NaN if the slice
        has no positive rows.
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
        return pd.DataFrame({"slice": self.names, **arrays_of(self)})

    def widest(self) -> tuple[str, int, int] | None:
        """The rate that differs most between slices, and its highest and its lowest slice.

        Only slices with at least 30 rows of the class are compared. None if there are fewer than
        two.
        """
        differences = []
        for name, rows in (("false_positive", self.negatives), ("false_negative", self.positives)):
            compared = np.flatnonzero(rows >= FEW_ROWS)
            if len(compared) > 1:
                rate = getattr(self, name)[compared]
                highest, lowest = int(compared[rate.argmax()]), int(compared[rate.argmin()])
                differences.append((float(np.ptp(rate)), name, highest, lowest))
        return max(differences)[1:] if differences else None


def slice_error_rates(
    rows: BinaryView, flagged: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceErrorRates:
    """False positive and false negative rates of each slice.

    Parameters
    ----------
    rows : BinaryView
    flagged : ndarray of shape (n,), in [0, 1]
        1 if a row is flagged, 0 if it is not, as from `Decision.flag`. A value between is the
        probability of being flagged, if ties are broken at random.
    slicing : Slicing
        Slices of the same rows.
    confidence_level : float
        Confidence level of the Wilson intervals, in (0, 1). They use the effective number of rows,
        (sum w)^2 / sum w^2, divided by the design effect of clusters.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 0, 1, 1], [0.2, 0.6, 0.7, 0.4]).view()
    >>> rates = slice_error_rates(rows, (rows.score >= 0.5) * 1.0, Slicing.whole(4))
    >>> rates.false_positive, rates.false_negative
    (array([0.5]), array([0.5]))
    """
    cell = 2 * slicing.codes + rows.outcome

    def total(values: FloatArray | None) -> FloatArray:
        """Sums by slice (rows) and outcome (columns). If None: numbers of rows."""
        sums = np.bincount(cell, values, minlength=2 * len(slicing))
        return sums.astype(float).reshape(-1, 2)

    all_count, all_hits = total(rows.count), total(flagged * rows.weights)
    weighted = rows.weight is not None
    all_of = total(rows.weight) if weighted else all_count
    all_squares = total(rows.squared_weights) if weighted else all_count
    effects = np.ones((len(slicing), 2))
    if rows.group is not None:
        share = np.divide(all_hits, all_of, out=np.zeros(all_of.shape), where=all_of > 0.0).ravel()
        residual = rows.weights * (flagged - share[cell])
        effects = mean_design_effects(residual, cell, rows.group, len(share)).reshape(-1, 2)
    groups = Groups.of(rows, slicing)
    count, of, hits, squares, effect = (
        sums[groups.number] for sums in (all_count, all_of, all_hits, all_squares, effects)
    )

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
        groups.names,
        groups.rows,
        negatives,
        positives,
        hits.sum(axis=1) / of.sum(axis=1),
        *rate(hits[:, 0], 0),
        *rate(of[:, 1] - hits[:, 1], 1),
    )
