"""Rows of probabilities: logarithms, softmax, and the one number that rescales them."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.blocks import row_blocks
from calib.numerics.transforms import MACHINE_EPSILON

COLDEST, HOTTEST = 0.01, 100.0  # temperatures
STEP_TOLERANCE = 1e-4  # relative; Newton's error is about its square
FLAT = 1e-13
MAX_STEPS = 60
SAMPLE_SHARE, SMALLEST_SAMPLE = 16, 2_000


def log_scores(scores: FloatArray) -> FloatArray:
    """ln P, with scores below float64's machine epsilon 2.2e-16 raised to it: zeros are rounded.

    The same bound as that of the log loss; without one a single zero would decide every fit.
    """
    clipped = np.maximum(scores, MACHINE_EPSILON)
    return np.log(clipped, out=clipped)


def softmax(eta: FloatArray) -> FloatArray:
    """Softmax of each row, written over the argument.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, 1000.0], [3.0, 3.0]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    eta -= eta.max(axis=1, keepdims=True)
    np.exp(eta, out=eta)
    eta /= eta.sum(axis=1, keepdims=True)
    return eta


def fit_inverse_temperature(
    scores: FloatArray, label: IntArray, weight: FloatArray | None
) -> float:
    """1/T of maximum likelihood for softmax(ln P / T): Newton's method on one number.

    The likelihood is concave in 1/T. From the fit of a sample two or three passes over all rows
    are enough. T stays within 0.01 and 100: beyond, the function is a step or flat.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
        Rows that sum to 1.
    label : ndarray of int, shape (n,)
    weight : ndarray of shape (n,) or None

    Examples
    --------
    Three of four rows at 0.9 are positive, one is not: softened to 3/4.

    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1]] * 4)
    >>> b = fit_inverse_temperature(scores, np.array([0, 0, 0, 1]), None)
    >>> round(0.9**b / (0.9**b + 0.1**b), 9)
    0.75
    """
    n = len(scores)
    start = 1.0
    size = max(n // SAMPLE_SHARE, SMALLEST_SAMPLE)
    if n > 2 * size:
        # Random, so that no period in the order of the rows can fool it.
        some = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        some_weight = None if weight is None else weight[some]
        start = _root(scores[some], label[some], some_weight, start)
    return _root(scores, label, weight, start)


def _root(scores: FloatArray, label: IntArray, weight: FloatArray | None, start: float) -> float:
    """Where the gradient, which increases, is 0; Newton's steps kept within what brackets it."""
    low, high = 1.0 / HOTTEST, 1.0 / COLDEST
    b = start
    for _ in range(MAX_STEPS):
        gradient, curvature = _derivatives(scores, label, weight, b)
        # Equal scores, or classes that are already told apart for certain: any T does.
        if abs(gradient) <= FLAT * len(scores):
            break
        if gradient > 0.0:
            high = b
        else:
            low = b
        step = -gradient / curvature if curvature > 0.0 else -np.sign(gradient) * np.inf
        following = b + step
        if not low <= following <= high:
            following = float(np.sqrt(low * high))
        done = abs(following - b) <= STEP_TOLERANCE * b
        b = following
        if done:
            break
    return b


def _derivatives(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, b: float
) -> tuple[float, float]:
    """First and second derivative of the summed log loss by b = 1/T."""
    gradient = curvature = 0.0
    for part in row_blocks(*scores.shape):
        x = log_scores(scores[part])
        p = softmax(b * x)
        true = x[np.arange(len(x)), label[part]]
        p *= x
        mean = p.sum(axis=1)
        variance = np.einsum("ij,ij->i", p, x) - mean * mean
        share = np.ones(len(x)) if weight is None else weight[part]
        gradient += float(share @ (mean - true))
        curvature += float(share @ variance)
    return gradient, curvature
