"""Scores that are written with few digits: their step, and the range that each of them stands for.

A score of 0.37 in a file of two decimals stands for every value from 0.365 to 0.375, and 0.00 for
every value from 0 to 0.005.
"""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray

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
