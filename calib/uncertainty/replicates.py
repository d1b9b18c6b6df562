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

# Ends of bins move to the nearest of so many points; the bounds are taken around the exact value.
MAX_POINTS = 512
# Steps of 16 bits from a sum of the rows to the farthest of its resamples.
STEPS = 32_767
# What rounding to float32 may leave of the weight of a bin that a resample has no row of.
NO_WEIGHT = 4.0 * float(np.finfo(np.float32).eps)
# Means of equal scores differ by their rounding.
ROUNDING = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """A calibration error in resamples."""

    # shape (r,): error of each resample, minus that of the rows.
    deviation: FloatArray | SmallFloatArray
    noise: FloatArray | SmallFloatArray  # shape (r,): errors of calibrated scores
    expected: float | None = None  # their expected value, if it is known without draws

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
    """Sums of the rows, and of their resamples: in single precision, or in half as many bits.

    In 16 bits they are rounded to 1/32,767 of the largest deviation from the sum of the rows: some
    1/8,000 of a standard deviation, which averages out over the resamples.

    >>> sums = ResampledSums.of(np.array([1.0]), np.array([[1.5, 0.0]]), rounded=True)
    >>> sums[[0]].round(4)
    array([[1.5, 0. ]])
    """

    own: FloatArray  # shape (p,): sums of the rows themselves
    unit: SmallFloatArray  # shape (p,): size of a step
    # shape (p, r): from the rows' sums to those of each resample.
    steps: SmallFloatArray | SmallIntArray
    # shape (r,): of each resample's steps: Student's tails would leave few steps to all but the
    # farthest.
    factor: FloatArray | None = None

    @classmethod
    def of(cls, own: FloatArray, sums: FloatArray, *, rounded: bool) -> ResampledSums:
        """Of the rows' sums, shape (p,), and those of the resamples, shape (p, r)."""
        steps = (sums - own[:, None]).astype(np.float32)
        if not rounded:
            return cls(own, np.ones(len(own), dtype=np.float32), steps)
        unit = np.abs(steps).max(axis=1, initial=0.0) / np.float32(STEPS)
        steps /= np.where(unit > 0.0, unit, np.float32(1.0))[:, None]
        return cls(own, unit, np.rint(steps, out=steps).astype(np.int16))

    def __getitem__(self, at: Any) -> FloatArray:
        """Sums in the resamples, of some points."""
        deviation = self.unit[at][..., None] * self.steps[at]
        if self.factor is not None:
            deviation = deviation * self.factor
        return self.own[at][..., None] + deviation

    def deviations(self, factor: FloatArray) -> ResampledSums:
        """Those of the resamples alone, times a factor each; the first column is not one."""
        return ResampledSums(np.zeros(len(self.own)), self.unit, self.steps[:, 1:], factor)


@dataclass(frozen=True, slots=True, eq=False)
class Replicates(Locked):
    """Prefix sums over the scores of one method in every resample, for intervals."""

    score: FloatArray  # shape (p,): points, increasing
    # shape (p + 1, r + 1): sum of w (y - s) over the rows up to each point, as a share of the total
    # weight. The first column is that of the rows themselves.
    gap: ResampledSums
    # shape (p + 1, r + 1): share of the weight up to each point; of so many rows that it hardly
    # varies, that of the rows themselves.
    weight: ResampledSums
    # shape (p + 1, r): the gaps of calibrated scores: of outcomes y ~ Bernoulli(s), or, where
    # clusters are drawn and outcomes are not independent, of each resample minus those of the rows,
    # with Student's tails.
    noise: ResampledSums
    ks: Errors
    clustered: bool = False  # whether clusters are drawn

    @property
    def kuiper(self) -> Errors:
        """Highest minus lowest cumulative gap."""
        error = np.ptp(self.gap[:], axis=0)
        return Errors(error[1:] - error[0], np.ptp(self.noise[:], axis=0))

    def ece(self, edges: FloatArray, cells: ScoreCells | None = None) -> Errors:
        """Weighted mean of absolute gaps between the given edges, shape (b + 1,).

        Where the cells of the same rows are given, their noise floor is the expected value; by
        cluster it is the mean of the draws.
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
        known = (alone > 0.0) & (np.diff(at) > 0)
        effect = np.ones(len(bins))
        effect[known] = np.maximum(1.0, mean[known, 1:].var(axis=1) / alone[known])
        if known.any():
            effect[~known] = np.average(effect[known], weights=bins.weight[known])
        return effect

    def largest_deviation(self, bins: Bins, spread: FloatArray) -> FloatArray:
        """Largest standardised deviation of a calibrated bin in each draw.

        The bins are those of the same rows, and `spread` is the standard deviation of the gap of
        each. Bins with 0 are left out.
        """
        at = self._before(np.append(0.0, bins.high_edge))
        known = (spread > 0.0) & (np.diff(at) > 0)
        unit = (spread * bins.weight / bins.weight.sum())[known, None]
        deviation = np.abs(np.diff(self.noise[at], axis=0)[known]) / unit
        return np.asarray(deviation.max(axis=0, initial=0.0), dtype=np.float64)

    def _mean_gaps(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean gap between positions of points in every resample, and the weight there."""
        gap, weight = np.diff(self.gap[at], axis=0), np.diff(self.weight[at], axis=0)
        mean = np.divide(gap, weight, out=np.zeros_like(gap), where=weight > NO_WEIGHT)
        return mean, weight

    def _before(self, edges: FloatArray) -> IntArray:
        """Number of points up to each edge: none up to the first, and all up to the last."""
        inner = np.searchsorted(self.score, edges[1:-1] * (1.0 + ROUNDING), side="right")
        return np.concatenate([[0], inner, [len(self.score)]])


def replicate(rows: RowResamples, scores: FloatArray) -> Replicates:
    """Calibration errors of the scores of one method, shape (n,), in every resample."""
    mean = rows.mean(scores)
    share = rows.share_of_group
    score = (rows.share[0::2] * mean[0::2] + rows.share[1::2] * mean[1::2]) / share
    order = np.argsort(score, kind="stable")
    ends = _ends(score[order])
    negative, positive = (_by_score(rows, order, outcome) for outcome in (0, 1))
    # Of many rows the weight hardly varies, and that of the rows themselves is enough.
    read = slice(1 if rows.many else None)
    weight = _prefix(positive[:, read] + negative[:, read])[ends]
    positive *= 1.0 - mean[1::2][order, None].astype(np.float32)
    negative *= mean[0::2][order, None].astype(np.float32)
    gap = _prefix(positive - negative)[ends]
    at = score[order][ends[1:] - 1]
    starts = bucket_starts(at, np.add.reduceat(share[order], ends[:-1]), MAX_POINTS)
    kept = np.append(starts, len(at))
    # The more rows, the smaller the deviations and what rounding takes from them.
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
    drawn = resample_rows(rows, cells, most_groups=MAX_POINTS, random_state=seed)
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
    # In place it takes two thirds of the time.
    return np.cumsum(sums, axis=0, out=sums)


def _ends(score: FloatArray) -> IntArray:
    """Where runs of equal scores end, with the leading 0: ties are never split."""
    last = np.flatnonzero(np.diff(score) > ROUNDING * score[1:]) + 1
    return np.concatenate([[0], last, [len(score)]])


def _null(rows: RowResamples, score: FloatArray, order: IntArray, ends: IntArray) -> FloatArray:
    """Gaps of outcomes y ~ Bernoulli(s) up to each end."""
    group = rows.atom // 2

    def total(values: FloatArray) -> FloatArray:
        by_group = np.bincount(group, values, minlength=len(score)).astype(np.float64)
        return np.add.reduceat(by_group[order], ends[:-1])

    weight, weight_sq = total(rows.row_weight), total(rows.row_weight_sq)
    mean = np.add.reduceat((rows.share_of_group * score)[order], ends[:-1]) / np.add.reduceat(
        rows.share_of_group[order], ends[:-1]
    )
    rng = np.random.default_rng([rows.seed, 1])
    # A chance of 1/2 is drawn in another way than one that rounding put above it.
    noise = draw_noise(np.minimum(mean.round(12), 1.0), weight, weight_sq, rows.drawn.shape[1], rng)
    noise /= weight.sum()
    return _prefix(noise)
