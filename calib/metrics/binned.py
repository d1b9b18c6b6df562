"""Binned calibration errors: the gap between observed frequency and mean score of each bin."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from calib.data.cells import ScoreCells
from calib.metrics.base import error_metric
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import Bins, Strategy, bin_cells

Norm = Literal["l1", "l2", "max"]


@error_metric(
    "ECE",
    meaning="Mean gap between observed frequency and mean score over the bins.",
    convention="Right-closed bins, the first closed on both sides; empty bins are skipped.",
    source="Guo et al. 2017, arXiv:1706.04599",
    aliases="ECE; maximum calibration error (MCE), root mean squared calibration error",
    other_class=None,  # A score on an edge belongs to the bin below it, for either class.
)
def expected_calibration_error(
    cells: ScoreCells,
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    norm: Norm = "l1",
    debiased: bool = False,
) -> float:
    """Expected calibration error (ECE), or its root-mean-square (RMSCE) or maximum (MCE) variant.

    Bin b has weight W_b and gap g_b = observed frequency - mean score; W is the total weight. The
    norm "l1" gives ECE, the sum of (W_b/W) abs(g_b); "l2" gives RMSCE, the square root of the sum
    of (W_b/W) g_b^2; "max" gives MCE, the largest abs(g_b).

    Parameters
    ----------
    strategy : {"uniform", "quantile", "fd"}
        "uniform": bins of equal width. "quantile": bins with equal counts; equal scores are never
        split. "fd": the Freedman-Diaconis rule sets the width, and `n_bins` is not used.
    norm : {"l1", "l2", "max"}
        How the gaps are combined, see above.
    debiased : bool
        Whether to subtract from each squared gap the part that sampling noise adds (Kumar et al.).
        Only for the norm "l2". Bins of one row then contribute nothing.

    Raises
    ------
    ValueError
        If a parameter is not allowed, or `debiased` is used with a norm other than "l2".

    References
    ----------
    Guo et al. 2017, arXiv:1706.04599; Kumar, Liang and Ma 2019, arXiv:1909.10155 (debiased).

    Examples
    --------
    >>> y, s = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(expected_calibration_error(y, s, n_bins=2), 3)
    0.14
    >>> round(expected_calibration_error(y, s, n_bins=2, norm="max"), 3)
    0.2
    """
    if norm not in ("l1", "l2", "max"):
        raise ValueError(f"norm must be one of l1, l2, max, got {norm!r}.")
    if debiased and norm != "l2":
        raise ValueError(f"debiased needs norm='l2', got norm={norm!r}.")
    bins = bin_cells(cells, n_bins, strategy)
    if norm == "l1":
        return absolute_gap(bins)
    if norm == "max":
        return float(np.abs(bins.gap).max())
    rows = bins.effective_rows / cells.design_effect if debiased else None
    return math.sqrt(max(0.0, _squared_gap(bins, rows)))


def absolute_gap(bins: Bins) -> float:
    """Weighted mean of the absolute gaps."""
    return float(bins.weight @ np.abs(bins.gap) / bins.weight.sum())


def _squared_gap(bins: Bins, rows: FloatArray | None) -> float:
    """Mean squared gap. If `n_rows` per bin is given, the expected sampling noise is subtracted."""
    squares = np.square(bins.gap)
    if rows is not None:
        spare = rows - 1.0
        # The noise cannot be estimated from one row, or if one row has all the weight.
        several = spare > 1e-9
        noise = bins.observed * (1.0 - bins.observed) / np.where(several, spare, 1.0)
        squares = np.where(several, squares - noise, 0.0)
    return float(bins.weight @ squares / bins.weight.sum())


# If the scores separate the classes, no number of bins violates monotonicity.
MAX_BINS = 1_000
ROUNDING = 1e-12  # Smaller differences of sums over bins are rounding errors.


@error_metric(
    "ECE-sweep",
    meaning="ECE with the largest number of bins that keeps observed frequencies monotone.",
    convention="Quantile bins that never split ties; at most 1,000.",
    source="Roelofs et al. 2022, arXiv:2012.08668",
    aliases="ECE-sweep, monotonic sweep",
    other_class=None,  # A score on an edge belongs to the bin below it, for either class.
)
def sweep_calibration_error(cells: ScoreCells) -> float:
    """ECE-sweep: ECE with the largest number of quantile bins that keeps frequencies monotone.

    The number of bins grows until the observed frequencies decrease from one bin to the next.

    References
    ----------
    Roelofs et al. 2022, arXiv:2012.08668, algorithm 1.

    Examples
    --------
    >>> round(sweep_calibration_error([0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]), 3)
    0.18
    """
    n_bins = increasing_bins(cells)
    return absolute_gap(bin_cells(cells, n_bins, "quantile"))


def increasing_bins(
    cells: ScoreCells, strategy: Strategy = "quantile", most: int = MAX_BINS
) -> int:
    """The largest number of bins before the observed frequencies of two neighbours decrease.

    There are at most `most` bins. See Roelofs et al. 2022, arXiv:2012.08668, algorithm 1.

    >>> cells = ScoreCells.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> increasing_bins(cells), increasing_bins(cells, "uniform")
    (3, 2)
    """
    for n_bins in range(2, min(cells.n_rows, most) + 1):
        observed = bin_cells(cells, n_bins, strategy).observed
        if np.any(np.diff(observed) < -ROUNDING):
            return n_bins - 1
    return min(cells.n_rows, most)


@error_metric(
    "ACE",
    meaning="ECE with equal counts per bin, averaged over both classes.",
    convention="Quantile bins that never split ties, weighted by their count.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="ACE",
)
def adaptive_calibration_error(cells: ScoreCells, n_bins: int = 15) -> float:
    """Adaptive calibration error: class-averaged ECE with quantile bins.

    Examples
    --------
    >>> y, s = [0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(adaptive_calibration_error(y, s, n_bins=2), 3)
    0.14
    """
    return _class_average(cells, n_bins, "quantile")


@error_metric(
    "SCE",
    meaning="ECE with equal-width bins, averaged over both classes (classwise ECE).",
    convention="Bins are right-closed for each class, so a score on an edge may fall into "
    "different bins.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="SCE",
)
def static_calibration_error(cells: ScoreCells, n_bins: int = 15) -> float:
    """Static calibration error (classwise ECE): class-averaged ECE with uniform bins.

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


@error_metric(
    "TACE",
    meaning="ACE without scores near 0, which are frequent and easy to get right for rare classes.",
    convention="Scores above the threshold only; each class divided by its own count.",
    source="Nixon et al. 2019, arXiv:1904.01685",
    aliases="TACE",
)
def thresholded_calibration_error(
    cells: ScoreCells, n_bins: int = 15, threshold: float = 1e-3
) -> float:
    """Thresholded adaptive calibration error (TACE): ACE over the scores above a threshold.

    Parameters
    ----------
    threshold : float
        Scores at or below it are left out. In [0, 0.5), so that each row keeps one of its two
        scores, s and 1 - s.

    Returns
    -------
    float
        In [0, 1]. The mean over the classes that have a score above the threshold.

    Raises
    ------
    ValueError
        If the threshold is outside [0, 0.5).

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
    # Without weights these are the same array. They stay so, because one prefix sum then suffices.
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
    return cells.pick(slice(start, None), cells.score[start:]) if start else cells
