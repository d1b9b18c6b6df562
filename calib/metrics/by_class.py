"""Calibration of each class of a matrix by its own score, as a one-vs-rest problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.views import ScoreMatrix
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked
from calib.numerics.binning import edge_ends
from calib.numerics.intervals import holm
from calib.numerics.poisson_binomial import supremum_by_cluster, supremum_survival

# Columns are copied in blocks of this many, because columns of a matrix are slow to read.
COLUMN_BLOCK = 64


@dataclass(frozen=True, slots=True, eq=False)
class ClassErrors(Locked):
    """Calibration errors of each class. Arrays have the shape (m,); rows count by weight.

    `ece_noise_floor` is the mean ECE of calibrated scores. `sigma` is the standard deviation of
    observed minus predicted if the scores were calibrated and the rows independent. `effect` is the
    design effect: the factor by which clusters increase that variance, at least 1.
    """

    base_rate: FloatArray
    mean_score: FloatArray
    ks: FloatArray
    ece: FloatArray
    ece_noise_floor: FloatArray
    sigma: FloatArray
    effect: FloatArray


def class_errors(rows: ScoreMatrix, n_bins: int) -> ClassErrors:
    """Errors of the views of all classes, computed without sorting a column.

    The cumulative difference of a class falls between the rows of that class, so its extremes are
    at those rows. Sums between these rows and the edges of the bins are therefore sufficient.
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}.")
    n, m = rows.scores.shape
    share = np.full(n, 1.0 / n) if rows.weight is None else rows.weight / rows.weight.sum()
    order = np.argsort(rows.label, kind="stable")
    ends = np.searchsorted(rows.label[order], np.arange(m + 1))
    edges = edge_ends(np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    errors = np.ones((7, m))
    for start in range(0, m, COLUMN_BLOCK):
        columns = np.ascontiguousarray(rows.scores[:, start : start + COLUMN_BLOCK].T)
        for k, column in enumerate(columns, start):
            members = order[ends[k] : ends[k + 1]]
            errors[:6, k] = _column_errors(column, members, share, edges)
            if rows.group is not None:
                errors[6, k] = _cluster_effect(column, members, share, rows.group, errors[5, k])
    errors[4] *= np.sqrt(errors[6])
    return ClassErrors(*errors)


def _column_errors(
    score: FloatArray, members: IntArray, share: FloatArray, edges: FloatArray
) -> tuple[float, float, float, float, float, float]:
    """Base rate, mean score, KS error, ECE, its noise floor, null standard deviation.

    `members` are the rows of the class.
    """
    cuts = np.union1d(score[members], edges)
    # Part j has the scores in (cut j - 1, cut j], and the last part those above all cuts.
    part = np.searchsorted(cuts, score)
    weighted = share * score
    predicted = np.bincount(part, weighted, minlength=len(cuts) + 1)
    observed = np.zeros(len(cuts) + 1)
    np.add.at(observed, np.searchsorted(cuts, score[members]), share[members])
    difference = np.cumsum(observed - predicted)
    # Before a cut, the rows that share its score do not count yet.
    on_cut = np.append(cuts, np.inf)[part] == score
    tied = np.bincount(part[on_cut], weighted[on_cut], minlength=len(cuts) + 1) - observed
    ks = max(np.abs(difference).max(), np.abs(difference + tied).max())
    starts = np.append(0, np.searchsorted(cuts, edges) + 1)
    gap = np.add.reduceat(observed - predicted, starts)
    variance = np.bincount(part, share * (weighted - weighted * score), minlength=len(cuts) + 1)
    # The formula is that of `calib.numerics.poisson_binomial.calibrated_gap` for normal numbers.
    normal = np.sqrt(2.0 / np.pi * np.add.reduceat(variance, starts))
    floor = np.minimum(normal, 2.0 * np.add.reduceat(predicted, starts)).sum()
    return (observed.sum(), predicted.sum(), ks, np.abs(gap).sum(), floor, np.sqrt(variance.sum()))


def _cluster_effect(
    score: FloatArray, members: IntArray, share: FloatArray, group: IntArray, sigma: float
) -> float:
    """Design effect of the sum of one class: its variance relative to independent rows.

    The formula is that of `calib.numerics.resampling`, which takes several sums at once.
    """
    if sigma == 0.0:
        return 1.0
    residual = -share * score
    residual[members] += share[members]
    sums = np.bincount(group, residual)
    return max(1.0, 1.0 + float(sums @ sums - residual @ residual) / sigma**2)


# The Brownian limit needs this many rows, as for the binary test.
MIN_ROWS = 100
# The limit also needs a null variance of at least this many squared steps of the largest row.
MIN_VARIANCE_RATIO = 25.0
# A class with fewer observed and expected rows is shown but not tested.
MIN_CLASS_ROWS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Classwise(Locked):
    """Calibration of each class, worst KS error first. Arrays have the shape (m,).

    Attributes
    ----------
    index : ndarray of int
        Class index; its view is ``f"class:{index}"``.
    class_name : tuple of str
    n_rows : ndarray of int
        Rows of the class.
    base_rate, mean_score : ndarray
        Observed frequency of the class, and mean of its score.
    bias : ndarray
        Observed minus predicted. Positive: the scores of the class are too low.
    ks_error, p_value : ndarray
        KS error, and the p-value of its test. With few uncertain rows the p-value is an upper
        bound (Freedman). If clusters are named, both allow for them. NaN with fewer than 100 rows
        or few uncertain clusters.
    p_adjusted : ndarray
        Holm-adjusted p-values over the classes that are not `few`. NaN for classes that are.
    few : ndarray of bool
        Whether the class has fewer than 30 observed and fewer than 30 expected rows.
    ece : ndarray
        ECE with uniform bins.
    ece_noise_floor : ndarray
        Mean ECE of calibrated scores.
    n_bins : int
        Number of bins of the ECE.
    """

    index: IntArray
    class_name: tuple[str, ...]
    n_rows: IntArray
    base_rate: FloatArray
    mean_score: FloatArray
    bias: FloatArray
    ks_error: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    few: BoolArray
    ece: FloatArray
    ece_noise_floor: FloatArray
    n_bins: int

    @property
    def tested(self) -> FloatArray:
        """p-values in the order of the classes, NaN for classes that are `few`."""
        p_values = np.empty(len(self.index))
        p_values[self.index] = np.where(self.few, np.nan, self.p_value)
        return p_values

    def frame(self) -> pd.DataFrame:
        """One row per class, worst KS error first."""
        columns: tuple[str, ...] = ("n_rows", "base_rate", "mean_score", "bias", "ks_error", "ece")
        columns = (*columns, "ece_noise_floor", "p_value", "p_adjusted", "few")
        table = {"class": self.class_name} | {name: getattr(self, name) for name in columns}
        return pd.DataFrame(table, index=pd.Index(self.index, name="index"))


def class_table(rows: ScoreMatrix, class_names: Sequence[str], n_bins: int = 15) -> Classwise:
    """Calibration of each class of a problem, worst KS error first.

    The bins of the ECE are uniform. Raises ValueError if `n_bins` is below 1. See Freedman 1975,
    doi:10.1214/aop/1176996452 (the bound); Holm 1979, https://www.jstor.org/stable/4615733
    (adjusted p-values); Rao and Scott 1984, doi:10.1214/aos/1176346391 (clusters).

    >>> scores = [[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]
    >>> table = class_table(ScoreMatrix.from_arrays([0, 1, 2, 1], scores), "abc").frame()
    >>> table[["n_rows", "bias", "ks_error"]].round(3).reset_index()
       index  n_rows  bias  ks_error
    0      0       1 -0.35      0.40
    1      1       2  0.25      0.25
    2      2       1  0.10      0.10
    """
    errors, (n, m), weight = class_errors(rows, n_bins), rows.scores.shape, rows.weight
    order = np.argsort(-errors.ks, kind="stable")
    counts = np.bincount(rows.label, minlength=m)
    largest = 1.0 / n if weight is None else float(weight.max() / weight.sum())
    if rows.group is None:
        p_value = _p_values(errors, largest, n)
    else:
        p_value = _p_values_by_cluster(errors, largest, len(np.unique(rows.group)))
    few = np.maximum(counts, errors.mean_score * n) < MIN_CLASS_ROWS
    return Classwise(
        index=order,
        class_name=tuple(class_names[k] for k in order),
        n_rows=counts[order],
        base_rate=errors.base_rate[order],
        mean_score=errors.mean_score[order],
        bias=(errors.base_rate - errors.mean_score)[order],
        ks_error=errors.ks[order],
        p_value=p_value[order],
        p_adjusted=holm(np.where(few, np.nan, p_value))[order],
        few=few[order],
        ece=errors.ece[order],
        ece_noise_floor=errors.ece_noise_floor[order],
        n_bins=n_bins,
    )


def _p_values(errors: ClassErrors, largest: float, n_rows: int) -> FloatArray:
    """By the Brownian limit or Freedman's bound. `largest` is the largest weight share of a row."""
    if n_rows < MIN_ROWS:
        return np.full(len(errors.ks), np.nan)
    # If all scores are 0 or 1, any error is infinitely significant.
    sigma = np.maximum(errors.sigma, 1e-300)
    limit = np.array([supremum_survival(x) for x in (errors.ks / sigma).tolist()])
    exponent = errors.ks**2 / (2.0 * (sigma**2 + largest * errors.ks / 3.0))
    bound = np.minimum(2.0 * np.exp(-exponent), 1.0)
    # If few rows are uncertain, one row can be a large step, and the limit would reject too often.
    return np.where(sigma >= largest * np.sqrt(MIN_VARIANCE_RATIO), limit, bound)


def _p_values_by_cluster(errors: ClassErrors, largest: float, n_clusters: int) -> FloatArray:
    """By the Brownian limit, widened by the design effect and with Student's tails."""
    sigma = np.sqrt(errors.effect) * np.maximum(errors.sigma, 1e-300)
    limit = np.array([supremum_by_cluster(x, n_clusters) for x in (errors.ks / sigma).tolist()])
    # A step can be a whole cluster: as many rows as the design effect.
    enough = sigma >= largest * errors.effect * np.sqrt(MIN_VARIANCE_RATIO)
    return np.where(enough, limit, np.nan)
