"""Resamples of the rows that all methods share, so that their differences are paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray, Locked, SmallFloatArray
from calib.numerics.few_cells import bucket_starts
from calib.numerics.resampling import draw_cluster_sums, draw_sums

N_REPLICATES = 1000
# Up to this many groups of equal score and fold are drawn, which is exact. If there are more,
# ranges of neighbouring scores are drawn over all folds.
MAX_GROUPS = 2048
MAX_RANGES = 512
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
