"""Score columns as numbers, and what makes probabilities of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.loading.mapping import OF_ROWS, ColumnMapping, Transform
from calib.loading.numbers import Numbers, as_numbers
from calib.numerics.softmax import softmax
from calib.numerics.transforms import sigmoid

# Float32 arithmetic leaves a probability this far outside [0, 1]; such scores are clipped silently.
ROUNDING = 1e-6
DIVISORS: dict[Transform, float] = {"percent": 100.0, "tenths": 10.0}


def read_scores(
    frame: pd.DataFrame, mapping: ColumnMapping, *, commas: bool
) -> tuple[dict[str, Numbers], NDArray[np.floating]]:
    """The score columns that need words, and all of them as one array."""
    if isinstance(mapping.score, str):
        numbers = as_numbers(frame[mapping.score], mapping.decimal, commas=commas)
        return {mapping.score: numbers}, numbers.values
    matrix = _side_by_side(frame, list(mapping.score_columns))
    odd = {
        column: as_numbers(matrix[column], mapping.decimal, commas=commas)
        for column, dtype in matrix.dtypes.items()
        if not (isinstance(dtype, np.dtype) and dtype.kind in "iuf")
    }
    if odd:
        matrix = matrix.assign(**{column: numbers.values for column, numbers in odd.items()})
    small = all(dtype == np.float32 for dtype in matrix.dtypes)
    # A signalling NaN, as damaged files have it, is a NaN.
    with np.errstate(invalid="ignore"):
        return odd, matrix.to_numpy(dtype=np.float32 if small else np.float64)


def _side_by_side(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    places = frame.columns.get_indexer(columns)
    first, last = int(places[0]), int(places[-1])
    # A slice is no copy: a large matrix stays where it is.
    if bool((places == np.arange(first, first + len(places))).all()):
        return frame.iloc[:, first : last + 1]
    return frame[columns]


def transformed(values: NDArray[np.floating], transform: Transform) -> NDArray[np.floating]:
    """Make probabilities of scores, and undo what rounding did."""
    if transform == "logit":
        return sigmoid(np.asarray(values, dtype=np.float64))
    if transform == "clip":
        return np.clip(values, 0.0, 1.0)
    if transform in OF_ROWS:
        # Numbers beyond all bounds make none: their rows are refused.
        with np.errstate(invalid="ignore", over="ignore"):
            return _by_row(values, transform)
    divisor = DIVISORS.get(transform)
    scaled = values if divisor is None else values / divisor
    if scaled.size and scaled.min() >= 0.0 and scaled.max() <= 1.0:
        return scaled
    near = (scaled >= -ROUNDING) & (scaled <= 1.0 + ROUNDING)
    return np.where(near, np.clip(scaled, 0.0, 1.0), scaled)


def _by_row(values: NDArray[np.floating], transform: Transform) -> NDArray[np.floating]:
    if transform == "softmax":
        return softmax(np.array(values, dtype=np.float64, order="C"))
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.zeros_like(values), where=sums != 0.0)
