"""The consistency band: what a bin's observed frequency does if its scores are calibrated."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import Bins, Cells, equal_weights
from calib.numerics.intervals import normal_quantile

# Above, the normal approximation is nearer to the exact quantiles than a plot can show.
MOST_EXACT_ROWS = 1000
# Polynomials multiplied at once: bounds the memory of a plot with very many small bins.
BINS_AT_ONCE = 64


def calibrated_rate_interval(
    cells: Cells, bins: Bins, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of each bin's observed frequency under y ~ Bernoulli(s).

    Exact (Poisson-binomial) for bins of up to 1,000 rows of equal weight; normal for larger ones
    and where weights differ.

    Parameters
    ----------
    cells : ScoreCells
    bins : Bins
        Of these cells.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    low, high : ndarray of shape (b,), in [0, 1]
        The observed frequency is in [low, high] with at least this probability where exact.

    References
    ----------
    Bröcker and Smith 2007, doi:10.1175/WAF993.1.
    """
    low, high = _normal(cells, bins, confidence_level)
    if equal_weights(cells):
        exact = bins.rows <= MOST_EXACT_ROWS
        low[exact], high[exact] = _exact(cells, bins, exact, confidence_level)
    return low, high


def poisson_binomial_pmf(p: FloatArray) -> FloatArray:
    """Distribution of the number of successes among independent trials.

    Parameters
    ----------
    p : ndarray of shape (..., n), in [0, 1]
        Success probability of each trial.

    Returns
    -------
    ndarray of shape (..., m), m > n
        Probability of 0, 1, 2, ... successes, to about 1e-15; entries beyond n are 0.

    Examples
    --------
    >>> import numpy as np
    >>> poisson_binomial_pmf(np.array([0.5, 0.5])).round(3)
    array([0.25, 0.5 , 0.25])
    """
    # The generating functions 1 - p + p x are multiplied pairwise: log2(n) rounds of FFTs. Trials
    # that cannot succeed fill up to a power of two and change nothing.
    size = 1 << max(0, p.shape[-1] - 1).bit_length()
    padded = np.zeros((*p.shape[:-1], size))
    padded[..., : p.shape[-1]] = p
    factors = np.stack([1.0 - padded, padded], axis=-1)
    while factors.shape[-2] > 1:
        length = 2 * factors.shape[-1] - 1
        padded_length = next_fast_len(length, real=True)
        spectrum = rfft(factors, padded_length, axis=-1)
        product = irfft(spectrum[..., ::2, :] * spectrum[..., 1::2, :], padded_length, axis=-1)
        factors = np.maximum(product[..., :length], 0.0)
    return factors[..., 0, :]


def _exact(
    cells: Cells, bins: Bins, chosen: BoolArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    first, last, rows = bins.first[chosen], bins.last[chosen], bins.rows[chosen]
    low, high = np.empty(len(rows)), np.empty(len(rows))
    tail = (1.0 - confidence_level) / 2.0
    for start in range(0, len(rows), BINS_AT_ONCE):
        part = slice(start, start + BINS_AT_ONCE)
        cdf = np.cumsum(poisson_binomial_pmf(_trials(cells, first[part], last[part])), axis=-1)
        low[part] = (cdf < tail).sum(axis=-1)
        high[part] = (cdf < 1.0 - tail).sum(axis=-1)
    return low / rows, np.minimum(high / rows, 1.0)


def _trials(cells: Cells, first: IntArray, last: IntArray) -> FloatArray:
    unfolded = [
        np.repeat(cells.score[a:b], cells.rows[a:b].astype(np.int64))
        for a, b in zip(first, last, strict=True)
    ]
    trials = np.zeros((len(unfolded), max(map(len, unfolded), default=0)))
    for row, p in zip(trials, unfolded, strict=True):
        row[: len(p)] = p
    return trials


def _normal(cells: Cells, bins: Bins, confidence_level: float) -> tuple[FloatArray, FloatArray]:
    prefix = cells.cumulative_variance
    spread = np.sqrt(np.maximum(prefix[bins.last] - prefix[bins.first], 0.0)) / bins.weight
    half = normal_quantile(confidence_level) * spread
    return np.maximum(bins.mean_score - half, 0.0), np.minimum(bins.mean_score + half, 1.0)
