"""The calibration slope: its value alone, and what it does in resamples."""

from __future__ import annotations

import math

import numpy as np

from calib.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.logistic import LogisticFit, fit_logistic
from calib.numerics.transforms import clip_certain, safe_logit, sigmoid
from calib.uncertainty.rows import RowResamples


def log_odds(scores: FloatArray) -> FloatArray:
    """Log-odds of scores clipped as for the log loss."""
    return safe_logit(clip_certain(scores))


def calibration_slope(cells: ScoreCells) -> float:
    """The slope of `calib.metrics.calibration_slope_intercept`, without all that comes with it.

    NaN where it cannot be estimated.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1, 0, 1], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9])
    >>> round(calibration_slope(cells), 3)
    0.627
    """
    fit = fit_line(cells)
    return math.nan if fit is None else float(fit.coefficients[1])


def fit_line(cells: ScoreCells) -> LogisticFit | None:
    """The regression behind it; None where it cannot be estimated."""
    if cells.one_class or len(cells) < 2:
        return None
    fit = fit_logistic(_features(log_odds(cells.score)), cells.positive, cells.weight)
    return fit if fit.converged else None


def slope_deviation(rows: RowResamples, x: FloatArray) -> FloatArray:
    """Slopes of the resamples minus that of the rows, by one Newton step from the latter.

    The step sees all that the fitted logistic regression leaves unexplained: its misfit, the
    weights, and clusters.

    Parameters
    ----------
    rows : RowResamples
    x : ndarray of shape (2 * g,)
        Mean log-odds of each atom.

    Returns
    -------
    ndarray of shape (r,)
        NaN where the slope cannot be estimated.
    """
    features = _features(x)
    outcome = (np.arange(len(x)) % 2).astype(np.float64)
    fit = fit_logistic(features, rows.share * outcome, rows.share)
    if not fit.converged or fit.covariance[1, 1] <= 0.0:
        return np.full(rows.drawn.shape[1], math.nan)
    residual = outcome - sigmoid(features @ fit.coefficients)
    influence = residual * (features @ fit.covariance[1])
    return np.asarray(influence.astype(np.float32) @ rows.drawn, dtype=np.float64)


def _features(x: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(x)), x])
