"""Calibration slope and intercept: a logistic regression of the outcome on the log-odds."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtrc

from calib.data.cells import ScoreCells
from calib.data.views import log_odds_of
from calib.metrics.base import SlopeIntercept, TestResult, metric
from calib.metrics.goodness_of_fit import all_certain
from calib.metrics.proper import mean_log_loss
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import equal_weights
from calib.numerics.intervals import best_intercept, normal_quantile
from calib.numerics.logistic import LogisticFit
from calib.numerics.resampling import design_effect
from calib.numerics.transforms import certain_logit
from calib.text import plural
from calib.uncertainty import fit_line


@metric(
    "Calibration slope",
    meaning="Calibrated scores have slope 1 and intercept 0; a slope below 1 means overconfident.",
    bounds=(-math.inf, math.inf),
    better="one",
    convention="Scores clipped as for the log loss. The intercept with the slope fixed at 1 "
    "differs from the intercept fitted together with the slope.",
    source="Cox 1958, doi:10.1093/biomet/45.3-4.562",
    aliases="Cox recalibration, weak calibration, calibration intercept, "
    "calibration-in-the-large (the intercept with the slope fixed at 1)",
    digits=3,
    perfect=math.nan,  # The scores separate the classes.
    weighs_evidence=True,
    needs_both_classes=True,
)
def calibration_slope_intercept(
    cells: ScoreCells, confidence_level: float = 0.95
) -> SlopeIntercept:
    """Fit logit P(y = 1) = a + b logit s by maximum likelihood, and test a = 0 and b = 1.

    Standard errors are based on the model. With weights they allow for the variation of the
    weights. The test statistic is then scaled to the effective number of rows, and its p-value has
    the second-order correction of Rao and Scott, because weights can depend on the score.

    Parameters
    ----------
    confidence_level : float
        Confidence level of the Wald intervals, in (0, 1).

    Returns
    -------
    SlopeIntercept
        ``estimable=False`` and NaN if all rows are of one class or have one score, or if the
        scores separate the classes (at most one score has rows of both classes). If they have one
        score, the intercept is tested alone.

    Raises
    ------
    ValueError
        If `confidence_level` is not in (0, 1).

    References
    ----------
    Cox 1958, doi:10.1093/biomet/45.3-4.562; Miller et al. 1991, doi:10.1002/sim.4780100805. Rao
    and Scott 1984, doi:10.1214/aos/1176346391; Lumley and Scott 2014, doi:10.1111/anzs.12065
    (weights).

    Examples
    --------
    >>> fit = calibration_slope_intercept([0, 1, 0, 1, 0, 1], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9])
    >>> round(fit.slope, 3), round(fit.intercept, 3), fit.estimable
    (0.627, 0.049, True)
    """
    return line_estimates(cells, fit_line(cells), confidence_level)


def line_estimates(
    cells: ScoreCells,
    fit: LogisticFit | None,
    confidence_level: float = 0.95,
    *,
    intercept_only: bool = True,
) -> SlopeIntercept:
    """The same from an existing fit, see `line_test`.

    The intercept with the slope fixed at 1 takes most of the time; it is NaN if it is not needed.
    """
    z = normal_quantile(confidence_level)
    x = log_odds_of(cells)
    slope, intercept = _joint(cells, x, fit)
    estimable = not math.isnan(slope[0])
    test = line_test(cells, fit if estimable else None)
    return SlopeIntercept(
        *_wald(slope, z),
        *_wald(intercept, z),
        *_wald(intercept_at_one(cells, x) if intercept_only else NOT_ESTIMABLE, z),
        statistic=test.statistic,
        p_value=test.p_value,
        estimable=estimable,
    )


def line_test(cells: ScoreCells, fit: LogisticFit | None) -> TestResult:
    """The likelihood-ratio test of `calibration_slope_intercept`, from an existing fit.

    `fit` is of the outcome on a constant and the log-odds, see `calib.uncertainty.fit_line`. The
    result is NaN without it, unless all scores are equal: then the intercept is tested, with one
    degree of freedom. Weights that depend on the score give more evidence in one direction of the
    line than in the other, so their p-value has the second-order correction of Rao and Scott.
    """
    freedom = 1 if np.ptp(certain_logit(cells.score[[0, -1]])) <= MIN_SPREAD else 2
    null = f"chi-square, {plural(freedom, 'degree')} of freedom{cells.precision}"
    if cells.one_class or (fit is None and freedom == 2):
        return TestResult(math.nan, math.nan, null)
    if fit is None or freedom == 1:
        least = mean_log_loss(cells, np.full(len(cells), cells.base_rate))
    else:
        least = -fit.log_likelihood / cells.total_weight
    gain = mean_log_loss(cells, cells.score) - least
    if cells.step:
        gain = _least_gain(cells, fit)
    effective = cells.total_weight**2 / cells.total_weight_sq
    statistic = 2.0 * effective * max(0.0, gain)
    if equal_weights(cells) or all_certain(cells):
        return TestResult(statistic, float(chdtrc(freedom, statistic)), null)
    effect = design_effect(*line_spreads(cells))
    null = f"Rao-Scott chi-square, {effect.freedom:.2f} degrees of freedom{cells.precision}"
    return TestResult(statistic, effect.p_value(statistic), null)


def _least_gain(cells: ScoreCells, fit: LogisticFit | None) -> float:
    """The smallest gain of a line over scores within the ranges that the written ones stand for.

    A shift of the scores counts as one of the outcomes. The smallest gain over all shifts is then
    the largest, over all lines, of the gain minus what the shifts can explain of it: each moves
    towards the line as far as its range reaches (the theorem of minimax: the gain is concave in the
    line and linear in the shift).
    """
    score, weight = cells.cautious.score, cells.weight
    x = certain_logit(score)
    shifts = [weight * (end - score) for end in cells.ranges]

    def lost(change: FloatArray) -> float:
        line = change[0] + change[1] * x
        likelihood = cells.positive @ line - weight @ (
            np.logaddexp(0.0, x + line) - np.logaddexp(0.0, x)
        )
        explained = np.maximum(shifts[0] * line, shifts[1] * line).sum()
        return float(explained - likelihood) / cells.total_weight

    # The function has kinks where a line crosses a score, so its gradient is not used.
    start = np.zeros(2) if fit is None else fit.coefficients - [0.0, 1.0]
    fitted_line = minimize(lost, start, method="Nelder-Mead")
    return -float(fitted_line.fun)


def line_features(cells: ScoreCells, score: FloatArray) -> FloatArray:
    """Uncorrelated features of the line at some scores, shape (1, n) or (2, n).

    The second is the log-odds minus their mean; it is missing if all log-odds are equal up to
    rounding, as those of different folds can be. Both are uncorrelated over the rows of the cells,
    weighted by their information on calibrated log-odds.
    """
    x, weight = certain_logit(cells.score), cells.weight * cells.score * (1.0 - cells.score)
    mean = float(weight @ x) / float(weight.sum())
    ones = np.ones((1, len(score)))
    if float(weight @ np.square(x - mean)) <= MIN_SPREAD**2 * float(weight.sum()):
        return ones
    return np.vstack([ones, certain_logit(score) - mean])


def line_spreads(cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
    """Two covariance matrices of the sums of w (y - s) over `line_features`, for calibrated scores.

    The first is the one that the statistic of `line_test` assumes: the information, in units in
    which the rows have their effective number. The second is that of independent rows.
    """
    features = line_features(cells, cells.score)
    variance, unit = cells.score * (1.0 - cells.score), cells.total_weight_sq / cells.total_weight
    assumed, rows = (
        (features * (weight * variance)) @ features.T
        for weight in (unit * cells.weight, cells.weight_sq)
    )
    return assumed, rows


# Log-odds with a smaller standard deviation are one value with rounding errors.
MIN_SPREAD = 1e-9
Number = tuple[float, float]  # A number is an estimate and its standard error.
NOT_ESTIMABLE: Number = (math.nan, math.nan)
# With a smaller mean of p (1 - p) all fitted probabilities are 0 or 1, and nothing is estimable.
MIN_MEAN_VARIANCE = 1e-12
# With a larger condition number the inverse of the information matrix is rounding error: almost all
# rows that are not certain have the same score.
MAX_CONDITION = 1e13


def _wald(number: Number, z: float) -> tuple[float, float, float, float]:
    """Estimate, standard error, and the bounds of Wald's interval."""
    estimate, error = number
    return estimate, error, estimate - z * error, estimate + z * error


def _joint(cells: ScoreCells, x: FloatArray, fit: LogisticFit | None) -> tuple[Number, Number]:
    if fit is None:
        return NOT_ESTIMABLE, NOT_ESTIMABLE
    features = np.stack([np.ones(len(x)), x])
    errors = _standard_errors(cells, features, fit.coefficients @ features)
    if errors is None:
        return NOT_ESTIMABLE, NOT_ESTIMABLE
    intercept, slope = zip(fit.coefficients.tolist(), errors.tolist(), strict=True)
    return slope, intercept


def intercept_at_one(cells: ScoreCells, x: FloatArray) -> Number:
    """The intercept with the slope fixed at 1, and its standard error; x are the log-odds."""
    if cells.one_class:
        return NOT_ESTIMABLE
    a = best_intercept(x, cells.positive, cells.weight, xtol=1e-13)
    errors = _standard_errors(cells, np.ones((1, len(x))), a + x)
    return NOT_ESTIMABLE if errors is None else (a, float(errors[0]))


def _standard_errors(cells: ScoreCells, features: FloatArray, eta: FloatArray) -> FloatArray | None:
    # The inner matrix is the variance of the weighted score equations under the fitted model. With
    # weights of 1 it is the inverse of the outer ones, and these are the usual standard errors.
    # The smaller of p and 1 - p is small / (1 + small), to full precision.
    small = np.exp(-np.abs(eta))
    variance = small / np.square(1.0 + small)
    if cells.weight @ variance < MIN_MEAN_VARIANCE * cells.total_weight:
        return None

    def sum_of_squares(weight: FloatArray) -> FloatArray:
        return (features * (weight * variance)) @ features.T

    information = sum_of_squares(cells.weight)
    size = np.sqrt(np.diagonal(information))
    if np.linalg.cond(information / np.outer(size, size)) > MAX_CONDITION:
        return None
    outer = np.linalg.inv(information)
    equal = cells.weight_sq is cells.weight
    inner = information if equal else sum_of_squares(cells.weight_sq)
    return np.asarray(np.sqrt(np.diag(outer @ inner @ outer)), dtype=np.float64)
