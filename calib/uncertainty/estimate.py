"""A number and its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; the bounds are NaN where none is computed.

    Examples
    --------
    >>> Estimate(0.3, 0.2, 0.4).columns("auc")
    {'auc': 0.3, 'auc_low': 0.2, 'auc_high': 0.4}
    >>> Estimate(0.3).columns("auc")
    {'auc': 0.3}
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def columns(self, name: str) -> dict[str, float]:
        """Columns of a table row: the number, and its bounds where there are some."""
        if self.low != self.low:
            return {name: self.value}
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
