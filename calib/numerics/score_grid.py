"""A grid of scores that does not depend on the data: cells counted on it add up across files."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray

# 25,200 is divisible by 10, 12, 15, 20, 25 and 50: uniform bins of these numbers have their edges
# on the grid. An even key is such an edge itself, an odd one the open interval between two.
GRID_STEPS = 25_200
# Nearer to 0 or 1 than this, cells get narrower with the distance: a relative width of 0.2%.
TAIL_END = 0.02
KEYS_PER_E_FOLD = 504.0
# Edges are recognised through the rounding of the multiplication.
EDGE_ROUNDING = 1e-9
MIN_INNER_KEY = 2 * int(GRID_STEPS * TAIL_END + 0.5)  # key of the score 0.02 itself
MAX_INNER_KEY = 2 * GRID_STEPS - MIN_INNER_KEY
# Below the key of the smallest number above 0: ln(5e-324 / 0.02) * 504 is -373,227.
KEY_OF_ZERO = -400_000
KEY_OF_ONE = 2 * GRID_STEPS - KEY_OF_ZERO
# A cell that holds too many rows is cut in so many.
PARTS_PER_CELL = 64


def edges_on_grid(n_bins: int) -> bool:
    """Whether the inner edges of this number of uniform bins are separate cells.

    >>> [n for n in range(2, 51) if edges_on_grid(n)][-4:]
    [42, 45, 48, 50]
    """
    return GRID_STEPS % n_bins == 0 and n_bins * TAIL_END <= 1.0


def grid_keys(score: FloatArray) -> IntArray:
    """Cell of each score: the key never falls as scores rise, from `KEY_OF_ZERO` to `KEY_OF_ONE`.

    >>> grid_keys(np.array([0.0, 1e-300, 0.0199, 0.02, 0.5, 0.50001, 0.98, 1.0]))
    array([-400000, -345172,    1005,    1008,   25200,   25201,   49392,
            450400])
    """
    steps = GRID_STEPS * score
    key = np.floor(steps + EDGE_ROUNDING)
    key += np.ceil(steps - EDGE_ROUNDING)
    # The two branches meet at 0.02, whose even key belongs to the upper branch.
    outer = np.flatnonzero((key < MIN_INNER_KEY) | (key > MAX_INNER_KEY))
    key = key.astype(np.int64)
    if len(outer):
        key[outer] = _outer_keys(score[outer])
    return key


def _outer_keys(score: FloatArray) -> IntArray:
    above = score > 0.5
    distance = np.where(above, 1.0 - score, score)
    certain = distance <= 0.0
    fold = np.ceil(KEYS_PER_E_FOLD * np.log(np.where(certain, TAIL_END, distance) / TAIL_END))
    # A distance of 0.02 up to rounding stays in the outermost cell but one.
    key = MIN_INNER_KEY - 1 + np.minimum(fold, 0.0).astype(np.int64)
    key[certain] = KEY_OF_ZERO
    return np.where(above, 2 * GRID_STEPS - key, key)


def refined_keys(score: FloatArray, key: IntArray) -> IntArray:
    """Which of the 64 equal parts of its cell, named by its key, each score lies in: 0 to 63.

    >>> score = (12600 + np.array([2.5, 40.5, 63.9]) / 64) / 25200
    >>> refined_keys(score, grid_keys(score))
    array([ 2, 40, 63])
    """
    low, high = cell_bounds(key)
    width = high - low
    share = np.divide(score - low, width, out=np.zeros(len(score)), where=width > 0.0)
    return np.clip(np.floor(PARTS_PER_CELL * share), 0, PARTS_PER_CELL - 1).astype(np.int64)


def cell_bounds(key: IntArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score that a cell may hold, up to rounding.

    >>> low, high = cell_bounds(np.array([25200, 25201, -400000]))
    >>> low.round(6), high.round(6)
    (array([0.5, 0.5, 0. ]), array([0.5    , 0.50004, 0.     ]))
    """
    mirrored = key > MAX_INNER_KEY
    own = np.where(mirrored, 2 * GRID_STEPS - key, key)
    low, high = (own // 2) / GRID_STEPS, ((own + 1) // 2) / GRID_STEPS
    outer = own < MIN_INNER_KEY
    fold = (own[outer] - (MIN_INNER_KEY - 1)) / KEYS_PER_E_FOLD
    low[outer] = TAIL_END * np.exp(fold - 1.0 / KEYS_PER_E_FOLD)
    high[outer] = TAIL_END * np.exp(fold)
    low[own == KEY_OF_ZERO] = high[own == KEY_OF_ZERO] = 0.0
    return np.where(mirrored, 1.0 - high, low), np.where(mirrored, 1.0 - low, high)
