"""Calibration errors of one method in resamples of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, SmallFloatArray, SmallIntArray
from calib.numerics.binning import Bins, bin_between
from calib.numerics.estimate import Estimate
from calib.numerics.few_cells import bucket_starts
from calib.numerics.poisson_binomial import calibrated_gap
from calib.numerics.resampling import draw_noise, error_interval, student_factor
from calib.uncertainty.rows import RowResamples, resample_rows

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


@dataclass(frozen=True, slots=True, eq=False)
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
            bins = bin_between(cells, edges)
            expected = float(bins.weight @ calibrated_gap(cells, bins)) / cells.total_weight
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
