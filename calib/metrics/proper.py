"""Proper scores: log loss and Brier score, their decompositions, and confident errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calib.data.cells import ScoreCells
from calib.metrics.base import Decomposition, metric
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.isotonic import pool_adjacent_violators
from calib.numerics.transforms import clip_certain

CHUNK_CELLS = 8_192  # Temporary arrays of this many cells stay in the processor's cache.


def row_log_loss(
    outcome: BoolArray, score: FloatArray, log_odds: FloatArray | None = None
) -> FloatArray:
    """Log loss of each row, from its log-odds if they are given.

    >>> import numpy as np
    >>> row_log_loss(np.array([True, False]), np.array([0.5, 0.25])).round(4)
    array([0.6931, 0.2877])
    """
    if log_odds is not None:
        return np.logaddexp(0.0, np.where(outcome, -log_odds, log_odds))
    p = clip_certain(score)
    return -np.log(np.where(outcome, p, 1.0 - p))


def row_brier(outcome: BoolArray, score: FloatArray) -> FloatArray:
    """Squared error of each row.

    >>> import numpy as np
    >>> row_brier(np.array([True, False]), np.array([0.5, 0.25]))
    array([0.25  , 0.0625])
    """
    return np.square(score - outcome)


def mean_log_loss(cells: ScoreCells, p: FloatArray) -> float:
    """Mean log loss of the cells' outcomes under other probabilities, one per cell.

    The log-odds of the cells are read if `p` are their scores.
    """
    if p is cells.score and cells.log_odds is not None:
        z = cells.log_odds
        return _mean(cells, z, lambda z: np.logaddexp(0.0, -z), lambda z: np.logaddexp(0.0, z))
    return _mean(cells, clip_certain(p), lambda p: -np.log(p), lambda p: -np.log(1.0 - p))


def log_loss_range(cells: ScoreCells) -> tuple[float, float]:
    """The lowest and the highest log loss of all values that the scores stand for.

    The highest is infinite if a row with score 0 was positive, or one with score 1 negative.

    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.6, 0.9])
    >>> from dataclasses import replace
    >>> [round(end, 3) for end in log_loss_range(replace(cells, step=0.1))]
    [0.178, 0.308]
    """
    low, high = cells.ranges

    def mean(positive: FloatArray, negative: FloatArray) -> float:
        positive_loss, negative_loss = (
            -np.log(clip_certain(positive)),
            -np.log1p(-clip_certain(negative)),
        )
        total = cells.positive @ positive_loss + cells.negative @ negative_loss
        return float(total) / cells.total_weight

    wrong = bool(cells.positive[low == 0.0].any() or cells.negative[high == 1.0].any())
    return mean(high, low), math.inf if wrong else mean(low, high)


def mean_brier(cells: ScoreCells, p: FloatArray) -> float:
    """Mean squared error of the cells' outcomes under other probabilities, one per cell."""
    return _mean(cells, p, lambda p: np.square(1.0 - p), np.square)


def _mean(
    cells: ScoreCells,
    p: FloatArray,
    if_positive: Callable[[FloatArray], FloatArray],
    if_negative: Callable[[FloatArray], FloatArray],
) -> float:
    total = 0.0
    for start in range(0, len(p), CHUNK_CELLS):
        part = slice(start, start + CHUNK_CELLS)
        positive = cells.positive[part]
        total += float(positive @ if_positive(p[part]))
        total += float((cells.weight[part] - positive) @ if_negative(p[part]))
    return total / cells.total_weight


@metric(
    "Log loss",
    meaning="Average negative log-likelihood (lower is better). Methods are ranked by it.",
    bounds=(0.0, -math.log(np.finfo(np.float64).eps)),
    better="lower",
    convention="Natural log; scores clipped to [2.2e-16, 1 - 2.2e-16], as scikit-learn does.",
    source="Good 1952, doi:10.1111/j.2517-6161.1952.tb00104.x",
    aliases="cross-entropy, negative log-likelihood (NLL), logarithmic score",
    perfect=0.0,
    other_class="same",
)
def log_loss(cells: ScoreCells) -> float:
    """Mean negative log-likelihood: -(1/W) sum w [y ln s + (1 - y) ln(1 - s)].

    Scores are clipped to [2.2e-16, 1 - 2.2e-16], as in scikit-learn.

    See Also
    --------
    certain_and_wrong : Number of rows whose loss is set by the clipping bound.

    Examples
    --------
    >>> round(log_loss([0, 1, 1], [0.1, 0.6, 0.9]), 4)
    0.2405
    """
    return mean_log_loss(cells, cells.score)


@metric(
    "Brier score",
    meaning="Mean squared difference between scores and outcomes.",
    bounds=(0.0, 1.0),
    better="lower",
    convention="Binary: 0 to 1, half of the sum over both classes.",
    source="Brier 1950",
    aliases="mean squared error, quadratic score",
    perfect=0.0,
    other_class="same",
)
def brier_score(cells: ScoreCells) -> float:
    """Mean squared error of the scores: (1/W) sum w (s - y)^2.

    References
    ----------
    Brier 1950, doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> round(brier_score([0, 1, 1], [0.1, 0.6, 0.9]), 4)
    0.06
    """
    return mean_brier(cells, cells.score)


@metric(
    "Scaled Brier score",
    meaning="Share of the Brier score of the base rate that the scores remove.",
    bounds=(-math.inf, 1.0),
    better="higher",
    convention="The reference is the base rate of the same rows.",
    source="Steyerberg et al. 2010, doi:10.1097/EDE.0b013e3181c30fb2",
    aliases="Brier skill score, index of prediction accuracy (IPA)",
    perfect=1.0,
    other_class="same",
    needs_both_classes=True,
)
def scaled_brier_score(cells: ScoreCells) -> float:
    """Scaled Brier score: 1 - B / (r (1 - r)), B the Brier score and r the base rate.

    Returns
    -------
    float
        At most 1, and below 0 if the base rate alone predicts better. NaN if all rows are of one
        class.

    Examples
    --------
    >>> round(scaled_brier_score([0, 1, 0, 1], [0.1, 0.6, 0.3, 0.8]), 4)
    0.7
    """
    if cells.one_class:
        return math.nan
    reference = cells.base_rate * (1.0 - cells.base_rate)
    return 1.0 - mean_brier(cells, cells.score) / reference


@metric(
    "Confident errors",
    meaning="Rows with a score of exactly 0 or 1 that is wrong.",
    bounds=(0.0, math.inf),
    better="zero",
    convention="Counts rows, not weights. The log loss of such rows depends only on the clip.",
    source="Good 1952, doi:10.1111/j.2517-6161.1952.tb00104.x",
    aliases="certain and wrong, infinite log loss",
    interval=None,
    digits=0,
    perfect=0.0,
    other_class="same",
    weighs_evidence=True,
)
def certain_and_wrong(cells: ScoreCells) -> int:
    """Confident errors: number of rows whose score is exactly 0 or 1 and wrong.

    If rows with the same score differ in weight, the number is estimated from their weights.

    Examples
    --------
    >>> certain_and_wrong([1, 0, 1, 1], [0.0, 0.0, 0.5, 1.0])
    1
    """
    wrong = 0.0
    if cells.score[0] == 0.0:
        wrong += cells.rows[0] * cells.positive[0] / cells.weight[0]
    if cells.score[-1] == 1.0:
        wrong += cells.rows[-1] * cells.negative[-1] / cells.weight[-1]
    return math.ceil(wrong - 1e-9)


@metric(
    "Brier score, decomposed",
    meaning="Miscalibration (the part that recalibration would remove), discrimination and "
    "uncertainty of the Brier score; also called calibration, sharpness and irreducible.",
    bounds=(0.0, 1.0),
    better="none",
    convention="CORP: recalibrated by isotonic regression, not by bins.",
    source="Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118",
    aliases="CORP decomposition: MCB, DSC, UNC; reliability, resolution, sharpness, refinement",
    interval="reflected",
    part="miscalibration",
    perfect=0.0,
    other_class="same",
)
def brier_decomposition(cells: ScoreCells) -> Decomposition:
    """CORP decomposition of the Brier score: score = miscalibration - discrimination + uncertainty.

    S(p) is the Brier score of probabilities p, pi the isotonic fit of the outcome on the score s,
    and r the base rate. Then miscalibration = S(s) - S(pi), discrimination = S(r) - S(pi) and
    uncertainty = S(r).

    References
    ----------
    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it", where the
    parts are called calibration, sharpness and irreducible.

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
    aliases="CORP decomposition: MCB, DSC, UNC; reliability, resolution, sharpness, refinement",
    interval="reflected",
    part="miscalibration",
    perfect=0.0,
    other_class="same",
)
def log_loss_decomposition(cells: ScoreCells) -> Decomposition:
    """CORP decomposition of the log loss: score = miscalibration - discrimination + uncertainty.

    See `brier_decomposition` for the formulas. If a score of exactly 0 or 1 is wrong, the
    miscalibration is finite only because scores are clipped as in `log_loss`.

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
    # No monotone fit has a lower loss than the isotonic one, so negative parts are rounding errors.
    return Decomposition(score, max(0.0, score - fitted), max(0.0, constant - fitted), constant)
