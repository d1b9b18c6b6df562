"""How well the scores rank the rows, with intervals. A calibrator should not make it worse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics.base import metric
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, increasing_order, run_starts
from calib.numerics.intervals import normal_quantile, upper_end
from calib.numerics.resampling import cluster_effect, freedom, squared_half_width, unit_sums
from calib.uncertainty import Estimate


@metric(
    "AUC",
    meaning="Probability that a random positive row has a higher score than a random negative row.",
    bounds=(0.0, 1.0),
    better="higher",
    convention="Mann-Whitney: ties count one half.",
    source="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
    aliases="ROC AUC, area under the ROC curve, c-statistic, concordance; Gini coefficient and "
    "Somers' D are 2 AUC - 1",
    perfect=1.0,
    other_class="same",
    needs_both_classes=True,
)
def auc(cells: ScoreCells) -> float:
    """Area under the ROC curve (AUC): P(score of a positive row > score of a negative row).

    Pairs with equal scores count one half.

    Returns
    -------
    float
        In [0, 1]. NaN if all rows are of one class.

    Examples
    --------
    >>> auc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    return cells.auc


def row_auc(cells: ScoreCells, outcome: BoolArray, score: FloatArray) -> FloatArray:
    """Contributions of the rows to AUC: their weighted mean is AUC, their variance its variance.

    A positive row contributes the share of negative rows below it, a negative row the share of
    positive rows above it. The distance of a contribution from AUC is divided by the share of the
    row's class. AUC differences of two scores can then be paired by row, even if the two scores
    have different outcomes.

    The contributions are NaN if all rows are of one class. See DeLong, DeLong and Clarke-Pearson
    1988, doi:10.2307/2531595.

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
    # The rows are visited in the order of their scores: looking up their cells takes twice as long.
    in_order = bool((score[1:] >= score[:-1]).all())
    order = slice(None) if in_order else increasing_order(score)
    entries = np.diff(run_starts(score[order] + 0.0), append=len(score))
    above, below = (beaten - area) / share, (beating - area) / (1.0 - share)
    distance = np.empty(len(score))
    distance[order] = np.where(outcome[order], np.repeat(above, entries), np.repeat(below, entries))
    return area + distance


def row_auc_within(rows: BinaryView, fold: IntArray) -> FloatArray:
    """Contributions of the rows to the mean AUC within folds, weighted by numbers of pairs.

    Only rows of one fold are ranked against each other, because one calibrator scored all of
    them. A strictly increasing calibrator does not change any contribution.

    `fold` is the index of the calibrator that scored each row. Rows of a fold with only one class
    contribute 0. The contributions are NaN if every fold has only one class.

    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.7]).view()
    >>> float(row_auc_within(rows, np.array([0, 0, 1, 1])).mean())
    1.0
    """
    contributions, pairs = np.zeros(len(rows)), 0.0
    for number in np.unique(fold):
        chosen = np.flatnonzero(fold == number)
        part = rows.rows(chosen)
        cells = part.cells()
        if cells.one_class:
            continue
        fold_pairs = cells.total_positive * (cells.total_weight - cells.total_positive)
        share = fold_pairs / cells.total_weight
        contributions[chosen] = share * row_auc(cells, part.outcome, part.score)
        pairs += fold_pairs
    total = float(rows.weights.sum())
    return contributions * (total / pairs) if pairs > 0.0 else np.full(len(rows), math.nan)


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
    other_class="same",
)
def distinct_scores(cells: ScoreCells) -> int:
    """Number of distinct scores. Scores that differ in the last digit count as two.

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
    """AUC with a score interval: all values that a test of the observed AUC does not reject.

    The standard error comes from Newcombe's formula, which needs only the numbers of positive and
    negative rows. It is multiplied by the square root of DeLong's variance over Newcombe's
    variance and, if clusters are named, of the design effect. With few rows that ratio is shrunk
    towards 1, and the Student quantile towards the quantile with 20 degrees of freedom.

    Parameters
    ----------
    rows : BinaryView
    cells : ScoreCells, optional
        Cells of the same rows. Default: they are counted from `rows`.
    contributions : ndarray of shape (n,), optional
        Result of `calib.metrics.ranking.row_auc` for these rows. Default: it is computed.
    area : float, optional
        The AUC if it is not the AUC of the cells, for example of cross-fitted scores.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    Estimate
        Within [0, 1]. NaN if all rows are of one class.

    References
    ----------
    Newcombe 2006, doi:10.1002/sim.2324 (method 5); DeLong, DeLong and Clarke-Pearson 1988,
    doi:10.2307/2531595; Obuchowski 1997, doi:10.2307/2533958 (clusters).

    Examples
    --------
    >>> from calib.data.predictions import Predictions
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
    # If all ranks are right, or all wrong, the contributions do not vary.
    inside = 0.0 < area < 1.0
    ratio = spread.variance / counts.variance(area) if inside else 1.0
    freedom = spread.freedom if inside else 0.0
    factor = squared_half_width(ratio, spread.effect, freedom, confidence_level)

    def excess(other: float) -> float:
        return (other - area) ** 2 - factor * counts.variance(other)

    low = float(brentq(excess, 0.0, min(area, 1.0 - 1e-12))) if area > 0.0 else 0.0
    high = float(brentq(excess, max(area, 1e-12), 1.0)) if area < 1.0 else 1.0
    return Estimate(area, low, high)


def auc_difference(
    rows: BinaryView,
    contributions: FloatArray,
    reference: FloatArray,
    *,
    confidence_level: float = 0.95,
    added_variance: float = 0.0,
) -> Estimate:
    """Difference of two AUCs on the same rows, paired by row, with a Student interval.

    The degrees of freedom come from the rarer class. There are fewer if the rank of few rows
    changes.

    Parameters
    ----------
    rows : BinaryView
    contributions, reference : ndarray of shape (n,)
        Contributions of these rows to the two AUCs, from `calib.metrics.ranking.row_auc`.
    confidence_level : float
        In (0, 1).
    added_variance : float
        Variance of the difference that the contributions do not contain, for independent rows:
        that of calibrators fitted in folds, see `calib.uncertainty.fold_variance`.

    Returns
    -------
    Estimate
        The first AUC minus that of the reference, within [-1, 1]. The bounds are NaN if a class has
        one row or one cluster.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, doi:10.2307/2531595; Obuchowski 1997,
    doi:10.2307/2533958 (clusters).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.8, 0.9]).view()
    >>> contributions = row_auc(rows.cells(), rows.outcome, rows.score)
    >>> auc_difference(rows, contributions, contributions)
    Estimate(value=0.0, low=0.0, high=0.0, noise_floor=nan, resolution=0.0)
    """
    change = contributions - reference
    weight = rows.weights
    value = float(weight @ change) / float(weight.sum())
    if math.isnan(value):
        return Estimate(value)
    spread = _Spread.of(rows, change, _Counts.of(rows))
    if spread.variance == 0.0:
        return Estimate(value, value, value)
    if spread.freedom <= 0.0:
        return Estimate(value)
    half = float(stdtrit(spread.freedom, upper_end(confidence_level)))
    added = max(1.0, spread.effect) * added_variance
    half = math.hypot(
        half * math.sqrt(spread.effect * spread.variance),
        normal_quantile(confidence_level) * math.sqrt(added),
    )
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half))


def auc_variance(cells: ScoreCells) -> float:
    """DeLong's variance of the AUC, with n - 1 for each class. The rows have no weights.

    Examples
    --------
    >>> auc_variance(ScoreCells.from_arrays([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]))
    0.03125
    """
    positive, negative = cells.positive, cells.weight - cells.positive
    variance = 0.0
    for counted, other in ((positive, negative), (negative, positive)):
        n, m = counted.sum(), other.sum()
        if n < 2.0 or m < 1.0:
            return math.nan
        place = (np.cumsum(other) - 0.5 * other) / m
        mean = counted @ place / n
        variance += float(counted @ np.square(place - mean) / ((n - 1.0) * n))
    return variance


@dataclass(frozen=True, slots=True)
class _Counts:
    """Effective numbers of positive and negative rows."""

    positive: float
    negative: float

    @classmethod
    def of(cls, rows: BinaryView) -> _Counts:
        weight, square = rows.weights, rows.squared_weights
        positive, negative = (
            float(weight @ members) ** 2 / float(square @ members)
            for members in (rows.outcome.astype(np.float64), (~rows.outcome).astype(np.float64))
        )
        return cls(positive, negative)

    def variance(self, area: float) -> float:
        """Newcombe's variance if the true AUC has this value."""
        others = (self.positive + self.negative) / 2.0 - 1.0
        pairs = (1.0 - area) / (2.0 - area) + area / (1.0 + area)
        return area * (1.0 - area) * (1.0 + others * pairs) / (self.positive * self.negative)


@dataclass(frozen=True, slots=True)
class _Spread:
    """DeLong's variance of a mean of contributions, its design effect and degrees of freedom."""

    variance: float
    effect: float
    freedom: float

    @classmethod
    def of(cls, rows: BinaryView, contribution: FloatArray, counts: _Counts) -> _Spread:
        share, times = rows.weights / rows.weights.sum(), rows.multiplicity
        terms = share * (contribution - float(share @ contribution))
        square = np.square(terms)
        square *= rows.squared_weights / rows.weights**2 if times is None else 1.0 / times
        variance = float(square.sum())
        units = unit_sums(terms, rows.group)
        effect = 1.0 if rows.group is None else cluster_effect(terms, units)
        slow = 0.0  # A class with few rows makes this large, so that few degrees of freedom remain.
        for outcome, n in ((True, counts.positive), (False, counts.negative)):
            chosen = np.flatnonzero(rows.outcome == outcome)
            group = None if rows.group is None else rows.group[chosen]
            units = unit_sums(terms[chosen], group)
            repeats = None if times is None else times[chosen]
            if (len(units) if repeats is None else repeats.sum()) < 2:
                return cls(variance, effect, 0.0)
            # One degree of freedom is lost, because the mean of the class was subtracted.
            n_rows = float(rows.counts[chosen].sum())
            variance += float(square[chosen].sum()) / max(n_rows - 1.0, 1.0)
            slow += 1.0 / (n * n * max(freedom(units, repeats), 1e-9))
        total = 1.0 / counts.positive + 1.0 / counts.negative
        return cls(variance, effect, total * total / slow)
