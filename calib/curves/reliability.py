"""The reliability diagram: observed frequency against mean score, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from calib.cells import ScoreCells
from calib.numerics.arrays import FloatArray, lock
from calib.numerics.binning import bin_edges, bin_starts
from calib.numerics.intervals import wilson_interval
from calib.numerics.poisson_binomial import calibrated_rate_interval

FEW_ROWS = 30


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """Occupied bins of a reliability diagram, in increasing order of score; arrays of shape (b,).

    Attributes
    ----------
    low_edge, high_edge : ndarray
        Bounds of each bin: right-closed, the first bin closed on both sides.
    rows, weight, positive : ndarray
        Rows, total weight and positive weight of each bin.
    mean_score, observed : ndarray
        Mean predicted probability and observed frequency.
    low, high : ndarray
        Wilson interval of `observed`.
    band_low, band_high : ndarray
        Consistency band: where `observed` falls if the scores are calibrated.
    n_empty : int
        Bins without rows, which are left out.
    strategy : str
    confidence_level : float
    """

    low_edge: FloatArray
    high_edge: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    n_empty: int
    strategy: str
    confidence_level: float

    def __post_init__(self) -> None:
        lock(self)

    @property
    def gap(self) -> FloatArray:
        """Observed minus predicted."""
        return self.observed - self.mean_score

    @property
    def few(self) -> FloatArray:
        """Whether a bin has fewer than 30 rows, too few to trust its dot."""
        return self.rows < FEW_ROWS

    def frame(self) -> pd.DataFrame:
        """One row a bin."""
        return pd.DataFrame(
            {
                "low_edge": self.low_edge,
                "high_edge": self.high_edge,
                "rows": self.rows.astype(np.int64),
                "weight": self.weight,
                "positive": self.positive,
                "mean_score": self.mean_score,
                "observed": self.observed,
                "low": self.low,
                "high": self.high,
                "band_low": self.band_low,
                "band_high": self.band_high,
            }
        )


def reliability_curve(
    cells: ScoreCells,
    *,
    n_bins: int = 15,
    strategy: Literal["quantile", "uniform"] = "quantile",
    confidence_level: float = 0.95,
) -> ReliabilityCurve:
    """Bin the cells and count.

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
    strategy : {"quantile", "uniform"}
    confidence_level : float
        Of the Wilson intervals and of the consistency band.

    Returns
    -------
    ReliabilityCurve

    References
    ----------
    Wilson 1927 (interval); Bröcker and Smith 2007, doi:10.1175/WAF993.1 (consistency band).

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8])
    >>> curve = reliability_curve(cells, n_bins=2, strategy="uniform")
    >>> curve.mean_score, curve.observed
    (array([0.2, 0.7]), array([0., 1.]))
    """
    edges = bin_edges(cells, n_bins, strategy)
    starts = bin_starts(cells.score, edges)
    rows = np.diff(cells.cumulative_rows[starts])
    kept = rows > 0
    first, last = starts[:-1][kept], starts[1:][kept]
    weight = cells.cumulative_weight[last] - cells.cumulative_weight[first]
    positive = cells.cumulative_positive[last] - cells.cumulative_positive[first]
    score = cells.cumulative_score[last] - cells.cumulative_score[first]
    squares = cells.cumulative_weight_sq[last] - cells.cumulative_weight_sq[first]
    # Differences of prefix sums carry their rounding: a rate may leave [0, 1] by 1e-16.
    observed = np.clip(positive / weight, 0.0, 1.0)
    low, high = wilson_interval(observed, weight**2 / squares, confidence_level)
    band_low, band_high = calibrated_rate_interval(cells, first, last, confidence_level)
    return ReliabilityCurve(
        low_edge=edges[:-1][kept],
        high_edge=edges[1:][kept],
        rows=rows[kept],
        weight=weight,
        positive=positive,
        mean_score=np.clip(score / weight, 0.0, 1.0),
        observed=observed,
        low=low,
        high=high,
        band_low=band_low,
        band_high=band_high,
        n_empty=int((~kept).sum()),
        strategy=strategy,
        confidence_level=confidence_level,
    )
