"""Class scores: logarithms, softmax, normalization, ranks, and binary views."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, row_blocks
from calib.numerics.transforms import MACHINE_EPSILON

LEAST_NORMAL_FLOAT = float(np.finfo(np.float64).tiny)
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
RELATIVE_STEP_TOLERANCE = 1e-4  # The error of Newton's method is about its square.
FLAT_GRADIENT_PER_ROW = 1e-13
MAX_STEPS = 60
ROWS_PER_SAMPLED_ROW, MIN_SAMPLED_ROWS = 16, 2_000


def lowest_logarithm(scores: FloatArray) -> float:
    """The score to which lower ones are raised before their logarithms are taken.

    If no score is 0, none is rounded, and the smallest one counts as it is: softmax of large logits
    gives 1e-200. If there are zeros, it is not known how small they were, and a single one would
    decide every fit. Then the bound is that of the log loss, float64's machine epsilon 2.2e-16.

    >>> lowest_logarithm(np.array([[1.0, 1e-200]])), lowest_logarithm(np.array([[1.0, 0.0]]))
    (1e-200, 2.220446049250313e-16)
    """
    least = float(scores.min())
    return min(least, MACHINE_EPSILON) if least > 0.0 else MACHINE_EPSILON


def log_scores(scores: FloatArray, lowest: float) -> FloatArray:
    """ln P, with scores below the lowest one (`lowest_logarithm`) raised to it."""
    clipped = np.maximum(scores, lowest)
    return np.log(clipped, out=clipped)


def softmax(eta: FloatArray) -> FloatArray:
    """Softmax of each row, written over the argument.

    >>> softmax(np.array([[0.0, 1000.0], [3.0, 3.0]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    eta -= eta.max(axis=1, keepdims=True)
    np.exp(eta, out=eta)
    eta /= eta.sum(axis=1, keepdims=True)
    return eta


def softmax_of_logits(logits: FloatArray) -> FloatArray:
    """Softmax of each row, written over the argument; at least 2.2e-308 where a logit is finite.

    Smaller ones would be 0, or have fewer digits. Only a logit of minus infinity is a certain 0.

    >>> softmax_of_logits(np.array([[0.0, 1000.0, -np.inf]]))
    array([[2.22507386e-308, 1.00000000e+000, 0.00000000e+000]])
    """
    certain = np.isneginf(logits)
    scores = np.maximum(softmax(logits), LEAST_NORMAL_FLOAT, out=logits)
    scores[certain] = 0.0
    return scores


def fit_inverse_temperature(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, lowest: float
) -> float:
    """1/T of maximum likelihood for softmax(ln P / T): Newton's method on one number.

    The likelihood is concave in 1/T. From the fit of a sample two or three passes over all rows
    are enough. T stays within 0.01 and 100: beyond, the function is a step or flat. `lowest` is
    that of `log_scores`.

    Three of four rows at 0.9 are positive, one is not: softened to 3/4.

    >>> scores = np.array([[0.9, 0.1]] * 4)
    >>> b = fit_inverse_temperature(scores, np.array([0, 0, 0, 1]), None, 1e-9)
    >>> round(0.9**b / (0.9**b + 0.1**b), 9)
    0.75
    """
    n = len(scores)
    start = 1.0
    size = max(n // ROWS_PER_SAMPLED_ROW, MIN_SAMPLED_ROWS)
    if n > 2 * size:
        # The sample is random, because the order of the rows may have a period.
        some = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        some_weight = None if weight is None else weight[some]
        start = _root(scores[some], label[some], some_weight, start, lowest)
    return _root(scores, label, weight, start, lowest)


def _root(
    scores: FloatArray,
    label: IntArray,
    weight: FloatArray | None,
    start: float,
    lowest: float,
) -> float:
    """The b at which the increasing gradient is 0, by Newton's method within a bracket."""
    low, high = 1.0 / MAX_TEMPERATURE, 1.0 / MIN_TEMPERATURE
    b = start
    for _ in range(MAX_STEPS):
        gradient, curvature = _derivatives(scores, label, weight, b, lowest)
        # If all scores are equal, or classes are perfectly separated, every T is optimal.
        if abs(gradient) <= FLAT_GRADIENT_PER_ROW * len(scores):
            break
        if gradient > 0.0:
            high = b
        else:
            low = b
        step = -gradient / curvature if curvature > 0.0 else -np.sign(gradient) * np.inf
        following = b + step
        if not low <= following <= high:
            following = float(np.sqrt(low * high))
        done = abs(following - b) <= RELATIVE_STEP_TOLERANCE * b
        b = following
        if done:
            break
    return b


def _derivatives(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, b: float, lowest: float
) -> tuple[float, float]:
    """First and second derivative of the summed log loss by b = 1/T."""
    gradient = curvature = 0.0
    for part in row_blocks(*scores.shape):
        x = log_scores(scores[part], lowest)
        p = softmax(b * x)
        true = x[np.arange(len(x)), label[part]]
        p *= x
        mean = p.sum(axis=1)
        variance = np.einsum("ij,ij->i", p, x) - mean * mean
        share = np.ones(len(x)) if weight is None else weight[part]
        gradient += float(share @ (mean - true))
        curvature += float(share @ variance)
    return gradient, curvature


def divide_by_sum(calibrated: FloatArray, scores: FloatArray) -> FloatArray:
    """One-vs-rest: divide each calibrated row by its sum; a row of zeros keeps its scores.

    Entries are at least 0, and rows of `scores` need not sum to 1. A row that is zero in both is
    even. See Lucena 2018, "Spline-based probability calibration", Algorithm 3, arXiv:1809.07751.

    >>> divide_by_sum(np.array([[0.3, 0.3], [0.0, 0.0]]), np.array([[0.7, 0.3], [0.2, 0.8]]))
    array([[0.5, 0.5],
           [0.2, 0.8]])
    """
    rows = np.where(calibrated.sum(axis=1, keepdims=True) > 0.0, calibrated, scores)
    total = rows.sum(axis=1, keepdims=True)
    even = np.full_like(rows, 1.0 / rows.shape[1])
    return np.divide(rows, total, out=even, where=total > 0.0)


# Up to this number, searching repeatedly for the largest score is faster than sorting a row.
MAX_SEARCHED_CLASSES = 5


def leading_classes(scores: FloatArray, n_first: int) -> IntArray:
    """The classes with the largest scores of each row, in order; of equal ones the lower index.

    >>> leading_classes(np.array([[0.2, 0.4, 0.4], [0.5, 0.2, 0.3]]), 2)
    array([[1, 2],
           [0, 2]])
    """
    if n_first == 1:
        return scores.argmax(axis=1)[:, None]
    if n_first > MAX_SEARCHED_CLASSES:
        return np.argsort(-scores, axis=1, kind="stable")[:, :n_first]
    ranked = np.empty((len(scores), n_first), dtype=np.int64)
    for part in row_blocks(*scores.shape):
        rest, rows = scores[part].copy(), np.arange(part.stop - part.start)
        for place in range(n_first):
            first = rest.argmax(axis=1)
            ranked[part, place] = first
            rest[rows, first] = -1.0
    return ranked


def binary_problem(
    scores: FloatArray, label: IntArray, kind: str, index: int
) -> tuple[FloatArray, BoolArray]:
    """Score and outcome of one binary view of a score matrix.

    The kind is "class", "top" or "within"; the index is the class, or r of top-r and within-top-r.
    See Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.
    """
    if kind == "class":
        return np.ascontiguousarray(scores[:, index]), label == index
    ranked = leading_classes(scores, index)
    hit = ranked == label[:, None]
    values = np.take_along_axis(scores, ranked, axis=1)
    if kind == "top":
        return np.ascontiguousarray(values[:, -1]), hit[:, -1]
    return np.minimum(values.sum(axis=1), 1.0), hit.any(axis=1)
