"""Calibrating one slice separately: does it need its own calibrator?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.core.estimate import Estimate
from calib.core.predictions import Predictions
from calib.core.views import BinaryView
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.estimates import mean_estimate
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.methods import create, create_multiclass
from calib.crossfit.settings import Settings
from calib.metrics.matrix import ROW_METRICS
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.uncertainty import FoldScores, fold_variance


@dataclass(frozen=True, slots=True)
class SliceCalibration:
    """A slice's own calibrator against the calibrator of all rows, on held-out rows.

    Attributes
    ----------
    method : str
        Key of the method, the same for both calibrators.
    rows, positives : int
        Of the slice, among the rows that are scored. Of a matrix, rows whose largest score is the
        true class's count as positive.
    together, apart : Estimate
        Log loss on the slice under the calibrator of all rows, and under the slice's own.
    difference : Estimate
        Own minus common, paired by row: below 0 the slice gains from its own calibrator.
    confidence_level : float
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
    """Fit a calibrator on one slice alone, and compare it with the one fitted on all rows.

    Both are scored on rows that neither has seen: the slice's test rows, or, in the folds of the
    comparison, each row by the calibrator fitted on the slice's rows of the other folds.

    Parameters
    ----------
    view : BinaryView
        All rows, calibration rows included.
    member : ndarray of bool, shape (n,)
        Which of them are the slice.
    held_out : CrossFitted
        The comparison of the same view.
    method : str
        One of its calibrators.
    confidence_level : float

    Raises
    ------
    ValueError
        If the slice has too few rows of either class to be fitted, or the method is not compared.

    References
    ----------
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it": calibrate
    globally, and a small number of slices as needed.
    """
    scored = scored_rows(member, view.test, method, held_out.scores)
    if view.test is not None:
        fitted = _fit(view.rows(member & ~view.test), method, held_out.settings)
        rows = held_out.given_rows.rows(scored)
        common, own = held_out.row_view(method).score[scored], fitted.predict(rows.score)
        by_fold = [fitted]
    else:
        rows, chosen = _slice_in_folds(view.rows(member), member, held_out)
        common = held_out.scores[method][chosen]
        own, by_fold = _own_scores(rows, method, held_out.settings)
    losses = row_log_loss(rows.outcome, common), row_log_loss(rows.outcome, own)
    return paired(method, rows, *losses, confidence_level, _added_variance(rows, by_fold))


def scored_rows(
    member: BoolArray, test: BoolArray | None, method: str, compared: Iterable[str]
) -> BoolArray:
    """Which of the scored rows are the slice.

    Raises
    ------
    ValueError
        If none is, or if the method is not among those compared.
    """
    known = tuple(compared)
    if method not in known:
        raise ValueError(
            f"method must be among those compared ({', '.join(known)}), got {method!r}."
        )
    scored = member if test is None else member[test]
    if not scored.any():
        raise ValueError("The slice has no row among those that are scored, got 0.")
    return scored


def paired(
    method: str,
    rows: BinaryView,
    together: FloatArray,
    apart: FloatArray,
    confidence_level: float,
    added_variance: float,
) -> SliceCalibration:
    """The result, from the losses of the slice's rows under both calibrators.

    The added variance is that of the slice's own calibrators. The common one is fitted on more
    rows, the slice's among them: to leave out its noise makes the interval rather too wide.
    """
    return SliceCalibration(
        method=method,
        rows=rows.n_rows,
        positives=int(rows.counts[rows.outcome].sum()),
        together=mean_estimate(together, rows, confidence_level),
        apart=mean_estimate(apart, rows, confidence_level),
        difference=mean_estimate(apart - together, rows, confidence_level, added_variance),
        confidence_level=confidence_level,
    )


def _slice_in_folds(
    rows: BinaryView, member: BoolArray, held_out: CrossFitted
) -> tuple[BinaryView, IntArray]:
    """The slice's rows in the folds of the comparison, and the entries that they are a part of.

    Rows of one score and outcome are alike: how many of the slice's lie in each fold is drawn as if
    they had been split into folds with all others.
    """
    split, counted, source = held_out.rows, held_out.counted, held_out.source
    assert split.fold is not None
    n, n_folds = len(counted.entries), int(split.fold.max()) + 1
    place = counted.find(held_out.given_rows)[member]
    own = np.bincount(place, rows.counts, minlength=n).astype(np.int64)
    weight = np.bincount(place, rows.weights, minlength=n)
    square = np.bincount(place, rows.squared_weights, minlength=n)
    every = np.zeros((n_folds, n), dtype=np.int64)
    every[split.fold, source] = split.counts
    drawn = _drawn_from(every, own, np.random.default_rng([held_out.settings.seed, 1]))
    count = drawn[split.fold, source]
    chosen = np.flatnonzero(count)
    share = count[chosen] / own[source[chosen]]
    return replace(
        split.rows(chosen),
        count=count[chosen].astype(np.float64),
        weight=None if split.weight is None else weight[source[chosen]] * share,
        weight_sq=None if split.weight is None else square[source[chosen]] * share,
    ), chosen


def _drawn_from(every: IntArray, own: IntArray, rng: np.random.Generator) -> IntArray:
    """How many of `own` rows lie in each fold that `every` row was split into: hypergeometric."""
    left, rest = own.copy(), every.sum(axis=0)
    drawn = np.empty_like(every)
    for fold, count in enumerate(every):
        rest = rest - count
        drawn[fold] = rng.hypergeometric(count, rest, left)
        left = left - drawn[fold]
    return drawn


def _own_scores(
    rows: BinaryView, method: str, settings: Settings
) -> tuple[FloatArray, list[Calibrator]]:
    """Scores of the slice's held-out rows by calibrators fitted on its other rows, and these."""
    assert rows.fold is not None
    scores, by_fold = np.empty(len(rows)), []
    for number in np.unique(rows.fold):
        held_out = rows.fold == number
        by_fold.append(_fit(rows.rows(~held_out), method, settings))
        scores[held_out] = by_fold[-1].predict(rows.score[held_out])
    return scores, by_fold


def _added_variance(rows: BinaryView, fitted: list[Calibrator]) -> float:
    """What the noise of the slice's own calibrators adds; nothing where there is one."""
    points = FoldScores.of(rows.cells(), fitted)
    return fold_variance(row_log_loss(points.outcome, points.score), points.share_sq)


def _fit(training: BinaryView, method: str, settings: Settings) -> Calibrator:
    positives, n_rows = int(training.counts[training.outcome].sum()), training.n_rows
    if not 0 < positives < n_rows:
        raise ValueError(
            f"{CALIBRATORS[method].label} cannot be fitted on this slice alone: it needs training "
            f"rows of both classes, got {n_rows} rows with {positives} positive ones."
        )
    return create(method, settings).fit_cells(training.cells())


def calibrate_matrix_slices(
    predictions: Predictions,
    member: BoolArray,
    held_out: MatrixFits,
    method: str,
    *,
    confidence_level: float = 0.95,
) -> SliceCalibration:
    """Fit a multiclass calibrator on one slice alone, and compare it with that of all rows.

    The loss is that of the true class's score, whatever the view. Both calibrators are scored on
    rows that neither has seen: the slice's test rows, or, in the folds of the comparison, each row
    by the calibrator fitted on the slice's rows of the other folds.

    Parameters
    ----------
    predictions : Predictions
        All rows, calibration rows included.
    member : ndarray of bool, shape (n,)
        Which of them are the slice.
    held_out : MatrixFits
        The comparison of the same predictions.
    method : str
        One of its calibrators.
    confidence_level : float

    Raises
    ------
    ValueError
        If the slice cannot be fitted alone or has no scored row, or the method is not compared.

    References
    ----------
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it": calibrate
    globally, and a small number of slices as needed.
    """
    scored = scored_rows(member, predictions.test, method, held_out.maps)
    losses = np.zeros((2, len(scored)))
    chosen = held_out.order[scored[held_out.order]]
    looked_at, share_sq = held_out.some(chosen)
    by_fold, true_class_loss = [], ROW_METRICS["log_loss"]
    for part in held_out.parts:
        rows = part.rows[scored[part.rows]]
        if len(rows):
            own = _fit_matrix(predictions, part.train[member[part.train]], method, held_out)
            apart = own.predict(held_out.scores[looked_at])
            by_fold.append(true_class_loss(apart, held_out.label[looked_at]))
            for kind, fitted in enumerate((part.maps[method], own)):
                calibrated = fitted.predict(held_out.scores[rows])
                losses[kind, rows] = true_class_loss(calibrated, held_out.label[rows])
    added = fold_variance(np.array(by_fold), share_sq)
    rows_of_slice = held_out.view("uncalibrated", "top:1").rows(chosen)
    together, alone = losses[:, chosen]
    return paired(method, rows_of_slice, together, alone, confidence_level, added)


def _fit_matrix(
    predictions: Predictions, fit_on: IntArray, method: str, held_out: MatrixFits
) -> MatrixCalibrator:
    label, weight = predictions.outcome[fit_on], predictions.weight
    present = len(np.unique(label))
    if present < 2:
        raise ValueError(
            f"{CALIBRATORS[method].label} cannot be fitted on this slice alone: it needs training "
            f"rows of two classes or more, got {len(label)} rows of {present}."
        )
    made = create_multiclass(method, held_out.settings)
    own_weight = None if weight is None else weight[fit_on]
    own_group = None if predictions.group is None else predictions.group[fit_on]
    return made.fit(predictions.score_matrix[fit_on], label, own_weight, own_group)
