"""Binned errors averaged over the classes: a binary problem has two."""

from __future__ import annotations

import numpy as np

from calib.core.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.binned import absolute_gap
from calib.numerics.binning import Strategy, bin_cells


@metric(
    "ACE",
    meaning="ECE with equal counts per bin, averaged over both classes.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Quantile bins that never split ties, weighted by their count.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="ACE",
    interval="error",
)
def adaptive_calibration_error(cells: ScoreCells, n_bins: int = 15) -> float:
    """Adaptive calibration error: class-averaged ECE with quantile bins.

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
        At least 1.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Nixon et al. 2019, arXiv:1904.01685.

    Examples
    --------
    >>> y, s = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(adaptive_calibration_error(y, s, n_bins=2), 3)
    0.14
    """
    return _class_average(cells, n_bins, "quantile")


@metric(
    "SCE",
    meaning="ECE with equal-width bins, averaged over both classes (classwise ECE).",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Bins are right-closed for each class, so a score on an edge may fall into "
    "different bins.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="SCE",
    interval="error",
)
def static_calibration_error(cells: ScoreCells, n_bins: int = 15) -> float:
    """Static calibration error (classwise ECE): class-averaged ECE with uniform bins.

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
        At least 1.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Nixon et al. 2019, arXiv:1904.01685; Kull et al. 2019, arXiv:1910.12656.

    Examples
    --------
    >>> y, s = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(static_calibration_error(y, s, n_bins=2), 3)
    0.14
    """
    return _class_average(cells, n_bins, "uniform")


@metric(
    "TACE",
    meaning="ACE without scores near 0, which are frequent and easy to get right for rare classes.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Scores above the threshold only; each class divided by its own count.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="TACE",
    interval="error",
)
def thresholded_calibration_error(
    cells: ScoreCells, n_bins: int = 15, threshold: float = 1e-3
) -> float:
    """Thresholded adaptive calibration error: ACE over the scores above a threshold.

    Parameters
    ----------
    cells : ScoreCells
    n_bins : int
        At least 1.
    threshold : float
        In [0, 0.5): a row's two scores cannot both be dropped.

    Returns
    -------
    float
        In [0, 1]; the mean over the classes that have a score above the threshold.

    Raises
    ------
    ValueError
        If the threshold is out of its range.

    References
    ----------
    Nixon et al. 2019, arXiv:1904.01685.

    Examples
    --------
    >>> y, s = [0, 0, 0, 1, 1], [0.0001, 0.2, 0.4, 0.7, 0.9]
    >>> round(thresholded_calibration_error(y, s, n_bins=2), 3)
    0.145
    """
    if not 0.0 <= threshold < 0.5:
        raise ValueError(f"threshold must fulfil 0 <= threshold < 0.5, got {threshold}.")
    return _class_average(cells, n_bins, "quantile", threshold)


def _class_average(
    cells: ScoreCells, n_bins: int, strategy: Strategy, threshold: float = -1.0
) -> float:
    classes = [above(view, threshold) for view in (flipped(cells), cells)]
    errors = [absolute_gap(bin_cells(view, n_bins, strategy)) for view in classes if len(view)]
    return float(np.mean(errors))


def flipped(cells: ScoreCells) -> ScoreCells:
    """The cells of the other class: scores 1 - s, outcomes 1 - y."""
    # Without weights these are one array, of which one prefix sum is enough.
    rows = cells.rows[::-1]
    weight = rows if cells.weight is cells.rows else cells.weight[::-1]
    weight_sq = weight if cells.weight_sq is cells.weight else cells.weight_sq[::-1]
    return ScoreCells(
        score=1.0 - cells.score[::-1],
        rows=rows,
        weight=weight,
        positive=cells.negative[::-1],
        weight_sq=weight_sq,
        positive_sq=(cells.weight_sq - cells.positive_sq)[::-1],
    )


def above(cells: ScoreCells, threshold: float) -> ScoreCells:
    """The cells with a score above a threshold."""
    start = int(np.searchsorted(cells.score, threshold, side="right"))
    if start == 0:
        return cells
    return ScoreCells(
        score=cells.score[start:],
        rows=cells.rows[start:],
        weight=cells.weight[start:],
        positive=cells.positive[start:],
        weight_sq=cells.weight_sq[start:],
        positive_sq=cells.positive_sq[start:],
    )
