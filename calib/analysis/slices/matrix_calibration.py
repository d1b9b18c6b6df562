"""Calibrating one slice of a matrix separately: does it need its own calibrator?"""

from __future__ import annotations

import numpy as np

from calib.analysis.slices.calibration import SliceCalibration, paired, scored_rows
from calib.calibrators import CALIBRATORS, MatrixCalibrator
from calib.core.predictions import Predictions
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.methods import create_multiclass
from calib.metrics.matrix import row_log_loss
from calib.numerics.arrays import BoolArray, IntArray
from calib.uncertainty import fold_variance


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
    by_fold = []
    for part in held_out.parts:
        rows = part.rows[scored[part.rows]]
        if len(rows):
            own = _fit(predictions, part.train[member[part.train]], method, held_out)
            apart = own.predict(held_out.scores[looked_at])
            by_fold.append(row_log_loss(apart, held_out.label[looked_at]))
            for kind, fitted in enumerate((part.maps[method], own)):
                calibrated = fitted.predict(held_out.scores[rows])
                losses[kind, rows] = row_log_loss(calibrated, held_out.label[rows])
    added = fold_variance(np.array(by_fold), share_sq)
    rows_of_slice = held_out.view("uncalibrated", "top:1").rows(chosen)
    together, alone = losses[:, chosen]
    return paired(method, rows_of_slice, together, alone, confidence_level, added)


def _fit(
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
