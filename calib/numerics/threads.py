"""One thread inside numeric fits.

The fits are small: a BLAS that spreads them over a busy machine makes them ten times slower.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries costs milliseconds, so it is done once.
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
