"""Costs: what a wrong decision costs, or how many rows can be acted on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """What a wrong decision costs, or how many rows can be acted on.

    Parameters
    ----------
    false_positive, false_negative : float
        Cost of flagging a negative row, and of not flagging a positive one; positive, in any unit.
    capacity : float or None
        Share of the rows that are flagged, those of the highest scores, in (0, 1]. k of n rows are
        a capacity of k / n. None: the costs decide.

    Raises
    ------
    ValueError
        If a cost is not positive and finite, or the capacity is out of its range.

    Examples
    --------
    >>> Costs(false_positive=1, false_negative=4).threshold
    0.2
    """

    false_positive: float = 1.0
    false_negative: float = 1.0
    capacity: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}.")
        if self.capacity is not None and not 0.0 < self.capacity <= 1.0:
            raise ValueError(f"capacity must fulfil 0 < capacity <= 1, got {self.capacity}.")

    @property
    def threshold(self) -> float:
        """The score from which flagging costs less, if scores are calibrated: c_fp / (c_fp + c_fn).

        References
        ----------
        Elkan 2001, "The foundations of cost-sensitive learning".
        """
        return self.false_positive / (self.false_positive + self.false_negative)
