"""Steps of scores: those of few digits, and a grid that does not depend on the data.

Cells counted on the grid add up across files. A score of 0.37 in a file of two decimals stands for
every value from 0.365 to 0.375, and 0.00 for every value from 0 to 0.005.
"""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray

# 25,200 is divisible by 10, 12, 15, 20, 25 and 50, so the edges of these numbers of uniform bins
# are on the grid. An even key is such an edge, and an odd key is the open interval between two
# edges.
GRID_STEPS = 25_200
# If a score is nearer to 0 or 1 than this, the width of its cell is 0.2% of the distance.
TAIL_END = 0.02
KEYS_PER_E_FOLD = 504.0
# A score is an edge if it is this near to it, because products are rounded.
EDGE_ROUNDING = 1e-9
MIN_INNER_KEY = 2 * int(GRID_STEPS * TAIL_END + 0.5)  # The score 0.02 has this key.
MAX_INNER_KEY = 2 * GRID_STEPS - MIN_INNER_KEY
# The key of 0 is below that of the smallest float above 0, because ln(5e-324 / 0.02) * 504 is
# -373,227.
KEY_OF_ZERO = -400_000
KEY_OF_ONE = 2 * GRID_STEPS - KEY_OF_ZERO
PARTS_PER_CELL = 64  # Cells with too many rows are cut into this many parts.


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
    # The two ranges of keys meet at 0.02, whose even key belongs to the inner range.
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
    # A distance that is 0.02 up to rounding stays in the cell beside the inner range.
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
    lower = np.where(mirrored, 2 * GRID_STEPS - key, key)
    low, high = (lower // 2) / GRID_STEPS, ((lower + 1) // 2) / GRID_STEPS
    outer = lower < MIN_INNER_KEY
    fold = (lower[outer] - (MIN_INNER_KEY - 1)) / KEYS_PER_E_FOLD
    low[outer] = TAIL_END * np.exp(fold - 1.0 / KEYS_PER_E_FOLD)
    high[outer] = TAIL_END * np.exp(fold)
    low[lower == KEY_OF_ZERO] = high[lower == KEY_OF_ZERO] = 0.0
    return np.where(mirrored, 1.0 - high, low), np.where(mirrored, 1.0 - low, high)


# People and models write one to four decimals, and people prefer multiples of 0.05. Half a step of
# a fifth decimal is too small to matter in any test.
STEPS = (0.1, 0.05, 0.01, 0.001, 0.0001)
# Decimals that were stored in 32 bits are off by at most this.
TOLERANCE = 1e-7
MIN_NAMED_STEP = (
    0.001  # Sentences do not name smaller steps, which change no digit that they print.
)
N_SAMPLED = 1000  # Scores of full precision are recognised by their first scores.


def step_of(score: FloatArray) -> float:
    """The largest of the usual steps of which all scores are multiples; 0 if there is none.

    Predictions of a class, which are all 0 or 1, have no step.

    >>> step_of(np.array([0.25, 0.9, 1.0])), step_of(np.array([0.251, 0.9])), step_of(np.eye(2))
    (0.05, 0.001, 0.0)
    """
    for some in (score[:N_SAMPLED], score):
        step = next((step for step in STEPS if _has_step(some, step)), 0.0)
        if not step:
            return 0.0
    return 0.0 if bool(((score == 0.0) | (score == 1.0)).all()) else step


def _has_step(score: FloatArray, step: float) -> bool:
    return bool((np.abs(score - step * np.rint(score / step)) <= TOLERANCE).all())


def middles(score: FloatArray, step: float) -> FloatArray:
    """The middle of the range of each score. It differs from the score only at 0 and at 1.

    >>> middles(np.array([0.0, 0.01, 1.0]), 0.01)
    array([0.0025, 0.01  , 0.9975])
    """
    return np.clip(score, step / 4.0, 1.0 - step / 4.0) if step else score


def ranges(score: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value that each score, or its middle, stands for.

    >>> ranges(np.array([0.0025, 0.01]), 0.01)
    (array([0.   , 0.005]), array([0.005, 0.015]))
    """
    written = np.where(score <= step / 4.0, 0.0, np.where(score >= 1.0 - step / 4.0, 1.0, score))
    low, high = (np.clip(written + end, 0.0, 1.0) for end in (-step / 2.0, step / 2.0))
    return low, high


def written(value: float) -> str:
    """A decimal without an exponent.

    >>> written(0.00005)
    '0.00005'
    """
    return np.format_float_positional(value, trim="-")


def beyond(
    value: FloatArray | float, low: FloatArray | float, high: FloatArray | float
) -> FloatArray:
    """What is left of a difference that a shift from `low` to `high` can explain.

    >>> beyond(np.array([-3.0, 0.5, 3.0]), -1.0, 1.0)
    array([-2.,  0.,  2.])
    """
    return np.asarray(value - np.clip(value, low, high))
