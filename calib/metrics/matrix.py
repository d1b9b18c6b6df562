"""Metrics of a score matrix: proper scores, accuracy, and binary errors of its views."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.core.cells import ScoreCells, check_same_length, check_weights
from calib.core.predictions import BinaryView, check_classes, check_score_matrix
from calib.metrics import expected_calibration_error, ks_error
from calib.metrics.base import Better
from calib.metrics.class_errors import class_errors
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.ranking import leading_classes
from calib.numerics.transforms import MACHINE_EPSILON


@dataclass(frozen=True, slots=True)
class MulticlassMetric:
    """What to say about a metric.

    Attributes
    ----------
    key, label : str
        Name in code, and on the page.
    meaning : str
        One sentence for a reader who meets it for the first time.
    bounds : tuple of float
        Smallest and largest possible value.
    better : {"lower", "higher"}
    source : str
    aliases : str
        Other names of it in the field.
    """

    key: str
    label: str
    meaning: str
    bounds: tuple[float, float]
    better: Better
    source: str
    aliases: str = ""


_KS = "Gupta et al. 2021, arXiv:2006.12800"
MULTICLASS_METRICS: Mapping[str, MulticlassMetric] = {
    metric.key: metric
    for metric in (
        MulticlassMetric(
            "log_loss",
            "Multiclass log loss",
            "Average negative log-likelihood of the true class (lower is better). Methods are "
            "ranked by it.",
            (0.0, -math.log(MACHINE_EPSILON)),
            "lower",
            "Good 1952",
            "cross-entropy, negative log-likelihood (NLL)",
        ),
        MulticlassMetric(
            "brier_score",
            "Multiclass Brier score (0 to 2)",
            "Mean squared distance between scores and true class, summed over the classes.",
            (0.0, 2.0),
            "lower",
            "Brier 1950",
            "quadratic score",
        ),
        MulticlassMetric(
            "accuracy",
            "Accuracy",
            "Share of rows whose predicted class is the true class.",
            (0.0, 1.0),
            "higher",
            "",
        ),
        MulticlassMetric(
            "ece_top_label",
            "ECE of the top label",
            "Mean gap between accuracy and confidence over bins of the top score.",
            (0.0, 1.0),
            "lower",
            "Guo et al. 2017, arXiv:1706.04599",
            "confidence ECE, top-1 ECE",
        ),
        MulticlassMetric(
            "ece_classwise",
            "Classwise ECE",
            "ECE of each class's score, averaged over the classes.",
            (0.0, 1.0),
            "lower",
            "Kull et al. 2019, arXiv:1910.12656",
            "cwECE, marginal calibration error",
        ),
        MulticlassMetric(
            "ks_top_1",
            "KS, top-1",
            "Largest cumulative gap between the highest score and how often its class is the "
            "true one.",
            (0.0, 1.0),
            "lower",
            _KS,
        ),
        MulticlassMetric(
            "ks_top_2",
            "KS, top-2",
            "Largest cumulative gap between the second-highest score and how often its class is "
            "the true one.",
            (0.0, 1.0),
            "lower",
            _KS,
        ),
        MulticlassMetric(
            "ks_within_2",
            "KS, within-top-2",
            "Largest cumulative gap between the sum of the two highest scores and how often one "
            "of their classes is the true one.",
            (0.0, 1.0),
            "lower",
            _KS,
        ),
    )
}


def _true_scores(scores: FloatArray, label: IntArray) -> FloatArray:
    return scores[np.arange(len(scores)), label]


def row_log_loss(scores: FloatArray, label: IntArray) -> FloatArray:
    """-ln of the true class's score, which is clipped as the binary log loss clips."""
    return -np.log(np.maximum(_true_scores(scores, label), MACHINE_EPSILON))


def row_brier(scores: FloatArray, label: IntArray) -> FloatArray:
    """Sum over the classes of (score - outcome)^2, in [0, 2]."""
    true = _true_scores(scores, label)
    others = np.maximum(np.einsum("ij,ij->i", scores, scores) - true * true, 0.0)
    return np.square(1.0 - true) + others


def row_accuracy(scores: FloatArray, label: IntArray) -> FloatArray:
    """1 where the first class is the true one, else 0."""
    return (scores.argmax(axis=1) == label).astype(np.float64)


ROW_METRICS: Mapping[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
    "accuracy": row_accuracy,
}


def leading_views(
    scores: FloatArray, label: IntArray, weight: FloatArray | None
) -> dict[str, BinaryView]:
    """Top-1, top-2 and within-top-2: one search for the leading classes serves all."""
    ranked = leading_classes(scores, 2)
    values = np.take_along_axis(scores, ranked, axis=1)
    hit = ranked == label[:, None]
    both = np.minimum(values.sum(axis=1), 1.0)
    return {
        "top:1": BinaryView(hit[:, 0], values[:, 0], weight),
        "top:2": BinaryView(hit[:, 1], values[:, 1], weight),
        "within:2": BinaryView(hit.any(axis=1), both, weight),
    }


def view_metrics(views: Mapping[str, ScoreCells], n_bins: int) -> dict[str, float]:
    """The metrics that are binary ones of the leading views, by key."""
    return {
        "ece_top_label": expected_calibration_error(views["top:1"], n_bins=n_bins),
        "ks_top_1": ks_error(views["top:1"]),
        "ks_top_2": ks_error(views["top:2"]),
        "ks_within_2": ks_error(views["within:2"]),
    }


def classwise_ece(
    scores: FloatArray, label: IntArray, weight: FloatArray | None, n_bins: int
) -> float:
    """ECE of every class's own score, averaged; rows are trusted to be valid."""
    return float(class_errors(scores, label, weight, n_bins).ece.mean())


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
        Scores in [0, 1]; rows sum to 1 within 1e-3.
    sample_weight : array-like of shape (n,), optional
    n_bins : int
        Uniform bins of both ECE.

    Returns
    -------
    dict of str to float
        By the keys of `MULTICLASS_METRICS`: log_loss, brier_score (0 to 2), accuracy,
        ece_top_label, ece_classwise, ks_top_1, ks_top_2, ks_within_2.

    Raises
    ------
    ValueError
        If an array holds a value that is not allowed.

    Examples
    --------
    >>> found = multiclass_metrics([0, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.3, 0.2]])
    >>> round(found["log_loss"], 4), round(found["brier_score"], 4), round(found["accuracy"], 4)
    (0.7811, 0.4333, 0.6667)
    """
    scores = check_score_matrix(np.asarray(y_prob))
    label = check_classes(y_true, scores.shape[1])
    check_same_length(y_true=label, y_prob=scores)
    weight = None if sample_weight is None else check_weights(sample_weight)
    means = {
        key: float(np.average(rows(scores, label), weights=weight))
        for key, rows in ROW_METRICS.items()
    }
    views = {name: view.cells() for name, view in leading_views(scores, label, weight).items()}
    found = means | view_metrics(views, n_bins)
    found["ece_classwise"] = classwise_ece(scores, label, weight, n_bins)
    return {key: found[key] for key in MULTICLASS_METRICS}
