"""Clusters of rows: their sums, design effects, and moderated variances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc, stdtrit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.cells import Cells
from calib.numerics.few_cells import into_buckets
from calib.numerics.intervals import upper_end
from calib.numerics.isotonic import pool_adjacent_violators

N_RANGES = 10  # Ranges of scores have equal weight.
# BENDS removes a straight line over the ranges. The rest is the part that a smooth curve must
# separate from noise.
_LINE = np.linalg.qr(np.vander(np.arange(N_RANGES), 2).astype(np.float64))[0]
BENDS = np.eye(N_RANGES) - _LINE @ _LINE.T


def cluster_squares(
    values: FloatArray, part: IntArray, group: IntArray, n_parts: int
) -> tuple[FloatArray, FloatArray]:
    """Squared sums of each cluster's rows in each part, added up by part.

    `part` and `group` are the part and the cluster of each row. The second array has the number of
    clusters with rows in each part.

    >>> part, group = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> cluster_squares(np.array([1.0, 2.0, 5.0, 7.0]), part, group, 2)
    (array([34., 49.]), array([2., 1.]))
    """
    n_groups = int(group.max()) + 1
    pairs, code = np.unique(part * n_groups + group, return_inverse=True)
    total, owner = np.bincount(code, values).astype(np.float64), pairs // n_groups
    squares = np.bincount(owner, total * total, minlength=n_parts).astype(np.float64)
    return squares, np.bincount(owner, minlength=n_parts).astype(np.float64)


def mean_design_effects(
    residual: FloatArray, part: IntArray, group: IntArray | None, n_parts: int
) -> FloatArray:
    """Design effect of each part's mean: variance relative to independent rows, at least 1.

    The residual of a row is its weight times (value - mean of the part). Without groups the result
    is 1. A part without spread, or with one cluster, gets the mean of the other parts, or 1 if
    there is no other. See Kish 1965, Survey Sampling.

    >>> residual = np.repeat([1.0, -1.0, 1.0, -1.0], 3)
    >>> mean_design_effects(residual, np.zeros(12, int), np.arange(12) // 3, 1).round(1)
    array([4.])
    """
    effect = np.ones(n_parts)
    if group is None:
        return effect
    squares, n = cluster_squares(residual, part, group, n_parts)
    alone = np.bincount(part, residual * residual, minlength=n_parts)
    varies = (alone > 0.0) & (n > 1.0)
    ratio = squares[varies] / alone[varies] * n[varies] / (n[varies] - 1.0)
    effect[varies] = np.maximum(1.0, ratio)
    if varies.any():
        effect[~varies] = np.average(effect[varies], weights=n[varies])
    return effect


def curve_design_effect(
    cells: Cells,
    score: FloatArray,
    outcome: BoolArray,
    weight: FloatArray,
    weight_sq: FloatArray,
    group: IntArray,
) -> float:
    """Variance of the bends of a fitted curve, relative to independent rows, at least 1.

    If the rows of a group have similar scores, they repeat the same information about the curve. If
    their scores are spread, a common outcome moves the whole curve and bends it little. The
    residuals of the best non-decreasing curve are summed by group and tenth of the rows, and their
    linear part over the tenths is removed. Rows repeated k times as a group give exactly k.

    The arrays are the rows and `cells` their cells; or they are entries, with sums over their rows.
    Groups are numbered from 0.
    """
    buckets = into_buckets(cells.score, cells.weight, cells.positive)
    curve = pool_adjacent_violators(buckets.positive / buckets.weight, buckets.weight)
    bucket = np.searchsorted(cells.score[buckets.starts], score, side="right") - 1
    middle = np.cumsum(buckets.weight) - 0.5 * buckets.weight
    stretch = (N_RANGES * middle / cells.total_weight).astype(np.int64)[bucket]
    residual = outcome - curve[bucket]
    # If the scores separate the outcomes, the curve leaves no residuals.
    if np.abs(residual).max() < 1e-9:
        residual = outcome - outcome.mean()
    n_sums = (int(group.max()) + 1) * N_RANGES
    total = np.bincount(group * N_RANGES + stretch, weight * residual, minlength=n_sums)
    by_group = total.reshape(-1, N_RANGES)
    together = np.einsum("gi,ij,gj->", by_group, BENDS, by_group, optimize=True)
    alone = (weight_sq * np.square(residual)) @ np.diag(BENDS)[stretch]
    return max(1.0, float(together / alone)) if alone > 0.0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """Contributions of rows to a sum z of d numbers, by cluster."""

    sums: FloatArray  # The shape is (g, d), and rows of zeros do no harm.
    products: FloatArray  # The sum over the rows of z_i z_i' has the shape (d, d).
    n_clusters: int


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """Spread of a sum of d squares, against that of d independent standard normal ones."""

    mean: float  # The ratio of the means.
    freedom: float  # A chi-square with 1 to d degrees of freedom has the same spread.
    n_squares: int  # The number is called d in formulas.
    n_clusters: int | None  # It is None for independent rows.

    def p_value(self, statistic: float) -> float:
        """P(a sum of squares is at least this large) of calibrated scores; NaN for one cluster."""
        f = statistic / (self.mean * self.n_squares)
        if self.n_clusters is None:
            return float(chdtrc(self.freedom, self.freedom * f))
        if self.n_clusters < 2:
            return float("nan")
        return float(fdtrc(self.freedom, self.freedom * (self.n_clusters - 1), f))

    def of_independent_rows(self, statistic: float) -> float:
        """The sum of squares that is as far out, in mean and variance, if rows are independent."""
        d = self.n_squares
        return float(d + (statistic / self.mean - d) * np.sqrt(self.freedom / d))


def design_effect(
    scale: FloatArray, variance: FloatArray, clusters: ClusterSums | None = None
) -> DesignEffect:
    """Rao and Scott's correction of a chi-square z' inv(scale) z, where z is the sum of all rows.

    Scores are calibrated under the null, so the contribution of a row to z has mean 0 and a known
    variance, and `variance` is the covariance of z if rows are independent. It differs from
    `scale`, which the statistic takes for granted, if weights depend on the score. The eigenvalues
    of inv(scale) @ variance are then the spreads of d squares, and their mean and Satterthwaite's
    degrees of freedom correct the statistic (second order).

    With clusters, only the products of different rows of one cluster are taken from the data. This
    is accurate also if few rows are positive, on which the spread between clusters alone would
    rest. Clusters are assumed to add spread, never to remove it. How evenly the d directions are
    spread is then estimated from pairs of different clusters, whose products are unbiased.

    Both matrices are positive definite. See Rao and Scott 1984, doi:10.1214/aos/1176346391; Thomas
    and Rao 1987, Journal of the American Statistical Association 82, 630-636 (F in place of
    chi-square).

    Fifty pairs of equal rows vary twice as much as a hundred rows do.

    >>> pairs, known = np.tile([[1.0], [-1.0]], (25, 1)), np.array([[100.0]])
    >>> two = design_effect(known, known, ClusterSums(2.0 * pairs, known, 50))
    >>> round(two.mean, 9), two.freedom
    (2.0, 1.0)
    """
    root, d = np.linalg.cholesky(scale), len(scale)
    of_rows = np.linalg.solve(root, np.linalg.solve(root, variance).T)
    spread = float(np.trace(of_rows))
    if clusters is None:
        return DesignEffect(spread / d, spread**2 / float(np.sum(of_rows**2)), d, None)
    z = np.linalg.solve(root, clusters.sums.T).T
    within_rows = float(np.trace(np.linalg.solve(scale, clusters.products)))
    total = float(np.square(z).sum())
    # If scores are near 0, squares of squares could overflow.
    unit = z / math.sqrt(total) if total > 0.0 else z
    square = np.einsum("gd,gd->g", unit, unit)
    between = float(square.sum() ** 2 - square @ square)
    aligned = float(np.sum(np.square(unit.T @ unit)) - square @ square)
    freedom = float(np.clip(between / aligned, 1.0, d)) if aligned > 0.0 else float(d)
    mean = (spread + max(0.0, total - within_rows)) / d
    return DesignEffect(mean, freedom, d, clusters.n_clusters)


# The model's variance counts for this many degrees of freedom. With 10, intervals of AUC and slope
# are wider without better coverage; with 0, they cover 53 to 67% with two or three positive rows.
PRIOR_FREEDOM = 20.0


def unit_sums(values: FloatArray, group: IntArray | None) -> FloatArray:
    """Sum over each cluster of rows, or the rows themselves if there are no clusters.

    >>> unit_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 7]))
    array([3., 4.])
    """
    if group is None:
        return values
    return np.asarray(np.bincount(group, values)[np.bincount(group) > 0], dtype=np.float64)


def freedom(units: FloatArray, multiplicity: FloatArray | None = None) -> float:
    """Degrees of freedom of a sum of squares over units. They are few if few units are large.

    One less than the number of equal squares that vary as much, (sum u^2)^2 / sum u^4.

    `multiplicity` is the number of rows that share each unit equally, 1 each if None.

    >>> freedom(np.array([1.0, -1.0, 1.0])), freedom(np.array([100.0, 1.0, -1.0])) < 0.01
    (2.0, True)
    """
    times = np.ones(len(units)) if multiplicity is None else multiplicity
    square = np.square(units / times)
    total = float(times @ square)
    if total == 0.0:
        return float(times.sum()) - 1.0
    share = square / total
    return 1.0 / float(times @ (share * share)) - 1.0


def cluster_effect(values: FloatArray, units: FloatArray) -> float:
    """Variance of the clusters' sums relative to independent rows.

    `values` are the contributions of the rows, of mean 0, and `units` their `unit_sums`.

    >>> values = np.repeat([1.0, -1.0], 50)
    >>> round(cluster_effect(values, unit_sums(values, np.arange(100) // 2)), 2)
    2.02
    """
    square, n = float(values @ values), len(units)
    if square == 0.0 or n < 2:
        return 1.0
    return float(units @ units) / square * (n / (n - 1.0)) / (len(values) / (len(values) - 1.0))


def squared_half_width(
    ratio: float, effect: float, freedom: float, confidence_level: float
) -> float:
    """Scale of an interval, in units of the variance from a model of independent rows.

    `ratio` is the variance that the rows show over that of the model, with `freedom` degrees of
    freedom; the model's variance counts for 20. `effect` is the `cluster_effect`; clusters are
    taken to add spread, never to remove it. See Smyth 2004, doi:10.2202/1544-6115.1027 (moderated
    t).

    >>> round(squared_half_width(4.0, 1.0, 1e9, 0.95) ** 0.5, 2)
    3.92
    >>> round(squared_half_width(4.0, 1.0, 0.0, 0.95) ** 0.5, 2)
    2.09
    """
    total = PRIOR_FREEDOM + freedom
    moderated = max(1.0, effect) * (PRIOR_FREEDOM + freedom * ratio) / total
    return moderated * math.pow(float(stdtrit(total, upper_end(confidence_level))), 2)
