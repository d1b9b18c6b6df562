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
