"""Smooth ECE: a kernel in place of bins, at the one bandwidth that agrees with its own error."""

from __future__ import annotations

import numpy as np

from calib.cells import ScoreCells
from calib.metrics.base import metric
from calib.numerics.arrays import FloatArray
from calib.numerics.smoothing import smooth_reflected, spread_on_grid

# Resolutions as in relplot, so that its published values come out: the kernel's grid, the points at
# which the smoothed curve is read, and the bandwidths that are tried.
KERNEL_GRID = 1001
READINGS = 200
HALVINGS = 10
SMALLEST_BANDWIDTH = 1e-3


@metric(
    "smECE",
    meaning="Calibration error after smoothing over scores as near to each other as the error is "
    "large.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Reflected Gaussian kernel on relplot's grid; bandwidth to 1/1024.",
    source="Błasiok and Nakkiran 2023, arXiv:2309.12236",
)
def smooth_calibration_error(cells: ScoreCells) -> float:
    """Smooth ECE at its self-consistent bandwidth.

    smECE_sigma is the integral over t of abs((1/W) sum of w (y - s) K_sigma(t, s)), with a
    Gaussian kernel reflected at 0 and 1; the bandwidth is the smallest sigma that is at least
    smECE_sigma, found by bisection.

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Błasiok and Nakkiran 2023, arXiv:2309.12236.

    Examples
    --------
    >>> round(smooth_calibration_error([0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]), 4)
    0.1515
    """
    on_grid = _Grids(cells)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        sigma = (low + high) / 2.0
        if sigma < SMALLEST_BANDWIDTH or sigma < on_grid.error(sigma):
            low = sigma
        else:
            high = sigma
    return on_grid.error(high)


class _Grids:
    """Residuals and weights of cells on grids; one grid serves most bandwidths."""

    def __init__(self, cells: ScoreCells) -> None:
        residual = cells.positive - cells.weight * cells.score
        moment = np.concatenate([[0.0], np.cumsum(residual * cells.score)])
        self._score = cells.score
        self._residual = cells.cumulative_positive - cells.cumulative_score, moment
        self._weight = cells.cumulative_weight, cells.cumulative_score
        self._grids: dict[int, tuple[FloatArray, FloatArray]] = {}

    def error(self, bandwidth: float) -> float:
        """smECE at a bandwidth: integral of the smoothed residuals over that of the weights."""
        # Odd, so that the kernel's middle is a grid point and shifts nothing.
        n_points = max(KERNEL_GRID, round(10.0 / bandwidth) | 1)
        t = np.linspace(0.0, 1.0, max(READINGS, round(10.0 / bandwidth)))
        gap, density = (
            np.interp(t, np.linspace(0.0, 1.0, n_points), smooth_reflected(grid, bandwidth))
            for grid in self._spread(n_points)
        )
        return float(np.abs(gap).sum() / density.sum())

    def _spread(self, n_points: int) -> tuple[FloatArray, FloatArray]:
        if n_points not in self._grids:
            self._grids[n_points] = (
                spread_on_grid(self._score, *self._residual, n_points),
                spread_on_grid(self._score, *self._weight, n_points),
            )
        return self._grids[n_points]
