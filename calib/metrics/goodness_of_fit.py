"""Classical tests of calibration: Spiegelhalter's z."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from calib.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.results import TestResult


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
    y_true : array-like of shape (n,), or ScoreCells
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Scores in [0, 1].
    sample_weight : array-like of shape (n,), optional

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
