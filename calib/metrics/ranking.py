"""How well the scores rank, which calibration must not spoil."""

from __future__ import annotations

import math

import numpy as np

from calib.core.cells import ScoreCells
from calib.core.views import BinaryView
from calib.metrics.base import metric
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.sorting import increasing_order, run_starts


@metric(
    "AUC",
    meaning="Probability that a random positive row has a higher score than a random negative row.",
    bounds=(0.0, 1.0),
    better="higher",
    convention="Mann-Whitney: ties count one half.",
    source="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
    aliases="ROC AUC, area under the ROC curve, c-statistic",
)
def auc(cells: ScoreCells) -> float:
    """Area under the ROC curve: P(score of a positive > score of a negative), ties count 1/2.

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    float
        In [0, 1]; NaN where the rows are of one class.

    References
    ----------
    Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747.

    Examples
    --------
    >>> auc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    if cells.one_class:
        return math.nan
    # Negatives up to a cell and before it: their mean counts the cell's own by half.
    negative = cells.cumulative_weight - cells.cumulative_positive
    twice = cells.positive @ (negative[1:] + negative[:-1])
    return float(0.5 * twice / (cells.total_positive * negative[-1]))


def row_auc(cells: ScoreCells, outcome: BoolArray, score: FloatArray) -> FloatArray:
    """Contributions of the rows to AUC: their weighted mean is AUC, and their spread is its noise.

    A positive row contributes the share of the negatives below it, a negative one the share of the
    positives above, both as far from AUC as their class is rare. Differences between two scores
    are thereby paired by row, also where the two are about different outcomes.

    Parameters
    ----------
    cells : ScoreCells
        Of these rows.
    outcome : ndarray of bool, shape (n,)
    score : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        NaN where the rows are of one class.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, doi:10.2307/2531595.

    Examples
    --------
    >>> import numpy as np
    >>> outcome, score = np.array([0, 1, 0, 1], dtype=bool), np.array([0.1, 0.4, 0.4, 0.8])
    >>> float(row_auc(ScoreCells.from_arrays(outcome, score), outcome, score).mean())
    0.875
    """
    if cells.one_class:
        return np.full(len(score), math.nan)
    area, share = auc(cells), cells.base_rate
    positive = cells.cumulative_positive
    negative = cells.cumulative_weight - positive
    beaten = 0.5 * (negative[:-1] + negative[1:]) / negative[-1]
    beating = 1.0 - 0.5 * (positive[:-1] + positive[1:]) / positive[-1]
    # In the order of the scores: to look up each row's cell takes twice as long.
    in_order = bool((score[1:] >= score[:-1]).all())
    order = slice(None) if in_order else increasing_order(score)
    entries = np.diff(run_starts(score[order] + 0.0), append=len(score))
    above, below = (beaten - area) / share, (beating - area) / (1.0 - share)
    found = np.empty(len(score))
    found[order] = np.where(outcome[order], np.repeat(above, entries), np.repeat(below, entries))
    return area + found


def row_auc_within(rows: BinaryView, fold: IntArray) -> FloatArray:
    """Contributions of the rows to the mean of the folds' own AUCs, weighted by their pairs.

    Scores that several calibrators made are not ranked against each other: each fold's rows were
    scored by one. A strictly increasing calibrator leaves every contribution as it was.

    Parameters
    ----------
    rows : BinaryView
    fold : ndarray of int, shape (n,)
        Which calibrator scored each row.

    Returns
    -------
    ndarray of shape (n,)
        Their weighted mean is the AUC within folds. Rows of a fold of one class contribute 0; NaN
        where all folds are such.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.core.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.7]).view()
    >>> float(row_auc_within(rows, np.array([0, 0, 1, 1])).mean())
    1.0
    """
    found, pairs = np.zeros(len(rows)), 0.0
    for number in np.unique(fold):
        chosen = np.flatnonzero(fold == number)
        part = rows.rows(chosen)
        cells = part.cells()
        if cells.one_class:
            continue
        own = cells.total_positive * (cells.total_weight - cells.total_positive)
        share = own / cells.total_weight
        found[chosen] = share * row_auc(cells, part.outcome, part.score)
        pairs += own
    total = float(rows.weights.sum())
    return found * (total / pairs) if pairs > 0.0 else np.full(len(rows), math.nan)


@metric(
    "Distinct scores",
    meaning="Number of different scores. Isotonic regression creates ties.",
    bounds=(1.0, math.inf),
    better="none",
    convention="Exact: scores that differ only in the last digit count as two.",
    source="Zadrozny and Elkan 2002, doi:10.1145/775047.775151",
    aliases="unique scores, ties",
    interval=None,
    digits=0,
)
def distinct_scores(cells: ScoreCells) -> int:
    """Number of distinct scores.

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    int

    Examples
    --------
    >>> distinct_scores([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    3
    """
    return len(cells)
