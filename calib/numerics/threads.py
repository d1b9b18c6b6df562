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

# More wait for each other: a third saves little time and costs a tenth more of the processor.
MAX_AT_ONCE = 2
Found = TypeVar("Found")


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries costs milliseconds, so it is done once.
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")


def over_cores(make: Callable[[str], Found], keys: Iterable[str]) -> dict[str, Found]:
    """What is made of every key, several at once: NumPy's long loops leave Python to others.

    Not for fits: `single_thread` is for the whole process.

    >>> over_cores(len, ["one", "three"])
    {'one': 3, 'three': 5}
    """
    keys = tuple(keys)
    with ThreadPoolExecutor(min(MAX_AT_ONCE, os.cpu_count() or 1)) as pool:
        return dict(zip(keys, pool.map(make, keys), strict=True))
