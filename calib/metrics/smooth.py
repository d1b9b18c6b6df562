"""Calibration errors from smooth curves instead of bins."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.fft import dct, dst
from scipy.optimize import brentq

from calib.data.cells import ScoreCells
from calib.metrics.base import SmoothedErrors, error_metric, metric
from calib.numerics.arrays import BoolArray, FloatArray, chunks
from calib.numerics.binning import quantiles
from calib.numerics.smoothed_rate import fit_smooth
from calib.numerics.transforms import sigmoid

# Faster waves are left out, because their factors exp(-x^2/2) are below 1e-19.
MAX_WAVE_NUMBER = 9.5


def spread_on_grid(x: FloatArray, mass: FloatArray, n_steps: int) -> FloatArray:
    """Share each mass between the two points of 0, 1/n_steps, ..., 1 beside it, by nearness.

    Sum and mean stay, and the sum of absolute masses does not grow. The order has no effect.

    >>> import numpy as np
    >>> spread_on_grid(np.array([0.25, 1.0]), np.array([4.0, 1.0]), 2)
    array([2., 2., 1.])
    """
    whole, to_the_right = np.zeros(n_steps + 1), np.zeros(n_steps + 1)
    for part in chunks(len(x)):
        steps = x[part] * n_steps
        left = steps.astype(np.int64)
        steps -= left
        steps *= mass[part]
        whole += np.bincount(left, mass[part], n_steps + 1)
        to_the_right += np.bincount(left, steps, n_steps + 1)
    whole -= to_the_right
    whole[1:] += to_the_right[:-1]
    return whole


def halved(grid: FloatArray) -> FloatArray:
    """The same masses on a grid of half as many steps.

    >>> import numpy as np
    >>> halved(np.array([1.0, 2.0, 0.0, 4.0, 5.0]))
    array([2., 3., 7.])
    """
    half = grid[::2].copy()
    half[:-1] += 0.5 * grid[1::2]
    half[1:] += 0.5 * grid[1::2]
    return half


def cosine_sums(grid: FloatArray) -> FloatArray:
    """Sums of mass times cos(pi k x) over masses at 0, 1/m, ..., 1, for every wave k of the grid.

    >>> import numpy as np
    >>> cosine_sums(np.array([0.0, 0.0, 3.0])).round(12)
    array([ 3., -3.,  3.])
    """
    ends_in_full = 0.5 * grid
    ends_in_full[[0, -1]] = grid[[0, -1]]
    return np.asarray(dct(ends_in_full, type=1))


def smooth_reflected(
    sums: FloatArray, bandwidth: float, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    """The density of masses convolved with a Gaussian that comes back from both ends for ever.

    Reflected, the Gaussian is even and of period 2, and its cosine series has the weights
    exp(-(pi k bandwidth)^2 / 2): no image is left out, and a mass at an end, which is its own
    image, counts in full.

    `sums` are those of `cosine_sums`. The bandwidth, the standard deviation of the Gaussian, is at
    least 3 steps of their grid, which then has all waves that matter. The result is the density at
    0, 1/n_steps, ..., 1, and its integral from 0 to each of these points.
    """
    n_waves = min(len(sums), n_steps, int(MAX_WAVE_NUMBER / (np.pi * bandwidth)) + 2)
    angle = np.pi * np.arange(n_waves)
    waves = np.zeros(n_steps + 1)
    waves[:n_waves] = sums[:n_waves] * np.exp(-0.5 * (angle * bandwidth) ** 2)
    integral = waves[0] * np.linspace(0.0, 1.0, n_steps + 1)
    slopes = waves[1:-1].copy()
    slopes[: n_waves - 1] /= angle[1:]
    integral[1:-1] += dst(slopes, type=1)
    return np.asarray(dct(waves, type=1)), integral


def absolute_integral(values: FloatArray, integral: FloatArray) -> float:
    """Integral over [0, 1] of the absolute value of a curve, from its integrals up to each point.

    >>> import numpy as np
    >>> absolute_integral(np.array([1.0, -1.0, 0.0]), np.array([0.0, 0.0, -0.25]))
    0.5
    """
    total = float(np.abs(np.diff(integral)).sum())
    # The integral of a step in which the curve crosses 0 is the difference of two triangles.
    crossing = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    before, after = np.abs(values[crossing]), np.abs(values[crossing + 1])
    smaller = np.square(np.minimum(before, after)) / (before + after)
    return total + float(smaller.sum()) / (len(values) - 1)


# Grid steps per bandwidth, for an error of at most 1.5e-5 of the ECE of exact cells. Masses that
# are moved to grid points change the integral by at most step^2/8 times that of abs(K''), which is
# 4 phi(1)/bandwidth^2: by 7.4e-6. The curve is read only where it crosses 0. Its curvature there
# changes the integral by step^3/24 times itself: 5e-6 if crossings are two bandwidths apart. The
# result is off by no more, because a larger bandwidth never has a larger error.
STEPS_PER_BANDWIDTH = 128
CURVE_STEPS_PER_BANDWIDTH = 16
FIRST_GRID_STEPS = 4096
MAX_GRID_STEPS = 2**20  # Errors below 1.3e-4 reach it.
# Scores of a million rows fill this grid, and their errors are mostly above 5e-4, which needs it.
SCORES_PER_STEP = 4
# With fewer grid steps per bandwidth, terms of the kernel's series would be missing.
MIN_STEPS_PER_BANDWIDTH = 3.0
TOLERANCE = 1e-9
ROUNDING = 1e-12


def _error_of_rows(outcome: BoolArray, score: FloatArray, weight: FloatArray | None) -> float:
    if weight is None:
        return _smooth_error(score, outcome - score, float(len(score)))
    return _smooth_error(score, (outcome - score) * weight, float(weight.sum()))


@error_metric(
    "smECE",
    meaning="Calibration error after kernel smoothing; the bandwidth equals the error itself.",
    convention="Gaussian kernel reflected at 0 and 1, with all images.",
    source="Błasiok and Nakkiran 2023, arXiv:2309.12236",
    aliases="smECE, smooth ECE",
    of_arrays=_error_of_rows,
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
    residual = cells.positive - cells.weight * cells.score
    return _smooth_error(cells.score, residual, cells.total_weight)


def _smooth_error(score: FloatArray, residual: FloatArray, total_weight: float) -> float:
    """The smooth ECE of residuals at scores in any order, on a grid as fine as it needs."""
    gap = abs(float(residual.sum())) / total_weight
    n_steps, error = FIRST_GRID_STEPS, 0.0
    filled = min(max(len(score) / SCORES_PER_STEP, FIRST_GRID_STEPS), MAX_GRID_STEPS)
    finest = spread_on_grid(score, residual, _power_of_two(filled))
    while True:
        if n_steps > len(finest) - 1:
            finest = spread_on_grid(score, residual, n_steps)
        grid = finest
        while len(grid) - 1 > n_steps:
            grid = halved(grid)
        error = _equal_to_bandwidth(grid / total_weight, gap, 0.5 * error)
        if n_steps * error >= STEPS_PER_BANDWIDTH or n_steps == MAX_GRID_STEPS:
            return error
        least_error = STEPS_PER_BANDWIDTH / MAX_GRID_STEPS
        n_steps = _power_of_two(STEPS_PER_BANDWIDTH / max(error, least_error))


def _power_of_two(n_steps: float) -> int:
    return 1 << math.ceil(math.log2(n_steps))


def _equal_to_bandwidth(grid: FloatArray, gap: float, guess: float) -> float:
    """The error that equals its own bandwidth, from masses on a grid and their absolute sum.

    It is probably above the guess. Small bandwidths take longer, so they are tried only if not.
    """
    n_steps, most = len(grid) - 1, float(np.abs(grid).sum())
    # If all masses have the same sign, none of them cancel with any kernel.
    if gap >= most * (1.0 - ROUNDING):
        return most
    sums = cosine_sums(grid)

    @cache
    def excess(log: float) -> float:
        bandwidth = math.exp(log)
        steps = min(n_steps, _power_of_two(CURVE_STEPS_PER_BANDWIDTH / bandwidth))
        return absolute_integral(*smooth_reflected(sums, bandwidth, steps)) - bandwidth

    least, high = math.log(max(gap, MIN_STEPS_PER_BANDWIDTH / n_steps)), math.log(most)
    low = max(least, math.log(guess)) if guess > 0.0 else least
    if excess(low) <= 0.0:
        low = least
    if excess(low) <= 0.0:
        return min(max(gap, math.exp(low) + excess(low)), most)
    if excess(high) >= 0.0:
        return most
    # In logarithms, the error is nearly a straight line.
    return math.exp(float(brentq(excess, low, high, xtol=TOLERANCE)))


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
