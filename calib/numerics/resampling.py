"""Resampled sums of rows and of clusters, intervals from them, and random splits of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc, stdtrit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, SmallFloatArray
from calib.numerics.cells import Cells
from calib.numerics.few_cells import into_buckets
from calib.numerics.intervals import check_level, upper_end
from calib.numerics.isotonic import pool_adjacent_violators

# More clusters are merged at random into this many groups; the variance changes by at most 5%.
MAX_CLUSTERS = 1000
# The skewness of a Poisson count with a larger mean is below 0.1, and that of sums is smaller. They
# are drawn from a normal distribution, in a tenth of the time.
MAX_POISSON_MEAN = 100.0
# If a number of positive rows has a larger variance, a normal distribution with its skewness is
# accurate enough.
MAX_BINOMIAL_VARIANCE = 25.0


def draw_sums(
    weight: FloatArray, weight_sq: FloatArray, n_replicates: int, rng: np.random.Generator
) -> SmallFloatArray:
    """Total weight of each atom, a set of rows, in resamples of the rows.

    A row's number of copies is Poisson with mean 1. In contrast to the multinomial bootstrap, the
    number of rows varies too, which does not affect ratios of sums. Rows of an atom are drawn
    together: exactly if their weights are equal, otherwise with their mean and variance.

    `weight` and `weight_sq` are 0 if an atom has no rows. The result has a column per resample.
    See Hanley and MacGibbon 2006, doi:10.1016/j.cmpb.2006.04.006 (Poisson bootstrap).

    >>> rows = np.array([400.0, 0.0])
    >>> drawn = draw_sums(rows, rows, 10_000, np.random.default_rng(0))
    >>> drawn.mean(axis=1).round(), drawn.std(axis=1).round()
    (array([400.,   0.], dtype=float32), array([20.,  0.], dtype=float32))
    """
    # If all weights are w, the sum is w times a count of mean n = (sum w)^2 / sum w^2.
    unit = np.divide(weight_sq, weight, out=np.zeros(len(weight)), where=weight > 0.0)
    mean = np.divide(weight, unit, out=np.zeros(len(weight)), where=unit > 0.0)
    many = mean > MAX_POISSON_MEAN
    count = np.empty((len(weight), n_replicates), dtype=np.float32)
    few = mean[~many, None]
    count[~many] = rng.poisson(few, (len(few), n_replicates))
    large = mean[many, None].astype(np.float32)
    normal = rng.standard_normal((len(large), n_replicates), dtype=np.float32)
    count[many] = large + np.sqrt(large) * normal
    count *= unit[:, None].astype(np.float32)
    return count


def draw_cluster_sums(
    cluster: IntArray,
    atom: IntArray,
    weight: FloatArray,
    n_atoms: int,
    n_replicates: int,
    rng: np.random.Generator,
) -> SmallFloatArray:
    """Total weight of each atom in resamples of whole clusters of rows.

    A cluster's rows may lie in any atoms. See Field and Welsh 2007,
    doi:10.1111/j.1467-9868.2007.00593.x (cluster bootstrap); Wolter 2007,
    doi:10.1007/978-0-387-35099-8, chapter 2 (random groups).

    >>> one = np.zeros(6, dtype=np.int64)
    >>> rng = np.random.default_rng(0)
    >>> draw_cluster_sums(np.array([0, 0, 0, 1, 1, 1]), one, np.ones(6), 1, 3, rng)
    array([[6., 6., 6.]], dtype=float32)
    """
    present, lump = np.unique(cluster, return_inverse=True)
    n = min(len(present), MAX_CLUSTERS)
    if len(present) > n:
        lump = (rng.permutation(len(present)) % n)[lump]
    sums = np.bincount(lump * n_atoms + atom, weight, minlength=n * n_atoms)
    copies = rng.multinomial(n, np.full(n, 1.0 / n), size=n_replicates)
    table = sums.reshape(n, n_atoms).astype(np.float32)
    return np.ascontiguousarray(table.T @ copies.T.astype(np.float32))


def student_factor(n: int, n_replicates: int, rng: np.random.Generator) -> FloatArray:
    """Factors that give the noise of n resampled clusters the tails of Student's distribution.

    A normal number of the resamples' variance times its factor is Student's t with n - 1 degrees of
    freedom, in units of the clusters' standard error. One cluster shows no spread: its factor is 1.

    >>> rng = np.random.default_rng(0)
    >>> t = student_factor(5, 100_000, rng) * rng.normal(0.0, np.sqrt(4 / 5), 100_000)
    >>> np.quantile(t, 0.975).round(1)  # the normal quantile is 2.0
    np.float64(2.8)
    """
    n = min(n, MAX_CLUSTERS)
    if n < 2:
        return np.ones(n_replicates)
    return np.sqrt(n / rng.chisquare(n - 1, n_replicates))


def draw_noise(
    score: FloatArray,
    weight: FloatArray,
    weight_sq: FloatArray,
    n_replicates: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Positive weight minus expected weight, cell by cell, of outcomes y ~ Bernoulli(s).

    This is the noise of calibrated scores. Resamples do not have it: if a cell has no positive row,
    its resamples have none either.

    If the weights of a cell's rows differ, the cell counts as (sum w)^2 / sum w^2 equal rows. The
    result has a column per draw.

    >>> one = np.array([1.0])
    >>> draw_noise(np.array([0.25]), one, one, 4, np.random.default_rng(1))
    array([[-0.25,  0.75, -0.25,  0.75]])
    """
    # The small number rounds halves up in any unit of the weights.
    n = np.maximum(1, np.floor(np.square(weight) / weight_sq + 0.5 + 1e-9).astype(np.int64))
    variance = n * score * (1.0 - score)
    few = np.flatnonzero(variance <= MAX_BINOMIAL_VARIANCE)
    many = np.flatnonzero(variance > MAX_BINOMIAL_VARIANCE)
    deviation = np.empty((len(score), n_replicates))
    expected, chance = (n * score)[few, None], score[few, None]
    deviation[few] = _positives(n[few, None], chance, n_replicates, rng) - expected
    deviation[many] = _skewed(variance[many], score[many], n_replicates, rng)
    deviation *= np.sqrt(weight_sq / n)[:, None]
    return deviation


def _positives(
    n: IntArray, chance: FloatArray, n_replicates: int, rng: np.random.Generator
) -> IntArray | BoolArray:
    """Binomial numbers, one row per cell."""
    shape = (len(n), n_replicates)
    if (n > 1).any() or (chance == 0.0).any():
        return rng.binomial(n, chance, shape)
    # For single rows this draws the same numbers as NumPy, in a quarter of the time.
    rarer = rng.random(shape) > np.maximum(chance, 1.0 - chance)
    return rarer ^ (chance > 0.5)


def _skewed(
    variance: FloatArray, chance: FloatArray, n_replicates: int, rng: np.random.Generator
) -> SmallFloatArray:
    """Numbers with mean 0 and the variance and skewness of binomial numbers, one row per cell.

    They have the first term of the Cornish-Fisher expansion beyond the normal one.
    """
    normal = rng.standard_normal((len(chance), n_replicates), dtype=np.float32)
    bent = np.square(normal)
    bent -= np.float32(1.0)
    bent *= ((1.0 - 2.0 * chance) / 6.0).astype(np.float32)[:, None]
    normal *= np.sqrt(variance).astype(np.float32)[:, None]
    normal += bent
    return normal


def percentile_interval(
    value: float, deviation: FloatArray | SmallFloatArray, confidence_level: float
) -> tuple[float, float]:
    """Bounds between which the resamples' values fall; `deviation` is these minus the value.

    >>> percentile_interval(10.0, np.linspace(-1.0, 3.0, 101), 0.5)
    (10.0, 12.0)
    """
    low, high = np.quantile(deviation, _tails(confidence_level))
    return value + float(low), value + float(high)


def error_interval(
    value: float,
    deviation: FloatArray | SmallFloatArray,
    distance: FloatArray | SmallFloatArray,
    confidence_level: float,
) -> tuple[float, float]:
    """Interval of a calibration error, which is a norm of gaps and at least 0.

    Noise increases an error, and a resample contains noise twice. The lower bound is the error
    minus a quantile of the norm of the noise alone: by the triangle inequality no error exceeds the
    true one by more than this norm. It is above 0 if calibrated scores rarely show such an error,
    so it agrees with a test. The upper bound is as far above the error as the resamples' quantile
    is above their mean. Percentile and reflected intervals do worse: see docs/uncertainty.md.

    `deviation` has the resamples' errors minus the value. `distance` has the same norm of noise
    alone, such as that of outcomes drawn from calibrated scores.

    >>> noise = np.linspace(0.0, 1.0, 101)
    >>> error_interval(2.0, noise - 0.5, noise, 0.9)
    (1.1, 2.45)
    """
    low = value - float(np.quantile(distance, confidence_level))
    above = float(np.quantile(deviation, _tails(confidence_level)[1]))
    return max(0.0, low), max(value, value + above - float(deviation.mean()))


def reflected_interval(
    value: float, deviation: FloatArray | SmallFloatArray, confidence_level: float
) -> tuple[float, float]:
    """The basic bootstrap interval: `percentile_interval` mirrored at the value.

    >>> reflected_interval(10.0, np.linspace(-1.0, 3.0, 101), 0.5)
    (8.0, 10.0)
    """
    low, high = np.quantile(deviation, _tails(confidence_level))
    return value - float(high), value - float(low)


def _tails(confidence_level: float) -> FloatArray:
    check_level(confidence_level)
    return np.array([0.5 - confidence_level / 2.0, 0.5 + confidence_level / 2.0])


MAX_URN_ROWS = 1_000_000_000  # NumPy draws from urns with fewer balls than this.
# With fewer rows per cell, shuffling them is faster than drawing each cell's number.
MAX_SHUFFLED_ROWS_PER_CELL = 20


def split_counts(
    count: IntArray, n_folds: int, rng: np.random.Generator, *, extra_first: bool = True
) -> IntArray:
    """Split the rows of each cell at random into folds of equal size.

    Rows of a cell are exchangeable, so only their numbers per fold matter. These are multivariate
    hypergeometric, as if all rows had been shuffled. From a thousand million rows on, every fold
    first gets an equal share of each cell, and only the rest is drawn.

    If rows do not divide evenly, the first folds or the last ones get one more row. Columns of the
    result sum to `count`, and its rows to numbers that differ by at most one.

    >>> parts = split_counts(np.array([5, 0, 2]), 2, np.random.default_rng(0))
    >>> parts.sum(axis=0), parts.sum(axis=1)
    (array([5, 0, 2]), array([4, 3]))
    """
    total = int(count.sum())
    if total >= MAX_URN_ROWS:
        even, rest = np.divmod(count, n_folds)
        return even + split_counts(rest, n_folds, rng, extra_first=extra_first)
    size = np.full(n_folds, total // n_folds)
    more = total % n_folds
    size[:more] += extra_first
    size[n_folds - more :] += not extra_first
    if total <= MAX_SHUFFLED_ROWS_PER_CELL * len(count):
        return _shuffle(count, size, rng)
    parts = np.empty((n_folds, len(count)), dtype=np.int64)
    left = count.astype(np.int64)
    for fold in range(n_folds - 1):
        parts[fold] = rng.multivariate_hypergeometric(left, int(size[fold]), method="marginals")
        left -= parts[fold]
    parts[-1] = left
    return parts


def _shuffle(count: IntArray, size: IntArray, rng: np.random.Generator) -> IntArray:
    """Numbers of each cell's rows per fold, from shuffled rows."""
    cell = rng.permutation(np.repeat(np.arange(len(count)), count))
    parts = np.split(cell, np.cumsum(size)[:-1])
    return np.array([np.bincount(part, minlength=len(count)) for part in parts], dtype=np.int64)


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
    n_squares: int  # The number of squared normal variables: d in the formulas.
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
