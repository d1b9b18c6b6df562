"""Cumulative curves: calibration without bins, with the null distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, Locked, arrays_of, thin_indices
from calib.numerics.poisson_binomial import (
    few_scores,
    null_standard_deviation,
    simulated_differences,
    supremum_quantile,
)
from calib.numerics.splines import recalibrated_probability

MAX_POINTS = 900


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeCurve(Locked):
    """The four panels of Figure 1 in Gupta et al., from fractile 0 to 1. Arrays: shape (p,)."""

    fractile: FloatArray  # The share of the total weight with a score up to this point.
    score: FloatArray
    # This is the derivative of a spline that is fitted to the cumulative outcome.
    recalibrated: FloatArray
    # The sums up to the fractile are divided by the total weight.
    cumulative_score: FloatArray
    cumulative_outcome: FloatArray
    # The difference curve of a calibrated model stays within plus or minus this value with
    # probability `confidence_level`.
    null_half_width: float
    confidence_level: float

    @property
    def difference(self) -> FloatArray:
        """Cumulative outcome minus cumulative score."""
        return self.cumulative_outcome - self.cumulative_score

    def frame(self) -> pd.DataFrame:
        """One row per point."""
        return pd.DataFrame(arrays_of(self) | {"difference": self.difference})


def cumulative_curve(cells: ScoreCells, *, confidence_level: float = 0.95) -> CumulativeCurve:
    """Cumulative score and outcome by fractile, at no more than 900 points, with the extremes.

    See Gupta et al. 2021, arXiv:2006.12800 (panels). Arrieta-Ibarra et al. 2022, arXiv:2205.09680
    (null).
    """
    total = cells.total_weight
    difference = (cells.cumulative_positive - cells.cumulative_score) / total
    kept = thin_indices(difference, MAX_POINTS)
    fractile = cells.cumulative_weight / total
    outcome = cells.cumulative_positive / total
    at = np.maximum(kept - 1, 0)
    return CumulativeCurve(
        fractile=fractile[kept],
        score=cells.score[at],
        recalibrated=recalibrated_probability(fractile, outcome, fractile[kept]),
        cumulative_score=cells.cumulative_score[kept] / total,
        cumulative_outcome=outcome[kept],
        null_half_width=_null_half_width(cells, confidence_level),
        confidence_level=confidence_level,
    )


def _null_half_width(cells: ScoreCells, confidence_level: float) -> float:
    """The quantile of the KS error of calibrated scores, as in the KS test."""
    if few_scores(cells):
        largest = np.abs(simulated_differences(cells, random_state=0)).max(axis=0)
        return float(np.quantile(largest, confidence_level))
    return supremum_quantile(confidence_level) * null_standard_deviation(cells)
