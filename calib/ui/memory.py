"""Memory of sessions that were left, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys


def give_back() -> None:
    """Collect sessions that were left, cycles that hold all their rows, and free what they held."""
    gc.collect()
    if sys.platform != "linux":
        return
    # glibc keeps what was freed for itself; other C libraries of Linux have no such function.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
