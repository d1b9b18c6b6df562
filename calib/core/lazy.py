"""LazyMapping: a mapping whose values are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class LazyMapping(Mapping[str, Value]):
    """Values by key. Each value is computed when it is first read, and then kept.

    Parameters
    ----------
    keys : iterable of str
        Keys in order.
    make : callable
        Computes the value of a key. It is called once for each key that is read.

    Examples
    --------
    >>> squares = LazyMapping(["one", "three"], make=len)
    >>> list(squares), squares["three"]
    (['one', 'three'], 5)
    """

    def __init__(self, keys: Iterable[str], make: Callable[[str], Value]) -> None:
        self._keys = dict.fromkeys(keys)
        self._make = make
        self._made: dict[str, Value] = {}

    def __getitem__(self, key: str) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
