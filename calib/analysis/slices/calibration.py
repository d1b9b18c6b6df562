"""Slice-specific calibrators: does a slice need its own calibrator?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.crossfit.cross_fitted import CrossFitted, mean_estimate
from calib.crossfit.folds import n_positive
from calib.crossfit.matrix import MatrixFits, create, create_multiclass
from calib.crossfit.settings import Settings
from calib.data.views import BinaryView, ScoreMatrix
from calib.metrics.matrix import ROW_METRICS
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.intervals import Estimate
from calib.uncertainty import FoldScores, fold_variance


@dataclass(frozen=True, slots=True)
class SliceCalibration:
    """Comparison of a slice-specific calibrator with the calibrator of all rows.

    Attributes
    ----------
    method : str
        Key of the method of both calibrators.
    rows, positives : int
        Number of scored rows of the slice, and of positive rows among them. In a matrix, a row is
        positive if its true class has the highest score.
    together, apart : Estimate
        Held-out log loss on the slice with the calibrator of all rows, and with the slice-specific
        calibrator.
    difference : Estimate
        `apart` minus `together`, paired by row. Below 0: the slice-specific calibrator is better.
    confidence_level : float
        Confidence level of the intervals.
    """

    method: str
    rows: int
    positives: int
    together: Estimate
    apart: Estimate
    difference: Estimate
    confidence_level: float


def calibrate_slices(
    view: BinaryView,
    member: BoolArray,
    held_out: CrossFitted,
    method: str,
    *,
    confidence_level: float = 0.95,
) -> SliceCalibration:
    """Fit a calibrator on one slice alone, and compare it with the calibrator of all rows.

    Both are evaluated on held-out rows of the slice: on its test rows, or by cross-fitting with the
    folds of the analysis. For a matrix the loss is the log loss of all classes, which does not
    depend on the view.

    Parameters
    ----------
    view : BinaryView
        All rows, including calibration rows.
    member : ndarray of bool, shape (n,)
        Whether each row belongs to the slice.
    held_out : CrossFitted
        ``analysis.held_out`` of the same rows.
    method : str
        Key of one of its calibrators.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If the slice has too few rows of a class or no scored row, or the method was not compared.

    References
    ----------
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it": calibrate
    globally, and add slice-specific calibrators only if needed.

    Examples
    --------
    The scores are right in one half of the rows and too high in the other half:

    >>> import numpy as np
    >>> import calib
    >>> rng, north = np.random.default_rng(0), np.arange(4000) < 2000
    >>> score = rng.random(4000)
    >>> y = rng.random(4000) < np.where(north, score, score**3)
    >>> analysis = calib.from_predictions(y, score)
    >>> view = calib.Predictions.from_arrays(y, score).view()
    >>> calibrate_slices(view, north, analysis.held_out, "beta").difference.high < 0
    True
    """
    if method not in held_out.scores:
        raise ValueError(
            f"method must be among those compared ({', '.join(held_out.scores)}), got {method!r}."
        )
    scored = member if view.test is None else member[view.test]
    if not scored.any():
        raise ValueError("The slice has no row among those that are scored, got 0.")
    if held_out.matrix is not None:
        losses = _losses_of_matrix(held_out.matrix, member, scored, method)
    else:
        losses = _losses_of_scores(view, member, scored, held_out, method)
    rows, together, apart, added = losses
    return SliceCalibration(
        method=method,
        rows=rows.n_rows,
        positives=n_positive(rows),
        together=mean_estimate(together, rows, confidence_level),
        apart=mean_estimate(apart, rows, confidence_level),
        # The variance of fitting the common calibrator is left out, because it is fitted on more
        # rows, including the slice: the interval is rather too wide than too narrow.
        difference=mean_estimate(apart - together, rows, confidence_level, added),
        confidence_level=confidence_level,
    )


# These are the scored rows of the slice, their losses with the calibrator of all rows and with the
# slice-specific calibrators, and the variance that comes from fitting the latter.
Losses = tuple[BinaryView, FloatArray, FloatArray, float]


def _losses_of_scores(
    view: BinaryView, member: BoolArray, scored: BoolArray, held_out: CrossFitted, method: str
) -> Losses:
    if view.test is not None:
        fitted = _fit(view.rows(member & ~view.test), method, held_out.settings)
        rows, by_fold = held_out.given_rows.rows(scored), [fitted]
        common, alone = (
            held_out.row_view(method).score[scored],
            fitted.predict(rows.score, rows.log_odds),
        )
    else:
        rows, chosen = _slice_in_folds(view.rows(member), member, held_out)
        common = held_out.scores[method][chosen]
        alone, by_fold = _own_scores(rows, method, held_out.settings)
    points = FoldScores.of(rows.cells(), [calibrator.predict for calibrator in by_fold])
    added = fold_variance(row_log_loss(points.outcome, points.score), points.share_sq)
    return rows, row_log_loss(rows.outcome, common), row_log_loss(rows.outcome, alone), added


def _slice_in_folds(
    rows: BinaryView, member: BoolArray, held_out: CrossFitted
) -> tuple[BinaryView, IntArray]:
    """The rows of the slice in the folds of the analysis, and the entries to which they belong.

    Rows with equal scores and outcomes are interchangeable. How many of the slice's rows are in
    each fold is drawn at random, as if they had been split into folds together with all rows.
    """
    split, counted, source = held_out.rows, held_out.counted, held_out.source
    assert split.fold is not None
    n, n_folds = len(counted.entries), int(split.fold.max()) + 1
    place = counted.find(held_out.given_rows)[member]
    rows_of_slice = np.bincount(place, rows.counts, minlength=n).astype(np.int64)
    weight = np.bincount(place, rows.weights, minlength=n)
    square = np.bincount(place, rows.squared_weights, minlength=n)
    every = np.zeros((n_folds, n), dtype=np.int64)
    every[split.fold, source] = split.counts
    drawn = _drawn_from(every, rows_of_slice, np.random.default_rng([held_out.settings.seed, 1]))
    count = drawn[split.fold, source]
    chosen = np.flatnonzero(count)
    share = count[chosen] / rows_of_slice[source[chosen]]
    return replace(
        split.rows(chosen),
        count=count[chosen].astype(np.float64),
        weight=None if split.weight is None else weight[source[chosen]] * share,
        weight_sq=None if split.weight is None else square[source[chosen]] * share,
    ), chosen


def _drawn_from(
    rows_of_fold: IntArray, rows_of_slice: IntArray, rng: np.random.Generator
) -> IntArray:
    """Hypergeometric draw: the number of rows of the slice in each fold."""
    left, rest = rows_of_slice.copy(), rows_of_fold.sum(axis=0)
    drawn = np.empty_like(rows_of_fold)
    for fold, count in enumerate(rows_of_fold):
        rest = rest - count
        drawn[fold] = rng.hypergeometric(count, rest, left)
        left = left - drawn[fold]
    return drawn


def _own_scores(
    rows: BinaryView, method: str, settings: Settings
) -> tuple[FloatArray, list[Calibrator]]:
    """Scores of the held-out rows of the slice by slice-specific calibrators, and these."""
    assert rows.fold is not None
    scores, by_fold = np.empty(len(rows)), []
    for number in np.unique(rows.fold):
        held_out = rows.fold == number
        by_fold.append(_fit(rows.rows(~held_out), method, settings))
        left_out = rows.rows(held_out)
        scores[held_out] = by_fold[-1].predict(left_out.score, left_out.log_odds)
    return scores, by_fold


def _fit(training: BinaryView, method: str, settings: Settings) -> Calibrator:
    positives, n_rows = n_positive(training), training.n_rows
    if not 0 < positives < n_rows:
        raise ValueError(
            f"{CALIBRATORS[method].short_label} cannot be fitted on this slice alone: it needs "
            f"training rows of both classes, got {n_rows} rows with {positives} positive ones."
        )
    return create(method, settings).fit_cells(training.cells())


def _losses_of_matrix(
    fits: MatrixFits, member: BoolArray, scored: BoolArray, method: str
) -> Losses:
    losses, row_loss = np.zeros((2, len(scored))), ROW_METRICS["log_loss"]
    scores, label = fits.scored.scores, fits.scored.label
    chosen = fits.order[scored[fits.order]]
    points, share_sq = fits.some(chosen)
    by_fold = []
    for split in fits.splits:
        rows = split.rows[scored[split.rows]]
        if len(rows):
            alone = _fit_matrix(
                fits.rows.of(split.train[member[split.train]]), method, fits.settings
            )
            by_fold.append(row_loss(alone.predict(scores[points]), label[points]))
            for kind, fitted in enumerate((split.calibrators[method], alone)):
                losses[kind, rows] = row_loss(fitted.predict(scores[rows]), label[rows])
    together, apart = losses[:, chosen]
    of_slice = fits.view("uncalibrated", "top:1").rows(chosen)
    return of_slice, together, apart, fold_variance(np.array(by_fold), share_sq)


def _fit_matrix(training: ScoreMatrix, method: str, settings: Settings) -> MatrixCalibrator:
    present = len(np.unique(training.label))
    if present < 2:
        raise ValueError(
            f"{CALIBRATORS[method].short_label} cannot be fitted on this slice alone: it needs "
            f"training rows of two classes or more, got {len(training.label)} rows of {present}."
        )
    calibrator = create_multiclass(method, settings)
    return calibrator.fit(training.scores, training.label, training.weight, training.group)
