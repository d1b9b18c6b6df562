"""Costs: the cost of wrong decisions, or the share of rows that can be flagged."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of wrong decisions, or the share of rows that can be flagged.

    Parameters
    ----------
    false_positive, false_negative : float
        Cost of flagging a negative row, and cost of not flagging a positive row. They must be
        positive and in the same unit.
    capacity : float or None
        Share of the rows that are flagged, in (0, 1]. The rows with the highest scores are flagged.
        To flag k of n rows, give k / n. None: the threshold follows from the costs.

    Raises
    ------
    ValueError
        If a cost is not positive and finite, or the capacity is outside (0, 1].

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
        """The optimal threshold for calibrated scores: c_fp / (c_fp + c_fn).

        A row is flagged if its score is at least the threshold.

        References
        ----------
        Elkan 2001, "The foundations of cost-sensitive learning".
        """
        return self.false_positive / (self.false_positive + self.false_negative)
