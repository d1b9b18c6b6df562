"""Decomposition of a proper score: what calibration costs, what discrimination gains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calib.core.cells import ScoreCells
from calib.metrics.base import metric
from calib.metrics.proper import mean_brier, mean_log_loss
from calib.metrics.results import Decomposition
from calib.numerics.arrays import FloatArray
from calib.numerics.isotonic import pool_adjacent_violators


@metric(
    "Brier score, decomposed",
    meaning="Miscalibration (the part that recalibration would remove), discrimination and "
    "uncertainty of the Brier score; also called calibration, sharpness and irreducible.",
    bounds=(0.0, 1.0),
    better="none",
    convention="CORP: recalibrated by isotonic regression, not by bins.",
    source="Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118",
    aliases="CORP decomposition: MCB, DSC, UNC; reliability, resolution",
    interval="reflected",
    part="miscalibration",
)
def brier_decomposition(cells: ScoreCells) -> Decomposition:
    """CORP decomposition of the Brier score: score = miscalibration - discrimination + uncertainty.

    With pi the isotonic fit of the outcome on the score, and the base rate r:
    miscalibration = S(s) - S(pi), discrimination = S(r) - S(pi), uncertainty = S(r).

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    Decomposition

    References
    ----------
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it"
    (calibration, sharpness, irreducible).

    Examples
    --------
    >>> parts = brier_decomposition([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty
    (0.1, 0.125, 0.25)
    """
    return _decompose(cells, mean_brier)


@metric(
    "Log loss, decomposed",
    meaning="Miscalibration (the part that recalibration would remove), discrimination and "
    "uncertainty of the log loss; also called calibration, sharpness and irreducible.",
    bounds=(0.0, float(-np.log(np.finfo(np.float64).eps))),
    better="none",
    convention="CORP: recalibrated by isotonic regression, not by bins. Without the clip of the "
    "log loss, certain scores that are wrong would make miscalibration infinite.",
    source="Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118",
    aliases="CORP decomposition: MCB, DSC, UNC; reliability, resolution",
    interval="reflected",
    part="miscalibration",
)
def log_loss_decomposition(cells: ScoreCells) -> Decomposition:
    """CORP decomposition of the log loss: score = miscalibration - discrimination + uncertainty.

    See `brier_decomposition`. Miscalibration is finite only because scores are clipped by
    float64's machine epsilon, where a score of exactly 0 or 1 is wrong.

    Parameters
    ----------
    cells : ScoreCells

    Returns
    -------
    Decomposition

    References
    ----------
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> parts = log_loss_decomposition([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.8])
    >>> round(parts.discrimination, 4), round(parts.uncertainty, 4)
    (0.3466, 0.6931)
    """
    return _decompose(cells, mean_log_loss)


def _decompose(
    cells: ScoreCells, mean_score: Callable[[ScoreCells, FloatArray], float]
) -> Decomposition:
    score = mean_score(cells, cells.score)
    fitted = mean_score(cells, pool_adjacent_violators(cells.rate, cells.weight))
    constant = mean_score(cells, np.full(len(cells), cells.base_rate))
    # The isotonic fit is the best of all monotone ones for either score: below 0 is rounding.
    return Decomposition(score, max(0.0, score - fitted), max(0.0, constant - fitted), constant)
