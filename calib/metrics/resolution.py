"""How far metrics of grouped scores can be from those of the scores themselves."""

from __future__ import annotations

import numpy as np

from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray
from calib.predictions import BinaryView

# Metrics whose change is bounded.
RESOLVED = ("log_loss", "brier_score", "ks_error", "auc")


def resolutions(
    rows: BinaryView,
    ends: tuple[FloatArray, FloatArray],
    middle: FloatArray,
    aside: FloatArray,
) -> dict[str, float]:
    """Bounds of the change if every row had its own score instead of its cell's.

    Calibrated scores and losses are taken to be convex or concave within a cell, whose width is
    at most 4e-5, or 0.2% of the distance from 0 or 1: they then lie between a tangent and a chord.

    Parameters
    ----------
    rows : BinaryView
        Entries with the scores of their cells, as they are or calibrated.
    ends : (ndarray, ndarray) of shape (n,)
        The same of the least and the largest score in each cell.
    middle : ndarray of shape (n,)
        Where the cell's score lies between these, 0 to 1.
    aside : ndarray of shape (n,)
        How much further the mean score of the entry's own rows lies.

    Returns
    -------
    dict of str to float
        log_loss, brier_score, ks_error and auc.

    Examples
    --------
    >>> import numpy as np
    >>> outcome, count = np.array([False, True]), np.array([6.0, 4.0])
    >>> rows = BinaryView(outcome, np.array([0.4, 0.4]), count=count)
    >>> ends = np.array([0.39, 0.39]), np.array([0.41, 0.41])
    >>> found = resolutions(rows, ends, np.array([0.5, 0.5]), np.array([-0.1, 0.15]))
    >>> {name: round(value, 4) for name, value in found.items()}
    {'log_loss': 0.0053, 'brier_score': 0.0025, 'ks_error': 0.244, 'auc': 0.5}
    """
    share = rows.weights / rows.weights.sum()
    low, high = np.minimum(*ends), np.maximum(*ends)
    grouped = high > low
    if not grouped.any():
        return dict.fromkeys(RESOLVED, 0.0)

    def change(at: FloatArray, first: FloatArray, last: FloatArray) -> float:
        gap = np.abs(first + middle * (last - first) - at)
        # Slopes left and right of the cell's score differ by gap / (middle (1 - middle)).
        bend = np.abs(aside) / np.maximum(middle * (1.0 - middle), 1e-12)
        most = np.minimum(gap * (1.0 + bend), np.abs(last - first))
        return abs(float(share @ (aside * (last - first)))) + float(share @ most)

    found = {
        name: change(*(loss(rows.outcome, score) for score in (rows.score, *ends)))
        for name, loss in (("log_loss", row_log_loss), ("brier_score", row_brier))
    }
    moved = change(rows.score, *ends)
    return found | {
        "ks_error": _within_cells(rows, low, high, share) + moved,
        "auc": _tied_pairs(rows, grouped, share),
    }


def _within_cells(rows: BinaryView, low: FloatArray, high: FloatArray, share: FloatArray) -> float:
    """The furthest that the cumulative difference can go within a cell, beyond both its ends."""
    _, cell = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    rise = np.bincount(cell, np.where(rows.outcome, share * (1.0 - low), 0.0))
    fall = np.bincount(cell, np.where(rows.outcome, 0.0, share * high))
    several = np.bincount(cell, rows.counts) > 1.0
    inside = np.bincount(cell, high - low) > 0.0
    return float(np.minimum(rise, fall)[several & inside].max(initial=0.0))


def _tied_pairs(rows: BinaryView, grouped: BoolArray, share: FloatArray) -> float:
    """Half of all pairs that share a cell and not surely a score."""
    _, cell = np.unique(rows.score, return_inverse=True)
    positive = np.bincount(cell, np.where(rows.outcome & grouped, share, 0.0))
    negative = np.bincount(cell, np.where(~rows.outcome & grouped, share, 0.0))
    total = float(share[rows.outcome].sum())
    pairs = total * (1.0 - total)
    return 0.5 * float(positive @ negative) / pairs if pairs > 0.0 else 0.0
