"""The reliability diagram of one slice, and the rows of one bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.crossfit.cross_fitted import CrossFitted
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.binning import Strategy, edge_ends
from calib.uncertainty import replicate_clusters


def bin_of(curve: ReliabilityCurve, score: float) -> int | None:
    """Position of the bin that contains a score, or None if that bin is empty.

    Parameters
    ----------
    curve : ReliabilityCurve
    score : float
        In [0, 1].

    Examples
    --------
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.2, 0.9])
    >>> curve = reliability_curve(cells, n_bins=4, strategy="uniform")
    >>> bin_of(curve, 0.25), bin_of(curve, 0.6), bin_of(curve, 0.8)
    (0, None, 1)
    """
    inside = (edge_ends(curve.low_edge) < score) & (score <= edge_ends(curve.high_edge))
    # The first bin contains its lower end, too.
    inside[0] |= score == curve.low_edge[0] == 0.0
    positions = np.flatnonzero(inside)
    return int(positions[0]) if len(positions) else None


def score_in(curve: ReliabilityCurve, position: int) -> float:
    """A score inside a bin with as few digits as possible, by which a link identifies the bin.

    If the number of bins changes, `bin_of` finds the bin that then contains this score.

    Parameters
    ----------
    curve : ReliabilityCurve
    position : int
        Position of the bin among the bins that have rows.

    Examples
    --------
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.2, 0.9])
    >>> score_in(reliability_curve(cells, n_bins=4, strategy="uniform"), 1)
    0.9
    """
    mean = float(curve.mean_score[position])
    for digits in range(2, 18):
        score = float(f"{mean:.{digits}g}")
        if bin_of(curve, score) == position:
            return score
    return float(curve.high_edge[position])


def bin_rows(curve: ReliabilityCurve, position: int, score: FloatArray) -> IntArray:
    """Indices of the rows in a bin.

    Parameters
    ----------
    curve : ReliabilityCurve
    position : int
        Position of the bin among the bins that have rows.
    score : ndarray of shape (n,)
        The scores that were binned.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> score = np.array([0.0, 0.9, 0.5, 0.6])
    >>> cells = ScoreCells.from_arrays([0, 1, 1, 0], score)
    >>> bin_rows(reliability_curve(cells, n_bins=2, strategy="uniform"), 0, score)
    array([0, 2])
    """
    low, high = edge_ends(np.array([curve.low_edge[position], curve.high_edge[position]]))
    above = score >= low if low == 0.0 else score > low
    return np.flatnonzero(above & (score <= high)).astype(np.int64)


def row_table(
    predictions: Predictions, held_out: CrossFitted, method: str, rows: IntArray
) -> pd.DataFrame:
    """Table of some of the scored rows, with all columns of the predictions.

    Parameters
    ----------
    predictions : Predictions
    held_out : CrossFitted
        ``analysis.held_out`` of the same predictions.
    method : str
        Key of the method whose held-out scores are shown beside the uncalibrated scores.
    rows : ndarray of int
        Indices of scored rows, as from `bin_rows`.

    Returns
    -------
    DataFrame
        Row number (from 1 among all rows), outcome, scores, weight, group and other columns.

    Examples
    --------
    >>> import calib, numpy as np
    >>> rows = calib.Predictions.from_arrays([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> held_out = calib.analyze(rows, {"methods": ("platt",)}).held_out
    >>> row_table(rows, held_out, "platt", np.array([0, 1])).columns.tolist()
    ['row', 'outcome', 'score', 'score, platt']
    """
    number = rows if predictions.test is None else np.flatnonzero(predictions.test)[rows]
    view = held_out.given_rows
    table: dict[str, NDArray[Any]] = {
        "row": number + 1,
        predictions.outcome_name: np.array(predictions.class_names)[predictions.outcome[number]],
    }
    if predictions.n_classes > 2:
        outcome = held_out.row_view(method).outcome
        table["positive"] = outcome[rows].astype(np.int64)
    table[predictions.score_name] = view.score[rows]
    if method != "uncalibrated":
        table[f"{predictions.score_name}, {method}"] = held_out.row_scores(method)[rows]
    if view.weight is not None:
        table["weight"] = view.weight[rows]
    if predictions.group is not None:
        table["group"] = predictions.group[number]
    for name, values in predictions.columns.items():
        # A column of the file can have the name of one of the columns above.
        table[f"{name} (column)" if name in table else name] = values[number]
    return pd.DataFrame(table)


def slice_reliability(
    rows: BinaryView,
    score: FloatArray,
    member: BoolArray,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    confidence_level: float = 0.95,
) -> ReliabilityCurve:
    """Reliability curve of the rows of one slice, with its own bins.

    If groups are named, intervals and bands are by cluster.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    member : ndarray of bool, shape (n,)
        Whether each row belongs to the slice, as from `Slicing.member`.
    n_bins, strategy, confidence_level
        As in `calib.curves.reliability.reliability_curve`.

    Raises
    ------
    ValueError
        If the slice is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).view()
    >>> curve = slice_reliability(rows, rows.score, rows.score > 0.5, n_bins=1)
    >>> curve.mean_score, curve.observed
    (array([0.8]), array([1.]))
    """
    rows_of_slice = rows.with_score(score).rows(member)
    cells = rows_of_slice.cells()
    return reliability_curve(
        cells,
        n_bins=n_bins,
        strategy=strategy,
        confidence_level=confidence_level,
        clusters=replicate_clusters(rows_of_slice, cells),
    )
