"""Resampling sums instead of rows, intervals of resamples, and counts split as shuffled rows."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, SmallFloatArray
from calib.numerics.intervals import check_level

# More clusters are first lumped at random: the variance that the lumps show is theirs, to 5%.
MAX_CLUSTERS = 1000
# The skewness of such a count is below 0.1, that of a sum of them below that: it is drawn as normal
# in a tenth of the time.
NORMAL_FROM = 100.0
# Number of positive rows of such a variance: normal but for its skewness, which is kept.
NEARLY_NORMAL_FROM = 25.0


def draw_sums(
    weight: FloatArray, weight_sq: FloatArray, n_replicates: int, rng: np.random.Generator
) -> SmallFloatArray:
    """Total weight of each atom, a set of rows, in resamples of the rows.

    A row's number of copies is Poisson with mean 1: the multinomial of the bootstrap but for the
    number of rows, which varies too and which no ratio of sums notices. Rows of an atom are drawn
    together, exactly where their weights are equal, with their mean and variance where not.

    `weight` and `weight_sq` are 0 where an atom has no rows. The result has a column per resample.
    See Hanley and MacGibbon 2006, doi:10.1016/j.cmpb.2006.04.006 (Poisson bootstrap).

    >>> rows = np.array([400.0, 0.0])
    >>> drawn = draw_sums(rows, rows, 10_000, np.random.default_rng(0))
    >>> drawn.mean(axis=1).round(), drawn.std(axis=1).round()
    (array([400.,   0.], dtype=float32), array([20.,  0.], dtype=float32))
    """
    # Equal weights w: the sum is w times a count of mean n = (sum w)^2 / sum w^2.
    unit = np.divide(weight_sq, weight, out=np.zeros(len(weight)), where=weight > 0.0)
    mean = np.divide(weight, unit, out=np.zeros(len(weight)), where=unit > 0.0)
    many = mean > NORMAL_FROM
    count = np.empty((len(weight), n_replicates), dtype=np.float32)
    few = mean[~many, None]
    count[~many] = rng.poisson(few, (len(few), n_replicates))
    own = mean[many, None].astype(np.float32)
    normal = rng.standard_normal((len(own), n_replicates), dtype=np.float32)
    count[many] = own + np.sqrt(own) * normal
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
    """The same with whole clusters of rows drawn, not rows.

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
    """Factors that give what n resampled clusters show the tails of what is known of them.

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

    What calibrated scores would show. A resample does not show it: a cell without any positive row
    has none in its resamples either.

    Where the weights of a cell's rows differ, it counts as (sum w)^2 / sum w^2 equal ones. The
    result has a column per draw.

    >>> one = np.array([1.0])
    >>> draw_noise(np.array([0.25]), one, one, 4, np.random.default_rng(1))
    array([[-0.25,  0.75, -0.25,  0.75]])
    """
    # The unit of the weights must not decide which way a half is rounded.
    n = np.maximum(1, np.floor(np.square(weight) / weight_sq + 0.5 + 1e-9).astype(np.int64))
    variance = n * score * (1.0 - score)
    few = np.flatnonzero(variance <= NEARLY_NORMAL_FROM)
    many = np.flatnonzero(variance > NEARLY_NORMAL_FROM)
    deviation = np.empty((len(score), n_replicates))
    expected, chance = (n * score)[few, None], score[few, None]
    deviation[few] = _positives(n[few, None], chance, n_replicates, rng) - expected
    deviation[many] = _skewed(variance[many], score[many], n_replicates, rng)
    deviation *= np.sqrt(weight_sq / n)[:, None]
    return deviation


def _positives(
    n: IntArray, chance: FloatArray, n_replicates: int, rng: np.random.Generator
) -> IntArray | BoolArray:
    """Binomial numbers, a row of each."""
    shape = (len(n), n_replicates)
    if (n > 1).any() or (chance == 0.0).any():
        return rng.binomial(n, chance, shape)
    # What NumPy draws of one row, in a quarter of the time.
    rarer = rng.random(shape) > np.maximum(chance, 1.0 - chance)
    return rarer ^ (chance > 0.5)


def _skewed(
    variance: FloatArray, chance: FloatArray, n_replicates: int, rng: np.random.Generator
) -> SmallFloatArray:
    """Numbers of the mean 0, the variance and the skewness of binomial ones, a row of each.

    Cornish and Fisher's first term beyond the normal one.
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

    Noise makes an error larger, and that of a resample larger once more. The lower bound is the
    error minus what noise alone makes: by the triangle inequality no error exceeds the true one by
    more than the norm of the noise. It is above 0 where calibrated scores would hardly err as much,
    and so agrees with a test. The upper bound is as far above the error as resamples come to lie
    above their mean. Percentile and reflected intervals do worse: see docs/uncertainty.md.

    `deviation` has the resamples' errors minus the value, `distance` the same norm of noise alone,
    such as outcomes of calibrated scores show.

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


# NumPy draws from urns of fewer balls than this.
MAX_URN = 1_000_000_000
# With fewer rows per cell it is quicker to shuffle them than to draw each cell's number.
FEW_PER_CELL = 20


def split_counts(
    count: IntArray, n_folds: int, rng: np.random.Generator, *, extra_first: bool = True
) -> IntArray:
    """Split the rows of each cell at random into folds of equal size.

    Rows of a cell are exchangeable: which of them lies in which fold does not matter, only how
    many do. Their numbers are multivariate hypergeometric, as if all rows had been shuffled. From a
    thousand million rows on, every fold first gets an equal share of each cell, and only what
    is left over is drawn.

    If rows do not divide evenly, the first folds or the last ones get one more row. Columns of the
    result sum to `count`, and its rows to numbers that differ by at most one.

    >>> parts = split_counts(np.array([5, 0, 2]), 2, np.random.default_rng(0))
    >>> parts.sum(axis=0), parts.sum(axis=1)
    (array([5, 0, 2]), array([4, 3]))
    """
    total = int(count.sum())
    if total >= MAX_URN:
        even, rest = np.divmod(count, n_folds)
        return even + split_counts(rest, n_folds, rng, extra_first=extra_first)
    size = np.full(n_folds, total // n_folds)
    more = total % n_folds
    size[:more] += extra_first
    size[n_folds - more :] += not extra_first
    if total <= FEW_PER_CELL * len(count):
        return _shuffle(count, size, rng)
    parts = np.empty((n_folds, len(count)), dtype=np.int64)
    left = count.astype(np.int64)
    for fold in range(n_folds - 1):
        parts[fold] = rng.multivariate_hypergeometric(left, int(size[fold]), method="marginals")
        left -= parts[fold]
    parts[-1] = left
    return parts


def _shuffle(count: IntArray, size: IntArray, rng: np.random.Generator) -> IntArray:
    """The same numbers, by shuffling the rows themselves."""
    cell = rng.permutation(np.repeat(np.arange(len(count)), count))
    parts = np.split(cell, np.cumsum(size)[:-1])
    return np.array([np.bincount(part, minlength=len(count)) for part in parts], dtype=np.int64)
