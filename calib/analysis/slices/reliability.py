"""The reliability diagram of one slice."""

from __future__ import annotations

from dataclasses import replace

from calib.core.views import BinaryView
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.binning import Strategy
from calib.uncertainty import replicate_clusters


def slice_reliability(
    rows: BinaryView,
    score: FloatArray,
    member: BoolArray,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    confidence_level: float = 0.95,
) -> ReliabilityCurve:
    """Reliability curve of the rows of one slice, binned among themselves; by cluster where named.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, as they are or calibrated.
    member : ndarray of bool, shape (n,)
        Which rows are the slice: `Slicing.member`.
    n_bins, strategy, confidence_level
        As of `reliability_curve`.

    Raises
    ------
    ValueError
        If the slice is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.core.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).view()
    >>> curve = slice_reliability(rows, rows.score, rows.score > 0.5, n_bins=1)
    >>> curve.mean_score, curve.observed
    (array([0.8]), array([1.]))
    """
    own = replace(rows, score=score).rows(member)
    cells = own.cells()
    return reliability_curve(
        cells,
        n_bins=n_bins,
        strategy=strategy,
        confidence_level=confidence_level,
        clusters=replicate_clusters(own, cells),
    )
