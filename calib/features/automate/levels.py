"""Ordered levels: the ranked probability score, its parts, and the events "at least this level"."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.metrics import brier_decomposition
from calib.numerics.arrays import FloatArray, IntArray, Locked, arrays_of

# Sums of probabilities that are equal differ in their last digits, and equal forecasts are one.
SUM_DIGITS = 14


@dataclass(frozen=True, slots=True, eq=False)
class OrderedLevels(Locked):
    """Parts of the ranked probability score (RPS), per event "at least this level".

    The RPS is the sum of the Brier scores of these events, so each part adds up over them:
    score = reliability - resolution + uncertainty (rows of equal probabilities) and
    score = miscalibration - discrimination + uncertainty (isotonic fits).

    Attributes
    ----------
    levels : tuple of str
        The level of each event; the lowest level has none.
    score : ndarray of shape (m - 1,)
        Brier score of each event.
    reliability, resolution : ndarray of shape (m - 1,)
    miscalibration, discrimination : ndarray of shape (m - 1,)
    uncertainty : ndarray of shape (m - 1,)

    Examples
    --------
    >>> parts = ordered_levels(Predictions.from_arrays([0, 1], [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]))
    >>> parts.frame()["score"].round(3).to_dict()
    {'at least 1': 0.1, 'at least 2': 0.05, 'sum': 0.15}
    """

    levels: tuple[str, ...]
    score: FloatArray
    reliability: FloatArray
    resolution: FloatArray
    miscalibration: FloatArray
    discrimination: FloatArray
    uncertainty: FloatArray

    @property
    def ranked_probability_score(self) -> float:
        """The mean RPS of the rows, from 0 (best) to m - 1. Some programs divide it by m - 1."""
        return float(self.score.sum())

    def frame(self) -> pd.DataFrame:
        """One row per event, and their sum."""
        events = pd.DataFrame(arrays_of(self), index=[f"at least {level}" for level in self.levels])
        return pd.concat([events, events.sum().to_frame("sum").T])


def row_rps(scores: FloatArray, level: IntArray) -> FloatArray:
    """Ranked probability score of each row: sum over k < m - 1 of (F_k - 1{level <= k})^2.

    F_k is the sum of the probabilities of the levels 0 to k. See Epstein 1969,
    doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2.

    >>> row_rps(np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]), np.array([0, 1])).round(4)
    array([0.17, 0.13])
    """
    below = np.cumsum(scores, axis=1)[:, :-1]
    reached = level[:, None] <= np.arange(scores.shape[1] - 1)
    return np.asarray(np.square(below - reached).sum(axis=1))


def at_least(predictions: Predictions, level: int) -> Predictions:
    """The event that a row has at least this level, from 1, with its probability.

    The rows keep their clusters, weights and columns, so it is analysed as any predictions.

    Parameters
    ----------
    predictions : Predictions
        One column per level, the lowest first.
    level : int
        From 1 to m - 1.

    Raises
    ------
    ValueError
        If there is no such level, or one score per row.

    Examples
    --------
    >>> rows = Predictions.from_arrays([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    >>> at_least(rows, 1).scores, at_least(rows, 1).outcome
    (array([0.5, 0.9]), array([0, 1]))
    """
    if not predictions.is_matrix or not 1 <= level < predictions.n_classes:
        raise ValueError(
            f"level must fulfil 1 <= level < {predictions.n_classes} of predictions with one "
            f"column per level, got {level}."
        )
    scores = np.clip(predictions.scores[:, level:].sum(axis=1).round(SUM_DIGITS), 0.0, 1.0)
    return replace(
        predictions,
        outcome=(predictions.outcome >= level).astype(np.int64),
        scores=scores,
        class_names=("below", f"at least {predictions.class_names[level]}"),
        origin=None,
    )


def ordered_levels(predictions: Predictions) -> OrderedLevels:
    """The ranked probability score of predictions with one column per level, and its parts.

    Parameters
    ----------
    predictions : Predictions
        One column per level, the lowest first.

    Returns
    -------
    OrderedLevels

    Raises
    ------
    ValueError
        If there is one score per row.

    References
    ----------
    Epstein 1969, doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2.
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> scores = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]
    >>> parts = ordered_levels(Predictions.from_arrays([0, 1, 2, 0], scores))
    >>> round(parts.ranked_probability_score, 4), parts.uncertainty
    (0.245, array([0.25  , 0.1875]))
    """
    parts = []
    for level in range(1, predictions.n_classes):
        event = at_least(predictions, level)
        cells = ScoreCells.from_arrays(event.outcome, event.scores, event.weight)
        share = cells.weight / cells.total_weight
        by_fit = brier_decomposition(cells)
        parts.append(
            (
                by_fit.score,
                share @ np.square(cells.score - cells.rate),
                share @ np.square(cells.rate - cells.base_rate),
                by_fit.miscalibration,
                by_fit.discrimination,
                by_fit.uncertainty,
            )
        )
    return OrderedLevels(predictions.class_names[1:], *np.array(parts).T)
