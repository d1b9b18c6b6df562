"""A calibration error without bias: what a cross-fitted calibrator says about other rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics.base import VariationalError, metric
from calib.numerics.arrays import FloatArray, IntArray, canonical_order
from calib.numerics.intervals import Estimate, mean_interval, normal_quantile
from calib.numerics.isotonic import pool_adjacent_violators
from calib.numerics.resampling import split_counts, unit_sums

N_FOLDS = 5
# The rows of each fold decide about the signs of all others. If scores are calibrated, signs are
# chance, and these dependences make the variance 1 + 2/pi times that of independent rows.
SHARED_SIGNS = 1.0 + 2.0 / math.pi
# A calibrated score that differs by less than this is the score itself, with rounding errors.
ROUNDING = 1e-12


def error_estimate(rows: BinaryView, confidence_level: float) -> Estimate:
    """The variational error of rows with its interval, as tables show it."""
    return variational_estimate(rows, confidence_level=confidence_level).error


@metric(
    "Variational error",
    meaning="Calibration error (L1) without bias: 0 on average if the scores are calibrated, with "
    "its overconfident and its underconfident part.",
    bounds=(-1.0, 1.0),
    better="lower",
    convention="Isotonic regression, cross-fitted in 5 seeded folds. It can be slightly negative.",
    source="A Variational Estimator for Lp Calibration Errors 2026, arXiv:2602.24230",
    aliases="variational L1 error, cross-fitted calibration error, unbiased ECE, overconfidence, "
    "underconfidence",
    interval=None,  # A copy of a row in another fold would be a leak, so rows are not resampled.
    perfect=0.0,
    weighs_evidence=True,
    of_rows=error_estimate,
)
def variational_error(
    cells: ScoreCells, n_folds: int = N_FOLDS, random_state: int = 0
) -> VariationalError:
    """Variational L1 calibration error: the mean of sign(g(s) - s) (y - s).

    g is an isotonic regression fitted to the rows of other folds. Where it lies above the score,
    the score is too low, and y - s is positive on average; where it lies below, negative. Chance
    in the held-out rows does not depend on g, so the mean is 0 if the scores are calibrated. It
    is at most E abs(P(y | s) - s), and equals it if g has the right sign everywhere.

    In the overconfident part, g lies between the score and 0.5, or beyond 0.5. In the
    underconfident part it lies farther from 0.5. Rows with a score of 0.5 are in neither part. If
    there are weights, rows of one score count as equal ones. A single row has the error 0, because
    there are no others.

    Parameters
    ----------
    n_folds : int
        Number of folds, at least 2.
    random_state : int
        Seed of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p
    >>> round(variational_error(y, p).error, 3)
    0.0
    >>> extreme = variational_error(y, p**2 / (p**2 + (1 - p) ** 2))
    >>> round(extreme.overconfident, 2), round(extreme.underconfident, 2)
    (0.09, -0.0)
    """
    (error, standard_error), (over, _), (under, _) = _of_cells(cells, n_folds, random_state)
    return VariationalError(error, over, under, standard_error)


@dataclass(frozen=True, slots=True)
class VariationalEstimate:
    """The variational error and its two parts, each with its interval."""

    error: Estimate
    overconfident: Estimate
    underconfident: Estimate


def variational_estimate(
    rows: BinaryView,
    *,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    confidence_level: float = 0.95,
) -> VariationalEstimate:
    """The variational error of rows with intervals. Clusters are held out as a whole.

    The interval is normal with the variance of independent rows or clusters, times 1 + 2/pi: if
    scores are calibrated, all signs are chance, and those of the folds depend on each other. It
    covers more often than its level if the scores are clearly miscalibrated.

    Parameters
    ----------
    rows : BinaryView
    n_folds, random_state
        As in `variational_error`.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    VariationalEstimate
        The bounds are NaN if there is only one row or cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> error = variational_estimate(BinaryView(rng.random(5000) < p, p)).error
    >>> error.low < 0 < error.high
    True
    """
    if rows.group is not None:
        return VariationalEstimate(
            *_of_clusters(rows, rows.group, n_folds, random_state, confidence_level)
        )
    z = normal_quantile(confidence_level)
    return VariationalEstimate(
        *(
            Estimate(value, value - z * error, value + z * error)
            for value, error in _of_cells(rows.cells(), n_folds, random_state)
        )
    )


def variational_estimates(
    scored: Iterable[BinaryView], *, confidence_level: float = 0.95
) -> list[VariationalEstimate]:
    """The estimates of several scores of the same rows."""
    return [variational_estimate(rows, confidence_level=confidence_level) for rows in scored]


def _of_cells(cells: ScoreCells, n_folds: int, seed: int) -> list[tuple[float, float]]:
    """Error, overconfident and underconfident part, each with its standard error."""
    _check(n_folds)
    rows = cells.in_effective_rows()
    weight = np.array([rows.negative, rows.positive])
    square = np.array([rows.weight_sq - rows.positive_sq, rows.positive_sq])
    count = _row_counts(weight, square)
    n_folds = min(n_folds, int(count.sum()))
    if n_folds < 2:
        return [(0.0, math.nan)] * 3
    rng = np.random.default_rng(seed)
    folds = split_counts(count.ravel(), n_folds, rng).reshape(n_folds, *count.shape)
    residual = np.array([-rows.score, 1.0 - rows.score])
    total, sums, squares = float(weight.sum()), np.zeros(3), np.zeros((2, 3))
    for part in folds:
        outside = count - part
        share = np.divide(outside, count, out=np.zeros(count.shape), where=count > 0)
        sign = _signs(rows.score, outside.sum(axis=0) > 0, *(share * weight))
        held = 1.0 - share
        for i, chosen in enumerate(_parts(sign, rows.score)):
            value = chosen * residual
            sums[i] += float((held * weight * value).sum())
            squares[0, i] += float((held * square * value * value).sum())
            squares[1, i] += float((held * square * value).sum())
    mean = sums / total
    spread = squares[0] - 2.0 * mean * squares[1] + mean**2 * float(square.sum())
    n = total**2 / float(square.sum())
    error = np.sqrt(SHARED_SIGNS * np.maximum(spread, 0.0) * n / (n - 1.0)) / total
    return list(zip(mean.tolist(), error.tolist(), strict=True))


def _check(n_folds: int) -> None:
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}.")


def _row_counts(weight: FloatArray, square: FloatArray) -> IntArray:
    """Numbers of equal rows that have these sums of weights and squared weights."""
    rows = np.divide(weight * weight, square, out=np.zeros(weight.shape), where=square > 0.0)
    # The small number rounds halves up in any unit of the weights.
    counts = np.floor(rows + 0.5 + 1e-9).astype(np.int64)
    return np.where(weight > 0.0, np.maximum(counts, 1), 0)


def _signs(
    score: FloatArray, fitted: IntArray, negative: FloatArray, positive: FloatArray
) -> FloatArray:
    """Sign of calibrated minus uncalibrated score, of a curve that is fitted to some cells."""
    weight = (negative + positive)[fitted]
    curve = pool_adjacent_violators(positive[fitted] / weight, weight)
    difference = np.interp(score, score[fitted], curve) - score
    return np.where(np.abs(difference) > ROUNDING, np.sign(difference), 0.0)


def _parts(sign: FloatArray, score: FloatArray) -> Iterator[FloatArray]:
    """The signs of all rows, of those that are overconfident, and of those that are not enough."""
    inwards = sign * (0.5 - score)
    yield sign
    yield np.where(inwards > 0.0, sign, 0.0)
    yield np.where(inwards < 0.0, sign, 0.0)


def _of_clusters(
    rows: BinaryView, group: IntArray, n_folds: int, seed: int, confidence_level: float
) -> Iterator[Estimate]:
    _check(n_folds)
    # Some of the codes can have no row, for example those of calibration rows.
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    order, codes = canonical_order([rows.score, rows.weight, rows.count], rows.outcome, group)
    assert codes is not None
    # Fits need no design effect: which rows are together does not change isotonic regression.
    rows, n_clusters = replace(rows, group=None).rows(order), int(codes.max()) + 1
    n_folds = min(n_folds, n_clusters)
    fold = (np.random.default_rng(seed).permutation(n_clusters) % n_folds)[codes]
    sign = np.zeros(len(rows))
    # If there is only one cluster, there is no other to fit a calibrator on.
    for number in range(n_folds) if n_folds > 1 else ():
        held_out = np.flatnonzero(fold == number)
        cells = rows.rows(fold != number).cells()
        score, start = np.unique(rows.score[held_out], return_inverse=True)
        curve = np.interp(score, cells.score, pool_adjacent_violators(cells.rate, cells.weight))
        difference = curve - score
        sign[held_out] = np.where(np.abs(difference) > ROUNDING, np.sign(difference), 0.0)[start]
    weight, widened = rows.weights, math.sqrt(SHARED_SIGNS)
    total = float(weight.sum())
    for chosen in _parts(sign, rows.score):
        value = chosen * (rows.outcome - rows.score)
        mean = float(weight @ value) / total
        units = unit_sums(weight * (value - mean), codes)
        low, high = mean_interval(mean, units, total, confidence_level)
        yield Estimate(mean, mean - widened * (mean - low), mean + widened * (high - mean))
