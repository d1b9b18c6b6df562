"""The reliability diagram: observed frequency against mean score of each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, Locked, arrays_of
from calib.numerics.binning import Bins, Strategy, bin_between, bin_edges
from calib.numerics.intervals import wilson_interval
from calib.numerics.poisson_binomial import calibrated_rate_interval, calibrated_spread
from calib.uncertainty import Replicates

Band = Literal["per_bin", "simultaneous"]
FEW_ROWS = 30
BIN_COLUMNS = ("low_edge", "high_edge", "rows", "weight", "positive", "mean_score", "observed")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class ReliabilityCurve(Locked):
    """The bins of a reliability diagram that have rows, sorted by score. Arrays: shape (b,).

    Bins are closed on the right, and the first bin is closed on both sides. `positive` is the
    positive weight of a bin, and `n_empty` the number of bins without rows. `band` says whether the
    level of the band applies to each bin, or to all bins together.
    """

    low_edge: FloatArray
    high_edge: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    # The bounds are those of the Wilson interval of `observed`.
    low: FloatArray
    high: FloatArray
    # The consistency band is the range of `observed` if the scores are calibrated.
    band_low: FloatArray
    band_high: FloatArray
    n_empty: int
    strategy: str
    confidence_level: float
    band: Band = "per_bin"

    @property
    def gap(self) -> FloatArray:
        """Observed minus predicted."""
        return self.observed - self.mean_score

    @property
    def few(self) -> BoolArray:
        """Whether a bin has fewer than 30 rows, so that its dot is unreliable."""
        return self.rows < FEW_ROWS

    @property
    def worst(self) -> int:
        """Position of the bin with the largest gap, among those of at least 30 rows if any."""
        return int(np.where(self.few & ~self.few.all(), -1.0, np.abs(self.gap)).argmax())

    def frame(self) -> pd.DataFrame:
        """One row per bin."""
        return pd.DataFrame(arrays_of(self)).astype({"rows": np.int64})


def reliability_curve(
    cells: ScoreCells,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    confidence_level: float = 0.95,
    clusters: Replicates | None = None,
    band: Band = "per_bin",
    edges: FloatArray | None = None,
) -> ReliabilityCurve:
    """Compute the reliability diagram of some cells.

    If `edges` are given, they are those of the bins, and the strategy is called "range".

    The level is that of the Wilson intervals and of the consistency band. `clusters` are resamples
    of the clusters of the rows; intervals and band then use the number of rows divided by the
    design effect. The level of the band applies to each dot, or to all dots at once. With
    clusters, the simultaneous band uses the quantile of the largest standardised deviation in
    resamples. See Wilson 1927 (interval); Bröcker and Smith 2007, doi:10.1175/WAF993.1 (consistency
    band).
    """
    bins = bin_between(cells, bin_edges(cells, n_bins, strategy) if edges is None else edges)
    effect = np.ones(len(bins)) if clusters is None else clusters.design_effect(bins)
    low, high = wilson_interval(bins.observed, bins.effective_rows / effect, confidence_level)
    if clusters is None:
        band_low, band_high = calibrated_rate_interval(
            cells, bins, confidence_level, simultaneous=band == "simultaneous"
        )
    elif band == "simultaneous":
        band_low, band_high = _simultaneous_by_cluster(
            cells, bins, effect, confidence_level, clusters
        )
    else:
        alone = calibrated_rate_interval(cells, bins, confidence_level)
        band_low, band_high = _widened(bins.mean_score, alone, np.sqrt(effect))
    return ReliabilityCurve(
        **{name: getattr(bins, name) for name in BIN_COLUMNS},
        n_empty=bins.n_empty,
        low=low,
        high=high,
        band_low=band_low,
        band_high=band_high,
        strategy=strategy if edges is None else "range",
        confidence_level=confidence_level,
        band=band,
    )


def _simultaneous_by_cluster(
    cells: ScoreCells, bins: Bins, effect: FloatArray, confidence_level: float, clusters: Replicates
) -> tuple[FloatArray, FloatArray]:
    """Simultaneous band by cluster: bins that share clusters are not independent."""
    spread = calibrated_spread(cells, bins) * np.sqrt(effect)
    half = spread * np.quantile(clusters.largest_deviation(bins, spread), confidence_level)
    return np.maximum(bins.mean_score - half, 0.0), np.minimum(bins.mean_score + half, 1.0)


def _widened(
    middle: FloatArray, bounds: tuple[FloatArray, FloatArray], factor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    low, high = (middle + factor * (bound - middle) for bound in bounds)
    # If almost no positives are expected, both bounds may be 0, which is below the mean score.
    return np.clip(low, 0.0, bounds[0]), np.clip(high, bounds[1], 1.0)
