"""Sensitivity of ECE to the number of bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.numerics.binning import Strategy, bin_between, bin_edges
from calib.uncertainty import Replicates

MIN_BINS, MAX_BINS = 5, 50


@dataclass(frozen=True, slots=True, eq=False)
class SensitivityCurve(Locked):
    """ECE by number of bins, with one strategy and with its interval. Arrays: shape (m,).

    `noise_floor` is the mean ECE of calibrated scores, and `noise` its quantile at the level.
    """

    strategy: Strategy
    n_bins: IntArray
    ece: FloatArray
    low: FloatArray
    high: FloatArray
    noise_floor: FloatArray
    noise: FloatArray
    confidence_level: float

    @property
    def miscalibrated(self) -> BoolArray:
        """Whether ECE is larger than expected by chance: its interval excludes 0."""
        return self.ece > self.noise

    def frame(self) -> pd.DataFrame:
        """One row per number of bins."""
        columns = {"strategy": self.strategy, **arrays_of(self)}
        return pd.DataFrame(columns | {"miscalibrated": self.miscalibrated})


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Sensitivity:
    """ECE over the number of bins, for both strategies."""

    uniform: SensitivityCurve
    quantile: SensitivityCurve

    @property
    def share(self) -> float:
        """Share of all binnings that find miscalibration."""
        return float(
            np.mean(np.concatenate([self.uniform.miscalibrated, self.quantile.miscalibrated]))
        )

    @property
    def flips(self) -> bool:
        """Whether some binnings find miscalibration and others do not."""
        return 0.0 < self.share < 1.0

    def frame(self) -> pd.DataFrame:
        """One row per strategy and number of bins."""
        return pd.concat([self.uniform.frame(), self.quantile.frame()], ignore_index=True)


def ece_sensitivity(
    cells: ScoreCells,
    replicates: Replicates,
    *,
    fewest: int = MIN_BINS,
    most: int = MAX_BINS,
    confidence_level: float = 0.95,
) -> Sensitivity:
    """ECE with its interval from `fewest` to `most` bins, for uniform and quantile bins.

    The replicates are those of the same rows: ``analysis.held_out.replicates[key]``. Raises
    ValueError if the range of bins is empty. See Nixon et al. 2019, arXiv:1904.01685 (how ECE
    varies with its bins).
    """
    if not 1 <= fewest <= most:
        raise ValueError(f"bins must fulfil 1 <= fewest <= most, got {fewest} and {most}.")

    def curve(strategy: Strategy) -> SensitivityCurve:
        counts = np.arange(fewest, most + 1)
        rows = [_row(cells, replicates, int(n), strategy, confidence_level) for n in counts]
        ece, low, high, floor, noise = np.array(rows).T
        return SensitivityCurve(strategy, counts, ece, low, high, floor, noise, confidence_level)

    return Sensitivity(curve("uniform"), curve("quantile"))


def _row(
    cells: ScoreCells, replicates: Replicates, n_bins: int, strategy: Strategy, level: float
) -> tuple[float, float, float, float, float]:
    edges = bin_edges(cells, n_bins, strategy)
    bins, errors = bin_between(cells, edges), replicates.ece(edges, cells)
    value = float(bins.weight @ np.abs(bins.gap)) / cells.total_weight
    estimate = errors.estimate(value, level)
    noise = float(np.quantile(errors.noise, level))
    return value, estimate.low, estimate.high, estimate.noise_floor, noise
