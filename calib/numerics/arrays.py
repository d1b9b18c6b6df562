"""Array types, parts of large arrays, and the base class of frozen results."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SmallFloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
SmallIntArray = NDArray[np.int16]
BoolArray = NDArray[np.bool_]
CHUNK_NUMBERS = 1 << 17  # One megabyte of floats stays in the processor's cache.


def arrays_of(result: Any) -> dict[str, NDArray[Any]]:
    """The arrays that a dataclass holds, by name."""
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


class Locked:
    """Base class of frozen results. Their arrays are shared, so they become read-only."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for array in arrays_of(self).values():
            array.flags.writeable = False


def chunks(n: int, size: int = CHUNK_NUMBERS) -> Iterator[slice]:
    """Parts of n rows whose temporaries stay in the processor's cache.

    >>> list(chunks(200_000))
    [slice(0, 131072, None), slice(131072, 200000, None)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def thin_indices(y: FloatArray, most: int) -> IntArray:
    """Indices of about `most` points, at least 6, that keep a curve's shape, and its extremes.

    The curve is cut in equal runs; the first, the lowest and the highest point of each run stay,
    and so do both ends.

    >>> y = np.zeros(10_000)
    >>> y[1234] = 5.0
    >>> keep = thin_indices(y, 300)
    >>> len(keep) <= 300, bool((y[keep] == 5.0).any())
    (True, True)
    """
    n = len(y)
    if n <= most:
        return np.arange(n)
    runs = (most - 2) // 3
    starts = np.linspace(0, n, runs, endpoint=False).astype(np.int64)
    ends = np.append(starts[1:], n)
    kept = [0, n - 1]
    for start, end in zip(starts, ends, strict=True):
        run = y[start:end]
        kept += [start, start + int(run.argmin()), start + int(run.argmax())]
    return np.unique(np.asarray(kept, dtype=np.int64))


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows that together hold about 131,072 numbers.

    >>> list(row_blocks(300, 1000))
    [slice(0, 131, None), slice(131, 262, None), slice(262, 300, None)]
    """
    return chunks(n_rows, max(1, CHUNK_NUMBERS // n_columns))
