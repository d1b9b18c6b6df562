"""Splitting counts into folds at random, as shuffled rows would be split, without the rows."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import IntArray

# NumPy draws from urns of fewer balls than this.
MAX_URN = 1_000_000_000
# With fewer rows per cell it is quicker to shuffle them than to draw each cell's number.
FEW_PER_CELL = 20


def split_counts(
    count: IntArray, n_folds: int, rng: np.random.Generator, *, extra_first: bool = True
) -> IntArray:
    """Split the rows of each cell at random into folds of equal size.

    Rows of a cell are exchangeable: which of them lies in which fold does not matter, only how
    many do. Their numbers are multivariate hypergeometric, as if all rows had been shuffled. From a
    thousand million rows on, every fold first gets an equal share of each cell, and only what
    is left over is drawn.

    Parameters
    ----------
    count : ndarray of int, shape (k,)
        Rows of each cell.
    n_folds : int
        At least 1.
    rng : numpy.random.Generator
    extra_first : bool
        Whether the first folds, or the last ones, get one row more where rows do not divide evenly.

    Returns
    -------
    ndarray of int, shape (n_folds, k)
        Its columns sum to `count`, its rows to numbers that differ by at most one.

    Examples
    --------
    >>> import numpy as np
    >>> parts = split_counts(np.array([5, 0, 2]), 2, np.random.default_rng(0))
    >>> parts.sum(axis=0), parts.sum(axis=1)
    (array([5, 0, 2]), array([4, 3]))
    """
    total = int(count.sum())
    if total >= MAX_URN:
        even, rest = np.divmod(count, n_folds)
        return even + split_counts(rest, n_folds, rng, extra_first=extra_first)
    size = np.full(n_folds, total // n_folds)
    more = total % n_folds
    size[:more] += extra_first
    size[n_folds - more :] += not extra_first
    if total <= FEW_PER_CELL * len(count):
        return _shuffle(count, size, rng)
    parts = np.empty((n_folds, len(count)), dtype=np.int64)
    left = count.astype(np.int64)
    for fold in range(n_folds - 1):
        parts[fold] = rng.multivariate_hypergeometric(left, int(size[fold]), method="marginals")
        left -= parts[fold]
    parts[-1] = left
    return parts


def _shuffle(count: IntArray, size: IntArray, rng: np.random.Generator) -> IntArray:
    """The same numbers, by shuffling the rows themselves."""
    cell = rng.permutation(np.repeat(np.arange(len(count)), count))
    parts = np.split(cell, np.cumsum(size)[:-1])
    return np.array([np.bincount(part, minlength=len(count)) for part in parts], dtype=np.int64)
