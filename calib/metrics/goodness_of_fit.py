"""Classical tests of calibration: Spiegelhalter's z, and Hosmer and Lemeshow's chi-square."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc, ndtr

from calib.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.results import TestResult
from calib.numerics.binning import bin_cells

ROUNDING = 1e-12  # of sums over bins


@metric(
    "Spiegelhalter z",
    meaning="Whether the Brier score is larger (z > 0) or smaller than calibrated scores would "
    "have.",
    bounds=(-math.inf, math.inf),
    better="zero",
    convention="Two-sided normal p-value.",
    source="Spiegelhalter 1986, doi:10.1002/sim.4780050506",
)
def spiegelhalter_test(cells: ScoreCells) -> TestResult:
    """Spiegelhalter's z: sum w (y - s)(1 - 2s) / sqrt(sum w^2 (1 - 2s)^2 s (1 - s)).

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    TestResult
        `statistic` is z. Scores of 0, 1/2 and 1 alone leave no variance: z is 0 or infinite then.

    References
    ----------
    Spiegelhalter 1986, doi:10.1002/sim.4780050506.

    Examples
    --------
    >>> result = spiegelhalter_test([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (-1.005, 0.3149)
    """
    s, tilt = cells.score, 1.0 - 2.0 * cells.score
    above = float((cells.positive - cells.weight * s) @ tilt)
    variance = float(cells.weight_sq @ (np.square(tilt) * s * (1.0 - s)))
    if variance > 0.0:
        z = above / math.sqrt(variance)
    else:
        z = 0.0 if above == 0.0 else math.copysign(math.inf, above)
    return TestResult(z, 2.0 * float(ndtr(-abs(z))), "standard normal")


@metric(
    "Hosmer-Lemeshow",
    meaning="Whether observed and expected positives differ by more than chance in equal groups.",
    bounds=(0.0, math.inf),
    better="lower",
    convention="As many degrees of freedom as groups: the scores were not fitted on these rows.",
    source="Hosmer and Lemeshow 1980, doi:10.1080/03610928008827941",
)
def hosmer_lemeshow_test(cells: ScoreCells, n_groups: int = 10) -> TestResult:
    """Hosmer-Lemeshow test: sum over groups of (q - E)^2 / (E (1 - E/W)).

    q and E are the observed and the expected positives of a quantile group of weight W. With
    weights each term is scaled to the group's effective number of rows.

    Parameters
    ----------
    cells : ScoreCells
    n_groups : int
        At least 1; tied scores may leave fewer, and as many fewer degrees of freedom.

    Returns
    -------
    TestResult
        `statistic` is the chi-square; infinite where a group of certain scores is wrong.

    References
    ----------
    Hosmer and Lemeshow 1980, doi:10.1080/03610928008827941.

    Examples
    --------
    >>> result = hosmer_lemeshow_test([0, 0, 1, 1] * 5, [0.1, 0.3, 0.6, 0.8] * 5, n_groups=2)
    >>> round(result.statistic, 4), result.null
    (6.7857, 'chi-square, 2 degrees of freedom')
    """
    groups = bin_cells(cells, n_groups, "quantile")
    spread = groups.mean_score * (1.0 - groups.mean_score)
    # A group of certain scores has no spread: right, it adds nothing; wrong, it settles the test.
    certain = spread < ROUNDING
    wrong = np.where(np.abs(groups.gap) > ROUNDING, math.inf, 0.0)
    terms = groups.effective_rows * np.square(groups.gap) / np.where(certain, 1.0, spread)
    chi_square, n = float(np.where(certain, wrong, terms).sum()), len(groups)
    null = f"chi-square, {n} degrees of freedom"
    return TestResult(chi_square, float(chdtrc(n, chi_square)), null)
