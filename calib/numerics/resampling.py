"""Resampled sums of rows, intervals from resamples, and random splits of counts."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, SmallFloatArray
from calib.numerics.intervals import check_level

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
