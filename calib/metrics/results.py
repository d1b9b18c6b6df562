"""What a metric returns that is more than one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class TestResult:
    """Result of a significance test of "these scores are calibrated".

    Attributes
    ----------
    statistic, p_value : float
    null : str
        The distribution that the p-value was read from.
    """

    __test__: ClassVar[bool] = False  # the name is the field's; it is nothing for pytest to collect

    statistic: float
    p_value: float
    null: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean score, split: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean score itself.
    miscalibration : float
        What recalibration by isotonic regression would save; at least 0. Google's "calibration".
    discrimination : float
        What the recalibrated scores gain over the base rate; at least 0. Google's "sharpness".
    uncertainty : float
        Score of the base rate given to every row. Google's "irreducible".
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class SmoothedErrors:
    """Distances of the scores from a smooth calibration curve, over rows.

    Attributes
    ----------
    ici : float
        Mean: the integrated calibration index.
    e50, e90, emax : float
        Median, 90th percentile, and maximum.
    penalty : float
        How much the curve was smoothed: weight of its curvature a row; NaN where there is no curve.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    penalty: float


@dataclass(frozen=True, slots=True)
class SlopeIntercept:
    """Logistic regression of the outcome on the scores' log-odds: logit P(y = 1) = a + b logit s.

    Calibrated scores have slope 1 and intercept 0. All numbers of a fit that has no maximum
    (the scores separate the classes) are NaN, and the flag says so.

    Attributes
    ----------
    slope, slope_error, slope_low, slope_high : float
        b, its standard error, its Wald interval.
    intercept, intercept_error, intercept_low, intercept_high : float
        a, fitted together with b.
    intercept_only, intercept_only_error, intercept_only_low, intercept_only_high : float
        a with the slope fixed at 1: calibration in the large on the log-odds scale.
    statistic, p_value : float
        Likelihood-ratio test of a = 0 and b = 1, chi-square with 2 degrees of freedom.
    estimable : bool
        Whether slope, intercept and test exist.
    """

    slope: float
    slope_error: float
    slope_low: float
    slope_high: float
    intercept: float
    intercept_error: float
    intercept_low: float
    intercept_high: float
    intercept_only: float
    intercept_only_error: float
    intercept_only_low: float
    intercept_only_high: float
    statistic: float
    p_value: float
    estimable: bool
