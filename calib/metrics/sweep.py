"""ECE-sweep: the data choose the number of bins."""

from __future__ import annotations

import numpy as np

from calib.core.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.binned import absolute_gap
from calib.numerics.binning import Strategy, bin_cells

# Separated classes never violate monotony, however many the bins.
MAX_BINS = 1_000
ROUNDING = 1e-12  # of sums over bins


@metric(
    "ECE-sweep",
    meaning="ECE with the largest number of bins that keeps observed frequencies monotone.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Quantile bins that never split ties; at most 1,000.",
    source="Roelofs et al. 2022, arXiv:2012.08668",
    aliases="ECE-sweep, monotonic sweep",
    interval="error",
)
def sweep_calibration_error(cells: ScoreCells) -> float:
    """ECE with the largest number of quantile bins before observed frequencies first decrease.

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Roelofs et al. 2022, arXiv:2012.08668, algorithm 1.

    Examples
    --------
    >>> round(sweep_calibration_error([0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]), 3)
    0.18
    """
    n_bins = increasing_bins(cells)
    return absolute_gap(bin_cells(cells, n_bins, "quantile"))


def increasing_bins(
    cells: ScoreCells, strategy: Strategy = "quantile", most: int = MAX_BINS
) -> int:
    """The largest number of bins before observed frequencies first decrease from bin to bin.

    Parameters
    ----------
    cells : ScoreCells
    strategy : {"quantile", "uniform"}
    most : int
        At least 1; where to stop.

    References
    ----------
    Roelofs et al. 2022, arXiv:2012.08668, algorithm 1.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> increasing_bins(cells), increasing_bins(cells, "uniform")
    (3, 2)
    """
    for n_bins in range(2, min(cells.n_rows, most) + 1):
        observed = bin_cells(cells, n_bins, strategy).observed
        if np.any(np.diff(observed) < -ROUNDING):
            return n_bins - 1
    return max(1, min(cells.n_rows, most))
