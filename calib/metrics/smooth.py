"""Calibration errors from smooth curves instead of bins."""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import dct
from scipy.optimize import brentq

from calib.data.cells import ScoreCells
from calib.metrics.base import SmoothedErrors, error_metric, metric
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import quantiles
from calib.numerics.smoothed_rate import fit_smooth
from calib.numerics.transforms import sigmoid

# Faster waves are left out, because their factors exp(-x^2/2) are below 1e-19.
MAX_WAVE_NUMBER = 9.5


def spread_on_grid(x: FloatArray, mass: FloatArray, n_steps: int) -> FloatArray:
    """Share each mass between the two points of 0, 1/n_steps, ..., 1 beside it, by nearness.

    Sum and mean stay, and the sum of absolute masses does not grow.

    >>> import numpy as np
    >>> spread_on_grid(np.array([0.25, 1.0]), np.array([4.0, 1.0]), 2)
    array([2., 2., 1.])
    """
    left = np.minimum((x * n_steps).astype(np.int64), n_steps - 1)
    to_the_right = mass * (x * n_steps - left)
    grid = np.zeros(n_steps + 1)
    grid[:-1] = np.bincount(left, mass - to_the_right, n_steps)
    grid[1:] += np.bincount(left, to_the_right, n_steps)
    return grid


def cosine_sums(grid: FloatArray) -> FloatArray:
    """Sums of mass times cos(pi k x) over masses at 0, 1/m, ..., 1, for every wave k of the grid.

    >>> import numpy as np
    >>> cosine_sums(np.array([0.0, 0.0, 3.0])).round(12)
    array([ 3., -3.,  3.])
    """
    halved = 0.5 * grid
    halved[[0, -1]] = grid[[0, -1]]
    return np.asarray(dct(halved, type=1))


def smooth_reflected(sums: FloatArray, bandwidth: float) -> FloatArray:
    """The density of masses convolved with a Gaussian that comes back from both ends for ever.

    Reflected, the Gaussian is even and of period 2, and its cosine series has the weights
    exp(-(pi k bandwidth)^2 / 2): no image is left out, and a mass at an end, which is its own
    image, counts in full.

    `sums` are those of `cosine_sums`. The bandwidth, the standard deviation of the Gaussian, is at
    least 3 steps of the grid, which then has all waves that matter. The density is that at 0, 1/m,
    ..., 1; its integral is the sum of the masses.
    """
    n_waves = min(len(sums), int(MAX_WAVE_NUMBER / (np.pi * bandwidth)) + 2)
    factor = np.exp(-0.5 * (np.pi * bandwidth * np.arange(n_waves)) ** 2)
    waves = np.zeros(len(sums))
    waves[:n_waves] = sums[:n_waves] * factor
    return np.asarray(dct(waves, type=1))


def absolute_integral(values: FloatArray) -> float:
    """Integral over [0, 1] of the absolute value of the lines between values on a grid.

    >>> import numpy as np
    >>> absolute_integral(np.array([1.0, -1.0, 0.0]))
    0.5
    """
    size = np.abs(values)
    total = size[:-1] + size[1:]
    # A line that crosses 0 has two triangles instead of a trapezium.
    crossing = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    lost = size[crossing] * size[crossing + 1] / total[crossing]
    return float(total.sum() / 2.0 - lost.sum()) / (len(values) - 1)


# Grid steps per bandwidth. Masses and the curve are both moved to grid points. Each changes the
# integral by at most step^2/8 times that of abs(K''), 4 phi(1)/bandwidth^2, together by 1.5e-5 of
# the error. The result is off by no more, because a larger bandwidth never has a larger error.
STEPS_PER_BANDWIDTH = 128
FIRST_GRID_STEPS = 4096
MAX_GRID_STEPS = 2**20  # Errors below 1.3e-4 reach it.
# With fewer grid steps per bandwidth, terms of the kernel's series would be missing.
MIN_STEPS_PER_BANDWIDTH = 3.0
TOLERANCE = 1e-9
ROUNDING = 1e-12


@error_metric(
    "smECE",
    meaning="Calibration error after kernel smoothing; the bandwidth equals the error itself.",
    convention="Gaussian kernel reflected at 0 and 1, with all images.",
    source="Błasiok and Nakkiran 2023, arXiv:2309.12236",
    aliases="smECE, smooth ECE",
)
def smooth_calibration_error(cells: ScoreCells) -> float:
    """Smooth ECE (smECE), which has no bins and chooses its own bandwidth.

    smECE_sigma is the integral over t of abs((1/W) sum of w (y - s) K_sigma(t, s)). K is a
    Gaussian kernel that is reflected at 0 and 1 (all images are counted). smECE_sigma falls as
    sigma grows; the smooth ECE is the value at which smECE_sigma = sigma. It is at most the ECE
    with one bin per distinct score, and equals the absolute mean gap if all residuals have the
    same sign.

    Examples
    --------
    >>> round(smooth_calibration_error([0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]), 4)
    0.1518
    """
    residual = (cells.positive - cells.weight * cells.score) / cells.total_weight
    least, most = abs(float(residual.sum())), float(np.abs(residual).sum())
    # If all residuals have the same sign, none of them cancel with any kernel.
    if least >= most * (1.0 - ROUNDING):
        return most
    least_error = STEPS_PER_BANDWIDTH / MAX_GRID_STEPS
    n_steps = FIRST_GRID_STEPS
    while True:
        sums = cosine_sums(spread_on_grid(cells.score, residual, n_steps))
        error = _equal_to_bandwidth(sums, least, most)
        if n_steps * error >= STEPS_PER_BANDWIDTH or n_steps == MAX_GRID_STEPS:
            return error
        n_steps = 1 << math.ceil(math.log2(STEPS_PER_BANDWIDTH / max(error, least_error)))


def _equal_to_bandwidth(sums: FloatArray, least: float, most: float) -> float:
    """The error that equals its own bandwidth, found between two bounds on a grid."""

    def excess(bandwidth: float) -> float:
        return absolute_integral(smooth_reflected(sums, bandwidth)) - bandwidth

    low = max(least, MIN_STEPS_PER_BANDWIDTH / (len(sums) - 1))
    if excess(low) <= 0.0:
        return min(max(least, low + excess(low)), most)
    if excess(most) >= 0.0:
        return most
    return float(brentq(excess, low, most, xtol=TOLERANCE))


@metric(
    "ICI",
    meaning="Mean distance of the scores from a smooth calibration curve, with the median, 90th "
    "percentile and maximum.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="The curve is a smoothing spline, not loess, on an axis that spreads out both "
    "tails.",
    source="Austin and Steyerberg 2019, doi:10.1002/sim.8281",
    aliases="ICI, E50, E90, Emax",
    interval=None,  # Each resample would cost as much as a fit.
    other_class="same",
    weighs_evidence=True,
    precision=1e-5,  # The log loss of the fit is exact to 1e-13, and its curve to about 1e-6.
)
def integrated_calibration_index(cells: ScoreCells, penalty: float | None = None) -> SmoothedErrors:
    """Integrated calibration index (ICI), E50, E90 and Emax.

    They are the mean, median, 90th percentile and maximum over the rows of abs(s - c(s)), where c
    is a smoothing spline of the outcome on the score.

    Parameters
    ----------
    penalty : float, optional
        Penalty on the curvature of the spline. Default: chosen by leave-one-out cross-validation.
        For resamples, pass the ``penalty`` of the original rows: it takes a third of the time.

    Examples
    --------
    >>> errors = integrated_calibration_index([0, 0, 0, 1] * 50, [0.25, 0.5, 0.75, 1.0] * 50)
    >>> errors.ici <= errors.emax, errors.e50 <= errors.e90
    (True, True)
    """
    # The penalty depends on the amount of evidence, so rows count as effective rows.
    fit = fit_smooth(cells.in_effective_rows(), penalty)
    curve = cells.base_rate if fit is None else sigmoid(fit.log_odds(cells.score))
    distance = np.abs(cells.score - curve)
    order = np.argsort(distance, kind="stable")
    median, high = quantiles(cells.pick(order, distance[order]), np.array([0.5, 0.9]))
    mean = float(cells.weight @ distance) / cells.total_weight
    return SmoothedErrors(
        ici=mean,
        e50=float(median),
        e90=float(high),
        emax=float(distance.max()),
        penalty=math.nan if fit is None else fit.penalty,
    )
