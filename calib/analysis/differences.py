"""A method against the uncalibrated scores, row by row; ranks are compared within folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calib.core.estimate import Estimate
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.estimates import LOSSES, losses, mean_estimate
from calib.metrics.ranking import auc, auc_difference, auc_estimate, row_auc, row_auc_within
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.sorting import increasing_order


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The uncalibrated scores, prepared once for all methods.

    Attributes
    ----------
    rows : mapping of str to ndarray of shape (n,)
        What each row adds to log loss, Brier score and AUC, the latter within folds if there are.
    pooled_auc : ndarray of shape (n,)
        What it adds to the AUC of all rows.
    by_fold : tuple of ndarray of int
        The rows of each fold, by increasing score.
    """

    rows: Mapping[str, FloatArray]
    pooled_auc: FloatArray
    by_fold: tuple[IntArray, ...]

    @classmethod
    def of(cls, held_out: CrossFitted) -> Reference:
        """Of a comparison."""
        plain, fold = held_out.view("uncalibrated"), held_out.fold
        pooled = row_auc(held_out.cells["uncalibrated"], plain.outcome, plain.score)
        loss = losses(held_out, "uncalibrated")
        if fold is None:
            return cls(loss | {"auc": pooled}, pooled, ())
        order = increasing_order(plain.score)
        in_order = fold[order]
        by_fold = tuple(order[in_order == number] for number in np.unique(fold))
        return cls(loss | {"auc": row_auc_within(plain, fold)}, pooled, by_fold)


def contributions(
    held_out: CrossFitted, key: str, reference: Reference
) -> Mapping[str, FloatArray]:
    """The same of a method as `Reference.rows` of the uncalibrated scores."""
    if key == "uncalibrated":
        return reference.rows
    rows, fold = held_out.view(key), held_out.fold
    if fold is None:
        area = row_auc(held_out.cells[key], rows.outcome, rows.score)
    elif _ranks_alike(held_out, key, reference):
        area = reference.rows["auc"]  # to sort a million rows again takes a third of a second
    else:
        area = row_auc_within(rows, fold)
    return losses(held_out, key) | {"auc": area}


def _ranks_alike(held_out: CrossFitted, key: str, reference: Reference) -> bool:
    """Whether a method keeps the order of the rows of every fold, and their ties."""
    if key in held_out.outcomes:
        return False
    plain, own = held_out.scores["uncalibrated"], held_out.scores[key]
    for rows in reference.by_fold:
        before, after = np.diff(plain[rows]), np.diff(own[rows])
        if not np.array_equal(before > 0.0, after > 0.0) or (after < 0.0).any():
            return False
    return True


def differences(
    held_out: CrossFitted,
    key: str,
    reference: Reference,
    own: Mapping[str, FloatArray],
    confidence_level: float,
) -> dict[str, Estimate]:
    """Log loss, Brier score and AUC of a method, minus those of the uncalibrated scores.

    Not of calibration errors: differences of biased numbers have no interval that holds.
    """
    rows = held_out.view(key)
    changes = {name: own[name] - reference.rows[name] for name in LOSSES}
    found = {
        name: mean_estimate(
            changes[name], rows, confidence_level, held_out.fold_variance(key, loss)
        )
        for name, loss in LOSSES.items()
    }
    found["auc"] = auc_difference(
        rows,
        own["auc"],
        reference.rows["auc"],
        confidence_level=confidence_level,
        added_variance=held_out.fold_variance_of_auc(key),
    )
    return found


def area_estimate(
    held_out: CrossFitted,
    key: str,
    reference: Reference,
    own: FloatArray,
    change: Estimate,
    confidence_level: float,
) -> Estimate:
    """AUC; of a method fitted in folds that of the uncalibrated scores, plus the change."""
    rows, cells = held_out.view(key), held_out.cells[key]
    if held_out.fold is None:
        return auc_estimate(rows, cells, own, confidence_level=confidence_level)
    area = auc(held_out.cells["uncalibrated"]) + change.value
    return auc_estimate(
        rows,
        cells,
        reference.pooled_auc + (own - reference.rows["auc"]),
        area=min(max(area, 0.0), 1.0),
        confidence_level=confidence_level,
    )
