"""How well the scores rank, which calibration must not spoil."""

from __future__ import annotations

import math

from calib.cells import ScoreCells
from calib.metrics.base import metric


@metric(
    "AUC",
    meaning="How often a random positive row has a higher score than a random negative one.",
    bounds=(0.0, 1.0),
    better="higher",
    convention="Mann-Whitney: ties count one half.",
    source="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
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


@metric(
    "Distinct scores",
    meaning="How many different scores there are: isotonic regression makes ties.",
    bounds=(1.0, math.inf),
    better="none",
    source="",
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
