"""Multiclass calibrators on rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from calib.comparison import Progress, quiet
from calib.multiclass.base import (
    MULTICLASS_CALIBRATORS,
    MulticlassCalibrator,
    multiclass_calibrator,
)
from calib.multiclass.by_class import score_matrix
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, lock
from calib.numerics.ranking import binary_problem
from calib.predictions import BinaryView, Predictions, check_view


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows that were held out together, and the maps that did not see them.

    Attributes
    ----------
    rows : ndarray of int
        Positions among the scored rows.
    maps : mapping of str to MulticlassCalibrator
    """

    rows: IntArray
    maps: Mapping[str, MulticlassCalibrator]

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassHeldOut:
    """Every method's fitted maps, arranged so that each scored row meets one that has not seen it.

    Calibrated matrices are computed when asked for: a dozen of 50,000 rows by 1,000 classes would
    not fit in memory.

    Attributes
    ----------
    scores : ndarray of shape (n, m)
        Uncalibrated scores of the rows that are scored: the test rows, or all where folds are used.
    label : ndarray of int, shape (n,)
    weight : ndarray of shape (n,) or None
    group : ndarray of int, shape (n,), or None
    parts : tuple of Part
    maps : mapping of str to MulticlassCalibrator
        For use: fitted on the calibration rows, or on all rows.
    protocol : {"test rows", "folds"}
    n_fitted : int
        Rows that `maps` were fitted on.
    unseen : tuple of int
        Classes without a calibration row, or without one in some fold's: their calibration is a
        guess.
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    """

    scores: FloatArray
    label: IntArray
    weight: FloatArray | None
    group: IntArray | None
    parts: tuple[Part, ...]
    maps: Mapping[str, MulticlassCalibrator]
    protocol: str
    n_fitted: int
    unseen: tuple[int, ...]
    failures: Mapping[str, str]

    def __post_init__(self) -> None:
        lock(self)

    def __len__(self) -> int:
        return len(self.label)

    def matrix(self, key: str) -> FloatArray:
        """Calibrated scores of a method, none by a map that saw the row; shape (n, m)."""
        if key == "uncalibrated":
            return self.scores
        calibrated = np.empty_like(self.scores)
        for part in self.parts:
            calibrated[part.rows] = part.maps[key].predict(self.scores[part.rows])
        return calibrated

    def view(self, key: str, view: str) -> BinaryView:
        """One binary problem of a method's calibrated scores.

        The outcome of a top-r view may differ between methods: they may rank classes otherwise.

        Parameters
        ----------
        key : str
            Method.
        view : str
            "class:k", "top:r" or "within:r".
        """
        kind, index = check_view(view, self.scores.shape[1])
        score, outcome = binary_problem(self.matrix(key), self.label, kind, index)
        return BinaryView(outcome, score, self.weight, None, self.group)


def hold_out_multiclass(
    predictions: Predictions,
    methods: tuple[str, ...],
    n_folds: int,
    seed: int,
    progress: Progress = quiet,
) -> MulticlassHeldOut:
    """Fit every method so that each row can be scored by a map that has not seen it.

    With calibration and test rows: fit on the one, score the other. Else stratified, seeded folds
    (by group where groups are named), and the maps for use are refitted on all rows.
    """
    data = _Rows(
        score_matrix(predictions), predictions.outcome, predictions.weight, predictions.group
    )
    if predictions.test is None:
        return _by_folds(data, methods, n_folds, seed, progress)
    return _by_split(data, predictions.test, methods, seed, progress)


@dataclass(frozen=True, slots=True)
class _Rows:
    scores: FloatArray
    label: IntArray
    weight: FloatArray | None
    group: IntArray | None

    def of(self, chosen: IntArray) -> _Rows:
        weight = None if self.weight is None else self.weight[chosen]
        group = None if self.group is None else self.group[chosen]
        return _Rows(self.scores[chosen], self.label[chosen], weight, group)

    def unseen(self) -> set[int]:
        counts = np.bincount(self.label, minlength=self.scores.shape[1])
        return set(np.flatnonzero(counts == 0).tolist())


def _by_split(
    data: _Rows, test: BoolArray, methods: tuple[str, ...], seed: int, progress: Progress
) -> MulticlassHeldOut:
    if test.all() or not test.any():
        only = "test" if test.all() else "calibration"
        raise ValueError(
            f"The split must name calibration and test rows, got only {only} rows. "
            "Split the data in another way."
        )
    calibration, scored = data.of(np.flatnonzero(~test)), data.of(np.flatnonzero(test))
    progress(0.0, "Fitting on the calibration rows")
    maps, failures = _fit_all(calibration, methods, seed)
    part = Part(np.arange(len(scored.label)), maps)
    unseen = tuple(sorted(calibration.unseen()))
    return _held_out(scored, (part,), maps, "test rows", len(calibration.label), unseen, failures)


def _by_folds(
    data: _Rows, methods: tuple[str, ...], n_folds: int, seed: int, progress: Progress
) -> MulticlassHeldOut:
    folds = _folds(data, n_folds, seed)
    progress(0.0, "Fitting on all rows")
    maps, failures = _fit_all(data, methods, seed)
    parts, unseen = [], data.unseen()
    for number, (train, rows) in enumerate(folds):
        progress((number + 1) / (len(folds) + 1), f"Fold {number + 1} of {len(folds)}")
        seen = data.of(train)
        fitted, failed = _fit_all(seen, tuple(maps), seed)
        failures |= failed
        unseen |= seen.unseen()
        parts.append(Part(rows, fitted))
    # A method that failed in one fold has rows without a score.
    maps = {key: fitted for key, fitted in maps.items() if key not in failures}
    return _held_out(
        data, tuple(parts), maps, "folds", len(data.label), tuple(sorted(unseen)), failures
    )


def _held_out(
    rows: _Rows,
    parts: tuple[Part, ...],
    maps: Mapping[str, MulticlassCalibrator],
    protocol: str,
    n_fitted: int,
    unseen: tuple[int, ...],
    failures: Mapping[str, str],
) -> MulticlassHeldOut:
    return MulticlassHeldOut(
        rows.scores,
        rows.label,
        rows.weight,
        rows.group,
        parts,
        maps,
        protocol,
        n_fitted,
        unseen,
        failures,
    )


def _fit_all(
    rows: _Rows, methods: tuple[str, ...], seed: int
) -> tuple[dict[str, MulticlassCalibrator], dict[str, str]]:
    """Fitted calibrators by key, and the reasons of those that could not be fitted."""
    maps, failures = {}, {}
    for key in methods:
        made = multiclass_calibrator(key)
        if "random_state" in made.get_params():
            made.set_params(random_state=seed)
        try:
            maps[key] = made.fit(rows.scores, rows.label, rows.weight)
        except ValueError as error:
            label = MULTICLASS_CALIBRATORS[key].label
            failures[key] = f"{label} could not be fitted: {error}"
    return maps, failures


def _folds(data: _Rows, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    n_units = len(data.label) if data.group is None else len(np.unique(data.group))
    if n_units < 2:
        unit = "row" if data.group is None else "group"
        raise ValueError(f"Cross-fitting needs at least 2 {unit}s, got {n_units}.")
    n_folds = min(n_folds, n_units)
    # Classes with fewer rows than folds cannot be spread evenly: they count as the commonest one.
    counts = np.bincount(data.label)
    strata = np.where(counts[data.label] < n_folds, counts.argmax(), data.label)
    if np.bincount(strata).max() < n_folds:
        strata = np.zeros_like(strata)
    kind = StratifiedKFold if data.group is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(strata, strata, data.group))
