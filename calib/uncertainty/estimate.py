"""A number and its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; the bounds are NaN where none is computed."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
