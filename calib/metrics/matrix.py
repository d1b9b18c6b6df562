"""Metrics of a score matrix: proper scores, accuracy, and binary errors of its views."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from calib.data.views import ScoreMatrix
from calib.metrics.base import error_metric, matrix_metrics, metric
from calib.metrics.binned import expected_calibration_error
from calib.metrics.by_class import class_errors
from calib.metrics.cumulative import ks_error
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.transforms import MACHINE_EPSILON

_KS = "Gupta et al. 2021, arXiv:2006.12800"


def _true_scores(scores: FloatArray, label: IntArray) -> FloatArray:
    return scores[np.arange(len(scores)), label]


def row_log_loss(scores: FloatArray, label: IntArray) -> FloatArray:
    """-ln of the score of the true class. Scores are clipped as for the binary log loss."""
    return -np.log(np.maximum(_true_scores(scores, label), MACHINE_EPSILON))


def row_brier(scores: FloatArray, label: IntArray) -> FloatArray:
    """Sum over the classes of (score - outcome)^2, in [0, 2]."""
    true = _true_scores(scores, label)
    others = np.maximum(np.einsum("ij,ij->i", scores, scores) - true * true, 0.0)
    return np.square(1.0 - true) + others


def row_accuracy(scores: FloatArray, label: IntArray) -> FloatArray:
    """1 if the class with the highest score is the true one, else 0."""
    return (scores.argmax(axis=1) == label).astype(np.float64)


ROW_METRICS: Mapping[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
    "accuracy": row_accuracy,
}


def _mean(name: str, rows: ScoreMatrix) -> float:
    return float(np.average(ROW_METRICS[name](rows.scores, rows.label), weights=rows.weight))


@metric(
    "Multiclass log loss",
    of="matrix",
    meaning="Average negative log-likelihood of the true class (lower is better). Methods are "
    "ranked by it.",
    bounds=(0.0, -math.log(MACHINE_EPSILON)),
    better="lower",
    convention="Natural logarithm; scores are clipped at 2.2e-16.",
    source="Good 1952, doi:10.1111/j.2517-6161.1952.tb00104.x",
    aliases="cross-entropy, negative log-likelihood (NLL)",
    perfect=0.0,
)
def multiclass_log_loss(rows: ScoreMatrix) -> float:
    """Mean negative log-likelihood of the true class; scores are clipped at 2.2e-16.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(multiclass_log_loss([0, 1, 2], scores), 4)
    0.7811
    """
    return _mean("log_loss", rows)


@metric(
    "Multiclass Brier score (0 to 2)",
    of="matrix",
    meaning="Mean squared distance between scores and true class, summed over the classes.",
    bounds=(0.0, 2.0),
    better="lower",
    source="Brier 1950",
    aliases="quadratic score",
    perfect=0.0,
)
def multiclass_brier_score(rows: ScoreMatrix) -> float:
    """Mean over the rows of the sum over the classes of (score - outcome)^2.

    Some libraries divide it by 2 (range 0 to 1).

    References
    ----------
    Brier 1950, doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(multiclass_brier_score([0, 1, 2], scores), 4)
    0.4333
    """
    return _mean("brier_score", rows)


@metric(
    "Accuracy",
    of="matrix",
    meaning="Share of rows whose predicted class is the true class.",
    bounds=(0.0, 1.0),
    better="higher",
    source="",
    perfect=1.0,
)
def accuracy(rows: ScoreMatrix) -> float:
    """Share of rows in which the class with the highest score is the true one.

    Of equal scores the class with the lower index counts as the highest.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(accuracy([0, 1, 2], scores), 4)
    0.6667
    """
    return _mean("accuracy", rows)


@error_metric(
    "ECE of the top label",
    of="matrix",
    meaning="Mean gap between accuracy and confidence over bins of the top score.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="confidence ECE, top-1 ECE",
)
def ece_top_label(rows: ScoreMatrix, n_bins: int = 15) -> float:
    """ECE of the top label: highest score of each row against whether its class is the true one.

    Bins are uniform.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(ece_top_label([0, 1, 2], scores), 4)
    0.3667
    """
    return expected_calibration_error(rows.leading_cells["top:1"], n_bins=n_bins)


@metric(
    "Classwise ECE",
    of="matrix",
    meaning="ECE of each class's score, averaged over the classes.",
    bounds=(0.0, 1.0),
    better="lower",
    source="Kull et al. 2019, arXiv:1910.12656",
    aliases="cwECE, marginal calibration error",
    interval=None,
    perfect=0.0,
)
def ece_classwise(rows: ScoreMatrix, n_bins: int = 15) -> float:
    """Classwise ECE: the mean over the classes of the ECE of the class's own score.

    Bins are uniform.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(ece_classwise([0, 1, 2], scores), 4)
    0.3111
    """
    return float(class_errors(rows, n_bins).ece.mean())


@error_metric(
    "KS, top-1",
    of="matrix",
    meaning="Largest cumulative gap between the highest score and how often its class is the "
    "true one.",
    source=_KS,
)
def ks_top_1(rows: ScoreMatrix) -> float:
    """KS error of the highest score of each row, the confidence.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(ks_top_1([0, 1, 2], scores), 4)
    0.1667
    """
    return ks_error(rows.leading_cells["top:1"])


@error_metric(
    "KS, top-2",
    of="matrix",
    meaning="Largest cumulative gap between the second-highest score and how often its class is "
    "the true one.",
    source=_KS,
)
def ks_top_2(rows: ScoreMatrix) -> float:
    """KS error of the second-highest score of each row.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(ks_top_2([0, 1, 2], scores), 4)
    0.2333
    """
    return ks_error(rows.leading_cells["top:2"])


@error_metric(
    "KS, within-top-2",
    of="matrix",
    meaning="Largest cumulative gap between the sum of the two highest scores and how often one "
    "of their classes is the true one.",
    source=_KS,
)
def ks_within_2(rows: ScoreMatrix) -> float:
    """KS error of the sum of the two highest scores of each row.

    The outcome is whether the true class is one of these two.

    Examples
    --------
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]]
    >>> round(ks_within_2([0, 1, 2], scores), 4)
    0.2667
    """
    return ks_error(rows.leading_cells["within:2"])


def multiclass_metrics(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
) -> dict[str, float]:
    """All metrics of a score matrix.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class indices 0..m-1.
    y_prob : array-like of shape (n, m)
        Scores in [0, 1]. Each row must sum to 1 within 1e-3.
    sample_weight : array-like of shape (n,), optional
        Weights, all above 0. Default: every row has weight 1.
    n_bins : int
        Number of uniform bins of both ECEs, at least 1.

    Returns
    -------
    dict of str to float
        Keys as in `matrix_metrics`: log_loss, brier_score (0 to 2), accuracy, ece_top_label,
        ece_classwise, ks_top_1, ks_top_2, ks_within_2.

    Raises
    ------
    ValueError
        If the arrays differ in length or contain a value that is not allowed.

    Examples
    --------
    >>> found = multiclass_metrics([0, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]])
    >>> round(found["log_loss"], 4), round(found["brier_score"], 4), round(found["accuracy"], 4)
    (0.7811, 0.4333, 0.6667)
    """
    rows = ScoreMatrix.from_arrays(y_true, y_prob, sample_weight)
    return {
        name: metric.number(rows, **({"n_bins": n_bins} if metric.takes("n_bins") else {}))
        for name, metric in matrix_metrics().items()
    }
