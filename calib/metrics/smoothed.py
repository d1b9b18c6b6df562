"""Distances of the scores from a smooth curve through the outcomes: ICI, E50, E90 and Emax."""

from __future__ import annotations

import math

import numpy as np

from calib.core.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.results import SmoothedErrors
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import quantiles
from calib.numerics.smoothed_rate import fit_smooth
from calib.numerics.transforms import sigmoid


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
    interval=None,  # a resample costs as much as a fit
)
def integrated_calibration_index(cells: ScoreCells, penalty: float | None = None) -> SmoothedErrors:
    """Integrated calibration index, E50, E90 and Emax.

    Mean, median, 90th percentile and maximum over rows of abs(s - c(s)), c a smoothing spline of
    the outcome on the score.

    Parameters
    ----------
    cells : ScoreCells
    penalty : float, optional
        Of the spline's curvature; chosen by leaving rows out if None. Resamples whose penalty is
        the ``penalty`` of the result of the rows take a third of the time.

    Returns
    -------
    SmoothedErrors

    References
    ----------
    Austin and Steyerberg 2019, doi:10.1002/sim.8281.

    Examples
    --------
    >>> errors = integrated_calibration_index([0, 0, 0, 1] * 50, [0.25, 0.5, 0.75, 1.0] * 50)
    >>> errors.ici <= errors.emax, errors.e50 <= errors.e90
    (True, True)
    """
    # How smooth the curve should be depends on how much is known.
    fit = fit_smooth(cells.in_effective_rows(), penalty)
    curve = cells.base_rate if fit is None else sigmoid(fit.log_odds(cells.score))
    distance = np.abs(cells.score - curve)
    median, high = quantiles(_by_distance(cells, distance), np.array([0.5, 0.9]))
    mean = float(cells.weight @ distance) / cells.total_weight
    return SmoothedErrors(
        ici=mean,
        e50=float(median),
        e90=float(high),
        emax=float(distance.max()),
        penalty=math.nan if fit is None else fit.penalty,
    )


def _by_distance(cells: ScoreCells, distance: FloatArray) -> ScoreCells:
    order = np.argsort(distance, kind="stable")
    return ScoreCells(
        score=distance[order],
        rows=cells.rows[order],
        weight=cells.weight[order],
        positive=cells.positive[order],
        weight_sq=cells.weight_sq[order],
        positive_sq=cells.positive_sq[order],
    )
