"""Observed frequency as a function of the score, without bins: what CORP and smooth curves are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.binning import bin_cells
from calib.uncertainty import Replicates

RateKind = Literal["corp", "smooth"]
RATE_KINDS: tuple[RateKind, ...] = get_args(RateKind)
# Stretches of scores, of equal counts, whose rows are taken to vary alike.
STRETCHES = 10


@dataclass(frozen=True, slots=True, eq=False)
class RateCurve(Locked):
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


def local_design_effect(
    cells: ScoreCells, clusters: Replicates | None, score: FloatArray
) -> FloatArray:
    """How many times as much as independent ones the rows near each score vary.

    Parameters
    ----------
    cells : ScoreCells
    clusters : Replicates or None
        Resamples of the clusters of the same rows; None where rows are independent.
    score : ndarray of shape (p,)

    Returns
    -------
    ndarray of shape (p,)
        That of the tenth of the rows that the score lies in, at least 1.
    """
    if clusters is None:
        return np.ones(len(score))
    stretches = bin_cells(cells, STRETCHES, "quantile")
    return clusters.design_effect(stretches)[np.searchsorted(stretches.high_edge[:-1], score)]


def whole_design_effect(cells: ScoreCells, clusters: Replicates | None) -> float:
    """The same of all rows together: a curve that is stiff joins them over wide ranges."""
    if clusters is None:
        return 1.0
    gap, s = clusters.gap[-1], cells.score
    square = cells.positive_sq @ (1.0 - 2.0 * s) + cells.weight_sq @ (s * s)
    alone = square - gap[0] ** 2 * cells.total_weight_sq
    if alone <= 0.0:
        return 1.0
    return max(1.0, float(gap[1:].var() * cells.total_weight**2 / alone))
