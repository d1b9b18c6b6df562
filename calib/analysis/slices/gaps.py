"""Observed minus predicted of each slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from calib.analysis.groups import Groups, GroupTable
from calib.data.slicing import Slicing
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.intervals import normal_quantile
from calib.numerics.resampling import cluster_squares

# With fewer rows of a class, a variance that is estimated from the slice is unreliable.
MIN_ROWS_OF_CLASS = 10


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SliceGaps(GroupTable):
    """Observed minus predicted of each slice that has rows. Arrays have the shape (k,).

    Attributes
    ----------
    columns, names : tuple of str
        Columns that were cut, and names of the slices.
    number : ndarray of int
        Position of each slice in its Slicing.
    rows, positives : ndarray of int
        Number of rows, and of positive rows.
    mean_score, observed : ndarray
        Weighted mean score, and weighted observed frequency.
    gap, low, high : ndarray
        Observed minus predicted, and its normal interval.
    z, p_value : ndarray
        Test of no gap: the gap divided by its null standard error, and the two-sided p-value.
    p_adjusted : ndarray
        Holm-adjusted p-values over the slices that are not `few`. NaN for slices that are.
    confidence_level : float
        Confidence level of the intervals.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    number: IntArray
    rows: IntArray
    positives: IntArray
    mean_score: FloatArray
    observed: FloatArray
    gap: FloatArray
    low: FloatArray
    high: FloatArray
    z: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    confidence_level: float

    @property
    def order(self) -> IntArray:
        """Positions sorted by evidence, strongest first. Slices with few rows are last."""
        return np.lexsort((-np.abs(self.z), self.few)).astype(np.int64)

    def frame(self) -> pd.DataFrame:
        """One row per slice, strongest evidence first."""
        names = ("number", "rows", "positives", "mean_score", "observed", "gap", "low", "high")
        columns = {name: getattr(self, name) for name in (*names, "p_value", "p_adjusted", "few")}
        return pd.DataFrame({"slice": self.names, **columns}).iloc[self.order]


def slice_gaps(
    rows: BinaryView, score: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceGaps:
    """Observed frequency minus mean score of each slice, with intervals and tests.

    The interval uses the variance of the contributions w (y - s); if groups are named, by cluster.
    The test uses the larger of this variance and that of calibrated scores, sum w^2 s (1 - s): with
    few positive rows, a large gap and a small variance occur together by chance. If a slice has
    fewer than 10 rows of a class, its interval uses the larger variance, too.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    slicing : Slicing
        Slices of the same rows.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    References
    ----------
    Holm 1979, https://www.jstor.org/stable/4615733 (adjusted p-values).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> from calib.data.slicing import slice_by
    >>> site = np.repeat(["north", "south"], 100)
    >>> y = np.concatenate([np.tile([0, 1], 50), np.tile([0, 0, 0, 1], 25)])
    >>> rows = Predictions.from_arrays(y, np.full(200, 0.5)).view()
    >>> gaps = slice_gaps(rows, rows.score, slice_by({"site": site}, ["site"]))
    >>> gaps.names, gaps.gap, gaps.significant()
    (('north', 'south'), array([ 0.  , -0.25]), array([False,  True]))
    """
    sums = _Sums(rows, score, slicing)
    groups = Groups.of(rows, slicing)
    number = groups.number
    gap = sums.gap[number]
    error, null_error = (values[number] for values in sums.standard_errors())
    # If the null standard error is 0, any gap is infinitely significant, and no gap is not
    # significant.
    certain = np.where(gap == 0.0, 0.0, np.copysign(np.inf, gap))
    z = np.divide(gap, null_error, out=certain, where=null_error > 0.0)
    p_value = 2.0 * ndtr(-np.abs(z))
    half = normal_quantile(confidence_level) * error
    return SliceGaps(
        columns=slicing.columns,
        **groups.head,
        number=number,
        positives=sums.positives[number].astype(np.int64),
        mean_score=sums.mean_score[number],
        observed=sums.observed[number],
        gap=gap,
        low=gap - half,
        high=gap + half,
        z=z,
        p_value=p_value,
        p_adjusted=groups.adjusted(p_value),
        confidence_level=confidence_level,
    )


class _Sums:
    """Sums over the rows of each slice."""

    def __init__(self, rows: BinaryView, score: FloatArray, slicing: Slicing) -> None:
        self.rows, self.score, self.slicing = rows, score, slicing
        self.outcome = rows.outcome.astype(np.float64)
        self.count = self.total(rows.count)
        self.positives = self.total(rows.counts * self.outcome)
        weighted = rows.weight is not None
        self.weight = self.total(rows.weight) if weighted else self.count
        with np.errstate(invalid="ignore"):
            self.mean_score = self.total(score * rows.weights) / self.weight
            positive = self.total(self.outcome * rows.weights) if weighted else self.positives
            self.observed = positive / self.weight
        self.gap = self.observed - self.mean_score

    def total(self, values: FloatArray | None) -> FloatArray:
        return np.bincount(self.slicing.codes, values, minlength=len(self.slicing)).astype(float)

    def standard_errors(self) -> tuple[FloatArray, FloatArray]:
        """Standard errors of the gap of each slice, for the interval and for the test."""
        observed = self._own_spread()
        calibrated = self.total(self.rows.squared_weights * self.score * (1.0 - self.score))
        larger = np.maximum(observed, calibrated)
        rare = np.minimum(self.positives, self.count - self.positives) < MIN_ROWS_OF_CLASS
        with np.errstate(invalid="ignore"):
            return (
                np.sqrt(np.where(rare, larger, observed)) / self.weight,
                np.sqrt(larger) / self.weight,
            )

    def _own_spread(self) -> FloatArray:
        residual = self.outcome - self.score - self.gap[self.slicing.codes]
        if self.rows.group is None:
            square, n = self.total(self.rows.squared_weights * residual**2), self.count
        else:
            of, residual = self.slicing, self.rows.weights * residual
            square, n = cluster_squares(residual, of.codes, self.rows.group, len(of))
        # The variance cannot be estimated from a single row or cluster.
        return square * np.divide(n, n - 1.0, out=np.zeros(len(n)), where=n > 1.0)
