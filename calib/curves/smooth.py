"""The smooth curve: observed frequency as a smoothing spline of the score."""

from __future__ import annotations

import numpy as np

from calib.core.cells import ScoreCells
from calib.curves.rate import RateCurve, check_level, whole_design_effect
from calib.numerics.arrays import FloatArray
from calib.numerics.few_cells import bucket_starts
from calib.numerics.intervals import normal_quantile, wilson_interval
from calib.numerics.smoothed_rate import fit_smooth
from calib.numerics.transforms import sigmoid
from calib.uncertainty import Replicates

MAX_POINTS = 200


def smooth_curve(
    cells: ScoreCells, *, confidence_level: float = 0.95, clusters: Replicates | None = None
) -> RateCurve:
    """Smoothing-spline estimate of the observed frequency, with a pointwise band.

    The spline is that of the integrated calibration index. The band is normal on the log-odds
    scale, with the standard error of the fit when its penalty is read as a prior. It needs no
    resampling, and where the fit smooths too much it is wide enough for that too. Where rows come
    in clusters the fit counts as many rows as bend a curve as much if they are independent, and the
    band as many as move all of it as much.

    Parameters
    ----------
    cells : ScoreCells
        Evidence is counted in effective rows.
    confidence_level : float
        In (0, 1).
    clusters : Replicates, optional
        Resamples of the clusters that the rows come in.

    Returns
    -------
    RateCurve
        About 200 points, half of them even in score and half in weight. Where all scores or all
        outcomes are equal, the base rate with its Wilson interval.

    Raises
    ------
    ValueError
        If `confidence_level` is not in (0, 1).

    References
    ----------
    Lucena 2018, equation 1, arXiv:1809.07751 (curve). Nychka 1988,
    doi:10.1080/01621459.1988.10478711 (band).

    Examples
    --------
    >>> y = [0, 0, 1, 1] * 30 + [1, 1, 0, 0] * 10
    >>> cells = ScoreCells.from_arrays(y, [0.2, 0.4, 0.6, 0.8] * 40)
    >>> smooth_curve(cells).observed.round(2)
    array([0.24, 0.28, 0.72, 0.76])
    """
    check_level(confidence_level)
    starts = bucket_starts(cells.score, cells.weight, MAX_POINTS)
    score = np.unique(np.append(cells.score[starts], cells.score[-1]))
    effect = whole_design_effect(cells, clusters)
    observed, low, high = _band(cells, score, effect, confidence_level)
    return RateCurve("smooth", score, observed, low, high, confidence_level)


def _band(
    cells: ScoreCells, score: FloatArray, effect: float, confidence_level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    known = cells.in_effective_rows()
    # Groups whose scores are spread move the whole curve more than they bend it.
    wider = max(1.0, effect / cells.design_effect)
    fit = fit_smooth(known)
    if fit is None:
        rate = np.full(len(score), min(1.0, cells.base_rate))
        effective = np.full(len(score), known.total_weight / wider)
        return rate, *wilson_interval(rate, effective, confidence_level)
    middle = fit.log_odds(score)
    half = normal_quantile(confidence_level) * fit.error(score) * np.sqrt(wider)
    return sigmoid(middle), sigmoid(middle - half), sigmoid(middle + half)
