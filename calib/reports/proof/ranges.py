"""The ranges of a method's numbers that follow from its held-out cells.

The counts of each cell and its lowest, highest and mean score are known. The score of each row can
lie anywhere between the lowest and the highest. In an exact report these are equal, and so are the
ends of every range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.binning import Strategy, bin_edges, bin_starts
from calib.numerics.calibrated_null import MIN_SCORES_OF_LIMIT
from calib.numerics.cell_table import CellTable
from calib.numerics.cells import Cells

Range = tuple[float, float]
RowLoss = Callable[[BoolArray, FloatArray], FloatArray]
ROUNDING = 1e-8  # This relative tolerance allows for the nine digits of the curves of a report.
# Sums over cells are rounded by this share of ROUNDING, relative to the whole sum.
SUM_ROUNDING = 1e-5


def convex_tilt(outcome: BoolArray, score: FloatArray) -> FloatArray:
    """(y - s)(1 - 2s) + s, which is convex in s: the numerator of Spiegelhalter's z, plus s."""
    return np.square(score - outcome) + np.square(score)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutCells:
    """The cells of one method, by increasing score. Arrays have the shape (k,).

    Attributes
    ----------
    low, high, mean : ndarray
        The lowest, the highest and the mean score of each cell.
    positive, negative : ndarray
        The weight of positive and of negative rows.
    rows, weight_sq : ndarray
        Number of rows, and sum of squared weights.
    """

    low: FloatArray
    high: FloatArray
    mean: FloatArray
    positive: FloatArray
    negative: FloatArray
    rows: FloatArray
    weight_sq: FloatArray

    @classmethod
    def of(cls, table: CellTable) -> HeldOutCells:
        """The cells of a table with one stratum."""
        key, cell = np.unique(table.key, return_inverse=True)
        low, high = np.full(len(key), np.inf), np.full(len(key), -np.inf)
        np.minimum.at(low, cell, table.low)
        np.maximum.at(high, cell, table.high)

        def total(values: FloatArray) -> FloatArray:
            return np.bincount(cell, values, len(key)).astype(np.float64)

        mean = np.clip(total(table.score_sum) / total(table.weight), low, high)
        order = np.lexsort((low, mean))
        return cls(
            low[order],
            high[order],
            mean[order],
            total(np.where(table.outcome, table.weight, 0.0))[order],
            total(np.where(table.outcome, 0.0, table.weight))[order],
            total(table.rows.astype(np.float64))[order],
            total(table.weight_sq)[order],
        )

    @property
    def weight(self) -> FloatArray:
        return self.positive + self.negative

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    @property
    def certain(self) -> BoolArray:
        """Whether all rows of a cell have one score."""
        return self.low == self.high

    @property
    def reach(self) -> FloatArray:
        """The largest sum of absolute differences of outcomes and scores, in each cell."""
        return self.positive * (1.0 - self.low) + self.negative * self.high

    def loss(self, of_rows: RowLoss) -> Range:
        """Range of the mean of a loss that is convex in the score.

        The weighted mean score of the positive rows of a cell decides that of its negative rows.
        At any such pair the loss is at least that of rows with these means (Jensen), and at most
        that of rows at both ends of the cell.
        """
        least, most = [], []
        for positive in self._means_of_positive():
            spare = self.weight * self.mean - self.positive * positive
            negative = np.divide(spare, self.negative, out=self.mean + 0.0, where=self.negative > 0)
            pair = ((self.positive, True, positive), (self.negative, False, negative))
            least.append(self._total(pair, of_rows))
            most.append(self._total(pair, lambda y, s: self._chord(of_rows, y, s)))
        low, high = np.minimum(*least), np.maximum(*most)
        return float(low.sum()) / self.total, float(high.sum()) / self.total

    def _means_of_positive(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest possible mean score of the positive rows of each cell."""
        score = self.weight * self.mean
        some = self.positive > 0.0
        first, last = (
            np.divide(score - self.negative * end, self.positive, out=self.mean + 0.0, where=some)
            for end in (self.high, self.low)
        )
        return np.clip(first, self.low, self.mean), np.clip(last, self.mean, self.high)

    def _total(
        self, pair: tuple[tuple[FloatArray, bool, FloatArray], ...], of_rows: RowLoss
    ) -> FloatArray:
        same = np.ones(len(self.mean), dtype=np.bool_)
        return np.sum(
            [
                weight * of_rows(same & outcome, np.clip(score, self.low, self.high))
                for weight, outcome, score in pair
            ],
            axis=0,
        )

    def _chord(self, of_rows: RowLoss, outcome: BoolArray, score: FloatArray) -> FloatArray:
        width = self.high - self.low
        share = np.divide(score - self.low, width, out=np.zeros(len(width)), where=width > 0.0)
        first, last = of_rows(outcome, self.low), of_rows(outcome, self.high)
        return np.asarray(first + share * (last - first))

    @property
    def log_loss(self) -> Range:
        return self.loss(row_log_loss)

    @property
    def brier_score(self) -> Range:
        return self.loss(row_brier)

    @property
    def cumulative_difference(self) -> FloatArray:
        """Mean outcome minus mean score up to the end of each cell, from 0."""
        step = self.positive - self.weight * self.mean
        return np.concatenate([[0.0], np.cumsum(step)]) / self.total

    @property
    def _beyond(self) -> float:
        """How far the cumulative difference can go within a cell, beyond both its ends."""
        way = np.minimum(self.positive * (1.0 - self.low), self.negative * self.high)
        return float(np.where(self.certain, 0.0, way).max()) / self.total

    @property
    def ks_error(self) -> Range:
        least = float(np.abs(self.cumulative_difference).max())
        return least, least + self._beyond

    @property
    def kuiper_error(self) -> Range:
        least = float(np.ptp(self.cumulative_difference))
        return least, least + 2.0 * self._beyond

    @property
    def auc(self) -> Range:
        """Pairs within a cell can be in any order."""
        pairs = float(self.positive.sum() * self.negative.sum())
        if not pairs:
            return math.nan, math.nan
        before = np.cumsum(self.negative) - self.negative
        area = float(self.positive @ (before + 0.5 * self.negative)) / pairs
        loose = 0.5 * float((self.positive * self.negative)[~self.certain].sum()) / pairs
        return area - loose, area + loose

    @property
    def brownian(self) -> bool:
        """Whether there certainly are enough distinct scores for the limit of the KS test."""
        return len(self.mean) >= MIN_SCORES_OF_LIMIT

    @property
    def null_deviation(self) -> Range:
        """Standard deviation of mean outcome minus mean score of a calibrated model."""
        ends = np.minimum(self.low * (1.0 - self.low), self.high * (1.0 - self.high))
        top = np.clip(0.5, self.low, self.high)
        return self._deviation(ends, top * (1.0 - top))

    def _deviation(self, least: FloatArray, most: FloatArray) -> Range:
        first, last = (math.sqrt(float(self.weight_sq @ variance)) for variance in (least, most))
        return first / self.total, last / self.total

    @property
    def spiegelhalter(self) -> Range | None:
        """Range of Spiegelhalter's z; None if a cell is too wide, or z may have no variance."""
        if (self.high - self.low).max() > 0.5:
            return None
        low, high = self.loss(convex_tilt)
        mean = float(self.weight @ self.mean) / self.total
        least, most = self._deviation(*self._tilted_variance())
        if least <= 0.0:
            return None
        ends = [(end - mean) / by for end in (low, high) for by in (least, most)]
        return min(ends), max(ends)

    def _tilted_variance(self) -> tuple[FloatArray, FloatArray]:
        """Range of (1 - 2s)^2 s (1 - s) in each cell."""
        inner = math.sqrt(0.125)
        places = (0.0, 0.5 - inner, 0.5, 0.5 + inner, 1.0)
        at = np.array([np.clip(place, self.low, self.high) for place in places])
        values = np.square(1.0 - 2.0 * at) * at * (1.0 - at)
        return values.min(axis=0), values.max(axis=0)

    def ece(self, n_bins: int, strategy: Strategy) -> Range:
        """Range of the ECE. Cells that an edge of a bin may cut can count on either side of it."""
        cells = self.cells()
        edges = bin_edges(cells, n_bins, strategy)
        starts = bin_starts(self.mean, edges)
        gap = np.diff(self.cumulative_difference[starts])
        cut = self._cut_by_level(n_bins) if strategy == "quantile" else self._cut_at(edges)
        loose = 2.0 * float(self.reach[cut & ~self.certain].sum()) / self.total
        value = float(np.abs(gap).sum())
        return max(value - loose, 0.0), value + loose

    def _cut_at(self, edges: FloatArray) -> BoolArray:
        """Bins are right-closed: the lowest score lies in another bin than the highest one."""
        first, last = (np.searchsorted(edges[1:-1], end) for end in (self.low, self.high))
        return np.asarray(first < last)

    def _cut_by_level(self, n_bins: int) -> BoolArray:
        """Cells that reach a quantile level, unless all of their rows are needed to reach it."""
        reached = np.cumsum(self.rows)
        level = np.arange(1, n_bins) / n_bins * reached[-1]
        at = np.searchsorted(reached, level * (1.0 - 1e-12), side="left")
        equal = np.allclose(self.weight, self.rows, rtol=1e-12)
        tight = equal & (reached[at] - 1.0 < level * (1.0 - 1e-12))
        cut = np.zeros(len(self.rows), dtype=np.bool_)
        cut[at[~tight]] = True
        return cut

    def cells(self) -> Cells:
        """The cells at their mean scores."""
        return Cells(
            self.mean, self.rows, self.weight, self.positive, self.weight_sq, self.positive
        )

    def cumulative(self, values: FloatArray) -> FloatArray:
        """Sums up to the end of each cell, from 0."""
        return np.concatenate([[0.0], np.cumsum(values)])

    def between(
        self, summed: FloatArray, at: FloatArray, values: FloatArray, rounding: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """The lowest and highest sum of `values` where the sum of `summed` is `at`."""
        along, total = self.cumulative(summed), self.cumulative(values)
        slack = rounding * (at + SUM_ROUNDING * along[-1])
        # If the sum is summed at the end of a cell, both ends are the same. Otherwise they are the
        # ends of one cell or of two.
        first = np.searchsorted(along, at - slack, side="right") - 1
        after = np.searchsorted(along, at + slack, side="left")
        ends = np.clip(np.stack([first, after]), 0, len(along) - 1)
        return total[ends.min(axis=0)], total[ends.max(axis=0)]
