"""Errors of many binnings of the same sorted scores at once, from prefix sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray

# How the gaps of bins become one number. "mean" gives every bin with rows the same weight.
NORMS = ("l1", "l2", "max", "mean", "debiased")


@dataclass(frozen=True, slots=True, eq=False)
class Prefixes:
    """Prefix sums over scores in increasing order, with the leading 0: shape (k + 1,)."""

    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    score: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Binnings:
    """Several binnings of k sorted scores: bin j has the scores ``first[j]:last[j]``.

    Scores may be in no bin. `binning` is the number of the binning to which a bin belongs, from 0
    to `n` - 1; a binning may have no bin.
    """

    first: IntArray
    last: IntArray
    binning: IntArray
    n: int

    @classmethod
    def between(cls, starts: Sequence[IntArray]) -> Binnings:
        """One binning for each array of positions, whose bins lie between neighbouring ones."""
        sizes = [max(len(positions) - 1, 0) for positions in starts]
        return cls(
            np.concatenate([positions[:-1] for positions in starts]).astype(np.int64),
            np.concatenate([positions[1:] for positions in starts]).astype(np.int64),
            np.repeat(np.arange(len(starts)), sizes),
            len(starts),
        )


def binned_errors(sums: Prefixes, bins: Binnings) -> FloatArray:
    """The calibration error of every binning in every norm of `NORMS`: shape (n, 5).

    Gaps are weighted by the share of a bin in all scores, also if some scores are in no bin. The
    column "debiased" is the debiased l2 norm [Kumar et al. 2019, arXiv:1909.10155].

    >>> rows = np.array([0.0, 1.0, 2.0])
    >>> sums = Prefixes(rows, rows, np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.2, 0.8]))
    >>> binned_errors(sums, Binnings.between([np.array([0, 2]), np.array([0, 1, 2])])).round(3)
    array([[0.1  , 0.1  , 0.1  , 0.1  , 0.   ],
           [0.3  , 0.316, 0.4  , 0.3  , 0.   ]])
    """

    def total(prefix: FloatArray) -> FloatArray:
        return prefix[bins.last] - prefix[bins.first]

    def added(values: FloatArray) -> FloatArray:
        return np.bincount(bins.binning, values, bins.n).astype(np.float64, copy=False)

    rows, weight, positive = total(sums.rows), total(sums.weight), total(sums.positive)
    filled = rows > 0.0
    size = np.where(filled, weight, 1.0)
    gap = np.where(filled, np.abs(positive - total(sums.score)) / size, 0.0)
    observed = positive / size
    several = rows > 1.0
    noise = observed * (1.0 - observed) / np.where(several, rows - 1.0, 1.0)
    spare = np.where(several, gap * gap - noise, 0.0)
    largest = np.zeros(bins.n)
    np.maximum.at(largest, bins.binning, gap)
    share = np.where(filled, weight, 0.0) / sums.weight[-1]
    n_filled = np.maximum(added(filled.astype(np.float64)), 1.0)
    return np.column_stack(
        [
            added(share * gap),
            np.sqrt(added(share * gap * gap)),
            largest,
            added(gap) / n_filled,
            np.sqrt(np.maximum(added(share * spare), 0.0)),
        ]
    )
