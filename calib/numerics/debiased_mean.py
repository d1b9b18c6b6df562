"""The mean of outcomes from few labels and many scores of a judge, and the judge's kappa."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, expit, logit, stdtrit

from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.intervals import Estimate, normal_quantile, upper_end
from calib.numerics.resampling import unit_sums

# Student's quantiles need a degree of freedom beyond the line's two parameters.
MIN_LABELS = 3


@dataclass(frozen=True, slots=True)
class DebiasedMean:
    """The mean of a line, fitted to the labelled rows, over the scores of all rows.

    The squared standard error is ``label_variance / n_labels + score_variance``.

    Attributes
    ----------
    estimate : Estimate
        The mean in [0, 1], with its interval.
    intercept, slope : float
        The line: the outcome against the score.
    label_variance : float
        Variance of the residuals, as rows that the line was not fitted on show it.
    score_variance : float
        What remains however many rows are labelled: the scores are a sample too.
    n_labels : int
    n_units : int
        Number of clusters with a label, or of labels if there are no clusters.
    """

    estimate: Estimate
    intercept: float
    slope: float
    label_variance: float
    score_variance: float
    n_labels: int
    n_units: int

    @property
    def error(self) -> float:
        """Standard error."""
        return math.sqrt(self.label_variance / self.n_labels + self.score_variance)


def debiased_mean(
    score: FloatArray,
    outcome: FloatArray,
    group: IntArray | None = None,
    confidence_level: float = 0.95,
) -> DebiasedMean:
    """Estimate the mean of an outcome of which most values are missing (NaN).

    A line is fitted to the labelled rows by least squares, and its mean over the scores of all rows
    is the estimate (regression estimator; the calibrated form of prediction-powered inference).
    Residuals are those of a line that was fitted without the row, or without its cluster. The
    interval is Student's on the logit scale. At a pass rate of 0.9 with 50 labels, the interval
    without these two misses the true rate in up to 12% of samples.

    The squared residuals add up to at least 1, as if one row (or cluster) contradicted the judge:
    50 labels without a contradiction do not show that there is none. If all labels are equal, the
    interval is Clopper and Pearson's of the labels. If there are two scores, both with a label, and
    no clusters, the interval is that of `stratified_interval`.

    See Angelopoulos, Duchi and Zrnic 2023, "PPI++", arXiv:2311.01453; Cochran 1977, "Sampling
    Techniques", chapter 7.

    >>> score = np.array([0.0, 1.0] * 200)
    >>> outcome = np.full(400, np.nan)
    >>> outcome[:40] = [0, 1] * 16 + [1, 1] * 4
    >>> mean = debiased_mean(score, outcome).estimate
    >>> round(mean.value, 3), round(mean.low, 3), round(mean.high, 3)
    (0.6, 0.502, 0.715)
    """
    labelled = ~np.isnan(outcome)
    m, y = score[labelled], outcome[labelled]
    n, groups = len(y), None if group is None else group[labelled]
    n_units = n if groups is None else len(np.unique(groups))
    if n_units < MIN_LABELS:
        raise ValueError(f"At least {MIN_LABELS} rows (or clusters) need a label, got {n_units}.")
    intercept, slope, residual = _line(m, y, groups)
    deviation = slope * (score - score.mean())
    combined = deviation / len(score)
    combined[labelled] += residual / n
    of_scores = unit_sums(deviation, group)
    score_variance = float(of_scores @ of_scores) / len(score) ** 2
    total = float(np.square(unit_sums(combined, group)).sum())
    label_variance = n * (total - score_variance) * _least_factor(residual, groups)
    if not label_variance > 0.0:
        # There is no residual, or those of clusters cancel. One whole cluster may be contradicted.
        label_variance = float(np.square(unit_sums(np.ones(n), groups)).mean()) / n
    mean = min(max(intercept + slope * float(score.mean()), 0.0), 1.0)
    error = math.sqrt(label_variance / n + score_variance)
    if (y == y[0]).all():
        low, high = exact_interval(float(y[0]), n_units, confidence_level)
    elif group is None and len(np.unique(score)) == len(np.unique(m)) == 2:
        first = m == score.min()
        share = float((score == score.min()).mean())
        low, high = stratified_interval(
            np.array([share, 1.0 - share]),
            np.array([y[first].sum(), y[~first].sum()]),
            np.array([first.sum(), n - first.sum()], dtype=np.float64),
            score_variance,
            confidence_level,
        )
    else:
        low, high = logit_interval(mean, error, n_units, confidence_level)
    estimate = Estimate(mean, low, high)
    return DebiasedMean(estimate, intercept, slope, label_variance, score_variance, n, n_units)


def _least_factor(residual: FloatArray, group: IntArray | None) -> float:
    """Factor that raises the squared residuals, each cluster's as a mean, to a sum of 1."""
    square = np.square(residual)
    if group is not None:
        square = unit_sums(square, group) / unit_sums(np.ones(len(square)), group)
    seen = float(square.sum())
    return 1.0 / seen if 0.0 < seen < 1.0 else 1.0


def _line(m: FloatArray, y: FloatArray, group: IntArray | None) -> tuple[float, float, FloatArray]:
    """Intercept and slope, and the residuals of lines fitted without each row or cluster."""
    centre, middle = float(m.mean()), float(y.mean())
    x, v = m - centre, y - middle
    codes = np.arange(len(y)) if group is None else np.unique(group, return_inverse=True)[1]
    sums = [np.bincount(codes, of) for of in (np.ones(len(y)), x, v, x * x, x * v)]
    others = [of.sum() - of for of in sums]
    count = np.maximum(others[0], 1.0)
    mean_x, mean_v = others[1] / count, others[2] / count
    spread = others[3] - count * mean_x**2
    # Equal scores have no slope. Rounding leaves a spread of about this size.
    sloped = spread > 1e-12 * max(1.0, float(sums[3].sum()))
    slopes = np.where(sloped, (others[4] - count * mean_x * mean_v), 0.0)
    slopes /= np.where(sloped, spread, 1.0)
    residual = v - mean_v[codes] - slopes[codes] * (x - mean_x[codes])
    square = float(x @ x)
    slope = float(x @ v) / square if square > 1e-12 * len(x) else 0.0
    return middle - slope * centre, slope, residual


def logit_interval(
    mean: float, error: float, n_units: int, confidence_level: float
) -> tuple[float, float]:
    """Student's interval of a rate on the logit scale, with two parameters fitted to the units.

    >>> low, high = logit_interval(0.9, 0.03, 100, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.823, 0.946)
    """
    # The logit of 0 or 1 is infinite. Half a row away from them the interval is wide, and finite.
    centre = min(max(mean, 0.5 / n_units), 1.0 - 0.5 / n_units)
    t = float(stdtrit(max(n_units - 2, 1), upper_end(confidence_level)))
    half = t * error / (centre * (1.0 - centre))
    low, high = expit(logit(centre) - half), expit(logit(centre) + half)
    return min(float(low), mean), max(float(high), mean)


def stratified_interval(
    share: FloatArray,
    positive: FloatArray,
    n: FloatArray,
    score_variance: float,
    confidence_level: float,
) -> tuple[float, float]:
    """Interval of the mean of several rates, of which each has a share of all rows.

    The distances of the ends of Jeffreys' intervals of the rates add up in quadrature (Zou and
    Donner), and so does the spread of the shares; Student's quantile replaces the normal one. If a
    judge that passes or fails is nearly always right, few labelled rows contradict it. An interval
    that takes their variance at face value contains the true rate in 91 to 93% of samples, with a
    pass rate of 0.97 and 99% right. See Zou and Donner 2008, doi:10.1002/sim.3095; Brown, Cai and
    DasGupta 2001, doi:10.1214/ss/1009213286 (Jeffreys' interval).

    >>> half, counts = np.array([0.5, 0.5]), np.array([1.0, 19.0])
    >>> low, high = stratified_interval(half, counts, np.array([20.0, 20.0]), 0.0, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.414, 0.586)
    """
    end, rate = upper_end(confidence_level), positive / n
    # Each estimated rate takes one degree of freedom of the labels.
    wider = float(stdtrit(max(n.sum() - len(n), 1.0), end)) / normal_quantile(confidence_level)
    low = np.where(rate > 0.0, betaincinv(positive + 0.5, n - positive + 0.5, 1.0 - end), 0.0)
    high = np.where(rate < 1.0, betaincinv(positive + 0.5, n - positive + 0.5, end), 1.0)
    mean, of_shares = float(share @ rate), normal_quantile(confidence_level) ** 2 * score_variance
    below, above = (
        wider * math.sqrt(float(np.square(share * (rate - to)).sum()) + of_shares)
        for to in (low, high)
    )
    return max(mean - below, 0.0), min(mean + above, 1.0)


def exact_interval(rate: float, n: float, confidence_level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate, doi:10.1093/biomet/26.4.404.

    `n` is the number of rows, or an effective number, which need not be whole.

    >>> low, high = exact_interval(0.1, 30, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0211, 0.2653)
    """
    end, x = upper_end(confidence_level), rate * n
    low = float(betaincinv(x, n - x + 1.0, 1.0 - end)) if rate > 0.0 else 0.0
    return low, float(betaincinv(x + 1.0, n - x, end)) if rate < 1.0 else 1.0


def prediction_powered_mean(
    outcome: FloatArray,
    score: FloatArray,
    unlabelled_score: FloatArray,
    confidence_level: float = 0.95,
    *,
    weight: float | None = None,
) -> tuple[Estimate, float]:
    """PPI++ of a mean: the estimate with its normal interval, and the weight lambda of the scores.

    The first two arrays are of the labelled rows, the third of the others. The numbers are those of
    `ppi_mean_ci` in ppi-python 0.2.3, which also chooses lambda in [0, 1]. See Angelopoulos, Duchi
    and Zrnic 2023, arXiv:2311.01453, Section 6.

    >>> y, m = np.array([1.0, 0.0, 1.0, 1.0]), np.array([0.9, 0.2, 0.7, 0.8])
    >>> estimate, weight = prediction_powered_mean(y, m, np.array([0.1, 0.9, 0.8, 0.6, 0.3]))
    >>> round(estimate.value, 3), round(weight, 3)
    (0.678, 0.65)
    """
    n, n_others = len(outcome), len(unlabelled_score)
    if weight is None:
        together = np.concatenate([score, unlabelled_score])
        variance = float(np.var(together, ddof=1)) * (1.0 + n / n_others)
        covariance = float((outcome - outcome.mean()) @ (score - score.mean())) / n
        weight = min(max(covariance / variance, 0.0), 1.0) if variance > 0.0 else 0.0
    rest = outcome - weight * score
    value = weight * float(unlabelled_score.mean()) + float(rest.mean())
    of_scores = weight**2 * float(np.var(unlabelled_score)) / n_others
    half = normal_quantile(confidence_level) * math.sqrt(of_scores + float(np.var(rest)) / n)
    return Estimate(value, value - half, value + half), weight


def kappa(
    first: BoolArray,
    second: BoolArray,
    group: IntArray | None = None,
    confidence_level: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two raters, NaN if both give one and the same answer to every row.

    The interval is Student's, with the variance of the delta method, of a table that has one more
    row (or cluster of average size) in each of its four cells. So it does not shrink to a point if
    a cell is empty, and it covers 0.93 and more with 50 rows of which 5 fail; without the added
    rows it covers down to 0.8. See Cohen 1960, doi:10.1177/001316446002000104; Fleiss, Cohen and
    Everitt 1969, doi:10.1037/h0028106; Agresti and Caffo 2000, doi:10.1080/00031305.2000.10474560.

    >>> first = np.array([True] * 45 + [False] * 15 + [True] * 25 + [False] * 15)
    >>> second = np.array([True] * 45 + [True] * 15 + [False] * 25 + [False] * 15)
    >>> estimate = kappa(first, second)
    >>> round(estimate.value, 3), round(estimate.low, 3), round(estimate.high, 3)
    (0.13, -0.065, 0.321)
    """
    n, n_units = len(first), len(first) if group is None else len(np.unique(group))
    value, _ = _kappa(first, second, np.ones(n))
    if math.isnan(value):
        return Estimate(value)
    j = np.concatenate([first, [True, True, False, False]])
    y = np.concatenate([second, [True, False, True, False]])
    weight = np.append(np.ones(n), np.full(4, n / n_units))
    centre, influence = _kappa(j, y, weight)
    added = None if group is None else np.append(group, group.max() + np.arange(1, 5))
    units = unit_sums(weight * influence, added)
    count = n_units + 4
    variance = float(units @ units) / float(weight.sum()) ** 2 * count / (count - 1)
    half = float(stdtrit(count - 1, upper_end(confidence_level))) * math.sqrt(variance)
    low, high = min(centre - half, value), max(centre + half, value)
    return Estimate(value, max(low, -1.0), min(high, 1.0))


def _kappa(first: BoolArray, second: BoolArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Kappa of weighted rows, and the influence of each row on it."""
    j, y, share = first.astype(np.float64), second.astype(np.float64), weight / weight.sum()
    a, b, differ = float(share @ j), float(share @ y), np.abs(j - y)
    rate, chance = float(share @ differ), a * (1.0 - b) + b * (1.0 - a)
    if chance < 1e-12:
        return math.nan, np.zeros(len(j))
    slope = (1.0 - 2.0 * b) * (j - a) + (1.0 - 2.0 * a) * (y - b)
    influence = (rate - differ) / chance + rate / chance**2 * slope
    return (chance - rate) / chance, influence
