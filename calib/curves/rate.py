"""Observed frequency as a function of the score without bins: CORP and smooth curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray, Locked, arrays_of
from calib.numerics.binning import bin_cells, edge_ends
from calib.numerics.few_cells import bucket_starts, into_buckets
from calib.numerics.intervals import check_level, normal_quantile, wilson_interval
from calib.numerics.isotonic import increasing_blocks, pool_adjacent_violators
from calib.numerics.resampling import draw_sums
from calib.numerics.smoothed_rate import fit_smooth
from calib.numerics.transforms import sigmoid
from calib.uncertainty import Replicates

RateKind = Literal["corp", "smooth"]
RATE_KINDS: tuple[RateKind, ...] = get_args(RateKind)
# The design effect is assumed to be constant in each of these quantile bins of the scores.
DESIGN_EFFECT_BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class RateCurve(Locked):
    """A curve of the estimated frequency of positive rows with a pointwise band.

    Arrays have the shape (p,). Scores do not decrease, and the curve is linear between points.
    """

    kind: RateKind
    score: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    confidence_level: float

    def frame(self) -> pd.DataFrame:
        """One row per point."""
        return pd.DataFrame(arrays_of(self))


def local_design_effect(
    cells: ScoreCells, clusters: Replicates | None, score: FloatArray
) -> FloatArray:
    """Design effect near each score: variance relative to independent rows.

    `clusters` are resamples of the clusters of the same rows; without them rows are independent.
    The effect is that of the tenth of the rows that the score lies in, at least 1.
    """
    if clusters is None:
        return np.ones(len(score))
    bins = bin_cells(cells, DESIGN_EFFECT_BINS, "quantile")
    return clusters.design_effect(bins)[np.searchsorted(edge_ends(bins.high_edge[:-1]), score)]


def whole_design_effect(cells: ScoreCells, clusters: Replicates | None) -> float:
    """Design effect of all rows together, for a smooth curve, which joins rows over wide ranges."""
    if clusters is None:
        return 1.0
    gap, s = clusters.gap[-1], cells.score
    square = cells.positive_sq @ (1.0 - 2.0 * s) + cells.weight_sq @ (s * s)
    alone = square - gap[0] ** 2 * cells.total_weight_sq
    if alone <= 0.0:
        return 1.0
    return max(1.0, float(gap[1:].var() * cells.total_weight**2 / alone))


MAX_POINTS = 200


def smooth_curve(
    cells: ScoreCells, *, confidence_level: float = 0.95, clusters: Replicates | None = None
) -> RateCurve:
    """Smoothing-spline estimate of the observed frequency, with a pointwise band.

    The spline is that of the integrated calibration index. The band is normal on the log-odds
    scale. Its standard error is that of a Bayesian posterior, in which the penalty is the prior; it
    also covers the bias from smoothing. If rows have clusters, the fit and the band use the number
    of rows divided by a design effect.

    Evidence is counted in effective rows. `clusters` are resamples of the clusters that the rows
    come in. There are about 200 points: one half evenly spaced by score, one half by weight. If all
    scores or all outcomes are equal, the curve is the base rate with its Wilson interval. Raises
    ValueError if `confidence_level` is not in (0, 1). See Lucena 2018, equation 1, arXiv:1809.07751
    (curve). Nychka 1988, doi:10.1080/01621459.1988.10478711 (band).
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
    effective_cells = cells.in_effective_rows()
    # A cluster whose scores differ shifts the whole curve more than it bends it.
    wider = max(1.0, effect / cells.design_effect)
    fit = fit_smooth(effective_cells)
    if fit is None:
        rate = np.full(len(score), min(1.0, cells.base_rate))
        effective = np.full(len(score), effective_cells.total_weight / wider)
        return rate, *wilson_interval(rate, effective, confidence_level)
    middle = fit.log_odds(score)
    half = normal_quantile(confidence_level) * fit.error(score) * np.sqrt(wider)
    return sigmoid(middle), sigmoid(middle - half), sigmoid(middle + half)


# The band is computed from this many buckets of neighbouring scores. More have no visible effect.
BAND_BUCKETS = 256
MAX_BLOCKS = 300
# Blocks in which fewer effective rows have the rarer outcome get a Wilson interval.
MIN_ROWS_OF_RARER_OUTCOME = 5.0


def corp_curve(
    cells: ScoreCells,
    *,
    confidence_level: float = 0.95,
    n_replicates: int = 1_000,
    random_state: int = 0,
    clusters: Replicates | None = None,
) -> RateCurve:
    """Isotonic regression (PAV) of the outcome on the score, with a pointwise band.

    The band is a percentile bootstrap over rows. If a block has fewer than five rows of one
    outcome, resamples hardly vary, so the Wilson interval of the block is added. The bounds are
    made monotone, because the true frequency is assumed not to fall. Rows are resampled in at most
    about 256 buckets of score. If rows have clusters, the number of drawn rows is divided by the
    design effect.

    `clusters` are resamples of the clusters that the rows come in. Points are at the lowest and the
    highest score of each block (if there are more than 300 blocks, of about 300), and at the
    buckets of the bootstrap. Raises ValueError if `confidence_level` is not in (0, 1). See
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.
    """
    check_level(confidence_level)
    edges = increasing_blocks(cells.rate, cells.weight)
    effect = local_design_effect(cells, clusters, cells.score)
    rate, low, high = _blocks(cells, edges, effect, confidence_level)
    ends = _ends(edges)
    block = np.searchsorted(edges, ends, side="right") - 1
    rng = np.random.default_rng(random_state)
    x, band_low, band_high = _bootstrap(cells, effect, confidence_level, n_replicates, rng)
    score = np.union1d(cells.score[ends], x)

    def along(values: FloatArray) -> FloatArray:
        return np.interp(score, cells.score[ends], values[block])

    low = np.minimum(along(low), np.interp(score, x, band_low))
    high = np.maximum(along(high), np.interp(score, x, band_high))
    return RateCurve(
        kind="corp",
        score=score,
        observed=along(rate),
        low=np.maximum.accumulate(low),
        high=np.minimum.accumulate(high[::-1])[::-1],
        confidence_level=confidence_level,
    )


def _blocks(
    cells: ScoreCells, edges: IntArray, effect: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rate of each block, with its Wilson interval if few rows have the rarer outcome."""
    weight = np.diff(cells.cumulative_weight[edges])
    rate = np.clip(np.diff(cells.cumulative_positive[edges]) / weight, 0.0, 1.0)
    effective = np.square(weight) / np.add.reduceat(effect * cells.weight_sq, edges[:-1])
    low, high = wilson_interval(rate, effective, confidence_level)
    few = effective * np.minimum(rate, 1.0 - rate) < MIN_ROWS_OF_RARER_OUTCOME
    return rate, np.where(few, low, rate), np.where(few, high, rate)


def _ends(edges: IntArray) -> IntArray:
    """First and last cell of each block, or of some blocks if there are very many."""
    step = -(-(len(edges) - 1) // MAX_BLOCKS)
    firsts, lasts = edges[:-1][::step], edges[1:][::step] - 1
    return np.unique(np.concatenate([firsts, lasts, edges[-1:] - 1]))


def _bootstrap(
    cells: ScoreCells,
    effect: FloatArray,
    confidence_level: float,
    n_replicates: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean score of every bucket, and quantiles of the refitted curves there."""
    buckets = into_buckets(cells.score, cells.weight, cells.positive, BAND_BUCKETS)

    def draw(weight: FloatArray, weight_sq: FloatArray) -> FloatArray:
        total, squares = (np.add.reduceat(w, buckets.starts) for w in (weight, effect * weight_sq))
        return draw_sums(total, squares, n_replicates, rng).T.astype(np.float64)

    positive = draw(cells.positive, cells.positive_sq)
    negative = draw(cells.negative, cells.weight_sq - cells.positive_sq)
    drawn = zip(positive, positive + negative, strict=True)
    fits = np.array([_refit(buckets.x, q, t) for q, t in drawn if t.any()])
    tail = 0.5 * (1.0 - confidence_level)
    low, high = np.quantile(fits, [tail, 1.0 - tail], axis=0)
    return buckets.x, low, high


def _refit(x: FloatArray, positive: FloatArray, weight: FloatArray) -> FloatArray:
    """The increasing fit to one resample at every bucket. It is interpolated at empty buckets."""
    drawn = weight > 0.0
    fit = pool_adjacent_violators(positive[drawn] / weight[drawn], weight[drawn])
    return fit if drawn.all() else np.interp(x, x[drawn], fit)
