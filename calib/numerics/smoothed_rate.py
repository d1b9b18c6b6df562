"""Observed frequency as a smooth function of the score: the smoothing spline, by its pieces."""

from __future__ import annotations

import numpy as np

from calib.numerics.aggregate import into_buckets
from calib.numerics.arrays import FloatArray
from calib.numerics.natural_spline import NaturalSpline, choose_knots
from calib.numerics.penalized_logistic import PenalizedLogistic
from calib.numerics.smoothness import choose_smoothness
from calib.numerics.threads import single_thread
from calib.numerics.transforms import compact_logit, default_epsilon, sigmoid

MOST_KNOTS = 100
SHORTEST_AXIS = 1e-12  # scores nearer to each other than this are one score


def smoothed_rate(score: FloatArray, weight: FloatArray, positive: FloatArray) -> FloatArray:
    """Smoothing-spline estimate of P(y = 1 | score), at each score.

    A natural cubic spline of the compact logit, penalised by its curvature, with lambda by leaving
    rows out. Where all scores or all outcomes are equal: the base rate.

    Parameters
    ----------
    score : ndarray of shape (k,), increasing, in [0, 1]
    weight, positive : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (k,), in [0, 1]

    References
    ----------
    Lucena 2018, equation 1, arXiv:1809.07751.
    """
    total, hits = float(weight.sum()), float(positive.sum())
    # Where the transform changes at epsilon, rounding may swap two neighbours.
    x = np.maximum.accumulate(compact_logit(score, default_epsilon(score)))
    length = float(x[-1] - x[0])
    if length < SHORTEST_AXIS or not 0.0 < hits < total:
        return np.full(len(score), hits / total)
    with single_thread():
        buckets = into_buckets(x, weight, positive)
        spline = NaturalSpline(x[choose_knots(x, buckets, MOST_KNOTS)])
        problem = PenalizedLogistic.prepare(
            spline.basis(buckets.x), buckets.weight, buckets.positive, spline.curvature()
        )
        path = choose_smoothness(problem, length)
        return sigmoid(spline.evaluate(path.fit.coefficients, x))
