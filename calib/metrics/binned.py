"""Binned calibration errors: the gap between observed frequency and mean score, bin by bin."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from calib.core.cells import ScoreCells
from calib.metrics.base import metric
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Bins, Strategy, bin_cells

Norm = Literal["l1", "l2", "max"]


@metric(
    "ECE",
    meaning="Mean gap between observed frequency and mean score over the bins.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Right-closed bins, the first closed on both sides; empty bins are skipped.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="ECE; maximum calibration error (MCE), root mean squared calibration error",
    interval="error",
)
def expected_calibration_error(
    cells: ScoreCells,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    norm: Norm = "l1",
    debiased: bool = False,
) -> float:
    """Binned calibration error.

    With the gap g_b = observed frequency - mean score of bin b, of weight W_b out of W:
    "l1" is the sum of (W_b/W) abs(g_b) (ECE), "l2" the root of the sum of (W_b/W) g_b^2 (RMSCE),
    "max" the largest abs(g_b) (MCE).

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
        At least 1.
    strategy : {"uniform", "quantile", "fd"}
        Equal widths, equal counts (ties are never split), or Freedman and Diaconis' widths, which
        ignore `n_bins`.
    norm : {"l1", "l2", "max"}
    debiased : bool
        Subtract what sampling noise adds to each squared gap, as Kumar et al. do; for "l2" only.
        Bins of one row contribute nothing then.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        If a parameter is not allowed, or `debiased` is asked of another norm than "l2".

    References
    ----------
    Guo et al. 2017, arXiv:1706.04599; Kumar, Liang and Ma 2019, arXiv:1909.10155 (debiased).

    Examples
    --------
    >>> y, s = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(expected_calibration_error(y, s, n_bins=2), 3)
    0.14
    >>> round(expected_calibration_error(y, s, n_bins=2, norm="max"), 3)
    0.2
    """
    if norm not in ("l1", "l2", "max"):
        raise ValueError(f"norm must be one of l1, l2, max, got {norm!r}.")
    if debiased and norm != "l2":
        raise ValueError(f"debiased needs norm='l2', got norm={norm!r}.")
    bins = bin_cells(cells, n_bins, strategy)
    if norm == "l1":
        return absolute_gap(bins)
    if norm == "max":
        return float(np.abs(bins.gap).max())
    rows = bins.effective_rows / cells.design_effect if debiased else None
    return math.sqrt(max(0.0, _squared_gap(bins, rows)))


def absolute_gap(bins: Bins) -> float:
    """Weighted mean of the absolute gaps."""
    return float(bins.weight @ np.abs(bins.gap) / bins.weight.sum())


def _squared_gap(bins: Bins, rows: FloatArray | None) -> float:
    """Mean squared gap; without the noise of so many rows in each bin, if they are given."""
    squares = np.square(bins.gap)
    if rows is not None:
        spare = rows - 1.0
        # One row, or one of several that carries all the weight, tells nothing of its own noise.
        several = spare > 1e-9
        noise = bins.observed * (1.0 - bins.observed) / np.where(several, spare, 1.0)
        squares = np.where(several, squares - noise, 0.0)
    return float(bins.weight @ squares / bins.weight.sum())
