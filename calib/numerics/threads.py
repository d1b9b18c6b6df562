"""One thread inside numeric fits, and independent parts of the work side by side.

The fits are small: a BLAS that spreads them over a busy machine makes them ten times slower.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

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
