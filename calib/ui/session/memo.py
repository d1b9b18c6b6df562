"""Memo: results kept by the function that made them and its inputs, shared by all sessions.

Streamlit's own caches cannot hold work that draws its progress.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from itertools import count
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet, WeakValueDictionary, ref

import numpy as np
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionArray

from calib.data.base import Data
from calib.ui.session.environment import budget_gb, budget_of_process, resident_bytes, trim
from calib.ui.session.turns import HEAVY, Computation

P = ParamSpec("P")
T = TypeVar("T")
# A result takes at least this many bytes, so that a million numbers take memory too.
MIN_RESULT_BYTES = 2**12
# Results shrink to this share of their limit, so that it is not reached again at once.
SHRUNK_SHARE = 0.9
# If the process holds too much, results of this time stay: a page that is being drawn would
# otherwise compute them again and again.
KEPT_SECONDS = 60.0


class WithProgress(partial[T]):
    """A function with bound inputs that do not change its result, such as a progress bar."""


class KeyedCall(partial[T]):
    """A bound call. Its result is kept under the inputs that are given beside it."""


class ArrayRef(ref[Any]):
    """A weak reference to a read-only array. It counts by its identity, because it has no hash."""

    _hash: int

    def __new__(cls, array: NDArray[Any], gone: Callable[[object], None]) -> ArrayRef:
        made = super().__new__(cls, array, gone)
        made._hash = hash(id(array))
        return made

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ArrayRef) and self() is other() is not None)


class Result:
    """A result, and the bytes of every buffer that it holds."""

    def __init__(self, value: Any, results: Results) -> None:
        self.value = value
        self.buffers = {id(self): MIN_RESULT_BYTES, **dict(_buffers(value))}
        self.used = 0  # The number of the last use.
        self.time = 0.0  # The time of the last use.
        self._freed = results.freed

    def __del__(self) -> None:
        # This runs in any thread at any time, so it must not wait for a lock.
        self._freed.append(self.buffers)


class Results:
    """The results that the memos hold, and those that are being computed.

    If they take more than `limit` bytes, or the process holds more than `limit_of_process`, those
    that were used longest ago go first. Memory that several results have in common counts once.
    """

    def __init__(self, limit: float, limit_of_process: float = math.inf) -> None:
        self.limit = limit
        self.limit_of_process = limit_of_process
        self.lock = threading.Lock()
        self.memos: WeakSet[Memo] = WeakSet()
        # Only memos keep a result, so that it is freed when the last session that used it ends.
        self.by_key: WeakValueDictionary[Hashable, Result] = WeakValueDictionary()
        self.computing: dict[Hashable, Computation] = {}
        self.uses = count()
        self.n_bytes = 0
        self._holders: Counter[int] = Counter()  # The number of results that hold a buffer.
        self.freed: deque[Mapping[int, int]] = deque()  # Buffers of results that were freed.
        self.gone = 0  # The number of inputs that were freed.

    def use(self, key: Hashable) -> Result | None:
        result = self.by_key.get(key)
        if result is not None:
            self._used(result)
        return result

    def _used(self, result: Result) -> None:
        result.used, result.time = next(self.uses), time.monotonic()

    def add(self, key: Hashable, value: Any) -> Result:
        result = self.by_key[key] = Result(value, self)
        self._used(result)
        # A new buffer can have the place of one that was freed.
        self._count_freed()
        for buffer, size in result.buffers.items():
            self.n_bytes += 0 if self._holders[buffer] else size
            self._holders[buffer] += 1
        if self.n_bytes > self.limit:
            self._shrink(SHRUNK_SHARE * self.limit, result.used)
        # The sizes of results are estimates, and results are not all that a process holds.
        if (excess := resident_bytes() - self.limit_of_process) > 0:
            before = time.monotonic() - KEPT_SECONDS
            old = [one.used for one in self.by_key.values() if one.time > before]
            held = self.n_bytes
            self._shrink(held - excess, min(old, default=result.used))
            if self.n_bytes < held:
                trim()
        return result

    def _count_freed(self) -> None:
        while self.freed:
            for buffer, size in self.freed.popleft().items():
                self._holders[buffer] -= 1
                if not self._holders[buffer]:
                    del self._holders[buffer]
                    self.n_bytes -= size

    def _shrink(self, n_bytes: float, first_kept: int) -> None:
        """Free results until they take this many bytes, or only those of later uses are left."""
        # The list must not hold the results, because the loop frees them.
        by_use = sorted((result.used, key) for key, result in self.by_key.items())
        for used, key in by_use:
            # The page shows the newest result, however large it is.
            if self.n_bytes <= n_bytes or used >= first_kept:
                return
            for memo in self.memos:
                memo.held.pop(key, None)
            self._count_freed()

    def input_gone(self, _reference: object) -> None:
        """Note that an input was freed: what was made of it can go too."""
        self.gone += 1


@cache
def shared_results() -> Results:
    """The results of all sessions of this server."""
    return Results(budget_gb("CALIB_RESULTS_GB", 2.0) * 2**30, budget_of_process())


class Memo:
    """The results that one session uses. Equal inputs give the same result in all sessions.

    Rows count by their fingerprint and names, other frozen results and their read-only arrays by
    their identity; these are not kept alive, and what was made of them goes with them. All else
    counts by its value.

    Pages give a function of the library itself with its inputs. A function that is made anew in
    each run, such as a lambda, would never give what was kept.

    While one session computes a result, others that need it wait. If it fails or is cancelled, the
    next one computes it.
    """

    def __init__(self, results: Results | None = None) -> None:
        self.results = results or shared_results()
        self.held: dict[Hashable, Result] = {}
        self._gone = 0
        self.results.memos.add(self)

    def __len__(self) -> int:
        return len(self.held)

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._kept_or_computed(nullcontext(), function, args, kwargs)

    def heavy(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, computed by at most two sessions at the same time."""
        return self._kept_or_computed(HEAVY.turn(), function, args, kwargs)

    def private(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for this session alone: a source may answer another session differently."""
        return self._kept_or_computed(nullcontext(), function, args, kwargs, self)

    def _kept_or_computed(
        self,
        turn: AbstractContextManager[Any],
        function: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        of: Memo | None = None,
    ) -> T:
        made_by = function.func if isinstance(function, (WithProgress, KeyedCall)) else function
        key = (made_by, _key((*args, kwargs, of), self.results.input_gone))
        progress = function.keywords.get("progress") if isinstance(function, WithProgress) else None
        while True:
            with self.results.lock:
                if (result := self.results.use(key)) is not None:
                    self.held[key] = result
                    kept: T = result.value
                    return kept
                other = self.results.computing.get(key)
                # Whoever waits here keeps the turn that the other computation may be waiting for,
                # so both would wait forever.
                if other is None or HEAVY.is_held:
                    mine = Computation(progress)
                    self.results.computing.setdefault(key, mine)
                    break
            other.wait(progress)
        if isinstance(function, WithProgress) and progress is not None:
            function = WithProgress(function, progress=mine.report)
        try:
            with turn:
                value = function() if isinstance(function, KeyedCall) else function(*args, **kwargs)
            self._keep(key, value)
        finally:
            with self.results.lock:
                if self.results.computing.get(key) is mine:
                    del self.results.computing[key]
            mine.end()
        return value

    def _keep(self, key: Hashable, value: Any) -> None:
        with self.results.lock:
            if self._gone != self.results.gone:
                self._gone = self.results.gone
                for one in [one for one in self.held if any(r() is None for r in _refs(one))]:
                    del self.held[one]
            self.held[key] = self.results.add(key, value)


def _key(value: Any, gone: Callable[[object], None]) -> Hashable:
    """`gone` is called when an input is freed that is compared by identity."""
    if isinstance(value, Data):
        return value.identity
    if isinstance(value, Mapping):
        return tuple((name, _key(inner, gone)) for name, inner in value.items())
    if isinstance(value, tuple):
        return tuple(_key(inner, gone) for inner in value)
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return ArrayRef(value, gone)
    # Objects without __eq__ are compared by identity, so the key has a weak reference to them.
    hash_function: Any = type(value).__hash__
    return ref(value, gone) if hash_function is object.__hash__ and value is not None else value


def _refs(key: Any) -> Iterator[ref[Any]]:
    if isinstance(key, ref):
        yield key
    elif isinstance(key, tuple):
        for inner in key:
            yield from _refs(inner)


def _buffers(value: Any) -> Iterator[tuple[int, int]]:
    """Identities and bytes of the arrays and texts that a result holds.

    What a result computes when it is first read is not counted.
    """
    seen, left = set[int](), [value]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, (type, ModuleType, ref)):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if one.base is None:
                yield id(one), one.nbytes
            else:
                left.append(one.base)
        elif isinstance(one, ExtensionArray):
            yield id(one), one.nbytes
        elif isinstance(one, (bytes, bytearray, str)):
            yield id(one), sys.getsizeof(one)
        elif isinstance(one, FunctionType):
            # A function also refers to all that its module contains.
            left += one.__closure__ or ()
        else:
            left += gc.get_referents(one)
