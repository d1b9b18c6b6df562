"""The calibration slope and its interval."""

from __future__ import annotations

import math

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, log_odds_of
from calib.numerics.arrays import FloatArray
from calib.numerics.clusters import cluster_effect, freedom, squared_half_width, unit_sums
from calib.numerics.estimate import Estimate
from calib.numerics.few_cells import into_buckets
from calib.numerics.intervals import profile_bounds
from calib.numerics.logistic import LogisticFit, fit_logistic
from calib.numerics.transforms import sigmoid


def fit_line(cells: ScoreCells) -> LogisticFit | None:
    """The logistic regression of the calibration slope, or None if it cannot be estimated."""
    x = log_odds_of(cells)
    if cells.one_class or x[0] == x[-1]:
        return None
    fit = fit_logistic(_features(x), cells.positive, cells.weight)
    return fit if fit.converged else None


def slope_estimate(
    rows: BinaryView,
    cells: ScoreCells | None = None,
    fit: LogisticFit | None = None,
    *,
    confidence_level: float = 0.95,
) -> Estimate:
    """The calibration slope with an interval from its profile likelihood.

    The likelihood ratio is divided by the variance of the rows over that of the model, which
    accounts for misfit, weights and clusters. With few rows this ratio is shrunk towards 1.

    The cells are those of the same rows, and `fit` is their `fit_line`; what is not given is
    computed. The estimate is NaN if the slope cannot be estimated. See Cox 1958,
    doi:10.1093/biomet/45.3-4.562; Venzon and Moolgavkar 1988, doi:10.2307/2347496; Rao and Scott
    1984, doi:10.1214/aos/1176346391 (scaled likelihood ratios).

    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1, 0, 1], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9]).view()
    >>> estimate = slope_estimate(rows)
    >>> round(estimate.low, 2), round(estimate.value, 2), round(estimate.high, 2)
    (-0.65, 0.63, 2.71)
    """
    cells = cells or rows.cells()
    fit = fit or fit_line(cells)
    if fit is None:
        return Estimate(math.nan)
    slope, variance = float(fit.coefficients[1]), float(fit.covariance[1, 1])
    if variance <= 0.0:
        return Estimate(slope)
    width = _squared_half_width(rows, fit, confidence_level) / variance
    few = into_buckets(log_odds_of(cells), cells.weight, cells.positive)
    middle = fit_logistic(_features(few.x), few.positive, few.weight)
    peak, error = float(middle.coefficients[1]), math.sqrt(float(middle.covariance[1, 1]))
    low, high = profile_bounds(few.x, few.positive, few.weight, peak, error, width / 2.0)
    return Estimate(slope, slope + low - peak, slope + high - peak)


def _squared_half_width(rows: BinaryView, fit: LogisticFit, confidence_level: float) -> float:
    """Squared half-width of the interval of the slope if the likelihood were normal."""
    x = log_odds_of(rows)
    # The terms are added separately, because a matrix product would copy both columns.
    rate = sigmoid(fit.coefficients[1] * x + fit.coefficients[0])
    toward = fit.covariance[1, 1] * x + fit.covariance[1, 0]
    residual, square = rows.outcome - rate, rows.squared_weights * np.square(toward)
    model = float(square @ (rate * (1.0 - rate)))
    ratio = float(square @ np.square(residual)) / model
    influence = residual * toward * rows.weights
    units = unit_sums(influence, rows.group)
    degrees = freedom(units, rows.multiplicity)
    effect = 1.0 if rows.group is None else cluster_effect(influence, units)
    return model * squared_half_width(ratio, effect, degrees, confidence_level)


def _features(x: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(x)), x])
