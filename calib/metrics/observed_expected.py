"""Calibration in the large: the ratio of observed to expected positives, and the intercept."""

from __future__ import annotations

import math

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, log_odds_of
from calib.metrics.base import metric
from calib.metrics.regression import intercept_at_one
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import normal_quantile, upper_end
from calib.numerics.resampling import cluster_effect, unit_sums
from calib.numerics.transforms import sigmoid
from calib.uncertainty import Estimate


def ratio_estimate(rows: BinaryView, confidence_level: float = 0.95) -> Estimate:
    """Observed / expected positives with an interval on the log scale.

    The standard error of its logarithm is sqrt((1 - O/n) / O) with the effective rows n and their
    positives O. With clusters it is widened by their design effect. Without a positive row the
    interval starts at 0, and its upper end is the one-sided exact bound of the rate.

    Parameters
    ----------
    rows : BinaryView
    confidence_level : float
        In (0, 1).

    Returns
    -------
    Estimate
        NaN if no row is positive and all scores are 0.

    Examples
    --------
    >>> score = np.tile([0.1, 0.4], 20)
    >>> found = ratio_estimate(BinaryView(np.arange(40) < 8, score))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.8, 0.43, 1.487)
    """
    upper_end(confidence_level)
    cells = rows.cells()
    value = observed_expected_ratio(cells)
    if not math.isfinite(value):
        return Estimate(value)
    n = cells.total_weight**2 / float(cells.weight_sq.sum())
    if value == 0.0:
        # Clusters without a positive row say nothing about their dependence: each counts once.
        n = n if rows.group is None else float(len(np.unique(rows.group)))
        bound = -math.expm1(math.log1p(-confidence_level) / n)
        return Estimate(0.0, 0.0, bound * cells.total_weight / _expected(cells))
    error = math.sqrt((1.0 - cells.base_rate) / (cells.base_rate * n))
    error *= _widening(rows, np.full(len(rows), cells.base_rate))
    factor = math.exp(normal_quantile(confidence_level) * error)
    return Estimate(value, value / factor, value * factor)


def intercept_estimate(rows: BinaryView, confidence_level: float = 0.95) -> Estimate:
    """The intercept at slope 1 with its Wald interval, which clusters widen.

    Parameters
    ----------
    rows : BinaryView
    confidence_level : float
        In (0, 1).

    Examples
    --------
    >>> score = np.tile([0.1, 0.4], 20)
    >>> found = intercept_estimate(BinaryView(np.arange(40) < 8, score))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (-0.323, -1.139, 0.493)
    """
    z = normal_quantile(confidence_level)
    cells = rows.cells()
    value, error = intercept_at_one(cells, log_odds_of(cells))
    rate = sigmoid(log_odds_of(rows) + value)
    half = z * error * _widening(rows, rate)
    return Estimate(value, value - half, value + half)


def _widening(rows: BinaryView, rate: FloatArray) -> float:
    """Root of the design effect of the clusters on the sum of w (y - rate), at least 1."""
    if rows.group is None or np.isnan(rate).any():
        return 1.0
    part = rows.weights * (rows.outcome - rate)
    return math.sqrt(max(1.0, cluster_effect(part, unit_sums(part, rows.group))))


def _expected(cells: ScoreCells) -> float:
    return float(cells.weight @ cells.score)


@metric(
    "O:E ratio",
    meaning="Observed positives divided by the sum of the scores; above 1 the scores are too low.",
    bounds=(0.0, math.inf),
    better="one",
    convention="Observed / expected, not the inverse. The interval is that of its logarithm.",
    source="Debray et al. 2017, doi:10.1136/bmj.i6460",
    aliases="observed to expected ratio, observed/expected, O/E ratio, E/O is its inverse",
    digits=3,
    of_rows=ratio_estimate,
)
def observed_expected_ratio(cells: ScoreCells) -> float:
    """Ratio of observed to expected positives: sum w y / sum w s.

    Returns
    -------
    float
        At least 0; infinite if all scores are 0 and a row is positive, NaN if none is.

    Examples
    --------
    >>> observed_expected_ratio([0, 1, 0, 1], [0.5, 0.75, 0.5, 0.75])
    0.8
    """
    expected = _expected(cells)
    if expected > 0.0:
        return cells.total_positive / expected
    return math.inf if cells.total_positive > 0.0 else math.nan


@metric(
    "Intercept at slope 1",
    meaning="Shift of the log-odds that makes the mean score equal to the observed rate; above 0 "
    "the scores are too low.",
    bounds=(-math.inf, math.inf),
    better="zero",
    convention="The slope is fixed at 1. The intercept that is fitted together with the slope is "
    "another number.",
    source="Cox 1958, doi:10.1093/biomet/45.3-4.562",
    aliases="calibration-in-the-large, calibration intercept, mean calibration",
    digits=3,
    perfect=math.nan,  # No finite shift of the log-odds changes certain scores.
    other_class="negated",
    needs_both_classes=True,
    of_rows=intercept_estimate,
)
def intercept_at_slope_1(cells: ScoreCells) -> float:
    """Intercept a of logit P(y = 1) = a + logit s, by maximum likelihood.

    Returns
    -------
    float
        NaN if all rows are of one class, or all scores are certain.

    See Also
    --------
    calibration_slope_intercept : Slope and intercept that are fitted together.

    Examples
    --------
    >>> round(intercept_at_slope_1([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.6]), 4)
    0.5646
    """
    return intercept_at_one(cells, log_odds_of(cells))[0]
