"""When calibration changed: the periods in which observed minus predicted differs from the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from calib.analysis.groups import Groups
from calib.analysis.periods.cutting import Periods
from calib.data.views import BinaryView
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, row_blocks
from calib.numerics.poisson_binomial import simulated_p

# A stretch of periods, and the others, need this many expected rows of the rarer outcome. With
# fewer, their sum is too skewed for a normal distribution.
MIN_EXPECTED = 10.0
# The p-value of 400 periods is computed in about a second.
N_DRAWS = 1_999


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class PeriodChange(Locked):
    """The periods in which observed minus predicted differs most from that of all others.

    Attributes
    ----------
    names : tuple of str, length k
        Names of the periods that have rows, in order of time.
    wrong : ndarray of bool, shape (k,)
        The side with the larger difference: a stretch of periods, or all periods but a stretch.
    mean_score, observed : float
        Weighted mean score and observed frequency of its rows.
    mean_score_else, observed_else : float
        Those of the other rows.
    p_value : float
        Probability that some stretch differs at least as much by chance, if observed minus
        predicted is the same in all periods. NaN if there are too few rows to compare.
    """

    names: tuple[str, ...]
    wrong: BoolArray
    mean_score: float
    observed: float
    mean_score_else: float
    observed_else: float
    p_value: float

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the p-value is below alpha."""
        return self.p_value < alpha


def period_change(rows: BinaryView, score: FloatArray, periods: Periods) -> PeriodChange:
    """Find the stretch of periods whose observed minus predicted differs most from the others'.

    Every stretch of consecutive periods is compared with all other periods: the difference of the
    two means of y - s, divided by its standard error. The p-value accounts for the search: it is
    the share of 1,999 simulations in which the largest of these ratios is at least as large.
    Stretches in which fewer than ten rows of the rarer outcome are expected, or fewer than ten
    outside, are left out.

    The variance of a period's sum of w (y - s) is phi times the sum of w^2 s (1 - s). The factor
    phi is estimated from the spread within all periods, so that scores which are wrong in the same
    way in all periods are no change. If groups are named, sums of clusters take the place of rows,
    and periods that share clusters are correlated.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    periods : Periods
        Periods of the same rows.

    References
    ----------
    Olshen et al. 2004, doi:10.1093/biostatistics/kxh008 (every stretch against the rest); Levin and
    Kline 1985, Statistics in Medicine 4, 469-488 (a change that may end).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.analysis.periods import cut_periods
    >>> from calib.data.predictions import Predictions
    >>> year, y = np.repeat([2022, 2023, 2024, 2025], 100), np.tile([0, 1], 200)
    >>> y[year == 2025] = 1
    >>> rows = Predictions.from_arrays(y, np.full(400, 0.5)).view()
    >>> change = period_change(rows, rows.score, cut_periods(year))
    >>> change.wrong, change.observed, change.observed_else, change.significant()
    (array([False, False, False,  True]), 1.0, 0.5, True)
    """
    sums = _Sums.of(rows, score, periods)
    search = _Search(sums)
    n = len(sums.groups.number)
    if not search.stretches:
        return PeriodChange(sums.groups.names, np.zeros(n, dtype=np.bool_), *[math.nan] * 5)
    first, last, largest = search.largest()
    stretch = (np.arange(n) >= first) & (np.arange(n) < last)
    inside, outside = sums.means(stretch), sums.means(~stretch)
    # The stretch and the rest differ by the same amount, so the one that is farther off is named.
    wrong = abs(inside[1] - inside[0]) >= abs(outside[1] - outside[0])
    if not wrong:
        stretch, inside, outside = ~stretch, outside, inside
    return PeriodChange(sums.groups.names, stretch, *inside, *outside, search.p_value(largest))


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over the rows of each period that has rows."""

    groups: Groups
    weight: FloatArray
    score: FloatArray
    positive: FloatArray
    # These are the rows of the rarer outcome, at the rate of all rows.
    expected: FloatArray
    # The periods' sums of w (y - s) have this covariance, shape (k, k).
    covariance: FloatArray

    @classmethod
    def of(cls, all_rows: BinaryView, all_scores: FloatArray, periods: Periods) -> _Sums:
        inside = periods.codes >= 0
        rows, score = all_rows.rows(inside), all_scores[inside]
        cut = periods.rows(inside)
        groups = Groups.of(rows, cut)
        n, place = len(groups.number), np.zeros(len(periods), dtype=np.int64)
        place[groups.number] = np.arange(n)
        codes = place[cut.codes]

        def total(values: FloatArray) -> FloatArray:
            return np.bincount(codes, values, minlength=n).astype(np.float64)

        weights, outcome = rows.weights, rows.outcome.astype(np.float64)
        weight, predicted, positive = (
            total(weights * values) for values in (np.ones(len(rows)), score, outcome)
        )
        residual = outcome - score - ((positive - predicted) / weight)[codes]
        model = total(rows.squared_weights * score * (1.0 - score))
        rate = float(positive.sum() / weight.sum()) if n else 0.0
        if rows.group is None:
            spread, units = total(rows.squared_weights * residual**2), groups.rows
            correlation = np.eye(n)
        else:
            spread, units, correlation = _by_cluster(weights * residual, codes, rows.group, n)
        variance = _variance(spread, units.astype(np.float64), model)
        return cls(
            groups,
            weight,
            predicted,
            positive,
            np.asarray(groups.rows * min(rate, 1.0 - rate), dtype=np.float64),
            correlation * np.sqrt(np.outer(variance, variance)),
        )

    def means(self, chosen: BoolArray) -> tuple[float, float]:
        """Mean score and observed frequency of some periods."""
        weight = self.weight[chosen].sum()
        return (
            float(self.score[chosen].sum() / weight),
            float(self.positive[chosen].sum() / weight),
        )


def _variance(spread: FloatArray, units: FloatArray, model: FloatArray) -> FloatArray:
    """The variances of the model, scaled to the spread within all periods together."""
    # One mean is subtracted in each period. A single row or cluster then shows no spread.
    shows = (units > 1.0) & (model > 0.0)
    if not shows.any():
        return np.zeros(len(model))
    unbiased = spread[shows] * units[shows] / (units[shows] - 1.0)
    return model * float(unbiased.sum() / model[shows].sum())


def _by_cluster(
    values: FloatArray, codes: IntArray, group: IntArray, n: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Squared sums of clusters and numbers of clusters per period, and correlations of periods."""
    sums = csr_array((values, (group, codes)), shape=(int(group.max()) + 1, n))
    sums.sum_duplicates()
    products = np.asarray((sums.T @ sums).todense())
    spread = np.diag(products).copy()
    root = np.sqrt(np.where(spread > 0.0, spread, np.inf))
    correlation = products / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    pairs = np.unique(codes * sums.shape[0] + group) // sums.shape[0]
    return spread, np.bincount(pairs, minlength=n).astype(np.int64), correlation


class _Search:
    """The comparison of every stretch of periods that has enough rows with all other periods."""

    def __init__(self, sums: _Sums) -> None:
        self.sums = sums
        covariance = _before(_before(sums.covariance).T)
        # All stretches of one length are computed together. A stretch with too few rows has 0.
        self.stretches = {
            length: factors
            for length in range(1, len(sums.weight))
            if (factors := self._factors(length, covariance)).any()
        }

    def _factors(self, length: int, covariance: FloatArray) -> FloatArray:
        """Two factors of each stretch, shape (2, m, 1), see `_ratios`.

        The difference S_in / W_in - S_out / W_out is a S_in - S_all / W_out with
        a = 1 / W_in + 1 / W_out. Both factors are divided by its standard error.
        """
        weight, outside = _within_and_not(self.sums.weight, length)
        expected = np.minimum(*_within_and_not(self.sums.expected, length))
        low, high = np.arange(len(weight)), np.arange(length, len(covariance))
        inside = covariance[high, high] - 2.0 * covariance[low, high] + covariance[low, low]
        shared = covariance[high, -1] - covariance[low, -1]
        factors = np.array([1.0 / weight + 1.0 / outside, 1.0 / outside])
        variance = (
            factors[0] ** 2 * inside
            - 2.0 * factors[0] * factors[1] * shared
            + factors[1] ** 2 * covariance[-1, -1]
        )
        enough = (expected >= MIN_EXPECTED) & (variance > 0.0)
        scale = np.sqrt(np.divide(1.0, variance, out=np.zeros(len(variance)), where=enough))
        return (factors * scale)[:, :, None]

    def largest(self) -> tuple[int, int, float]:
        """First period of the stretch with the largest ratio, the one after it, and the ratio."""
        upto = _before((self.sums.positive - self.sums.score)[:, None])
        ratio, length, first = max(
            (float(ratios.max()), length, int(ratios.argmax()))
            for length, factors in self.stretches.items()
            for ratios in [_ratios(upto, length, factors)]
        )
        return first, first + length, ratio

    def p_value(self, ratio: float) -> float:
        """The share of simulations whose largest ratio is at least as large."""
        n = len(self.sums.weight)
        values, vectors = np.linalg.eigh(self.sums.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        largest = np.zeros(N_DRAWS)
        normal = np.random.default_rng(0).standard_normal((N_DRAWS, n))
        for chunk in row_blocks(N_DRAWS, n):
            upto = _before(root @ normal[chunk].T)
            for length, factors in self.stretches.items():
                ratios = _ratios(upto, length, factors).max(axis=0)
                np.maximum(largest[chunk], ratios, out=largest[chunk])
        return simulated_p(ratio, largest)


def _ratios(upto: FloatArray, length: int, factors: FloatArray) -> FloatArray:
    """Differences of all stretches of a length over their standard errors, by simulation."""
    return np.abs(factors[0] * (upto[length:] - upto[:-length]) - factors[1] * upto[-1])


def _before(values: FloatArray) -> FloatArray:
    """Sums of the rows of an array before each position, and of all rows."""
    return np.concatenate([np.zeros((1, values.shape[1])), values.cumsum(axis=0)])


def _within_and_not(values: FloatArray, length: int) -> tuple[FloatArray, FloatArray]:
    """Sums of every stretch of this many periods, and of all other periods."""
    upto = _before(values[:, None])[:, 0]
    inside = upto[length:] - upto[:-length]
    return inside, upto[-1] - inside
