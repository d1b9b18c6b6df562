"""ECE-sweep: the data choose the number of bins."""

from __future__ import annotations

import numpy as np

from calib.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.binned import absolute_gap
from calib.numerics.binning import bin_cells

# Separated classes never violate monotony, however many the bins.
MOST_BINS = 1_000
ROUNDING = 1e-12  # of sums over bins


@metric(
    "ECE-sweep",
    meaning="ECE with as many bins as the observed frequencies still increase over.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Quantile bins that never split ties; at most 1,000.",
    source="Roelofs et al. 2022, arXiv:2012.08668",
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
    0.14
    """
    bins = bin_cells(cells, 1, "quantile")
    for n_bins in range(2, min(cells.n_rows, MOST_BINS) + 1):
        finer = bin_cells(cells, n_bins, "quantile")
        if np.any(np.diff(finer.observed) < -ROUNDING):
            break
        bins = finer
    return absolute_gap(bins)
