"""The last few results by key. Streamlit's own caches cannot hold work that draws its progress."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """At most `most` results; the one used longest ago goes first. Safe to share between sessions.

    Examples
    --------
    >>> recent = Recent[str](most=2)
    >>> [recent.get_or_make(key, lambda: "made " + key) for key in "abca"]
    ['made a', 'made b', 'made c', 'made a']
    >>> len(recent)
    2
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get_or_make(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value under a key, made now if it is not there.

        Two sessions that miss at once both make it; neither waits for the other.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
