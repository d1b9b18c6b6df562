"""Observed frequency as a function of the score, without bins: what CORP and smooth curves are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from calib.numerics.arrays import FloatArray, lock

RateKind = Literal["corp", "smooth"]
RATE_KINDS: tuple[RateKind, ...] = get_args(RateKind)


@dataclass(frozen=True, slots=True, eq=False)
class RateCurve:
    """A curve of observed frequency over the score, with its pointwise band; arrays of shape (p,).

    Attributes
    ----------
    kind : {"corp", "smooth"}
    score : ndarray
        Not decreasing; straight lines between points.
    observed : ndarray
        Estimated frequency of the positive class at the score.
    low, high : ndarray
        Bounds that hold the true frequency at the score with probability `confidence_level`, one
        score at a time.
    confidence_level : float
    """

    kind: RateKind
    score: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    confidence_level: float

    def __post_init__(self) -> None:
        lock(self)

    def frame(self) -> pd.DataFrame:
        """One row a point."""
        return pd.DataFrame(
            {
                "score": self.score,
                "observed": self.observed,
                "low": self.low,
                "high": self.high,
            }
        )


def check_level(confidence_level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must fulfil 0 < level < 1, got {confidence_level}.")
