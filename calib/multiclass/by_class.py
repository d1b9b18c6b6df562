"""Every class against its own score: which ones are off, and which way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.numerics.arrays import FloatArray, IntArray, lock
from calib.numerics.brownian import supremum_survival
from calib.predictions import Predictions

COLUMNS_AT_ONCE = 64
# The Brownian limit needs rows, as for the binary test.
FEW_ROWS = 100


@dataclass(frozen=True, slots=True, eq=False)
class ClassErrors:
    """Calibration errors of each class; arrays of shape (m,), weighted where rows are.

    Attributes
    ----------
    base_rate, mean_score : ndarray
    ks, ece : ndarray
        KS error and ECE of the view of each class.
    sigma : ndarray
        Standard deviation of observed minus predicted if the scores were calibrated.
    """

    base_rate: FloatArray
    mean_score: FloatArray
    ks: FloatArray
    ece: FloatArray
    sigma: FloatArray

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False)
class Classwise:
    """Calibration of each class, worst first; arrays of shape (m,).

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
        Observed minus predicted: positive where the scores of the class are too low.
    ks_error, p_value : ndarray
        KS error, and how often calibrated scores would show so large a one by chance; NaN below
        100 rows.
    ece : ndarray
        ECE of uniform bins.
    n_bins : int
    """

    index: IntArray
    class_name: tuple[str, ...]
    n_rows: IntArray
    base_rate: FloatArray
    mean_score: FloatArray
    bias: FloatArray
    ks_error: FloatArray
    p_value: FloatArray
    ece: FloatArray
    n_bins: int

    def __post_init__(self) -> None:
        lock(self)

    def frame(self) -> pd.DataFrame:
        """One row a class, worst KS error first."""
        columns = ("n_rows", "base_rate", "mean_score", "bias", "ks_error", "p_value", "ece")
        named = {"class": self.class_name} | {name: getattr(self, name) for name in columns}
        return pd.DataFrame(named, index=pd.Index(self.index, name="index"))


def classwise(predictions: Predictions, *, n_bins: int = 15) -> Classwise:
    """Calibration of every class of a problem, the class with the largest KS error first.

    Parameters
    ----------
    predictions : Predictions
        A binary problem has two classes.
    n_bins : int
        Uniform bins of the ECE.

    Raises
    ------
    ValueError
        If `n_bins` is below 1.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]
    >>> table = classwise(Predictions.from_arrays([0, 1, 2, 1], scores)).frame()
    >>> table[["n_rows", "bias", "ks_error"]].round(3).reset_index()
       index  n_rows  bias  ks_error
    0      0       1 -0.35      0.40
    1      1       2  0.25      0.25
    2      2       1  0.10      0.10
    """
    scores = score_matrix(predictions)
    errors = class_errors(scores, predictions.outcome, predictions.weight, n_bins)
    order = np.argsort(-errors.ks, kind="stable")
    counts = np.bincount(predictions.outcome, minlength=scores.shape[1])
    return Classwise(
        index=order,
        class_name=tuple(predictions.class_names[k] for k in order),
        n_rows=counts[order],
        base_rate=errors.base_rate[order],
        mean_score=errors.mean_score[order],
        bias=(errors.base_rate - errors.mean_score)[order],
        ks_error=errors.ks[order],
        p_value=_p_values(errors, len(scores))[order],
        ece=errors.ece[order],
        n_bins=n_bins,
    )


def score_matrix(predictions: Predictions) -> FloatArray:
    """One column a class, also of a binary problem."""
    if predictions.scores.ndim == 2:
        return predictions.scores
    return np.column_stack([1.0 - predictions.scores, predictions.scores])


def class_errors(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, n_bins: int
) -> ClassErrors:
    """Errors of the views of all classes, without sorting a column.

    The cumulative difference of a class falls between its own rows, and can only peak at one of
    them: each column is cut where the class came true and at the edges of the bins, and summed.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
    label : ndarray of int, shape (n,)
    weight : ndarray of shape (n,) or None
    n_bins : int
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}.")
    n, m = scores.shape
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(m + 1))
    edges = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    found = np.empty((5, m))
    for start in range(0, m, COLUMNS_AT_ONCE):
        columns = np.ascontiguousarray(scores[:, start : start + COLUMNS_AT_ONCE].T)
        for k, column in enumerate(columns, start):
            own = order[ends[k] : ends[k + 1]]
            found[:, k] = _column_errors(column, column[own], share, share[own], edges)
    return ClassErrors(*found)


def _column_errors(
    score: FloatArray, own: FloatArray, share: FloatArray, own_share: FloatArray, edges: FloatArray
) -> tuple[float, float, float, float, float]:
    """Base rate, mean score, KS error, ECE, null standard deviation of one class."""
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
    gap = np.add.reduceat(observed - predicted, np.append(0, np.searchsorted(cuts, edges) + 1))
    variance = float((share * share) @ (score * (1.0 - score)))
    return observed.sum(), predicted.sum(), ks, np.abs(gap).sum(), np.sqrt(variance)


def _p_values(errors: ClassErrors, n_rows: int) -> FloatArray:
    if n_rows < FEW_ROWS:
        return np.full(len(errors.ks), np.nan)
    # Scores of 0 and 1 only leave no room for chance.
    sigma = np.maximum(errors.sigma, 1e-300)
    return np.array([supremum_survival(x) for x in (errors.ks / sigma).tolist()])
