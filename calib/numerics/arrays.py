"""Arrays: their types, frozen results, kinds of arguments, sorting, and threads inside fits.

The fits are small: a BLAS that spreads them over a busy machine makes them ten times slower.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

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


TRUTH = (bool, np.bool_)
ARGUMENT_KINDS: Mapping[type, tuple[tuple[type, ...], str]] = {
    bool: (TRUTH, "True or False"),
    int: ((Integral,), "a whole number"),
    float: ((Real,), "a number"),
    str: ((str,), "text"),
}


def check_kinds(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse numbers, texts and truth values of another kind than the function's annotations.

    Arguments with other annotations are not checked.

    >>> def bins(n_bins: int = 15, width: float | None = None): ...
    >>> check_kinds(bins, {"n_bins": 2.5})
    Traceback (most recent call last):
    ...
    TypeError: n_bins must be a whole number, got 2.5.
    """
    kinds = _kinds(function)
    for name, value in arguments.items():
        allowed = kinds.get(name)
        if allowed and not any(_is(kind, value) for kind in allowed):
            words = " or ".join(
                ARGUMENT_KINDS[kind][1] for kind in allowed if kind in ARGUMENT_KINDS
            )
            none = " or None" if type(None) in allowed else ""
            raise TypeError(f"{name} must be {words}{none}, got {value!r}.")


def _is(kind: type, value: Any) -> bool:
    if kind not in ARGUMENT_KINDS:
        return value is None
    # Python takes True for the number 1.
    return isinstance(value, ARGUMENT_KINDS[kind][0]) and (
        kind is bool or not isinstance(value, TRUTH)
    )


# Annotations are text, which would be compiled at each call without the cache.
@cache
def _kinds(function: Callable[..., Any]) -> Mapping[str, tuple[type, ...]]:
    """The kinds of those parameters that have only kinds that are known."""
    is_estimator = inspect.isclass(function) and not is_dataclass(function)
    target: Any = function.__init__ if is_estimator else function
    hints: dict[str, Any] = {}
    for part in reversed(inspect.getmro(target)) if inspect.isclass(target) else (target,):
        names = getattr(
            part, "__globals__", vars(sys.modules[getattr(part, "__module__", __name__)])
        )
        for name, annotation in inspect.get_annotations(part).items():
            # Only type checkers import what some annotations name.
            with suppress(NameError):
                alone = types.SimpleNamespace(__annotations__={name: annotation})
                hints |= get_type_hints(alone, names)
    kinds = {name: _alternatives(hint) for name, hint in hints.items() if name != "return"}
    checked = {*ARGUMENT_KINDS, type(None)}
    return {name: allowed for name, allowed in kinds.items() if checked.issuperset(allowed)}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def sort_labelled(score: FloatArray, label: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Scores in [0, 1] in increasing order, and the 0/1 label of each; ties have their 0s first.

    >>> sort_labelled(np.array([0.7, 0.2, 0.5]), np.array([True, True, False]))
    (array([0.2, 0.5, 0.7]), array([1., 0., 1.]))
    """
    # Floats in [0, 1] have the order of their bits, and the two highest bits are 0. Shifted by one,
    # they have room for the label, and one sort of integers replaces an argsort and two gathers.
    # Adding 0.0 turns -0.0 into 0.0, because the bits of -0.0 would be sorted last.
    key = (score + 0.0).view(np.uint64)
    key <<= np.uint64(1)
    key |= label.view(np.uint8)
    key.sort()
    labels = (key & np.uint64(1)).astype(np.float64)
    key >>= np.uint64(1)
    return key.view(np.float64), labels


def increasing_order(score: FloatArray) -> IntArray:
    """Rows by increasing score in [0, 1], ties as they come: a stable argsort, at half its time.

    >>> increasing_order(np.array([0.7, 0.2, 0.7, 0.5]))
    array([1, 3, 0, 2])
    """
    # After a radix sort by 16 bits, a stable sort has only short runs to order and is fast.
    nearly = np.argsort((score * 65535.0).astype(np.uint16), kind="stable")
    return nearly[np.argsort(score[nearly], kind="stable")]


def run_starts(ordered: FloatArray | IntArray) -> NDArray[np.intp]:
    """Indices at which runs of equal values begin.

    >>> run_starts(np.array([0.1, 0.1, 0.4]))
    array([0, 2])
    """
    changes = np.empty(len(ordered), dtype=np.bool_)
    changes[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return np.flatnonzero(changes)


Words = NDArray[np.uint64]


def canonical_order(
    columns: Sequence[NDArray[Any] | None], outcome: NDArray[Any], group: IntArray | None = None
) -> tuple[IntArray, IntArray | None]:
    """Sort rows by all of their columns, and number their clusters in the same way.

    `columns` are scores, or `row_words` of a matrix, then weights, named folds and the like, of 64
    bits each; those that are None are passed over. The codes of the clusters are at least 0, in any
    order. The result is the order, and new codes of the sorted rows: clusters that hold the same
    rows have neighbouring codes, and which of them comes first makes no difference.

    >>> score, outcome = np.array([0.5, 0.2, 0.5]), np.array([True, False, True])
    >>> order, group = canonical_order([score], outcome, np.array([0, 1, 1]))
    >>> score[order], group
    (array([0.2, 0.5, 0.5]), array([1, 0, 1]))
    """
    # Adding 0 turns -0.0 into 0.0.
    present = [column + column.dtype.type(0) for column in columns if column is not None]
    keys = [*reversed(present[1:]), outcome, present[0]]
    if group is None:
        return np.lexsort(keys), None
    word = outcome.astype(np.uint64)
    for column in present:
        word = _mixed(word + column.view(np.uint64))
    # A sum of mixed words does not depend on the order of a cluster's rows.
    signature = np.zeros(int(group.max()) + 1, dtype=np.uint64)
    np.add.at(signature, group, _mixed(word))
    by_signature = np.argsort(signature, kind="stable")
    number = np.empty(len(signature), dtype=np.int64)
    number[by_signature] = np.arange(len(signature))
    codes = number[group]
    order = np.lexsort([codes, *keys])
    return order, codes[order]


def row_words(matrix: FloatArray) -> Words:
    """64 bits for each row of a matrix, which are the same for rows that hold the same numbers.

    >>> first, second, third = row_words(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    words = np.empty(len(matrix), dtype=np.uint64)
    # The same number gives another word in another column.
    column = _mixed(np.arange(matrix.shape[1], dtype=np.uint64))
    for rows in row_blocks(*matrix.shape):
        words[rows] = _mixed((matrix[rows] + 0.0).view(np.uint64) + column).sum(axis=1)
    return words


def _mixed(word: Words) -> Words:
    """Steele, Lea and Flood's mixing of 64 bits (SplitMix64), doi:10.1145/2714064.2660195."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


# Threads wait for each other: a third one saves little time and costs a tenth more processor time.
MAX_THREADS = 2
Key = TypeVar("Key")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, so the controller is made once.
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")


def over_cores(make: Callable[[Key], Result], keys: Iterable[Key]) -> dict[Key, Result]:
    """Results of a function for all keys, computed in threads.

    This saves time because long loops of NumPy release Python's lock. Fits must be called within
    `single_thread`, which applies to the whole process.

    >>> over_cores(len, ["one", "three"])
    {'one': 3, 'three': 5}
    """
    keys = tuple(keys)
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        return dict(zip(keys, pool.map(make, keys), strict=True))
