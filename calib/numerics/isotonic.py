"""Isotonic regression by pool-adjacent-violators, and the inductive Venn-Abers predictors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import BoolArray, FloatArray, increasing_order, run_starts, sort_labelled
from calib.numerics.binning import edge_ends

N_BUCKETS = 65_536


def pool_adjacent_violators(rate: FloatArray, weight: FloatArray) -> FloatArray:
    """Non-decreasing weighted least-squares fit to `rate`, one value per cell, in the cells' order.

    >>> pool_adjacent_violators(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    array([0. , 0.5, 0.5, 1. ])
    """
    return np.asarray(_fitted(rate, weight).x, dtype=np.float64)


def increasing_blocks(rate: FloatArray, weight: FloatArray) -> NDArray[np.intp]:
    """Edges of the blocks of that fit: block b is the cells edges[b] to edges[b + 1] - 1.

    >>> increasing_blocks(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    array([0, 1, 3, 4])
    """
    return np.asarray(_fitted(rate, weight).blocks, dtype=np.intp)


def _fitted(rate: FloatArray, weight: FloatArray) -> Any:
    # The import takes a fifth of a second, and programs that only read files do not need it.
    from scipy.optimize import isotonic_regression

    return isotonic_regression(rate, weights=weight)


def isotonic_steps(
    score: FloatArray, positive: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """First score, last score, rate and weight of every block of the isotonic fit to unsorted rows.

    A sort would take most of the time, and only rows near a block's edge need one. So many rows
    are first counted into buckets of score. The fit is the convex minorant of the cumulative-sum
    diagram; however the rows of one bucket are ordered, the diagram stays above the corner that it
    would reach with all negatives first. Where that corner is above the minorant of the buckets,
    no edge can be inside, and the bucket is kept whole. The result is exact.

    >>> score, positive = np.array([0.9, 0.1, 0.4, 0.6]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> isotonic_steps(score, positive, np.ones(4))
    (array([0.1, 0.4, 0.9]), array([0.1, 0.6, 0.9]), array([0. , 0.5, 1. ]), array([1., 2., 1.]))
    """
    merged = _keep_buckets_whole if len(score) > 2 * N_BUCKETS else _merge_ties
    return steps_of_cells(*merged(score, positive, weight))


def steps_of_cells(
    score: FloatArray, positive: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Isotonic regression of cells, that is of distinct scores in increasing order.

    >>> score, positive = np.array([0.1, 0.4, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> steps_of_cells(score, positive, np.ones(4))
    (array([0.1, 0.4, 0.9]), array([0.1, 0.6, 0.9]), array([0. , 0.5, 1. ]), array([1., 2., 1.]))
    """
    # A run of cells whose rates do not rise lies within one block. Adding up such runs first
    # removes three quarters of the cells before blocks are pooled one by one.
    rate = positive / weight
    runs = np.concatenate([[0], np.flatnonzero(rate[1:] > rate[:-1]) + 1])
    run_positive, run_weight = np.add.reduceat(positive, runs), np.add.reduceat(weight, runs)
    blocks = increasing_blocks(run_positive / run_weight, run_weight)[:-1]
    rate = np.add.reduceat(run_positive, blocks) / np.add.reduceat(run_weight, blocks)
    # Blocks whose rates are equal up to rounding are one, however their rows are added up.
    blocks = blocks[np.concatenate([[True], rate[1:] > edge_ends(rate[:-1])])]
    total = np.add.reduceat(run_weight, blocks)
    rate = np.add.reduceat(run_positive, blocks) / total
    starts = runs[blocks]
    return score[starts], score[np.append(starts[1:], len(score)) - 1], rate, total


def _merge_ties(
    score: FloatArray, positive: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    plain = (weight == 1.0) & ((positive == 0.0) | (positive == 1.0))
    if plain.all():
        ordered, positive = sort_labelled(score, positive > 0.0)
    else:
        order = increasing_order(score)
        ordered, positive, weight = score[order], positive[order], weight[order]
    starts = run_starts(ordered)
    if len(starts) == len(ordered):
        return ordered, positive, weight
    return ordered[starts], np.add.reduceat(positive, starts), np.add.reduceat(weight, starts)


def _keep_buckets_whole(
    score: FloatArray, positive: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sorted cells of the rows that may be near an edge, and between them whole buckets.

    A whole bucket has no score of its own, but it is never the first or the last of its block.
    """
    bucket = (score * (N_BUCKETS - 1)).astype(np.intp)
    bucket_positive, bucket_weight = (
        np.bincount(bucket, values, N_BUCKETS).astype(np.float64) for values in (positive, weight)
    )
    opened = _may_hold_an_edge(bucket_positive, bucket_weight)
    chosen = opened[bucket]
    cells = _merge_ties(score[chosen], positive[chosen], weight[chosen])
    whole = np.flatnonzero((bucket_weight > 0.0) & ~opened)
    place = np.concatenate([(cells[0] * (N_BUCKETS - 1)).astype(np.intp), whole])
    order = np.argsort(place.astype(np.uint16), kind="stable")
    return (
        np.concatenate([cells[0], np.full(len(whole), np.nan)])[order],
        np.concatenate([cells[1], bucket_positive[whole]])[order],
        np.concatenate([cells[2], bucket_weight[whole]])[order],
    )


def _may_hold_an_edge(positive: FloatArray, weight: FloatArray) -> BoolArray:
    occupied = np.flatnonzero(weight > 0.0)
    positive, weight = positive[occupied], weight[occupied]
    edges = increasing_blocks(positive / weight, weight)
    x = np.concatenate([[0.0], np.cumsum(weight)])
    y = np.concatenate([[0.0], np.cumsum(positive)])
    minorant = np.interp(x[:-1] + (weight - positive), x[edges], y[edges])
    # The tolerance covers the rounding of the prefix sums, and can only open more buckets.
    # The first and the last bucket of a block always hold one, because slopes are 0 to 1, and so
    # the scores on both sides of an edge are kept.
    inside = y[:-1] <= minorant + 1e-10 * x[-1]
    opened = np.zeros(N_BUCKETS, dtype=np.bool_)
    opened[occupied[inside]] = True
    return opened


Places = NDArray[np.intp]


def upper_steps(
    x: FloatArray, y: FloatArray, ends: Places, added: float = 1.0
) -> tuple[Places, FloatArray]:
    """Isotonic fit at a new row of outcome 1, for every place it can take among sorted cells.

    Place j is the score of cell j, or between those of cells j - 1 and j; place k is above all.
    The fit at the new row is the slope of the convex minorant of the cumulative-sum diagram there.
    A new positive lifts all points to its right by (1, 1): its block may lose cells on the left
    and pool blocks on the right. With P_j the points of the diagram and B the block of place j,
    the value is

        min over block ends b of B and after, max over a in B with a <= j,
            of the slope from P_a to P_b + (1, 1).

    A running maximum serves all places of a block. It rises at few a, and where a further block is
    pooled no other a can matter: the slope to its end is lower, so it touches P further left.

    `x` and `y` are the prefix sums of weight and of positive weight, from 0, and `ends` the edges
    of the blocks, as of `increasing_blocks`. Of the result (first, value), the fit is ``value[i]``
    from place ``first[i]`` to the place before ``first[i + 1]``; it increases, and ends at 1. See
    Vovk, Petej, Fedorova 2015, "Large-scale probabilistic predictors with and without guarantees of
    validity", arXiv:1511.00213.

    Scores with outcomes 0 and 1: a new 1 at or below the first score joins its 0.

    >>> upper_steps(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0]), np.array([0, 1, 2]))
    (array([0, 1]), array([0.5, 1. ]))
    """
    rates = np.diff(y[ends]) / np.diff(x[ends])
    own_end = np.repeat(ends[1:], np.diff(ends))
    slopes = (y[own_end] + 1.0 - y[:-1]) / (x[own_end] + added - x[:-1])
    highest = np.empty_like(slopes)
    for start, end in pairwise(ends.tolist()):
        np.maximum.accumulate(slopes[start:end], out=highest[start:end])
    places = np.flatnonzero(slopes >= highest)
    value = slopes[places]
    bounds = np.searchsorted(places, ends)
    # Few blocks reach the rate of the next one, so only these are visited one by one.
    for b in np.flatnonzero(highest[ends[1:-1] - 1] > rates[1:]).tolist():
        part = slice(bounds[b], bounds[b + 1])
        _pool_further(x, y, places[part], value[part], ends[b + 2 :], rates[b + 1 :], added)
    first, value = np.append(places, len(x) - 1), np.append(value, 1.0)
    # Equal fits may differ in the last digit, because each slope is rounded separately.
    value = np.minimum(np.maximum.accumulate(value), 1.0)
    rises = np.concatenate([[True], value[1:] > value[:-1]])
    return first[rises], value[rises]


def _pool_further(
    x: FloatArray,
    y: FloatArray,
    places: Places,
    value: FloatArray,
    ends: Places,
    rates: FloatArray,
    added: float,
) -> None:
    """Change the values of one block's places in place, as further blocks are pooled.

    `ends` and `rates` are those of the blocks after it.
    """
    for end, rate in zip(ends, rates, strict=True):
        pooled = int(np.searchsorted(value, rate, side="right"))
        if pooled == len(value):
            break
        slopes = (y[end] + 1.0 - y[places]) / (x[end] + added - x[places])
        value[pooled:] = np.maximum.accumulate(slopes)[pooled:]


# A rate is the ratio of sums of weights, whose rounding depends on the processor.
RATE_ROUNDING = 1e-12


def shrink_certain(rate: FloatArray, weight: FloatArray, base_rate: float) -> FloatArray:
    """Rates of 0 and 1, up to rounding, as m-estimates. All other rates stay unchanged.

    The m-estimate of k positives among n rows is (k + m b) / (n + m), b the base rate. Here m is
    the number of rows among which one row of the missing outcome is expected: 1 / b for a rate of
    0, 1 / (1 - b) for a rate of 1. The results, 1 / (n + 1 / b) and 1 - 1 / (n + 1 / (1 - b)), are
    Laplace's rule of succession if b = 1/2, and never beyond b.

    See Cestnik 1990, "Estimating probabilities: a crucial task in machine learning", ECAI.
    Zadrozny, Elkan 2001, "Obtaining calibrated probability estimates from decision trees and naive
    Bayesian classifiers", ICML; they choose m by m b, too (10 there).

    >>> import numpy as np
    >>> shrink_certain(np.array([0.0, 0.2, 1.0]), np.array([8.0, 5.0, 1.0]), 0.5).round(3)
    array([0.1  , 0.2  , 0.667])
    >>> shrink_certain(np.array([0.0, 1.0]), np.array([900.0, 1.0]), 0.01).round(4)
    array([0.001 , 0.5025])
    """
    lowest = 1.0 / (weight + 1.0 / base_rate)
    highest = 1.0 - 1.0 / (weight + 1.0 / (1.0 - base_rate))
    highest = np.where(rate >= 1.0 - RATE_ROUNDING, highest, rate)
    return np.where(rate <= RATE_ROUNDING, lowest, highest)
