"""Calibration errors of every class, without sorting a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import FloatArray, IntArray, Locked

COLUMNS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class ClassErrors(Locked):
    """Calibration errors of each class; arrays of shape (m,), weighted where rows are.

    Attributes
    ----------
    base_rate, mean_score : ndarray
    ks, ece : ndarray
        KS error and ECE of the view of each class.
    ece_noise_floor : ndarray
        ECE that calibrated scores show on average.
    sigma : ndarray
        Standard deviation of observed minus predicted if the scores were calibrated and rows were
        independent.
    effect : ndarray
        How many times that variance is larger since rows come in clusters, at least once.
    """

    base_rate: FloatArray
    mean_score: FloatArray
    ks: FloatArray
    ece: FloatArray
    ece_noise_floor: FloatArray
    sigma: FloatArray
    effect: FloatArray


def class_errors(
    scores: FloatArray,
    label: IntArray,
    weight: FloatArray | None,
    n_bins: int,
    group: IntArray | None = None,
) -> ClassErrors:
    """Errors of the views of all classes, without sorting a column.

    The cumulative difference of a class falls between its own rows, and can only peak at one of
    them: each column is cut where the class is the true one and at the edges of the bins, and
    summed.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
    label : ndarray of int, shape (n,)
    weight : ndarray of shape (n,) or None
    n_bins : int
    group : ndarray of int, shape (n,), optional
        Cluster of each row.
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}.")
    n, m = scores.shape
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(m + 1))
    edges = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    found = np.ones((7, m))
    for start in range(0, m, COLUMNS_AT_ONCE):
        columns = np.ascontiguousarray(scores[:, start : start + COLUMNS_AT_ONCE].T)
        for k, column in enumerate(columns, start):
            own = order[ends[k] : ends[k + 1]]
            found[:6, k] = _column_errors(column, column[own], share, share[own], edges)
            if group is not None:
                found[6, k] = _cluster_effect(column, own, share, group, found[5, k])
    found[4] *= np.sqrt(found[6])
    return ClassErrors(*found)


def _column_errors(
    score: FloatArray, own: FloatArray, share: FloatArray, own_share: FloatArray, edges: FloatArray
) -> tuple[float, float, float, float, float, float]:
    """Base rate, mean score, KS error, ECE, its noise floor, null standard deviation."""
    cuts = np.union1d(own, edges)
    # Part j holds the scores in (cut j - 1, cut j]; the last those above all cuts.
    part = np.searchsorted(cuts, score)
    weighted = share * score
    predicted = np.bincount(part, weighted, minlength=len(cuts) + 1)
    observed = np.zeros(len(cuts) + 1)
    np.add.at(observed, np.searchsorted(cuts, own), own_share)
    difference = np.cumsum(observed - predicted)
    # Just before a cut: without the rows that share its score.
    on_cut = np.append(cuts, np.inf)[part] == score
    tied = np.bincount(part[on_cut], weighted[on_cut], minlength=len(cuts) + 1) - observed
    ks = max(np.abs(difference).max(), np.abs(difference + tied).max())
    starts = np.append(0, np.searchsorted(cuts, edges) + 1)
    gap = np.add.reduceat(observed - predicted, starts)
    variance = np.bincount(part, share * (weighted - weighted * score), minlength=len(cuts) + 1)
    # As `calib.numerics.poisson_binomial.calibrated_gap` has it of normal numbers.
    normal = np.sqrt(2.0 / np.pi * np.add.reduceat(variance, starts))
    floor = np.minimum(normal, 2.0 * np.add.reduceat(predicted, starts)).sum()
    return (
        observed.sum(),
        predicted.sum(),
        ks,
        np.abs(gap).sum(),
        floor,
        np.sqrt(variance.sum()),
    )


def _cluster_effect(
    score: FloatArray, own: IntArray, share: FloatArray, group: IntArray, sigma: float
) -> float:
    """How many times as much the sum of one class varies as with independent rows.

    As `calib.numerics.design_effect` has it, which takes several sums at once.
    """
    if sigma == 0.0:
        return 1.0
    residual = -share * score
    residual[own] += share[own]
    sums = np.bincount(group, residual)
    return max(1.0, 1.0 + float(sums @ sums - residual @ residual) / sigma**2)
