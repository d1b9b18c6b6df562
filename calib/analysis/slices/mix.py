"""Differences between slices: shares among selected rows, gaps, and errors at a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from calib.analysis.groups import Groups, GroupTable
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import Slicing
from calib.data.views import BinaryView
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.numerics.intervals import normal_quantile, wilson_interval
from calib.numerics.resampling import cluster_squares, mean_design_effects


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
