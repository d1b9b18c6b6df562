"""Intervals of AUC, and of how much one set of scores has more of it than another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from calib.core.cells import ScoreCells
from calib.core.views import BinaryView
from calib.metrics.ranking import auc, row_auc
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import normal_quantile
from calib.numerics.moderated import cluster_effect, freedom, squared_half_width, unit_sums
from calib.uncertainty import Estimate


def auc_estimate(
    rows: BinaryView,
    cells: ScoreCells | None = None,
    contributions: FloatArray | None = None,
    *,
    area: float | None = None,
    confidence_level: float = 0.95,
) -> Estimate:
    """AUC with a score interval: all areas that the observed one would not be far from.

    The standard error at an area is Newcombe's, from the numbers of positive and of negative rows
    alone, times what the rows show beyond it: DeLong's variance over Newcombe's, and what clusters
    add where groups are named. The fewer rows the former rests on, the nearer is it taken to 1, and
    Student's quantile to that of 20 degrees of freedom.

    Parameters
    ----------
    rows : BinaryView
    cells : ScoreCells, optional
        Of the same rows, and
    contributions : ndarray of shape (n,), optional
        their `calib.metrics.ranking.row_auc`, where they are known already.
    area : float, optional
        The AUC, where it is not that of the cells: of scores by several calibrators.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    Estimate
        Within [0, 1]; NaN where the rows are of one class.

    References
    ----------
    Newcombe 2006, doi:10.1002/sim.2324 (method 5); DeLong, DeLong and Clarke-Pearson 1988,
    doi:10.2307/2531595; Obuchowski 1997, doi:10.2307/2533958 (clusters).

    Examples
    --------
    >>> from calib.core.predictions import Predictions
    >>> estimate = auc_estimate(Predictions.from_arrays([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]).view())
    >>> round(estimate.low, 2), estimate.value, round(estimate.high, 2)
    (0.28, 0.875, 0.99)
    """
    cells = cells or rows.cells()
    area = auc(cells) if area is None else area
    if math.isnan(area):
        return Estimate(area)
    counts = _Counts.of(rows)
    if contributions is None:
        contributions = row_auc(cells, rows.outcome, rows.score)
    spread = _Spread.of(rows, contributions, counts)
    # Perfect ranks show no spread at all.
    inside = 0.0 < area < 1.0
    ratio = spread.variance / counts.variance(area) if inside else 1.0
    known = spread.freedom if inside else 0.0
    factor = squared_half_width(ratio, spread.effect, known, confidence_level)

    def excess(other: float) -> float:
        return (other - area) ** 2 - factor * counts.variance(other)

    low = float(brentq(excess, 0.0, min(area, 1.0 - 1e-12))) if area > 0.0 else 0.0
    high = float(brentq(excess, max(area, 1e-12), 1.0)) if area < 1.0 else 1.0
    return Estimate(area, low, high)


def auc_difference(
    rows: BinaryView,
    own: FloatArray,
    reference: FloatArray,
    *,
    confidence_level: float = 0.95,
    added_variance: float = 0.0,
) -> Estimate:
    """Difference of two AUCs on the same rows, paired by row, with Student's interval.

    Its degrees of freedom are those of the rarer class, fewer where few rows change places.

    Parameters
    ----------
    rows : BinaryView
    own, reference : ndarray of shape (n,)
        Contributions of these rows to both: `calib.metrics.ranking.row_auc`.
    confidence_level : float
    added_variance : float
        Were rows independent, beyond what the contributions show: that of calibrators fitted in
        folds, see `calib.uncertainty.fold_variance`.

    Returns
    -------
    Estimate
        Own minus reference, within [-1, 1]. No bounds where a class has one row, or one cluster.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, doi:10.2307/2531595; Obuchowski 1997,
    doi:10.2307/2533958 (clusters).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.core.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.8, 0.9]).view()
    >>> own = row_auc(rows.cells(), rows.outcome, rows.score)
    >>> auc_difference(rows, own, own)
    Estimate(value=0.0, low=0.0, high=0.0, noise_floor=nan, resolution=0.0)
    """
    change = own - reference
    weight = rows.weights
    value = float(weight @ change) / float(weight.sum())
    if math.isnan(value):
        return Estimate(value)
    spread = _Spread.of(rows, change, _Counts.of(rows))
    if spread.variance == 0.0:
        return Estimate(value, value, value)
    if spread.freedom <= 0.0:
        return Estimate(value)
    half = float(stdtrit(spread.freedom, 0.5 + confidence_level / 2.0))
    added = max(1.0, spread.effect) * added_variance
    half = math.hypot(
        half * math.sqrt(spread.effect * spread.variance),
        normal_quantile(confidence_level) * math.sqrt(added),
    )
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half))


@dataclass(frozen=True, slots=True)
class _Counts:
    """Effective numbers of positive and of negative rows."""

    positive: float
    negative: float

    @classmethod
    def of(cls, rows: BinaryView) -> _Counts:
        weight, square = rows.weights, rows.squared_weights
        positive, negative = (
            float(weight @ own) ** 2 / float(square @ own)
            for own in (rows.outcome.astype(np.float64), (~rows.outcome).astype(np.float64))
        )
        return cls(positive, negative)

    def variance(self, area: float) -> float:
        """Newcombe's, of an AUC that is truly this large."""
        others = (self.positive + self.negative) / 2.0 - 1.0
        pairs = (1.0 - area) / (2.0 - area) + area / (1.0 + area)
        return area * (1.0 - area) * (1.0 + others * pairs) / (self.positive * self.negative)


@dataclass(frozen=True, slots=True)
class _Spread:
    """DeLong's variance of a mean of contributions, what clusters add, and degrees of freedom."""

    variance: float
    effect: float
    freedom: float

    @classmethod
    def of(cls, rows: BinaryView, contribution: FloatArray, counts: _Counts) -> _Spread:
        share, times = rows.weights / rows.weights.sum(), rows.multiplicity
        own = share * (contribution - float(share @ contribution))
        square = np.square(own)
        square *= rows.squared_weights / rows.weights**2 if times is None else 1.0 / times
        variance = float(square.sum())
        units = unit_sums(own, rows.group)
        effect = 1.0 if rows.group is None else cluster_effect(own, units)
        slow = 0.0  # a class of few rows leaves the variance few degrees of freedom
        for outcome, n in ((True, counts.positive), (False, counts.negative)):
            chosen = np.flatnonzero(rows.outcome == outcome)
            group = None if rows.group is None else rows.group[chosen]
            units = unit_sums(own[chosen], group)
            known = None if times is None else times[chosen]
            if (len(units) if known is None else known.sum()) < 2:
                return cls(variance, effect, 0.0)
            # The mean of the class was taken off.
            rows_of = float(rows.counts[chosen].sum())
            variance += float(square[chosen].sum()) / max(rows_of - 1.0, 1.0)
            slow += 1.0 / (n * n * max(freedom(units, known), 1e-9))
        total = 1.0 / counts.positive + 1.0 / counts.negative
        return cls(variance, effect, total * total / slow)
