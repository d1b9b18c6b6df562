"""A grid of scores that does not depend on the data: cells counted on it add up across files."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray

# 25,200 is divisible by 10, 12, 15, 20, 25 and 50: uniform bins of these numbers have their edges
# on the grid. An even key is such an edge itself, an odd one the open interval between two.
STEPS = 25_200
# Nearer to 0 or 1 than this, cells get narrower with the distance: a relative width of 0.2%.
NARROW = 0.02
PER_E_FOLD = 504.0
# Edges are recognised through the rounding of the multiplication.
ROUNDING = 1e-9
FIRST = 2 * int(STEPS * NARROW + 0.5)  # key of the score 0.02 itself
LAST = 2 * STEPS - FIRST
# Below the key of the smallest number above 0: ln(5e-324 / 0.02) * 504 is -373,227.
ZERO = -400_000
ONE = 2 * STEPS - ZERO
# A cell that holds too many rows is cut in so many.
PARTS = 64


def edges_on_grid(n_bins: int) -> bool:
    """Whether the inner edges of this number of uniform bins are separate cells.

    >>> [n for n in range(2, 51) if edges_on_grid(n)][-4:]
    [42, 45, 48, 50]
    """
    return STEPS % n_bins == 0 and n_bins * NARROW <= 1.0


def grid_keys(score: FloatArray) -> IntArray:
    """Cell of each score: a key that never falls as scores rise, from `ZERO` for 0 to `ONE` for 1.

    >>> grid_keys(np.array([0.0, 1e-300, 0.0199, 0.02, 0.5, 0.50001, 0.98, 1.0]))
    array([-400000, -345172,    1005,    1008,   25200,   25201,   49392,
            450400])
    """
    steps = STEPS * score
    key = np.floor(steps + ROUNDING)
    key += np.ceil(steps - ROUNDING)
    # The two branches meet at 0.02, whose even key belongs to the upper branch.
    outer = np.flatnonzero((key < FIRST) | (key > LAST))
    key = key.astype(np.int64)
    if len(outer):
        key[outer] = _outer_keys(score[outer])
    return key


def _outer_keys(score: FloatArray) -> IntArray:
    above = score > 0.5
    distance = np.where(above, 1.0 - score, score)
    certain = distance <= 0.0
    fold = np.ceil(PER_E_FOLD * np.log(np.where(certain, NARROW, distance) / NARROW))
    # A distance of 0.02 up to rounding stays in the outermost cell but one.
    key = FIRST - 1 + np.minimum(fold, 0.0).astype(np.int64)
    key[certain] = ZERO
    return np.where(above, 2 * STEPS - key, key)


def refined_keys(score: FloatArray, key: IntArray) -> IntArray:
    """Which of the 64 equal parts of its cell, named by its key, each score lies in: 0 to 63.

    >>> score = (12600 + np.array([2.5, 40.5, 63.9]) / 64) / 25200
    >>> refined_keys(score, grid_keys(score))
    array([ 2, 40, 63])
    """
    low, high = cell_bounds(key)
    width = high - low
    share = np.divide(score - low, width, out=np.zeros(len(score)), where=width > 0.0)
    return np.clip(np.floor(PARTS * share), 0, PARTS - 1).astype(np.int64)


def cell_bounds(key: IntArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score that a cell may hold, up to rounding.

    >>> low, high = cell_bounds(np.array([25200, 25201, -400000]))
    >>> low.round(6), high.round(6)
    (array([0.5, 0.5, 0. ]), array([0.5    , 0.50004, 0.     ]))
    """
    mirrored = key > LAST
    own = np.where(mirrored, 2 * STEPS - key, key)
    low, high = (own // 2) / STEPS, ((own + 1) // 2) / STEPS
    outer = own < FIRST
    fold = (own[outer] - (FIRST - 1)) / PER_E_FOLD
    low[outer] = NARROW * np.exp(fold - 1.0 / PER_E_FOLD)
    high[outer] = NARROW * np.exp(fold)
    low[own == ZERO] = high[own == ZERO] = 0.0
    return np.where(mirrored, 1.0 - high, low), np.where(mirrored, 1.0 - low, high)
