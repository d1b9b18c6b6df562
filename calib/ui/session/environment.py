"""Numbers that an operator sets by variables of the environment, and the memory of the process."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
from pathlib import Path


def amount(variable: str, unit: str, usual: float | None = None) -> float | None:
    """The value of a variable, or the usual one if it is not set."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ValueError(f"{variable} must be a number of {unit} above 0, got {text!r}.")
    return value


def budget_gb(variable: str, usual: float) -> float:
    """Gigabytes that something may take, by a variable of the operator."""
    return amount(variable, "gigabytes", usual) or usual


def budget_of_process() -> float:
    """Bytes of memory above which this process frees what sessions that were left hold."""
    return budget_gb("CALIB_MEMORY_GB", 4.0) * 2**30


# Parameters of mallopt. Two heaps are shared, because a heap per thread would keep freed memory.
M_ARENA_MAX, N_HEAPS = -8, 2
STATUS = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Bytes of memory that this process holds now, or 0 where the system does not say."""
    try:
        n_pages = int(STATUS.read_text().split()[1])
    except OSError:
        return 0
    return n_pages * mmap.PAGESIZE


def give_back() -> None:
    """Collect sessions that were left, which hold all their rows in cycles, and free them."""
    gc.collect()
    trim()


def trim() -> None:
    """Free memory that an analysis needed only while it ran."""
    _of_glibc("malloc_trim", 0)


def share_heaps() -> None:
    """Let all threads take memory from the same few heaps: a session then holds a third less.

    To be called early: heaps that threads have already stay theirs.
    """
    _of_glibc("mallopt", M_ARENA_MAX, N_HEAPS)


def _of_glibc(name: str, *arguments: int) -> None:
    # The C library glibc keeps freed memory for itself. Others on Linux have no such functions.
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if function is not None:
        function(*arguments)
