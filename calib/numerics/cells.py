"""Sums of rows by score, sorted by score, and their prefix sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.digits import MIN_NAMED_STEP, ranges, written
from calib.numerics.far_log_odds import FarLogOdds


@dataclass(frozen=True, eq=False)
class Cells(Locked):
    """The sums of `calib.data.cells.ScoreCells`, where the attributes are described."""

    score: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    weight_sq: FloatArray
    positive_sq: FloatArray
    design_effect: float = 1.0
    far: FarLogOdds | None = None
    step: float = 0.0

    def __len__(self) -> int:
        return len(self.score)

    @property
    def negative(self) -> FloatArray:
        """Weight of each cell's negative rows."""
        return self.weight - self.positive

    @property
    def rate(self) -> FloatArray:
        """Observed frequency of each cell."""
        return self.positive / self.weight

    @cached_property
    def log_odds(self) -> FloatArray | None:
        """Log-odds of each cell, if some of them are too far from 0 to be those of its score."""
        return None if self.far is None else self.far.of(self.score)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @cached_property
    def total_weight(self) -> float:
        """Sum of all weights; the number of rows if there are none."""
        return float(self.weight.sum())

    @cached_property
    def total_weight_sq(self) -> float:
        """Sum of all squared weights."""
        return float(self.weight_sq.sum())

    @cached_property
    def total_positive(self) -> float:
        """Weight of all positive rows."""
        return float(self.positive.sum())

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest value that each score stands for, see `step`."""
        return ranges(self.score, self.step) if self.step else (self.score, self.score)

    @cached_property
    def cautious(self) -> Self:
        """The same cells at the values of their ranges that vary most: those next to 1/2.

        A test that allows for every value in the ranges has its null distribution at these.
        """
        return replace(self, score=np.clip(0.5, *self.ranges), step=0.0) if self.step else self

    @property
    def named_step(self) -> float:
        """The step if sentences name it, else 0."""
        return self.step if self.step >= MIN_NAMED_STEP else 0.0

    @property
    def precision(self) -> str:
        """What follows the null distribution of a test that allows for the `step` of scores."""
        step = self.named_step
        return f", every value within {written(step / 2.0)} of the scores" if step else ""

    @property
    def base_rate(self) -> float:
        """Observed frequency of the positive class."""
        return self.total_positive / self.total_weight

    @cached_property
    def mean_score(self) -> float:
        """Weighted mean of the scores."""
        return float(self.weight @ self.score) / self.total_weight

    @property
    def one_class(self) -> bool:
        """Whether all rows have the same outcome."""
        return self.total_positive <= 0.0 or self.total_positive >= self.total_weight

    @cached_property
    def cumulative_weight(self) -> FloatArray:
        """Prefix sums of `weight`, with the leading 0: shape (k + 1,)."""
        return self.cumulative_rows if self.weight is self.rows else _prefix(self.weight)

    @cached_property
    def cumulative_positive(self) -> FloatArray:
        """Prefix sums of `positive`, with the leading 0: shape (k + 1,)."""
        return _prefix(self.positive)

    @cached_property
    def cumulative_score(self) -> FloatArray:
        """Prefix sums of weight times score, with the leading 0: shape (k + 1,)."""
        return _prefix(self.weight * self.score)

    @cached_property
    def cumulative_weight_sq(self) -> FloatArray:
        """Prefix sums of `weight_sq`, with the leading 0: shape (k + 1,)."""
        return self.cumulative_weight if self.weight_sq is self.weight else _prefix(self.weight_sq)

    @cached_property
    def cumulative_rows(self) -> FloatArray:
        """Prefix sums of `rows`, with the leading 0: shape (k + 1,)."""
        return _prefix(self.rows)

    @cached_property
    def cumulative_variance(self) -> FloatArray:
        """Prefix sums of the variance of `positive` under y ~ Bernoulli(s): shape (k + 1,)."""
        return _prefix(self.weight_sq * self.score * (1.0 - self.score))


def _prefix(values: FloatArray) -> FloatArray:
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, out=sums[1:])
    sums.flags.writeable = False
    return sums
