"""Numbers that an operator sets by variables of the environment."""

from __future__ import annotations

import os


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
