"""An order of rows that depends on what they are, and not on how they came."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import BoolArray, FloatArray, IntArray

Words = NDArray[np.uint64]


def canonical_order(
    score: FloatArray,
    outcome: BoolArray,
    weight: FloatArray | None,
    group: IntArray,
    fold: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Sort rows of clusters by all that is known of them, and number the clusters likewise.

    Parameters
    ----------
    score : ndarray of shape (n,)
    outcome : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,), or None
    group : ndarray of int, shape (n,)
        Codes of the clusters, at least 0, in any order.
    fold : ndarray of int, shape (n,), optional

    Returns
    -------
    order : ndarray of int, shape (n,)
    group : ndarray of int, shape (n,)
        New codes of the sorted rows. Clusters that hold the same rows have neighbouring codes, and
        which of them comes first makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> score, outcome = np.array([0.5, 0.2, 0.5]), np.array([True, False, True])
    >>> order, group = canonical_order(score, outcome, None, np.array([0, 1, 1]))
    >>> score[order], group
    (array([0.2, 0.5, 0.5]), array([1, 0, 1]))
    """
    columns = [score + 0.0, *(column for column in (weight, fold) if column is not None)]
    word = outcome.astype(np.uint64)
    for column in columns:
        word = _mixed(word + column.view(np.uint64))
    # A sum of mixed words is the same in any order of a cluster's rows.
    signature = np.zeros(int(group.max()) + 1, dtype=np.uint64)
    np.add.at(signature, group, _mixed(word))
    by_signature = np.argsort(signature, kind="stable")
    number = np.empty(len(signature), dtype=np.int64)
    number[by_signature] = np.arange(len(signature))
    codes = number[group]
    order = np.lexsort((codes, *reversed(columns[1:]), outcome, columns[0]))
    return order, codes[order]


def _mixed(word: Words) -> Words:
    """Steele, Lea and Flood's mixing of 64 bits (SplitMix64), doi:10.1145/2714064.2660195."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
