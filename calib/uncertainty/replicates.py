"""Calibration errors in resamples of the rows, which all methods share.

The differences of methods are therefore paired.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, SmallFloatArray, SmallIntArray
from calib.numerics.binning import Bins, bin_between
from calib.numerics.few_cells import bucket_starts
from calib.numerics.intervals import Estimate
from calib.numerics.poisson_binomial import calibrated_gap
from calib.numerics.resampling import (
    draw_cluster_sums,
    draw_noise,
    draw_sums,
    error_interval,
    student_factor,
)

N_REPLICATES = 1000
# Up to this many groups of equal score and fold are drawn, which is exact. If there are more,
# ranges of neighbouring scores are drawn over all folds.
MAX_GROUPS = 2048
MAX_RANGES = 512
# Slices are many, and their intervals are drawn small: those of 400 to 1,000,000 rows differ by at
# most 6% of their length from those of all cells and 1,000 resamples, in a tenth of the time.
MAX_RUNS, N_OF_CELLS = 128, 500
# With more effective rows the weight of a bin of one percent of them varies by less than 5%, and
# its mean gap by much less.
MIN_MANY_ROWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class RowResamples(Locked):
    """Resamples of rows, summed by group and outcome.

    A group has the rows of one score and fold. If there are many, it has the rows of a narrow range
    of uncalibrated scores, to which any calibrator gives nearly equal scores.
    """

    atom: IntArray  # The atom of a row, or entry, is twice its group plus its outcome.
    row_weight: FloatArray  # Entries have the sums of their rows.
    row_weight_sq: FloatArray
    n_clusters: int  # If rows were drawn and not clusters, it is 0.
    seed: int
    share: FloatArray  # Shares of the atoms in the total weight have shape (2 * g,).
    drawn: SmallFloatArray  # Shares in each resample have shape (2 * g, r).

    @property
    def share_of_group(self) -> FloatArray:
        """Share of each group in the total weight, shape (g,)."""
        return self.share[0::2] + self.share[1::2]

    @property
    def many(self) -> bool:
        """Whether there are so many rows that the weight of a bin hardly varies."""
        square = float(self.row_weight.sum()) ** 2
        return not self.n_clusters and square > MIN_MANY_ROWS * float(self.row_weight_sq.sum())

    def mean(self, values: FloatArray) -> FloatArray:
        """Weighted mean of per-row values over each atom, 0 if the atom is empty."""
        total = self.share * self.row_weight.sum()
        sums = np.bincount(self.atom, self.row_weight * values, minlength=len(self.share))
        return np.divide(sums, total, out=np.zeros(len(total)), where=total > 0.0)


def resample_rows(
    rows: BinaryView,
    cells: ScoreCells,
    fold: IntArray | None = None,
    *,
    n_replicates: int = N_REPLICATES,
    max_groups: int = MAX_GROUPS,
    random_state: int = 0,
) -> RowResamples:
    """Draw resamples of the rows, or of their clusters if they have clusters.

    `cells` are those of the scores of the rows, and `fold` says which calibrator scored each row:
    0, 1, ... Up to `max_groups` groups of rows with one score are drawn exactly.
    """
    rng = np.random.default_rng(random_state)
    atom = 2 * _groups(rows.score, cells, fold, max_groups) + rows.outcome
    n_atoms = 2 * (int(atom.max()) // 2 + 1)
    weight, weight_sq = rows.weights, rows.squared_weights
    total = np.bincount(atom, weight, minlength=n_atoms).astype(np.float64)
    if rows.group is None:
        squares = np.bincount(atom, weight_sq, minlength=n_atoms).astype(np.float64)
        drawn = draw_sums(total, squares, n_replicates, rng)
    else:
        drawn = draw_cluster_sums(rows.group, atom, weight, n_atoms, n_replicates, rng)
    sums = drawn.sum(axis=0, dtype=np.float64)
    # A resample of very few rows may have none of them.
    drawn /= np.where(sums > 0.0, sums, 1.0).astype(np.float32)
    n_clusters = 0 if rows.group is None else len(np.unique(rows.group))
    share = total / total.sum()
    return RowResamples(atom, weight, weight_sq, n_clusters, random_state, share, drawn)


def _groups(score: FloatArray, cells: ScoreCells, fold: IntArray | None, most: int) -> IntArray:
    n_folds = 1 if fold is None else int(fold.max()) + 1
    many = min(len(score), len(cells) * n_folds) > most
    starts = bucket_starts(cells.score, cells.weight, min(most, MAX_RANGES) if many else most)
    run = np.searchsorted(cells.score[starts], score, side="right") - 1
    if fold is None or many:
        return run
    code = run * n_folds + fold
    occupied = np.bincount(code) > 0
    return (np.cumsum(occupied) - 1)[code]


# Ends of bins move to the nearest of at most this many points. The bounds of an error are shifted
# to its exact value.
MAX_POINTS = 512
MAX_STEPS = 32_767  # Steps from the sum of the rows to the farthest resample fit into 16 bits.
# If a resample has no row in a bin, rounding to float32 may leave at most this weight.
MAX_ROUNDED_WEIGHT = 4.0 * float(np.finfo(np.float32).eps)
RELATIVE_ROUNDING = 1e-11  # Means of equal scores differ by less.


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """A calibration error in resamples; arrays of shape (r,)."""

    deviation: FloatArray | SmallFloatArray  # The error of the rows is subtracted.
    noise: FloatArray | SmallFloatArray  # These are errors of calibrated scores.
    expected: float | None = None  # The mean of `noise` is given if it is computed exactly.

    @property
    def noise_floor(self) -> float:
        """Mean error of calibrated scores."""
        if self.expected is not None:
            return self.expected
        return float(self.noise.mean(dtype=np.float64))

    def estimate(self, value: float, confidence_level: float) -> Estimate:
        """The error with its interval and its noise floor."""
        bounds = error_interval(value, self.deviation, self.noise, confidence_level)
        return Estimate(value, *bounds, self.noise_floor)

    def p_value(self, value: float) -> float:
        """Share of the draws of calibrated scores with at least this error."""
        reached = int((self.noise >= value).sum())
        return (reached + 1) / (len(self.noise) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class ResampledSums(Locked):
    """Sums of the rows and of their resamples, in single precision or in 16 bits.

    In 16 bits, deviations are rounded to 1/32,767 of the largest one. This is about 1/8,000 of a
    standard deviation, and averages out over the resamples.

    >>> sums = ResampledSums.of(np.array([1.0]), np.array([[2.5, 0.5]]), rounded=True)
    >>> sums[[0]].round(4)
    array([[2.5, 0.5]])
    """

    of_rows: FloatArray  # Sums of the rows have shape (p,).
    unit: SmallFloatArray  # The size of a step has shape (p,).
    steps: SmallFloatArray | SmallIntArray  # Deviations of the resamples have shape (p, r).
    # Factors that give the deviations Student's tails have shape (r,). They are kept apart, because
    # few of the 16-bit steps would be left for resamples that are not extreme.
    factor: FloatArray | None = None

    @classmethod
    def of(cls, of_rows: FloatArray, sums: FloatArray, *, rounded: bool) -> ResampledSums:
        """From the sums of the rows, shape (p,), and those of the resamples, shape (p, r)."""
        steps = (sums - of_rows[:, None]).astype(np.float32)
        if not rounded:
            return cls(of_rows, np.ones(len(of_rows), dtype=np.float32), steps)
        unit = np.abs(steps).max(axis=1, initial=0.0) / np.float32(MAX_STEPS)
        steps /= np.where(unit > 0.0, unit, np.float32(1.0))[:, None]
        return cls(of_rows, unit, np.rint(steps, out=steps).astype(np.int16))

    def __getitem__(self, at: Any) -> FloatArray:
        """Sums of some points in the resamples."""
        deviation = self.unit[at][..., None] * self.steps[at]
        if self.factor is not None:
            deviation = deviation * self.factor
        return self.of_rows[at][..., None] + deviation

    def deviations(self, factor: FloatArray) -> ResampledSums:
        """Deviations of the resamples times a factor each, without the first column, the rows."""
        return ResampledSums(np.zeros(len(self.of_rows)), self.unit, self.steps[:, 1:], factor)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Replicates(Locked):
    """Prefix sums over the scores of one method in every resample, for intervals."""

    score: FloatArray  # Points, shape (p,), increase.
    # Gaps are sums of w (y - s) over the rows up to each point, relative to the total weight. The
    # shape is (p + 1, r + 1), and the first column belongs to the rows themselves.
    gap: ResampledSums
    # Weights are relative to the total weight too, with the same shape. If there are so many rows
    # that the weights hardly vary, only the first column is kept.
    weight: ResampledSums
    # Gaps of calibrated scores, shape (p + 1, r), are those of outcomes y ~ Bernoulli(s). If
    # clusters are drawn, outcomes are not independent; then they are the gaps of each resample
    # minus those of the rows, with Student's tails.
    noise: ResampledSums
    ks: Errors
    clustered: bool = False  # If True, clusters were drawn and not rows.

    @property
    def kuiper(self) -> Errors:
        """Highest minus lowest cumulative gap."""
        error = np.ptp(self.gap[:], axis=0)
        return Errors(error[1:] - error[0], np.ptp(self.noise[:], axis=0))

    def ece(self, edges: FloatArray, cells: ScoreCells | None = None) -> Errors:
        """Weighted mean of absolute gaps between the given edges, shape (b + 1,).

        If the cells of the same rows are given, the noise floor is its expected value. If clusters
        were drawn, it is the mean of the draws.
        """
        at = np.unique(self._before(edges))
        error = np.abs(np.diff(self.gap[at], axis=0)).sum(axis=0)
        expected = None
        if cells is not None and not self.clustered:
            expected = calibrated_ece(cells, edges)
        noise = np.abs(np.diff(self.noise[at], axis=0)).sum(axis=0)
        return Errors(error[1:] - error[0], noise, expected)

    def mce(self, edges: FloatArray) -> Errors:
        """Largest absolute gap between the given edges."""
        at = np.unique(self._before(edges))
        mean, weight = self._mean_gaps(at)
        error = np.abs(mean).max(axis=0)
        noise = np.diff(self.noise[at], axis=0) / weight[:, :1]
        return Errors(error[1:] - error[0], np.abs(noise).max(axis=0))

    def design_effect(self, bins: Bins) -> FloatArray:
        """Design effect of the gap of each bin: variance relative to independent rows, at least 1.

        The bins are those of the same rows. A bin with only one outcome has no variance and gets
        the mean of the others, or 1 if there are none. See Kish 1965, Survey Sampling. Kott and
        Carr 1997, Journal of Official Statistics 13 (use of the effective number of rows in
        Wilson's interval).
        """
        at = self._before(np.append(0.0, bins.high_edge))
        mean, _ = self._mean_gaps(at)
        alone = bins.observed * (1.0 - bins.observed) / bins.effective_rows
        varies = (alone > 0.0) & (np.diff(at) > 0)
        effect = np.ones(len(bins))
        effect[varies] = np.maximum(1.0, mean[varies, 1:].var(axis=1) / alone[varies])
        if varies.any():
            effect[~varies] = np.average(effect[varies], weights=bins.weight[varies])
        return effect

    def largest_deviation(self, bins: Bins, spread: FloatArray) -> FloatArray:
        """Largest standardised deviation of a calibrated bin in each draw.

        The bins are those of the same rows, and `spread` is the standard deviation of the gap of
        each. Bins with 0 are left out.
        """
        at = self._before(np.append(0.0, bins.high_edge))
        varies = (spread > 0.0) & (np.diff(at) > 0)
        unit = (spread * bins.weight / bins.weight.sum())[varies, None]
        deviation = np.abs(np.diff(self.noise[at], axis=0)[varies]) / unit
        return np.asarray(deviation.max(axis=0, initial=0.0), dtype=np.float64)

    def _mean_gaps(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean gap between positions of points in every resample, and the weight there."""
        gap, weight = np.diff(self.gap[at], axis=0), np.diff(self.weight[at], axis=0)
        mean = np.divide(gap, weight, out=np.zeros_like(gap), where=weight > MAX_ROUNDED_WEIGHT)
        return mean, weight

    def _before(self, edges: FloatArray) -> IntArray:
        """Number of points up to each edge: none up to the first, and all up to the last."""
        inner = np.searchsorted(self.score, edges[1:-1] * (1.0 + RELATIVE_ROUNDING), side="right")
        return np.concatenate([[0], inner, [len(self.score)]])


def calibrated_ece(cells: ScoreCells, edges: FloatArray) -> float:
    """The expected ECE between these edges if scores are calibrated and rows independent."""
    bins = bin_between(cells, edges)
    return float(bins.weight @ calibrated_gap(cells, bins)) / cells.total_weight


def replicate(rows: RowResamples, scores: FloatArray) -> Replicates:
    """Calibration errors of the scores of one method, shape (n,), in every resample."""
    mean = rows.mean(scores)
    share = rows.share_of_group
    score = (rows.share[0::2] * mean[0::2] + rows.share[1::2] * mean[1::2]) / share
    order = np.argsort(score, kind="stable")
    ends = _ends(score[order])
    negative, positive = (_by_score(rows, order, outcome) for outcome in (0, 1))
    # If there are many rows, their weight hardly varies between resamples.
    columns = slice(1 if rows.many else None)
    weight = _prefix(positive[:, columns] + negative[:, columns])[ends]
    positive *= 1.0 - mean[1::2][order, None].astype(np.float32)
    negative *= mean[0::2][order, None].astype(np.float32)
    gap = _prefix(positive - negative)[ends]
    at = score[order][ends[1:] - 1]
    starts = bucket_starts(at, np.add.reduceat(share[order], ends[:-1]), MAX_POINTS)
    kept = np.append(starts, len(at))
    # With many rows deviations are small, and so is their rounding to 16 bits.
    sums = ResampledSums.of(gap[kept, 0], gap[kept], rounded=rows.many)
    if rows.n_clusters:
        rng = np.random.default_rng([rows.seed, 1])
        factor = student_factor(rows.n_clusters, rows.drawn.shape[1], rng)
        noise = (gap[kept, 1:] - gap[kept, :1]) * factor
        null = sums.deviations(factor)
    else:
        noise = _null(rows, score, order, ends[kept])
        null = ResampledSums.of(np.zeros(len(noise)), noise, rounded=rows.many)
    error = np.abs(gap).max(axis=0)
    return Replicates(
        score=at[kept[1:] - 1],
        gap=sums,
        weight=ResampledSums.of(weight[kept, 0], weight[kept], rounded=rows.many),
        noise=null,
        ks=Errors(error[1:] - error[0], np.abs(noise).max(axis=0)),
        clustered=rows.n_clusters > 0,
    )


def replicate_clusters(rows: BinaryView, cells: ScoreCells, seed: int = 0) -> Replicates | None:
    """Calibration errors of rows in resamples of their clusters.

    The cells are those of the same rows. The result is None if the rows have no clusters.
    """
    if rows.group is None:
        return None
    drawn = resample_rows(rows, cells, max_groups=MAX_POINTS, random_state=seed)
    return replicate(drawn, rows.score)


def replicate_cells(cells: ScoreCells, seed: int = 0) -> Replicates:
    """Calibration errors of independent rows in resamples, from their cells alone.

    The time grows with the number of cells, and not with that of rows.
    """
    outcome, score = np.repeat([False, True], len(cells)), np.tile(cells.score, 2)
    weight = np.concatenate([cells.negative, cells.positive])
    squares = np.concatenate([cells.weight_sq - cells.positive_sq, cells.positive_sq])
    some = weight > 0.0
    entries = BinaryView(outcome[some], score[some], weight[some], weight_sq=squares[some])
    drawn = resample_rows(
        entries, cells, n_replicates=N_OF_CELLS, max_groups=MAX_RUNS, random_state=seed
    )
    return replicate(drawn, entries.score)


def _by_score(rows: RowResamples, order: IntArray, outcome: int) -> SmallFloatArray:
    """Shares of the rows (first column) and of the resamples, group by group in order of score."""
    return np.concatenate(
        [rows.share[outcome::2][order, None].astype(np.float32), rows.drawn[outcome::2][order]],
        axis=1,
    )


def _prefix(values: FloatArray | SmallFloatArray) -> FloatArray:
    sums = np.zeros((len(values) + 1, values.shape[1]))
    sums[1:] = values
    # Summing in place takes two thirds of the time.
    return np.cumsum(sums, axis=0, out=sums)


def _ends(score: FloatArray) -> IntArray:
    """Ends of runs of equal scores, with a leading 0."""
    last = np.flatnonzero(np.diff(score) > RELATIVE_ROUNDING * score[1:]) + 1
    return np.concatenate([[0], last, [len(score)]])


def _null(rows: RowResamples, score: FloatArray, order: IntArray, ends: IntArray) -> FloatArray:
    """Gaps of outcomes y ~ Bernoulli(s) up to each end."""
    group = rows.atom // 2

    def total(values: FloatArray) -> FloatArray:
        by_group = np.bincount(group, values, minlength=len(score)).astype(np.float64)
        return np.add.reduceat(by_group[order], ends[:-1])

    weight = total(rows.row_weight)
    is_plain = rows.row_weight_sq is rows.row_weight
    weight_sq = weight if is_plain else total(rows.row_weight_sq)
    mean = np.add.reduceat((rows.share_of_group * score)[order], ends[:-1]) / np.add.reduceat(
        rows.share_of_group[order], ends[:-1]
    )
    rng = np.random.default_rng([rows.seed, 1])
    # Chances above 1/2 are drawn in another way, so rounding must not move a mean of 1/2 above it.
    noise = draw_noise(np.minimum(mean.round(12), 1.0), weight, weight_sq, rows.drawn.shape[1], rng)
    noise /= weight.sum()
    return _prefix(noise)
