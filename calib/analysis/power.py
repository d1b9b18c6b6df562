"""The power of the verdict: how often its tests would find a small shift of the scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.resampling import mean_design_effects
from calib.numerics.score_grid import beyond
from calib.numerics.transforms import safe_logit
from calib.text import number, percent

# The log-odds of all scores are shifted by a small error, which can still matter.
SHIFT = 0.1
# All tests together reject calibrated scores in 5% of samples.
SIZE = 0.05
# With 4,000 draws, the standard error of a power of 50% is 0.8 percentage points.
N_DRAWS = 4000
# Neighbouring scores are joined into at most this many runs, which are drawn together.
MAX_RUNS = 64
# The Hosmer-Lemeshow test has ten groups.
N_GROUPS = 10


@dataclass(frozen=True, slots=True)
class ShiftPower:
    """How often a shift of all scores by 0.1 in log-odds would be detected.

    Attributes
    ----------
    n_rows : int
    mean_shift : float
        The shift's mean effect on the scores, as a probability.
    power : float
        Share of samples with this number of rows in which one of the verdict's tests would reject.
    """

    n_rows: int
    mean_shift: float
    power: float

    def sentence(self, scores: str = "predictions") -> str:
        """The power in words, for a verdict without evidence of miscalibration."""
        points = number(100.0 * self.mean_shift, 1 if self.mean_shift >= 0.001 else 3)
        share = "more than 99%" if self.power > 0.99 else percent(self.power, 0)
        return (
            f"With {self.n_rows:,} rows, {scores} that are "
            f"{points} percentage points too low on average ({SHIFT} in log-odds) would be "
            f"detected in {share} of samples."
        )


def shift_power(cells: ScoreCells, design_effect: float = 1.0, n_tests: int = 5) -> ShiftPower:
    """Power of the verdict's five tests together, by a simulation with a fixed seed.

    The sums of outcomes minus scores over runs of neighbouring scores are drawn as normal numbers,
    with and without the shift. A verdict of n tests rejects if a p-value is below 5% / n, which is
    Holm's first step; that p-value is read from the draws without a shift. `design_effect` is that
    of the mean gap, for rows that come in clusters.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> shift_power(ScoreCells.from_arrays(rng.random(1000) < score, score)).sentence()[:16]
    'With 1,000 rows,'
    """
    starts = bucket_starts(cells.score, cells.weight, MAX_RUNS)
    certain = (cells.score == 0.0) | (cells.score == 1.0)
    shifted = np.where(certain, cells.score, expit(safe_logit(cells.score) + SHIFT))

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, starts)

    weight, drift = total(cells.weight), total(cells.weight * (shifted - cells.score))
    mean_shift = float(drift.sum() / weight.sum())
    drift = beyond(drift, 0.0, total(cells.weight * (cells.ranges[1] - cells.score)))
    score = bucket_means(cells.score, cells.weight, starts)
    before, after = (
        design_effect * total(cells.weight_sq * p * (1.0 - p)) for p in (cells.score, shifted)
    )
    noise = np.random.default_rng(0).standard_normal((N_DRAWS, len(starts)))
    null = _statistics(noise * np.sqrt(before), score, weight, before)
    statistics = _statistics(drift + noise * np.sqrt(after), score, weight, before)
    critical = np.quantile(null, 1.0 - SIZE / n_tests, axis=0)
    power = float((statistics > critical).any(axis=1).mean())
    return ShiftPower(cells.n_rows, mean_shift, power)


def _statistics(
    gaps: FloatArray, score: FloatArray, weight: FloatArray, variance: FloatArray
) -> FloatArray:
    """KS, Kuiper, Spiegelhalter, Hosmer-Lemeshow and line statistic of each draw, shape (r, 5)."""
    # Scores of exactly 0 and 1 have no variance, by which the others are divided.
    variance = np.maximum(variance, np.finfo(float).tiny)
    sums = np.cumsum(gaps, axis=1)
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    group = np.minimum((N_GROUPS * middle).astype(np.int64), N_GROUPS - 1)
    first = np.unique(group, return_index=True)[1]
    by_group = np.square(np.add.reduceat(gaps, first, axis=1)) / np.add.reduceat(variance, first)
    line = np.column_stack([np.ones(len(score)), safe_logit(score)])
    pulls = gaps @ line
    information = (line.T * variance) @ line
    return np.column_stack(
        [
            np.abs(sums).max(axis=1),
            np.maximum(sums.max(axis=1), 0.0) - np.minimum(sums.min(axis=1), 0.0),
            np.abs(gaps @ (1.0 - 2.0 * score)),
            by_group.sum(axis=1),
            np.einsum("ri,ij,rj->r", pulls, np.linalg.pinv(information), pulls),
        ]
    )


def gap_design_effect(rows: BinaryView) -> float:
    """How many times as much as with independent rows the mean of outcomes minus scores varies."""
    residual = rows.weights * (rows.outcome - rows.score)
    return float(mean_design_effects(residual, np.zeros(len(rows), np.int64), rows.group, 1)[0])
