"""Distributions of test statistics if scores are calibrated: Brownian limits and simulation."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr

from calib.numerics.arrays import FloatArray
from calib.numerics.cells import Cells
from calib.numerics.resampling import draw_noise

# Each distribution has two series: one converges for small arguments, one for large arguments. At
# MAX_SMALL_ARGUMENT twelve terms of either give full precision.
MAX_SMALL_ARGUMENT = 1.5
SERIES_TERMS = np.arange(12)


def null_standard_deviation(cells: Cells) -> float:
    """Standard deviation of mean outcome minus mean score under y ~ Bernoulli(s)."""
    score = cells.cautious.score
    variance = float(cells.weight_sq @ (score * (1.0 - score)))
    return math.sqrt(variance) / float(cells.weight.sum())


def supremum_survival(x: float) -> float:
    """P(sup |B| > x) for Brownian motion B on [0, 1].

    See Feller 1971, An Introduction to Probability Theory II, X.5.

    >>> round(supremum_survival(2.2414027276), 10)
    0.05
    """
    if x <= 0.0:
        return 1.0
    odd, sign = 2.0 * SERIES_TERMS + 1.0, (-1.0) ** SERIES_TERMS
    if x > MAX_SMALL_ARGUMENT:
        return 4.0 * float(sign @ ndtr(-odd * x))
    below = 4.0 / math.pi * float(sign / odd @ np.exp(-((odd * math.pi / x) ** 2) / 8.0))
    return 1.0 - below


def supremum_by_cluster(x: float, n_clusters: int) -> float:
    """`supremum_survival` with Student's tails, because clusters estimate the standard deviation.

    NaN if there is only one cluster.

    >>> round(supremum_by_cluster(2.2414027276, 100_000), 3)
    0.05
    >>> round(supremum_by_cluster(2.2414027276, 10), 2)
    0.1
    """
    return supremum_survival(_as_far_out(x, n_clusters)) if n_clusters > 1 else math.nan


def range_by_cluster(x: float, n_clusters: int) -> float:
    """`range_survival` with Student's tails, as in `supremum_by_cluster`.

    >>> round(range_by_cluster(2.4977, 100_000), 3)
    0.05
    """
    return range_survival(_as_far_out(x, n_clusters)) if n_clusters > 1 else math.nan


def _as_far_out(x: float, n_clusters: int) -> float:
    """The normal number with the tail of Student's t at x."""
    return -float(ndtri(stdtr(n_clusters - 1.0, -x)))


def range_survival(x: float) -> float:
    """P(max B - min B > x) for Brownian motion B on [0, 1].

    See Feller 1951, doi:10.1214/aoms/1177729589.

    >>> round(range_survival(2.4977), 3)
    0.05
    """
    if x <= 0.0:
        return 1.0
    if x > MAX_SMALL_ARGUMENT:
        k = SERIES_TERMS + 1.0
        return 8.0 * float((-1.0) ** SERIES_TERMS * k @ ndtr(-k * x))
    half = ((SERIES_TERMS + 0.5) * math.pi) ** 2
    return 1.0 - float((8.0 / x**2 + 2.0 / half) @ np.exp(-2.0 * half / x**2))


def supremum_quantile(level: float) -> float:
    """x with P(sup |B| <= x) = level.

    >>> round(supremum_quantile(0.95), 4)
    2.2414
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must fulfil 0 < level < 1, got {level}.")
    return float(brentq(lambda x: supremum_survival(x) - (1.0 - level), 1e-3, 40.0, xtol=1e-14))


N_SIMULATED = 4_999
SIMULATED = f"simulation, {N_SIMULATED:,} draws"
# A walk of fewer steps exceeds the extremes of a Brownian motion noticeably too rarely.
MIN_SCORES_OF_LIMIT = 100


def few_scores(cells: Cells) -> bool:
    """Whether the cumulative difference has too few steps for its Brownian limit."""
    return len(cells.score) < MIN_SCORES_OF_LIMIT


def simulated_noise(cells: Cells, random_state: int) -> FloatArray:
    """Positive minus expected weight of each cell under y ~ Bernoulli(s), in 4,999 draws."""
    rng = np.random.default_rng(random_state)
    return draw_noise(cells.cautious.score, cells.weight, cells.weight_sq, N_SIMULATED, rng)


def simulated_differences(
    cells: Cells, random_state: int, noise: FloatArray | None = None
) -> FloatArray:
    """Cumulative differences, from 0, of outcomes y ~ Bernoulli(s): 4,999 columns, each a draw.

    `noise` is the `simulated_noise` of these cells; if it is not given, it is drawn.

    >>> from calib.data.cells import ScoreCells
    >>> cells = ScoreCells.from_arrays([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    >>> simulated_differences(cells, 0).std(axis=1).round(2)
    array([0.  , 0.25])
    """
    noise = simulated_noise(cells, random_state) if noise is None else noise
    difference = np.zeros((len(noise) + 1, N_SIMULATED))
    # Adding row by row takes a quarter of the time of NumPy's cumsum along the first axis.
    for i, row in enumerate(noise):
        np.add(difference[i], row / cells.total_weight, out=difference[i + 1])
    return difference


def simulated_p(observed: float, simulated: FloatArray) -> float:
    """Share of the draws, the observed statistic included, that are at least as large as it.

    >>> simulated_p(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    # Statistics that differ only by rounding are ties, and ties count as reached.
    reached = int((simulated >= observed - 1e-12 * max(1.0, abs(observed))).sum())
    return (reached + 1) / (len(simulated) + 1)
