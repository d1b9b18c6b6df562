"""Calibration errors row by row, as the sources of published codes describe them.

They read neither cells nor prefix sums. Every function takes scores and outcomes of rows, and
returns the bin of each row, or -1 if it is in none.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray

Binned = Callable[[FloatArray, int], IntArray]


def right(score: FloatArray, n: int) -> IntArray:
    return np.clip(np.digitize(score, np.linspace(0.0, 1.0, n + 1), right=True) - 1, 0, n - 1)


def left(score: FloatArray, n: int) -> IntArray:
    return np.minimum(np.digitize(score, np.linspace(0.0, 1.0, n + 1)) - 1, n - 1)


def left_open(score: FloatArray, n: int) -> IntArray:
    return np.where(score == 1.0, -1, left(score, n))


def left_floor(score: FloatArray, n: int) -> IntArray:
    return np.minimum(np.floor(score * n).astype(int), n - 1)


def right_fractions(score: FloatArray, n: int) -> IntArray:
    upper = [(i + 1) / n for i in range(n)]
    return np.array([next(i for i, end in enumerate(upper) if s <= end) for s in score])


def range_left(score: FloatArray, n: int) -> IntArray:
    edges = np.histogram_bin_edges(score, n)
    return np.minimum(np.digitize(score, edges) - 1, n - 1)


def range_right(score: FloatArray, n: int) -> IntArray:
    edges = np.linspace(score.min(), score.max(), n + 1)
    return np.clip(np.digitize(score, edges, right=True) - 1, 0, n - 1)


def quantile(score: FloatArray, n: int) -> IntArray:
    """Edges where the ECDF reaches i / n, in whole numbers of rows."""
    ordered, rows = np.sort(score), len(score)
    place = [divmod(i * rows, n) for i in range(1, n)]
    edges = np.array(
        [ordered[k] if rest else ordered[max(k - 1, 0) : k + 1].mean() for k, rest in place]
    )
    return np.digitize(score, np.unique(edges[(edges > 0.0) & (edges < 1.0)]), right=True)


def percentile(score: FloatArray, n: int) -> IntArray:
    edges = np.percentile(score, np.linspace(0.0, 1.0, n + 1) * 100)
    return np.searchsorted(edges[1:-1], score)


def quantile_left(score: FloatArray, n: int) -> IntArray:
    edges = np.quantile(score, np.linspace(0.0, 1.0, n + 1))
    return np.searchsorted(edges[1:-1], score, side="right")


def middles(score: FloatArray, n: int) -> IntArray:
    parts = np.array_split(np.sort(score), min(n, len(score)))
    edges = sorted({(low[-1] + high[0]) / 2.0 for low, high in pairwise(parts)})
    return np.searchsorted(edges, score)


def split(score: FloatArray, n: int) -> IntArray:
    bins = np.empty(len(score), dtype=int)
    for number, part in enumerate(np.array_split(np.argsort(score, kind="stable"), n)):
        bins[part] = number
    return bins


def split_unstable(score: FloatArray, n: int) -> IntArray:
    bins = np.empty(len(score), dtype=int)
    for number, part in enumerate(np.array_split(np.argsort(score), n)):
        bins[part] = number
    return bins


def hundreds(score: FloatArray, n: int) -> IntArray:
    bins = np.empty(len(score), dtype=int)
    order = np.argsort(score, kind="stable")
    bins[order] = np.minimum(np.arange(len(score)) // 100, len(score) // 100 - 1)
    return bins


def hundreds_without_last(score: FloatArray, n: int) -> IntArray:
    bins = np.empty(len(score), dtype=int)
    bins[np.argsort(score)] = np.minimum(np.arange(len(score)) // 100, len(score) // 100 - 1)
    return np.where(bins == len(score) // 100 - 1, -1, bins)


def distinct(score: FloatArray, n: int) -> IntArray:
    return np.unique(score, return_inverse=True)[1]


BY_KEY: dict[str, Binned] = {
    function.__name__: function
    for function in (
        right,
        left,
        left_open,
        left_floor,
        right_fractions,
        range_left,
        range_right,
        quantile,
        percentile,
        quantile_left,
        middles,
        split,
        split_unstable,
        hundreds,
        hundreds_without_last,
        distinct,
    )
}


def error(score: FloatArray, outcome: BoolArray, bins: IntArray, norm: str) -> float:
    """The error of rows in bins, with shares of all rows."""
    gaps, shares, noises = [], [], []
    for number in np.unique(bins[bins >= 0]):
        y, s = outcome[bins == number], score[bins == number]
        gaps.append(abs(y.mean() - s.mean()))
        shares.append(len(y) / len(score))
        # One row says nothing about the noise, and then counts for nothing.
        noises.append(y.mean() * (1 - y.mean()) / (len(y) - 1) if len(y) > 1 else gaps[-1] ** 2)
    gap, share = np.array(gaps), np.array(shares)
    if not gaps:
        return 0.0
    if norm == "l1":
        return float(share @ gap)
    if norm == "max":
        return float(gap.max())
    if norm == "mean":
        return float(gap.mean())
    squares = gap**2 - (np.array(noises) if norm == "debiased" else 0.0)
    return float(np.sqrt(max(share @ squares, 0.0)))


def calibration_error_of_hle(score: FloatArray, outcome: BoolArray) -> float:
    """The error of Humanity's Last Exam and of Hendrycks et al.: bins of 100 rows, norm 2."""
    order = np.argsort(score)
    score, outcome = score[order], outcome[order]
    ends = [[100 * i, 100 * (i + 1)] for i in range(len(score) // 100)]
    ends[-1] = [ends[-1][0], len(score)]
    total = 0.0
    for low, high in ends[:-1]:  # The published loop ends before the last bin.
        gap = score[low:high].mean() - outcome[low:high].mean()
        total += (high - low) / len(score) * gap**2
    return float(np.sqrt(total))
