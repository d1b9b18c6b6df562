"""Distributions of frequencies and test statistics if the scores are calibrated.

The consistency band of a bin, Brownian limits, and the errors of many binnings at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr

from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import Bins, equal_weights
from calib.numerics.cells import Cells
from calib.numerics.intervals import check_level
from calib.numerics.resampling import draw_noise

# With more rows and at least this variance of the number of positives, the normal approximation is
# nearer to the exact quantiles than a plot can show.
MAX_EXACT_ROWS = 1000
MIN_NORMAL_VARIANCE = 100.0
# At a larger variance the mean absolute gap is that of a normal number, to 1%.
MAX_EXACT_GAP_VARIANCE = 25.0
# If the variance is below 100 and the mean below 200, P(count >= MAX_COUNTS) is below 1e-16.
MAX_COUNTS = 512
N_RUNS = 32  # Rows of a large bin are joined into this many runs of equal probability.
TRIALS_AT_ONCE = 1 << 16  # Fewer rows at once need less memory if there are very many bins.
# Polynomials of at most this length are multiplied term by term, in half the time of FFTs.
MAX_SHORT_LENGTH = 5
N_HALVINGS = 30


def calibrated_rate_interval(
    cells: Cells, bins: Bins, confidence_level: float, *, simultaneous: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of each bin's observed frequency under y ~ Bernoulli(s).

    They are exact (Poisson-binomial) for bins of up to 1,000 rows of equal weight, and for larger
    bins with few positives or few negatives. Otherwise they are those of a normal distribution.

    If `simultaneous`, all bins together lie in their intervals with this probability. Bins are
    independent, so it is the product of their probabilities. The tails, the same for every bin, are
    as large as that allows. See Bröcker and Smith 2007, doi:10.1175/WAF993.1.

    >>> from calib.data.cells import ScoreCells
    >>> from calib.numerics.binning import bin_cells
    >>> cells = ScoreCells.from_arrays([0, 1] * 40, [0.25, 0.75] * 40)
    >>> bins = bin_cells(cells, 2, "uniform")
    >>> calibrated_rate_interval(cells, bins, 0.95)
    (array([0.125, 0.6  ]), array([0.4  , 0.875]))
    >>> calibrated_rate_interval(cells, bins, 0.95, simultaneous=True)
    (array([0.1, 0.6]), array([0.4, 0.9]))
    """
    rates = CalibratedRates.of(cells, bins)
    return rates.together(confidence_level) if simultaneous else rates.alone(confidence_level)


def calibrated_gap(cells: Cells, bins: Bins) -> FloatArray:
    """Mean absolute gap of each bin if scores are calibrated, under y ~ Bernoulli(s).

    It is exact if the variance of the number of positives is below 25 and weights are equal.
    Otherwise it is that of a normal number, sqrt(2/pi) standard deviations, and at most twice the
    mean.

    >>> from calib.data.cells import ScoreCells
    >>> from calib.numerics.binning import bin_cells
    >>> cells = ScoreCells.from_arrays([0, 0, 1], [0.1, 0.8, 0.8])
    >>> calibrated_gap(cells, bin_cells(cells, 2, "uniform")).round(3)
    array([0.18 , 0.256])
    """
    return CalibratedRates.of(cells, bins, variance=MAX_EXACT_GAP_VARIANCE, rows=0.0).gap()


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedRates:
    """Distributions of the observed frequencies of bins under y ~ Bernoulli(s).

    The bins may be those of several diagrams of the same cells, one after another, so that all are
    computed at once. Those of one diagram lie in their intervals together.
    """

    bins: Bins
    spread: FloatArray
    diagram: IntArray  # The number of each bin's diagram, from 0.
    # These bins have an exact distribution of the number of positives, from `lowest` on. That of
    # the i-th is `pmf[start[i]:start[i + 1]]`, with the cumulative probabilities `cdf`.
    position: IntArray
    lowest: IntArray
    start: IntArray
    pmf: FloatArray
    cdf: FloatArray

    @classmethod
    def of(
        cls,
        cells: Cells,
        bins: Bins,
        diagram: IntArray | None = None,
        *,
        variance: float = MIN_NORMAL_VARIANCE,
        rows: float = MAX_EXACT_ROWS,
    ) -> CalibratedRates:
        """Exact for bins with at most this many rows, or a smaller variance of the positives."""
        counts = [*_exact_counts(cells, bins, variance, rows)]
        return cls(
            bins=bins,
            spread=calibrated_spread(cells, bins),
            diagram=np.zeros(len(bins), dtype=np.int64) if diagram is None else diagram,
            position=_joined([count.position for count in counts]),
            lowest=_joined([count.lowest for count in counts]),
            start=np.cumsum(_joined([np.array([0]), *(count.size for count in counts)])),
            pmf=np.concatenate([np.empty(0), *(count.pmf[count.inside] for count in counts)]),
            cdf=np.concatenate(
                [np.empty(0), *(np.cumsum(count.pmf, axis=-1)[count.inside] for count in counts)]
            ),
        )

    def gap(self) -> FloatArray:
        """The mean absolute gap of each bin."""
        # If X is at least 0, E abs(X - EX) is at most 2 EX, and rare positives come near that
        # bound.
        rarer = np.minimum(self.bins.mean_score, 1.0 - self.bins.mean_score)
        gap = np.minimum(math.sqrt(2.0 / math.pi) * self.spread, 2.0 * rarer)
        spread, ends = (
            self.spread * self.bins.rows,
            zip(self.start[:-1], self.start[1:], strict=True),
        )
        for i, (position, (first, end)) in enumerate(zip(self.position, ends, strict=True)):
            if spread[position] ** 2 < MAX_EXACT_GAP_VARIANCE:
                pmf, number = self.pmf[first:end], np.arange(end - first)
                if self.lowest[i]:
                    # The last bit of a sum depends on its order in memory, which is that of the
                    # mirrored distribution.
                    pmf = pmf[::-1].copy()[::-1]
                deviation = float(np.abs(number - number @ pmf) @ pmf)
                gap[position] = deviation / self.bins.rows[position]
        return gap

    def alone(self, confidence_level: float) -> tuple[FloatArray, FloatArray]:
        """The range in which each observed frequency lies with this probability."""
        check_level(confidence_level)
        return self._bounds(np.full(len(self.bins), (1.0 - confidence_level) / 2.0))

    def together(self, confidence_level: float) -> tuple[FloatArray, FloatArray]:
        """The ranges in which those of one diagram lie together with this probability."""
        check_level(confidence_level)
        return self._bounds(self._tails(confidence_level)[self.diagram])

    def _bounds(self, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        half = ndtri(0.5 + (1.0 - 2.0 * tail) / 2.0) * self.spread
        low = np.maximum(self.bins.mean_score - half, 0.0)
        high = np.minimum(self.bins.mean_score + half, 1.0)
        at, first = self.position, self.lowest - self.start[:-1]
        low[at] = (first + self._reached(tail[at])) / self.bins.rows[at]
        high[at] = (first + self._reached(1.0 - tail[at])) / self.bins.rows[at]
        return low, np.minimum(high, 1.0)

    def _reached(self, probability: FloatArray) -> IntArray:
        """Where in `cdf` each bin reaches a probability; its end if it does not."""
        low, high = self.start[:-1], self.start[1:] - 1
        while (low < high).any():
            middle = (low + high) >> 1
            below = self.cdf[middle] < probability
            low, high = (
                np.where(below & (low < high), middle + 1, low),
                np.where(below, high, middle),
            )
        return low

    def _tails(self, confidence_level: float) -> FloatArray:
        """The largest tail per bin at which all bins of a diagram are within their bounds."""
        n = np.bincount(self.diagram)
        n_normal = n - np.bincount(self.diagram[self.position], minlength=len(n))

        def enough(tail: FloatArray) -> BoolArray:
            product = (1.0 - 2.0 * tail) ** n_normal
            np.multiply.at(product, self.diagram[self.position], self._coverage(tail))
            return product >= confidence_level

        highest = np.full(len(n), (1.0 - confidence_level) / 2.0)
        # Bonferroni's tail is always small enough.
        low, high = highest / n, np.where(enough(highest), highest, 0.0)
        done = high > 0.0
        high = highest
        for _ in range(0 if done.all() else N_HALVINGS):
            middle = np.sqrt(low * high)
            fits = enough(middle)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(done, highest, low)

    def _coverage(self, tail: FloatArray) -> FloatArray:
        """Probability between the bounds of each exact bin, which are included."""
        of_bin = tail[self.diagram[self.position]]
        low, high = self._reached(of_bin), self._reached(1.0 - of_bin)
        below = np.where(low > self.start[:-1], self.cdf[low - 1], 0.0)
        return self.cdf[high] - below


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Distributions of the numbers of positives of some bins, a row each.

    They begin with the number `lowest`, and have `size` probabilities.
    """

    position: IntArray
    lowest: IntArray
    size: IntArray
    pmf: FloatArray

    @property
    def inside(self) -> BoolArray:
        return np.arange(self.pmf.shape[1]) < self.size[:, None]


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def poisson_binomial_pmf(p: FloatArray) -> FloatArray:
    """Distribution of the number of successes among independent trials.

    `p` has the success probability of each trial in its last axis. The result has the probability
    of 0, 1, 2, ... successes, to about 1e-15; entries beyond the number of trials are 0.

    >>> poisson_binomial_pmf(np.array([0.5, 0.5])).round(3)
    array([0.25, 0.5 , 0.25])
    """
    # The generating functions 1 - p + p x are multiplied in pairs, in log2(n) rounds. Trials that
    # cannot succeed fill up to a power of two, because they do not change the distribution.
    size = 1 << max(0, p.shape[-1] - 1).bit_length()
    padded = np.zeros((*p.shape[:-1], size))
    padded[..., : p.shape[-1]] = p
    factors = np.stack([1.0 - padded, padded], axis=-1)
    while factors.shape[-2] > 1:
        multiply = _short_products if factors.shape[-1] <= MAX_SHORT_LENGTH else _products
        factors = multiply(factors, 2 * factors.shape[-1] - 1)
    return factors[..., 0, :]


def _products(factors: FloatArray, length: int) -> FloatArray:
    padded_length = next_fast_len(length, real=True)
    spectrum = rfft(factors, padded_length, axis=-1)
    product = irfft(spectrum[..., ::2, :] * spectrum[..., 1::2, :], padded_length, axis=-1)
    return np.maximum(product[..., :length], 0.0)


def _short_products(factors: FloatArray, length: int) -> FloatArray:
    first, second = factors[..., ::2, :], factors[..., 1::2, :]
    product = np.zeros((*first.shape[:-1], length))
    for power in range(factors.shape[-1]):
        product[..., power : power + factors.shape[-1]] += first[..., power, None] * second
    return product


def _exact_counts(
    cells: Cells, bins: Bins, variance: float, rows: float = 0.0
) -> Iterator[_Counts]:
    """Distributions of bins with at most this many rows, or a smaller variance of the positives."""
    if not equal_weights(cells):
        return
    spread = calibrated_spread(cells, bins) * bins.rows
    chosen = (bins.rows <= rows) | (np.square(spread) < variance)
    small = np.flatnonzero(chosen & (bins.rows <= MAX_EXACT_ROWS))
    for part in _of_like_size(small, bins.rows[small]):
        pmf = poisson_binomial_pmf(_trials(cells, bins.first[part], bins.last[part]))
        size = bins.rows[part].astype(np.int64) + 1
        yield _Counts(part, np.zeros_like(size), size, pmf)
    for position in np.flatnonzero(chosen & (bins.rows > MAX_EXACT_ROWS)).tolist():
        yield _large_count(cells, bins, position)


def _of_like_size(positions: IntArray, rows: FloatArray) -> Iterator[IntArray]:
    """Groups of bins that are filled up to the same number of trials."""
    doublings = np.ceil(np.log2(rows))
    for number in np.unique(doublings):
        alike = positions[doublings == number]
        at_once = int(TRIALS_AT_ONCE / 2.0**number)
        for start in range(0, len(alike), at_once):
            yield alike[start : start + at_once]


def _large_count(cells: Cells, bins: Bins, position: int) -> _Counts:
    """Distribution in a bin of many rows and few positives, or few negatives.

    It is computed from the generating function. Neighbouring rows count as trials of their mean
    probability, so the mean is exact, and the variance is slightly too high.
    """
    first, last = int(bins.first[position]), int(bins.last[position])
    ends = np.unique(np.linspace(first, last, N_RUNS + 1).round().astype(np.int64))
    rows = np.diff(cells.cumulative_rows[ends])
    mean = np.diff(cells.cumulative_score[ends]) / np.diff(cells.cumulative_weight[ends])
    mirrored = bool(bins.mean_score[position] > 0.5)
    p = np.clip(1.0 - mean if mirrored else mean, 0.0, 1.0)
    turn = 2.0 * np.pi * np.arange(MAX_COUNTS // 2 + 1) / MAX_COUNTS
    # The spectrum is the product of (1 + p (wave - 1)) to the power of the rows. It is computed
    # from sizes and angles, because powers of complex numbers take twenty times as long.
    across, upward = 1.0 - p[:, None] * (1.0 - np.cos(turn)), -p[:, None] * np.sin(turn)
    size = 0.5 * (rows @ np.log(np.square(across) + np.square(upward)))
    spectrum = np.exp(size + 1j * (rows @ np.arctan2(upward, across)))
    pmf = np.maximum(irfft(spectrum, MAX_COUNTS), 0.0)
    lowest = int(bins.rows[position]) + 1 - MAX_COUNTS if mirrored else 0
    row = pmf[None, ::-1] if mirrored else pmf[None]
    return _Counts(np.array([position]), np.array([lowest]), np.array([MAX_COUNTS]), row)


def _trials(cells: Cells, first: IntArray, last: IntArray) -> FloatArray:
    """The scores of the rows of some bins, a bin each, filled up with 0."""
    rows = np.diff(cells.cumulative_rows[np.stack([first, last])], axis=0)[0]
    trials = np.zeros((len(first), int(rows.max(initial=0.0))))
    cell = _ranges(first, last)
    trials[np.arange(trials.shape[1]) < rows[:, None]] = np.repeat(
        cells.score[cell], cells.rows[cell].astype(np.int64)
    )
    return trials


def _ranges(first: IntArray, last: IntArray) -> IntArray:
    """The numbers from each first to before its last, one range after another."""
    size = last - first
    return np.arange(size.sum()) + np.repeat(first - np.cumsum(size) + size, size)


def calibrated_spread(cells: Cells, bins: Bins) -> FloatArray:
    """Standard deviation of each bin's observed frequency under y ~ Bernoulli(s)."""
    prefix = cells.cumulative_variance
    return np.sqrt(np.maximum(prefix[bins.last] - prefix[bins.first], 0.0)) / bins.weight


# Each distribution has two series: one converges for small arguments, one for large arguments. At
# MAX_SMALL_ARGUMENT twelve terms of either give full precision.
MAX_SMALL_ARGUMENT = 1.5
SERIES_TERMS = np.arange(12)


def null_standard_deviation(cells: Cells) -> float:
    """Standard deviation of mean outcome minus mean score under y ~ Bernoulli(s)."""
    score = cells.cautious.score
    variance = float(cells.weight_sq @ (score * (1.0 - score)))
    return math.sqrt(variance) / float(cells.weight.sum())


def supremum_survival(x: float) -> float:
    """P(sup |B| > x) for Brownian motion B on [0, 1].

    See Feller 1971, An Introduction to Probability Theory II, X.5.

    >>> round(supremum_survival(2.2414027276), 10)
    0.05
    """
    if x <= 0.0:
        return 1.0
    odd, sign = 2.0 * SERIES_TERMS + 1.0, (-1.0) ** SERIES_TERMS
    if x > MAX_SMALL_ARGUMENT:
        return 4.0 * float(sign @ ndtr(-odd * x))
    below = 4.0 / math.pi * float(sign / odd @ np.exp(-((odd * math.pi / x) ** 2) / 8.0))
    return 1.0 - below


def supremum_by_cluster(x: float, n_clusters: int) -> float:
    """`supremum_survival` with Student's tails, because clusters estimate the standard deviation.

    NaN if there is only one cluster.

    >>> round(supremum_by_cluster(2.2414027276, 100_000), 3)
    0.05
    >>> round(supremum_by_cluster(2.2414027276, 10), 2)
    0.1
    """
    return supremum_survival(_as_far_out(x, n_clusters)) if n_clusters > 1 else math.nan


def range_by_cluster(x: float, n_clusters: int) -> float:
    """`range_survival` with Student's tails, as in `supremum_by_cluster`.

    >>> round(range_by_cluster(2.4977, 100_000), 3)
    0.05
    """
    return range_survival(_as_far_out(x, n_clusters)) if n_clusters > 1 else math.nan


def _as_far_out(x: float, n_clusters: int) -> float:
    """The normal number with the tail of Student's t at x."""
    return -float(ndtri(stdtr(n_clusters - 1.0, -x)))


def range_survival(x: float) -> float:
    """P(max B - min B > x) for Brownian motion B on [0, 1].

    See Feller 1951, doi:10.1214/aoms/1177729589.

    >>> round(range_survival(2.4977), 3)
    0.05
    """
    if x <= 0.0:
        return 1.0
    if x > MAX_SMALL_ARGUMENT:
        k = SERIES_TERMS + 1.0
        return 8.0 * float((-1.0) ** SERIES_TERMS * k @ ndtr(-k * x))
    half = ((SERIES_TERMS + 0.5) * math.pi) ** 2
    return 1.0 - float((8.0 / x**2 + 2.0 / half) @ np.exp(-2.0 * half / x**2))


def supremum_quantile(level: float) -> float:
    """x with P(sup |B| <= x) = level.

    >>> round(supremum_quantile(0.95), 4)
    2.2414
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must fulfil 0 < level < 1, got {level}.")
    return float(brentq(lambda x: supremum_survival(x) - (1.0 - level), 1e-3, 40.0, xtol=1e-14))


N_SIMULATED = 4_999
SIMULATED = f"simulation, {N_SIMULATED:,} draws"
# A walk of fewer steps exceeds the extremes of a Brownian motion noticeably too rarely.
MIN_SCORES_OF_LIMIT = 100


def few_scores(cells: Cells) -> bool:
    """Whether the cumulative difference has too few steps for its Brownian limit."""
    return len(cells.score) < MIN_SCORES_OF_LIMIT


def simulated_noise(cells: Cells, random_state: int) -> FloatArray:
    """Positive minus expected weight of each cell under y ~ Bernoulli(s), in 4,999 draws."""
    rng = np.random.default_rng(random_state)
    return draw_noise(cells.cautious.score, cells.weight, cells.weight_sq, N_SIMULATED, rng)


def simulated_differences(
    cells: Cells, random_state: int, noise: FloatArray | None = None
) -> FloatArray:
    """Cumulative differences, from 0, of outcomes y ~ Bernoulli(s): 4,999 columns, each a draw.

    `noise` is the `simulated_noise` of these cells; if it is not given, it is drawn.

    >>> from calib.data.cells import ScoreCells
    >>> cells = ScoreCells.from_arrays([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    >>> simulated_differences(cells, 0).std(axis=1).round(2)
    array([0.  , 0.25])
    """
    noise = simulated_noise(cells, random_state) if noise is None else noise
    difference = np.zeros((len(noise) + 1, N_SIMULATED))
    # Adding row by row takes a quarter of the time of NumPy's cumsum along the first axis.
    for i, row in enumerate(noise):
        np.add(difference[i], row / cells.total_weight, out=difference[i + 1])
    return difference


def simulated_p(observed: float, simulated: FloatArray) -> float:
    """Share of the draws, the observed statistic included, that are at least as large as it.

    >>> simulated_p(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    # Statistics that differ only by rounding are ties, and ties count as reached.
    reached = int((simulated >= observed - 1e-12 * max(1.0, abs(observed))).sum())
    return (reached + 1) / (len(simulated) + 1)


# How the gaps of bins become one number. "mean" gives every bin with rows the same weight.
NORMS = ("l1", "l2", "max", "mean", "debiased")


@dataclass(frozen=True, slots=True, eq=False)
class Prefixes:
    """Prefix sums over scores in increasing order, with the leading 0: shape (k + 1,)."""

    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    score: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Binnings:
    """Several binnings of k sorted scores: bin j has the scores ``first[j]:last[j]``.

    Scores may be in no bin. `binning` is the number of the binning to which a bin belongs, from 0
    to `n` - 1; a binning may have no bin.
    """

    first: IntArray
    last: IntArray
    binning: IntArray
    n: int

    @classmethod
    def between(cls, starts: Sequence[IntArray]) -> Binnings:
        """One binning for each array of positions, whose bins lie between neighbouring ones."""
        sizes = [max(len(positions) - 1, 0) for positions in starts]
        return cls(
            np.concatenate([positions[:-1] for positions in starts]).astype(np.int64),
            np.concatenate([positions[1:] for positions in starts]).astype(np.int64),
            np.repeat(np.arange(len(starts)), sizes),
            len(starts),
        )


def binned_errors(sums: Prefixes, bins: Binnings) -> FloatArray:
    """The calibration error of every binning in every norm of `NORMS`: shape (n, 5).

    Gaps are weighted by the share of a bin in all scores, also if some scores are in no bin. The
    column "debiased" is the debiased l2 norm [Kumar et al. 2019, arXiv:1909.10155].

    >>> rows = np.array([0.0, 1.0, 2.0])
    >>> sums = Prefixes(rows, rows, np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.2, 0.8]))
    >>> binned_errors(sums, Binnings.between([np.array([0, 2]), np.array([0, 1, 2])])).round(3)
    array([[0.1  , 0.1  , 0.1  , 0.1  , 0.   ],
           [0.3  , 0.316, 0.4  , 0.3  , 0.   ]])
    """

    def total(prefix: FloatArray) -> FloatArray:
        return prefix[bins.last] - prefix[bins.first]

    def added(values: FloatArray) -> FloatArray:
        return np.bincount(bins.binning, values, bins.n).astype(np.float64, copy=False)

    rows, weight, positive = total(sums.rows), total(sums.weight), total(sums.positive)
    filled = rows > 0.0
    size = np.where(filled, weight, 1.0)
    gap = np.where(filled, np.abs(positive - total(sums.score)) / size, 0.0)
    observed = positive / size
    several = rows > 1.0
    noise = observed * (1.0 - observed) / np.where(several, rows - 1.0, 1.0)
    spare = np.where(several, gap * gap - noise, 0.0)
    largest = np.zeros(bins.n)
    np.maximum.at(largest, bins.binning, gap)
    share = np.where(filled, weight, 0.0) / sums.weight[-1]
    n_filled = np.maximum(added(filled.astype(np.float64)), 1.0)
    return np.column_stack(
        [
            added(share * gap),
            np.sqrt(added(share * gap * gap)),
            largest,
            added(gap) / n_filled,
            np.sqrt(np.maximum(added(share * spare), 0.0)),
        ]
    )
