"""Checks of arrays from outside: each is returned in one type, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.numerics.arrays import BoolArray, FloatArray, IntArray

NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
# Resamples are counted in single precision, which has no larger and no smaller numbers.
MIN_WEIGHT, MAX_WEIGHT = 1e-30, 1e30
# Smaller shares of a sum are lost in double precision.
MIN_WEIGHT_SHARE = 1e-14
ROW_SUM_TOLERANCE = 1e-3


def check_outcomes(y_true: ArrayLike, name: str = "y_true") -> BoolArray:
    """Return outcomes as booleans. Anything except 0 and 1 is refused."""
    values = _one_dimensional(name, y_true)
    if values.dtype == np.bool_:
        return values
    if values.dtype.kind in "iuf":
        allowed = (values == 0) | (values == 1)
        if allowed.all():
            return values.astype(np.bool_)
        refused = f"{values[~allowed][0].item()!r}"
    else:
        listed = values.tolist()
        first = next((value for value in listed if not isinstance(value, NUMBERS)), listed[0])
        refused = f"{values.dtype} values such as {first!r}"
    raise ValueError(f"{name} must hold only 0 and 1 (or booleans), got {refused}.")


def unboxed(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an object array of only numbers and booleans to float64. Others stay unchanged.

    >>> unboxed(np.array([0, True, np.int64(1)], dtype=object))
    array([0., 1., 1.])
    """
    if values.dtype == np.object_ and all(isinstance(value, NUMBERS) for value in values.flat):
        return values.astype(np.float64)
    return values


def check_scores(y_prob: ArrayLike, name: str = "y_prob") -> FloatArray:
    """Return scores as float64. NaN and values outside [0, 1] are refused."""
    values = _floats(name, y_prob)
    # NaN fails every comparison, so this finds it too.
    if not (values.min() >= 0.0 and values.max() <= 1.0):
        _check_each(values, (values >= 0.0) & (values <= 1.0), f"{name} must be within [0, 1]")
    return values


def _check_each(values: NDArray[Any], allowed: BoolArray, rule: str) -> None:
    """Refuse values of which one is not allowed, and name the first."""
    if not allowed.all():
        row = int(np.flatnonzero(~allowed)[0])
        raise ValueError(f"{rule}, got {values[row]} at index {row}.")


def check_weights(sample_weight: ArrayLike) -> FloatArray:
    """Return weights as float64. They must be positive, finite and not too unequal to be summed."""
    values = _floats("sample_weight", sample_weight)
    allowed = (values > 0.0) & np.isfinite(values)
    _check_each(values, allowed, "sample_weight must be positive and finite")
    if trouble := weight_range_trouble(values):
        raise ValueError(f"sample_weight must {trouble}.")
    return values


def weight_range_trouble(weight: FloatArray) -> str:
    """The rule that positive weights break, in words, or "" if their sums are exact enough.

    >>> weight_range_trouble(np.array([1.0, 1e-20]))
    'each be at least 1e-14 of their sum, below which they are lost in rounding, got 1e-20 of 1'
    """
    low, high = float(weight.min()), float(weight.max())
    if low < MIN_WEIGHT or high > MAX_WEIGHT:
        refused = low if low < MIN_WEIGHT else high
        return f"be between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}, got {refused:.4g}"
    total = float(weight.sum())
    if low < MIN_WEIGHT_SHARE * total:
        return (
            f"each be at least {MIN_WEIGHT_SHARE:g} of their sum, below which they are lost in "
            f"rounding, got {low:.4g} of {total:.4g}"
        )
    return ""


def effective_weights(weight: FloatArray) -> FloatArray:
    """Row weights in effective rows. They sum to (sum w)^2 / sum w^2; equal weights become 1."""
    if weight.min() == weight.max():
        return np.ones(len(weight))
    return weight * (weight.sum() / (weight @ weight))


def check_same_length(**arrays: Sequence[Any] | NDArray[Any]) -> None:
    """Refuse arrays of different lengths, naming both."""
    (first, one), (second, two) = arrays.items()
    if len(one) != len(two):
        raise ValueError(
            f"{first} and {second} must have the same length, got {len(one)} and {len(two)}."
        )


def _floats(name: str, values: ArrayLike) -> FloatArray:
    array = _one_dimensional(name, values)
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must be numbers, got {array.dtype} values.")
    return np.ascontiguousarray(array, dtype=np.float64)


def _one_dimensional(name: str, values: ArrayLike) -> NDArray[Any]:
    array = unboxed(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if not len(array):
        raise ValueError(f"{name} must hold at least one row, got none.")
    return array


def check_score_matrix(scores: NDArray[Any], name: str = "y_prob") -> FloatArray:
    """Return class scores whose rows sum to exactly 1. Rows that are not near 1 are refused."""
    matrix = np.array(scores, dtype=np.float64, order="C")
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have one column per class, got shape {matrix.shape}.")
    if matrix.shape[1] < 2:
        raise ValueError(f"{name} must have at least 2 class columns, got {matrix.shape[1]}.")
    _check_entries(matrix, name)
    sums = matrix.sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)
    if len(bad):
        first = ", ".join(f"{i} ({sums[i]:.4g})" for i in bad[:3])
        raise ValueError(
            f"each row of {name} must sum to 1 within {ROW_SUM_TOLERANCE}, "
            f"got {len(bad)} rows that do not, first: {first}."
        )
    return np.divide(matrix, sums[:, None], out=matrix)


def _check_entries(matrix: FloatArray, name: str) -> None:
    if not matrix.size:
        raise ValueError(f"{name} must hold at least one row, got shape {matrix.shape}.")
    # NaN fails every comparison, so this finds it too.
    if not (matrix.min() >= 0.0 and matrix.max() <= 1.0):
        row, column = np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))[0].tolist()
        raise ValueError(
            f"{name} must be within [0, 1], got {matrix[row, column]} in row {row}, "
            f"column {column}."
        )


def check_classes(y_true: ArrayLike, n_classes: int, name: str = "y_true") -> IntArray:
    """Return class indices as integers. Anything except 0..m-1 is refused."""
    values = unboxed(np.asarray(y_true))
    rule = f"{name} must hold class indices 0..{n_classes - 1}"
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ValueError(f"{rule}, got {values.dtype} values of shape {values.shape}.")
    _check_each(values, np.isfinite(values) & (values == np.floor(values)), rule)
    outcome = values.astype(np.int64)
    _check_each(outcome, (outcome >= 0) & (outcome < n_classes), rule)
    return outcome
