"""Calibration errors and tests that use cumulative differences instead of bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calib.data.cells import ScoreCells
from calib.metrics.base import TestResult, error_metric, error_test, metric
from calib.numerics.arrays import FloatArray
from calib.numerics.poisson_binomial import (
    SIMULATED,
    few_scores,
    null_standard_deviation,
    range_survival,
    simulated_differences,
    simulated_p,
    supremum_survival,
)


def _difference(cells: ScoreCells) -> FloatArray:
    return (cells.cumulative_positive - cells.cumulative_score) / cells.total_weight


def _largest(difference: FloatArray) -> FloatArray:
    return np.asarray(np.abs(difference).max(axis=0))


def _range(difference: FloatArray) -> FloatArray:
    return np.asarray(np.ptp(difference, axis=0))


# To credit analysts KS alone is a measure of discrimination, of which more is better.
@error_metric(
    "KS calibration error",
    meaning="Largest gap between observed and predicted positives up to any score, as a share of "
    "all rows.",
    convention="Evaluated between distinct scores: tied rows are never split.",
    source="Gupta et al. 2021, arXiv:2006.12800",
    aliases="Kolmogorov-Smirnov calibration error, ECCE-MAD",
    other_class=None,  # The cumulative curve begins at the lowest score.
)
def ks_error(cells: ScoreCells) -> float:
    """Kolmogorov-Smirnov (KS) calibration error: the maximum of abs(C_k) over k.

    C_k = (1/W) sum of w (y - s) over the rows with the k lowest distinct scores; W is the total
    weight.

    References
    ----------
    Gupta et al. 2021, arXiv:2006.12800; Arrieta-Ibarra et al. 2022, arXiv:2205.09680 (ECCE-MAD).

    Examples
    --------
    >>> round(ks_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8]), 4)
    0.1
    """
    return float(_largest(_difference(cells)))


@error_metric(
    "Kuiper error",
    meaning="Largest gap between observed and predicted positives over any interval of scores, "
    "as a share of all rows.",
    convention="Evaluated between distinct scores: tied rows are never split.",
    source="Arrieta-Ibarra et al. 2022, arXiv:2205.09680",
    aliases="ECCE-R",
)
def kuiper_error(cells: ScoreCells) -> float:
    """Kuiper calibration error: max C_k - min C_k, including C_0 = 0; see `ks_error` for C_k.

    References
    ----------
    Arrieta-Ibarra et al. 2022, arXiv:2205.09680 (ECCE-R).

    Examples
    --------
    >>> round(kuiper_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8]), 4)
    0.15
    """
    return float(_range(_difference(cells)))


@metric(
    "Observed - predicted",
    meaning="Observed frequency minus mean score (calibration-in-the-large).",
    bounds=(-1.0, 1.0),
    better="zero",
    convention="Positive: the scores are too low on average.",
    source="Cox 1958, doi:10.1093/biomet/45.3-4.562",
    aliases="calibration-in-the-large, mean calibration, bias",
    perfect=0.0,
    other_class="negated",
)
def signed_calibration_error(cells: ScoreCells) -> float:
    """Weighted base rate minus weighted mean score.

    Positive: the scores are too low on average. It is the last value of the cumulative difference.

    Examples
    --------
    >>> round(signed_calibration_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8]), 4)
    0.05
    """
    return cells.base_rate - cells.mean_score


@error_test(
    "KS test",
    meaning="Probability that calibrated scores show a KS error this large by chance.",
    convention="Brownian limit; below 100 distinct scores a seeded simulation of y ~ Bernoulli(s).",
    source="Arrieta-Ibarra et al. 2022, arXiv:2205.09680",
    aliases="Kolmogorov-Smirnov test",
    perfect=0.0,
    weighs_evidence=True,
)
def ks_test(cells: ScoreCells, random_state: int = 0) -> TestResult:
    """Test of calibration with the KS error as statistic.

    The error is divided by its null standard deviation sqrt(sum w^2 s (1 - s))/W and compared with
    sup abs(B) of Brownian motion B on [0, 1]. With fewer than 100 distinct scores this limit
    rejects too rarely; the p-value then comes from 4,999 simulated sets of outcomes.

    Returns
    -------
    TestResult
        `statistic` is the KS error itself. With scores that have a step, it is the smallest of
        all values that they stand for.

    Examples
    --------
    >>> result = ks_test([0, 0, 1, 1] * 50, [0.1, 0.3, 0.6, 0.8] * 50)
    >>> round(result.statistic, 4), round(result.p_value, 4), result.null
    (0.1, 0.0012, 'simulation, 4,999 draws')
    """
    return _test(cells, KS, random_state)


@error_test(
    "Kuiper test",
    meaning="Probability that calibrated scores show a Kuiper error this large by chance.",
    convention="Brownian limit; below 100 distinct scores a seeded simulation of y ~ Bernoulli(s).",
    source="Arrieta-Ibarra et al. 2022, arXiv:2205.09680",
    aliases="ECCE-R test",
    perfect=0.0,
    weighs_evidence=True,
)
def kuiper_test(cells: ScoreCells, random_state: int = 0) -> TestResult:
    """Test of calibration with the Kuiper error as statistic.

    The p-value comes from the range of Brownian motion, or from a simulation, as in `ks_test`.

    Returns
    -------
    TestResult
        `statistic` is the Kuiper error itself.

    Examples
    --------
    >>> result = kuiper_test([0, 0, 1, 1] * 50, [0.1, 0.3, 0.6, 0.8] * 50)
    >>> round(result.statistic, 4), result.null
    (0.15, 'simulation, 4,999 draws')
    """
    return _test(cells, KUIPER, random_state)


def cumulative_tests(cells: ScoreCells, noise: FloatArray | None) -> dict[str, TestResult]:
    """The tests "ks" and "kuiper", both from one `simulated_noise` if there are few scores."""
    drawn = None if noise is None else simulated_differences(cells, 0, noise)
    return {key: _test(cells, law, 0, drawn) for key, law in (("ks", KS), ("kuiper", KUIPER))}


Law = tuple[Callable[[FloatArray], FloatArray], Callable[[float], float], str]
KS: Law = (_largest, supremum_survival, "supremum of Brownian motion")
KUIPER: Law = (_range, range_survival, "range of Brownian motion")


def _test(
    cells: ScoreCells, law: Law, random_state: int, drawn: FloatArray | None = None
) -> TestResult:
    error, survival, limit = law
    sigma = null_standard_deviation(cells)
    observed = float(error(_difference(cells))) if not cells.step else _least(cells, error)
    if sigma == 0.0:
        # If all scores are 0 or 1, calibrated scores have no gap at all.
        return TestResult(observed, 1.0 if observed == 0.0 else 0.0, "certain scores")
    if few_scores(cells):
        drawn = simulated_differences(cells, random_state) if drawn is None else drawn
        null = f"{SIMULATED}{cells.precision}"
        return TestResult(observed, simulated_p(observed, error(drawn)), null)
    return TestResult(observed, survival(observed / sigma), f"{limit}{cells.precision}")


def _least(cells: ScoreCells, error: Callable[[FloatArray], FloatArray]) -> float:
    """The smallest error of all scores within the ranges that the written ones stand for.

    A curve of scores at the upper ends of their ranges rises least, and one at the lower ends falls
    least. No scores can have a smaller rise and fall than these, and some have none that is larger.
    """
    high, low = (
        _difference(replace(cells, score=end)) * sign
        for end, sign in zip(cells.ranges[::-1], (1.0, -1.0), strict=True)
    )
    swing = max(float((curve - np.minimum.accumulate(curve)).max()) for curve in (high, low))
    return swing if error is _range else max(float(high.max()), float(low.max()), swing / 2.0)
