"""Classical tests of calibration: Spiegelhalter's z, and Hosmer and Lemeshow's chi-square."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc, ndtr

from calib.data.cells import ScoreCells
from calib.metrics.base import TestResult, metric
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Bins, bin_cells
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.poisson_binomial import N_SIMULATED, SIMULATED, simulated_p
from calib.numerics.resampling import draw_noise
from calib.numerics.score_grid import beyond

ROUNDING = 1e-12  # Smaller sums over bins are rounding errors.
MIN_GROUP_VARIANCE = 5.0  # Cochran's rule is applied to the variance of a group.
# More distinct scores are joined into this many runs, whose rows are drawn together.
MAX_RUNS = 64


@metric(
    "Spiegelhalter z",
    meaning="Whether the Brier score is larger (z > 0) or smaller than expected of calibrated "
    "scores.",
    bounds=(-math.inf, math.inf),
    better="zero",
    convention="Two-sided normal p-value.",
    source="Spiegelhalter 1986, doi:10.1002/sim.4780050506",
    aliases="Spiegelhalter test",
    interval=None,
    digits=3,
    perfect=0.0,
    other_class="same",
    weighs_evidence=True,
)
def spiegelhalter_test(cells: ScoreCells) -> TestResult:
    """Spiegelhalter's z-test of the Brier score.

    z = sum w (y - s)(1 - 2s) / sqrt(sum w^2 (1 - 2s)^2 s (1 - s)). The p-value is two-sided.

    Returns
    -------
    TestResult
        `statistic` is z. If all scores are 0, 1/2 or 1, z has no variance and is 0 or infinite.

    Examples
    --------
    >>> result = spiegelhalter_test([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (-1.005, 0.3149)
    """
    s = cells.cautious.score
    tilt = 1.0 - 2.0 * s
    above = float((cells.positive - cells.weight * s) @ tilt)
    if cells.step:
        ends = np.sort([cells.weight * tilt * (end - s) for end in cells.ranges], axis=0)
        above = float(beyond(above, *ends.sum(axis=1)))
    variance = float(cells.weight_sq @ (np.square(tilt) * s * (1.0 - s)))
    if variance > 0.0:
        z = above / math.sqrt(variance)
    else:
        z = 0.0 if above == 0.0 else math.copysign(math.inf, above)
    return TestResult(z, 2.0 * float(ndtr(-abs(z))), f"standard normal{cells.precision}")


@metric(
    "Hosmer-Lemeshow",
    meaning="Whether observed and expected positives differ by more than chance in groups of "
    "equal size.",
    bounds=(0.0, math.inf),
    better="lower",
    convention="As many degrees of freedom as groups, because the scores were not fitted on "
    "these rows. The p-value is simulated if few positives or negatives are expected "
    "in a group.",
    source="Hosmer and Lemeshow 1980, doi:10.1080/03610928008827941",
    aliases="HL test, goodness-of-fit test",
    interval=None,
    digits=3,
    perfect=0.0,
    weighs_evidence=True,
)
def hosmer_lemeshow_test(
    cells: ScoreCells, n_groups: int = 10, random_state: int = 0
) -> TestResult:
    """Hosmer-Lemeshow test with the statistic sum over groups of (q - E)^2 / (E (1 - E/W)).

    q and E are the observed and the expected positives of a quantile group of weight W. With
    weights, each term is scaled to the effective number of rows of the group. The p-value comes
    from a chi-square distribution. If E (1 - E/W) of a group is below 5, that distribution rejects
    too often; the p-value then comes from 4,999 simulated sets of outcomes y ~ Bernoulli(s).

    Parameters
    ----------
    n_groups : int
        Number of groups and of degrees of freedom, at least 1. Equal scores are never split, so
        there can be fewer.
    random_state : int
        Seed of the simulation.

    Returns
    -------
    TestResult
        `statistic` is infinite if all scores of a group are 0 or 1 and one of them is wrong.

    Examples
    --------
    >>> result = hosmer_lemeshow_test([0, 0, 1, 1] * 50, [0.1, 0.3, 0.6, 0.8] * 50, n_groups=2)
    >>> round(result.statistic, 4), result.null
    (67.8571, 'chi-square, 2 degrees of freedom')
    """
    return groups_test(cells, n_groups, random_state)


def groups_test(
    cells: ScoreCells, n_groups: int = 10, random_state: int = 0, noise: FloatArray | None = None
) -> TestResult:
    """The same test; `noise` is the `simulated_noise` of these cells if it is known."""
    null = cells.cautious
    groups = bin_cells(null, n_groups, "quantile")
    gap, n = groups.gap, len(groups)
    if cells.step:
        shifts = (cells.weight * (end - null.score) for end in cells.ranges)
        gap = beyond(gap, *(np.add.reduceat(by, groups.first) / groups.weight for by in shifts))
    statistic = float(chi_square(groups, gap))
    variance = groups.effective_rows * groups.mean_score * (1.0 - groups.mean_score)
    if variance.min() < MIN_GROUP_VARIANCE and math.isfinite(statistic):
        drawn = chi_square(groups, simulated_gaps(null, groups, random_state, noise))
        p_value = simulated_p(statistic, drawn)
        return TestResult(statistic, p_value, f"{SIMULATED}{cells.precision}")
    law = f"chi-square, {n} degree{'' if n == 1 else 's'} of freedom{cells.precision}"
    return TestResult(statistic, float(chdtrc(n, statistic)), law)


def chi_square(groups: Bins, gap: FloatArray) -> FloatArray:
    """The test statistic of gaps of shape (g,) or (g, r)."""
    spread = groups.mean_score * (1.0 - groups.mean_score)
    # A group with scores 0 or 1 has no variance. It adds 0 if they are right, otherwise infinity.
    certain = spread < ROUNDING
    terms = (groups.effective_rows / np.where(certain, 1.0, spread)) @ np.square(gap)
    wrong = np.abs(gap[certain]).max(axis=0, initial=0.0) > ROUNDING
    return np.where(wrong, math.inf, terms)


def all_certain(cells: ScoreCells) -> bool:
    """Whether all scores are 0 or 1 up to rounding. Clusters and weights
    then have no effect on any test."""
    return float(cells.weight @ (cells.score * (1.0 - cells.score))) < ROUNDING * cells.total_weight


def simulated_gaps(
    cells: ScoreCells, groups: Bins, random_state: int, noise: FloatArray | None = None
) -> FloatArray:
    """Gaps of the groups under y ~ Bernoulli(s), shape (g, r)."""
    if noise is not None and len(cells) <= MAX_RUNS:
        # This takes a fraction of the time of reduceat, and adds in the same order.
        sums = [part.sum(axis=0) for part in np.split(noise, groups.first[1:])]
        return np.stack(sums) / groups.weight[:, None]
    runs = bucket_starts(cells.score, cells.weight, MAX_RUNS)
    starts = np.union1d(runs, groups.first)

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, starts)

    weight = total(cells.weight)
    score = bucket_means(cells.score, cells.weight, starts)
    rng = np.random.default_rng(random_state)
    noise = draw_noise(score, weight, total(cells.weight_sq), N_SIMULATED, rng)
    return np.add.reduceat(noise, np.searchsorted(starts, groups.first)) / groups.weight[:, None]
