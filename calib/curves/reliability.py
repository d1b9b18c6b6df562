"""The curves of reliability and cumulative diagrams, and the tests of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, Locked, arrays_of, thin_indices
from calib.numerics.binning import Bins, Strategy, bin_between, bin_edges
from calib.numerics.intervals import binomial_p_value, holm, wilson_interval
from calib.numerics.poisson_binomial import (
    calibrated_rate_interval,
    calibrated_spread,
    few_scores,
    null_standard_deviation,
    simulated_differences,
    supremum_quantile,
)
from calib.numerics.splines import recalibrated_probability
from calib.uncertainty import Replicates

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


@dataclass(frozen=True, slots=True, eq=False)
class BinTests(Locked):
    """Expected and observed positives of each bin, and a test whether they agree.

    Arrays have shape (b + 1,): one entry per bin with rows, and the last one is all rows.

    Attributes
    ----------
    low_edge, high_edge, rows, weight, positive, mean_score, observed : ndarray
        As in ReliabilityCurve. With weights, `positive` and `expected` are sums of weights.
    expected : ndarray
        Sum of the scores of the rows.
    ratio : ndarray
        Observed positives divided by expected ones; NaN if none are expected.
    p_value : ndarray
        Two-sided exact binomial test: if every row of the bin were positive with the probability of
        the bin's mean score, a number of positives at least as far in either tail would have this
        probability. It is conservative if the scores of a bin differ much, as those of all rows
        do. Rows with weights or clusters count with their effective number.
    p_adjusted : ndarray
        Adjusted for the number of bins (Holm 1979). All rows are one more test, which is not
        adjusted.
    """

    low_edge: FloatArray
    high_edge: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    expected: FloatArray
    ratio: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per bin, and a last one of all rows."""
        return pd.DataFrame(arrays_of(self)).astype({"rows": np.int64})


def bin_tests(
    cells: ScoreCells, curve: ReliabilityCurve, clusters: Replicates | None = None
) -> BinTests:
    """Compare the positives of each bin of a curve of these cells with those that it expects.

    `clusters` are resamples of the clusters of the rows. They reduce the effective number of rows.

    References
    ----------
    Basel Committee 2005, Working Paper 14 (binomial test of rating grades). Korn and Graubard 1998,
    Survey Methodology 24 (exact binomial tails with the effective number of rows).

    Examples
    --------
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1] * 50, [0.2, 0.4] * 50)
    >>> tests = bin_tests(cells, reliability_curve(cells, n_bins=2))
    >>> tests.frame()[["rows", "expected", "positive", "ratio"]]
       rows  expected  positive     ratio
    0    50      10.0       0.0  0.000000
    1    50      20.0      50.0  2.500000
    2   100      30.0      50.0  1.666667
    """
    edges = np.union1d(curve.low_edge, curve.high_edge)
    parts = (bin_between(cells, edges), bin_between(cells, np.array([0.0, 1.0])))
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in BIN_COLUMNS
    }
    expected = columns["weight"] * columns["mean_score"]
    rows = np.concatenate([_effective_rows(part, clusters) for part in parts])
    p_value = binomial_p_value(columns["observed"], rows, columns["mean_score"])
    return BinTests(
        **columns,
        expected=expected,
        ratio=np.divide(
            columns["positive"], expected, out=np.full(len(rows), np.nan), where=expected > 0.0
        ),
        p_value=p_value,
        p_adjusted=np.append(holm(p_value[:-1]), p_value[-1:]),
    )


def _effective_rows(bins: Bins, clusters: Replicates | None) -> FloatArray:
    effect = 1.0 if clusters is None else clusters.design_effect(bins)
    return bins.effective_rows / effect
