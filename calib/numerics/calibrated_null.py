"""What chance does to calibrated scores, by simulation: for tests whose limit is not reached."""

from __future__ import annotations

import numpy as np

from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Cells
from calib.numerics.resampling import draw_noise

N_SIMULATED = 4_999
SIMULATED = f"simulation, {N_SIMULATED:,} draws"
# A walk of fewer steps stays within a Brownian motion's extremes noticeably too often.
FEW_SCORES = 100


def few_scores(cells: Cells) -> bool:
    """Whether the cumulative difference has too few steps for its Brownian limit."""
    return len(cells.score) < FEW_SCORES


def simulated_differences(cells: Cells, random_state: int) -> FloatArray:
    """Cumulative differences of outcomes y ~ Bernoulli(s).

    Returns
    -------
    ndarray of shape (k + 1, 4999)
        Each column is one draw, beginning with 0.

    Examples
    --------
    >>> from calib.core.cells import ScoreCells
    >>> cells = ScoreCells.from_arrays([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    >>> simulated_differences(cells, 0).std(axis=1).round(2)
    array([0.  , 0.25])
    """
    rng = np.random.default_rng(random_state)
    noise = draw_noise(cells.score, cells.weight, cells.weight_sq, N_SIMULATED, rng)
    difference = np.zeros((len(noise) + 1, N_SIMULATED))
    np.cumsum(noise / cells.total_weight, axis=0, out=difference[1:])
    return difference


def simulated_p(observed: float, simulated: FloatArray) -> float:
    """How often as large a statistic was drawn, the observed one among the draws.

    Examples
    --------
    >>> import numpy as np
    >>> simulated_p(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    # Equal statistics that differ by their rounding are ties, and ties count.
    reached = int((simulated >= observed - 1e-12 * max(1.0, abs(observed))).sum())
    return (reached + 1) / (len(simulated) + 1)
