"""The CORP curve: the best increasing fit to the outcomes, so that the data choose the bins."""

from __future__ import annotations

import numpy as np

from calib.core.cells import ScoreCells
from calib.curves.rate import RateCurve, check_level, local_design_effect
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.few_cells import into_buckets
from calib.numerics.intervals import wilson_interval
from calib.numerics.isotonic import increasing_blocks, pool_adjacent_violators
from calib.numerics.resampling import draw_sums
from calib.uncertainty import Replicates

# A band is drawn from this many buckets of neighbouring scores: finer ones change nothing seen.
BAND_BUCKETS = 256
MAX_BLOCKS = 300
FEW_OF_AN_OUTCOME = 5.0


def corp_curve(
    cells: ScoreCells,
    *,
    confidence_level: float = 0.95,
    n_replicates: int = 1_000,
    random_state: int = 0,
    clusters: Replicates | None = None,
) -> RateCurve:
    """Isotonic regression (PAV) of the outcome on the score, with a pointwise band.

    The band is the percentile bootstrap over rows. It fails where a block holds one outcome only,
    as at the ends: every resample of such a block is the same, and nearly so with fewer than five
    rows of the rarer outcome. There the block's Wilson interval is added. Since no true frequency
    falls, a bound holds for all larger (or smaller) scores too. Rows are resampled in at most about
    256 buckets of score. Where they come in clusters, as many are drawn as would vary as much if
    they were independent.

    Parameters
    ----------
    cells : ScoreCells
    confidence_level : float
        In (0, 1).
    n_replicates : int
    random_state : int
        Seed of the bootstrap.
    clusters : Replicates, optional
        Resamples of the clusters that the rows come in.

    Returns
    -------
    RateCurve
        Points at the lowest and the highest score of every block (of more than 300 blocks, of some
        300), and where the band was resampled.

    Raises
    ------
    ValueError
        If `confidence_level` is not in (0, 1).

    References
    ----------
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])
    >>> curve = corp_curve(cells)
    >>> curve.score, curve.observed
    (array([0.1, 0.3, 0.6, 0.8]), array([0. , 0.5, 0.5, 1. ]))
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
    """Rate of every block; its Wilson interval too where few rows have the rarer outcome."""
    weight = np.diff(cells.cumulative_weight[edges])
    rate = np.clip(np.diff(cells.cumulative_positive[edges]) / weight, 0.0, 1.0)
    effective = np.square(weight) / np.add.reduceat(effect * cells.weight_sq, edges[:-1])
    low, high = wilson_interval(rate, effective, confidence_level)
    few = effective * np.minimum(rate, 1.0 - rate) < FEW_OF_AN_OUTCOME
    return rate, np.where(few, low, rate), np.where(few, high, rate)


def _ends(edges: IntArray) -> IntArray:
    """First and last cell of every block, or of some of them where they are very many."""
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
    """The increasing fit to one resample, at every bucket; between its neighbours where empty."""
    drawn = weight > 0.0
    fit = pool_adjacent_violators(positive[drawn] / weight[drawn], weight[drawn])
    return fit if drawn.all() else np.interp(x, x[drawn], fit)
