"""Memo: results kept by the function that made them and its inputs, the last few of each function.

Streamlit's own caches cannot hold work that draws its progress.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import ref

from calib.data.base import Data
from calib.ui.session.turns import HEAVY

P = ParamSpec("P")
T = TypeVar("T")
# How many results are kept of functions whose results grow with the rows.
_KEPT: dict[Callable[..., Any], int] = {}


def keep(limit: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a function with large results: a memo keeps at most this number of them."""

    def mark(function: Callable[P, T]) -> Callable[P, T]:
        _KEPT[function] = limit
        return function

    return mark


class Unkeyed(partial[T]):
    """A function with bound inputs that do not change its result, such as a progress bar."""


class Keyed(partial[T]):
    """A bound call. Its result is kept under the inputs that are given beside it."""


class Memo:
    """The last few results of each function. Safe to share between sessions.

    Rows count by their fingerprint and names, other frozen results by their identity; these are not
    kept alive, and what was made of them goes with them. All else counts by its value.

    A memo keeps `limit` results of one function, or as many as `limits` or `keep` says; the one
    used longest ago goes first.
    """

    def __init__(
        self, limit: int = 32, limits: Mapping[Callable[..., Any], int] | None = None
    ) -> None:
        self._limit, self._limits = limit, dict(limits or {})
        self._values: dict[Any, OrderedDict[Hashable, Any]] = defaultdict(OrderedDict)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._values.values()))

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._kept_or_computed(nullcontext(), function, args, kwargs)

    def heavy(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, computed by at most two sessions at the same time."""
        return self._kept_or_computed(HEAVY.turn(), function, args, kwargs)

    def _kept_or_computed(
        self,
        turn: AbstractContextManager[Any],
        function: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> T:
        made_by = function.func if isinstance(function, (Unkeyed, Keyed)) else function
        key = _key((*args, kwargs))
        with self._lock:
            values = self._values[made_by]
            if key in values:
                values.move_to_end(key)
                kept: T = values[key]
                return kept
        # If two sessions miss at the same time, both compute the result, and neither waits.
        with turn:
            value = function() if isinstance(function, Keyed) else function(*args, **kwargs)
        with self._lock:
            self._forget()
            values[key] = value
            while len(values) > self._limits.get(made_by, _KEPT.get(made_by, self._limit)):
                values.popitem(last=False)
        return value

    def _forget(self) -> None:
        for values in self._values.values():
            gone = [key for key in values if any(reference() is None for reference in _refs(key))]
            for key in gone:
                del values[key]


def _key(value: Any) -> Hashable:
    if isinstance(value, Data):
        return value.identity
    if isinstance(value, Mapping):
        return tuple((name, _key(inner)) for name, inner in value.items())
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    # Objects without __eq__ are compared by identity, so the key has a weak reference to them.
    hash_function: Any = type(value).__hash__
    return ref(value) if hash_function is object.__hash__ and value is not None else value


def _refs(key: Any) -> Iterator[ref[Any]]:
    if isinstance(key, ref):
        yield key
    elif isinstance(key, tuple):
        for inner in key:
            yield from _refs(inner)
