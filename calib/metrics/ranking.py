"""How well the scores rank, which calibration must not spoil, and intervals of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from calib.core.cells import ScoreCells
from calib.core.views import BinaryView
from calib.metrics.base import metric
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.clusters import cluster_effect, freedom, squared_half_width, unit_sums
from calib.numerics.intervals import normal_quantile
from calib.numerics.sorting import increasing_order, run_starts
from calib.uncertainty import Estimate


@metric(
    "AUC",
    meaning="Probability that a random positive row has a higher score than a random negative row.",
    bounds=(0.0, 1.0),
    better="higher",
    convention="Mann-Whitney: ties count one half.",
    source="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
    aliases="ROC AUC, area under the ROC curve, c-statistic",
)
def auc(cells: ScoreCells) -> float:
    """Area under the ROC curve: P(score of a positive > score of a negative), ties count 1/2.

    Returns
    -------
    float
        In [0, 1]; NaN where the rows are of one class.

    Examples
    --------
    >>> auc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    if cells.one_class:
        return math.nan
    # Negatives up to a cell and before it: their mean counts the cell's own by half.
    negative = cells.cumulative_weight - cells.cumulative_positive
    twice = cells.positive @ (negative[1:] + negative[:-1])
    return float(0.5 * twice / (cells.total_positive * negative[-1]))


def row_auc(cells: ScoreCells, outcome: BoolArray, score: FloatArray) -> FloatArray:
    """Contributions of the rows to AUC: their weighted mean is AUC, and their spread is its noise.

    A positive row contributes the share of the negatives below it, a negative one the share of the
    positives above, both as far from AUC as their class is rare. Differences between two scores
    are thereby paired by row, also where the two are about different outcomes.

    Parameters
    ----------
    cells : ScoreCells
        Of these rows.
    outcome : ndarray of bool, shape (n,)
    score : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        NaN where the rows are of one class.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, doi:10.2307/2531595.

    Examples
    --------
    >>> import numpy as np
    >>> outcome, score = np.array([0, 1, 0, 1], dtype=bool), np.array([0.1, 0.4, 0.4, 0.8])
    >>> float(row_auc(ScoreCells.from_arrays(outcome, score), outcome, score).mean())
    0.875
    """
    if cells.one_class:
        return np.full(len(score), math.nan)
    area, share = auc(cells), cells.base_rate
    positive = cells.cumulative_positive
    negative = cells.cumulative_weight - positive
    beaten = 0.5 * (negative[:-1] + negative[1:]) / negative[-1]
    beating = 1.0 - 0.5 * (positive[:-1] + positive[1:]) / positive[-1]
    # In the order of the scores: to look up each row's cell takes twice as long.
    in_order = bool((score[1:] >= score[:-1]).all())
    order = slice(None) if in_order else increasing_order(score)
    entries = np.diff(run_starts(score[order] + 0.0), append=len(score))
    above, below = (beaten - area) / share, (beating - area) / (1.0 - share)
    found = np.empty(len(score))
    found[order] = np.where(outcome[order], np.repeat(above, entries), np.repeat(below, entries))
    return area + found


def row_auc_within(rows: BinaryView, fold: IntArray) -> FloatArray:
    """Contributions of the rows to the mean of the folds' own AUCs, weighted by their pairs.

    Scores that several calibrators made are not ranked against each other: each fold's rows were
    scored by one. A strictly increasing calibrator leaves every contribution as it was.

    Parameters
    ----------
    rows : BinaryView
    fold : ndarray of int, shape (n,)
        Which calibrator scored each row.

    Returns
    -------
    ndarray of shape (n,)
        Their weighted mean is the AUC within folds. Rows of a fold of one class contribute 0; NaN
        where all folds are such.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.core.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.7]).view()
    >>> float(row_auc_within(rows, np.array([0, 0, 1, 1])).mean())
    1.0
    """
    found, pairs = np.zeros(len(rows)), 0.0
    for number in np.unique(fold):
        chosen = np.flatnonzero(fold == number)
        part = rows.rows(chosen)
        cells = part.cells()
        if cells.one_class:
            continue
        own = cells.total_positive * (cells.total_weight - cells.total_positive)
        share = own / cells.total_weight
        found[chosen] = share * row_auc(cells, part.outcome, part.score)
        pairs += own
    total = float(rows.weights.sum())
    return found * (total / pairs) if pairs > 0.0 else np.full(len(rows), math.nan)


@metric(
    "Distinct scores",
    meaning="Number of different scores. Isotonic regression creates ties.",
    bounds=(1.0, math.inf),
    better="none",
    convention="Exact: scores that differ only in the last digit count as two.",
    source="Zadrozny and Elkan 2002, doi:10.1145/775047.775151",
    aliases="unique scores, ties",
    interval=None,
    digits=0,
)
def distinct_scores(cells: ScoreCells) -> int:
    """Number of distinct scores.

    Examples
    --------
    >>> distinct_scores([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    3
    """
    return len(cells)


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
