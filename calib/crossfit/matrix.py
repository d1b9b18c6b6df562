"""Cross-fitting of multiclass calibrators, and the methods of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator, calibrator
from calib.calibrators.one_vs_rest import OneVsRest, multiclass_calibrator
from calib.crossfit.folds import matrix_folds
from calib.crossfit.settings import Settings
from calib.data.base import Progress, no_progress
from calib.data.predictions import Predictions
from calib.data.views import BinaryView, ScoreMatrix, check_view
from calib.metrics.by_class import Classwise, class_table
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Locked,
    canonical_order,
    row_words,
)
from calib.numerics.class_scores import binary_problem
from calib.text import without_arrays

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Result = TypeVar("Result")


def create(key: str, settings: Settings) -> Calibrator:
    """Make an unfitted calibrator with the parameters from the settings.

    Raises ValueError if the method calibrates only matrices.
    """
    return _with_settings(calibrator(key), settings)


def create_multiclass(key: str, settings: Settings) -> MatrixCalibrator:
    made = multiclass_calibrator(key)
    if type(made) is OneVsRest:
        return OneVsRest(create(key, settings))
    return _with_settings(made, settings)


def _with_settings(estimator: Estimator, settings: Settings) -> Estimator:
    values = {
        "epsilon": settings.epsilon,
        "epsilon_rule": settings.epsilon_rule,
        "random_state": settings.seed,
    }
    parameters = estimator.get_params()
    estimator.set_params(**{name: value for name, value in values.items() if name in parameters})
    return estimator


def still_valid(
    old: Settings,
    fitted: Iterable[str],
    settings: Settings,
    make: Callable[[str, Settings], BaseEstimator],
    folds_by: tuple[str, ...] = ("n_folds", "seed"),
) -> set[str]:
    """Methods whose parameters and folds equal those of an earlier fit with other settings.

    `folds_by` are the settings that determine which rows are fitted together.
    """
    if any(getattr(old, name) != getattr(settings, name) for name in folds_by):
        return set()
    # A method that calibrates only matrices cannot be made for scores.
    keys = [k for k in fitted if make is create_multiclass or CALIBRATORS[k].create is not None]
    return {k for k in keys if _parameters(make(k, old)) == _parameters(make(k, settings))}


def _parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """All parameters, including those of nested estimators, because estimators compare by id."""
    parameters = estimator.get_params()
    return {
        name: value for name, value in parameters.items() if not isinstance(value, BaseEstimator)
    }


def merged(
    settings: Settings, fresh: Mapping[str, Result], earlier: Mapping[str, Result]
) -> dict[str, Result]:
    """Join two mappings by method, in the order of the settings."""
    both = {**earlier, **fresh}
    return {key: both[key] for key in settings.methods if key in both}


def fit_all(
    methods: tuple[str, ...], fit: Callable[[str], Result], *, matrix: bool
) -> tuple[dict[str, Result], dict[str, str]]:
    """Fitted calibrators by key, and the reasons why others could not be fitted."""
    calibrators, failures = {}, {}
    for key in methods:
        try:
            calibrators[key] = fit(key)
        except ValueError as error:
            label = CALIBRATORS[key].words(matrix=matrix)[0]
            failures[key] = f"{label} could not be fitted: {without_arrays(str(error))}"
    return calibrators, failures


Number = TypeVar("Number", bound=np.generic)
# The calibrators of all folds are compared on at most this many rows: a mean over 1,000 rows is
# precise enough.
MAX_COMPARED_ROWS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Split(Locked):
    """Rows that were held out together, and the calibrators that were fitted without them.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the held-out rows among the scored rows.
    train : ndarray of int
        Positions among all rows of those on which the calibrators were fitted.
    calibrators : mapping of str to MatrixCalibrator
    """

    rows: IntArray
    train: IntArray
    calibrators: Mapping[str, MatrixCalibrator]


@dataclass(frozen=True, eq=False)
class MatrixFits(Locked):
    """The fitted calibrators of every method: each row is scored by one fitted without it.

    Arrays of rows have the original order of the rows. Computations use `order` instead, so that
    results do not depend on the original order.

    Calibrated matrices are computed when they are needed: a dozen of them, with 50,000 rows and
    1,000 classes, would not fit in memory.

    Attributes
    ----------
    rows : ScoreMatrix
        All rows with their uncalibrated scores, including calibration rows.
    scored : ScoreMatrix
        The n rows that are scored: the test rows, or all rows if folds are used.
    order : ndarray of int, shape (n,)
        Positions of the scored rows, sorted by all their values.
    splits : tuple of Split
    calibrators : mapping of str to MatrixCalibrator
        Calibrators for use, fitted on the calibration rows or on all rows.
    protocol : {"test rows", "folds"}
    unseen : tuple of int
        Classes without a row among the rows of some fit. They cannot be calibrated.
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    settings : Settings
    class_names : tuple of str
    """

    rows: ScoreMatrix
    scored: ScoreMatrix
    order: IntArray
    splits: tuple[Split, ...]
    calibrators: Mapping[str, MatrixCalibrator]
    protocol: str
    unseen: tuple[int, ...]
    failures: Mapping[str, str]
    settings: Settings
    class_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.scored.label)

    def matrix(self, key: str) -> FloatArray:
        """Held-out calibrated scores of a method, shape (n, m)."""
        if key == "uncalibrated":
            return self.scored.scores
        calibrated = np.empty_like(self.scored.scores)
        for split in self.splits:
            calibrated[split.rows] = split.calibrators[key].predict(self.scored.scores[split.rows])
        return calibrated

    def in_order(self, key: str) -> ScoreMatrix:
        """The rows with the scores of a method, in `order`."""
        return replace(self.scored, scores=self.matrix(key)).of(self.order)

    @cached_property
    def top_label(self) -> BinaryView:
        """The top labels of the uncalibrated scores, in `order`."""
        return self.view("uncalibrated", "top:1").rows(self.order)

    def as_given(self, values: NDArray[Number]) -> NDArray[Number]:
        """Bring values from `order` into the original order of the rows."""
        given = np.empty_like(values)
        given[self.order] = values
        return given

    @cached_property
    def alike(self) -> IntArray:
        """Index of the distinct row that equals each row, in `order`; with clusters, the row."""
        starts = np.ones(len(self), dtype=bool)
        if self.scored.group is None:
            before, after = self.order[:-1], self.order[1:]
            label, scores = self.scored.label, self.scored.scores
            same = (label[before] == label[after]) & (scores[before, 0] == scores[after, 0])
            near = np.flatnonzero(same)
            equal = scores[before[near]] == scores[after[near]]
            starts[near[equal.all(axis=1)] + 1] = False
        return np.cumsum(starts) - 1

    @property
    def fold(self) -> IntArray | None:
        """The fold in which each row was held out. None if test rows are scored."""
        if self.protocol != "folds":
            return None
        fold = np.empty(len(self), dtype=np.int64)
        for number, split in enumerate(self.splits):
            fold[split.rows] = number
        return fold

    def some(self, rows: IntArray) -> tuple[IntArray, FloatArray]:
        """At most 1,000 of these rows, with squared weight shares scaled up to represent all rows.

        Shares are shares of the total weight of these rows.
        """
        weight = np.ones(len(rows)) if self.scored.weight is None else self.scored.weight[rows]
        drawn = np.arange(len(rows))
        if len(rows) > MAX_COMPARED_ROWS:
            drawn = np.sort(
                np.random.default_rng(0).choice(drawn, MAX_COMPARED_ROWS, replace=False)
            )
        share = weight[drawn] / weight.sum()
        return rows[drawn], np.square(share) * (len(rows) / len(drawn))

    @cached_property
    def fold_points(self) -> tuple[IntArray, FloatArray]:
        """The rows on which the calibrators of all folds are compared, as by `some`."""
        return self.some(self.order)

    def fold_matrices(self, key: str) -> Iterator[FloatArray]:
        """Scores of these rows by the calibrator of every fold. Without folds there are none."""
        for split in self.splits if self.protocol == "folds" else ():
            yield split.calibrators[key].predict(self.scored.scores[self.fold_points[0]])

    def view(self, key: str, view: str) -> BinaryView:
        """One binary problem of the calibrated scores of a method.

        The outcomes of a top-r view can differ between methods, because they can rank the classes
        of a row differently.
        """
        kind, index = check_view(view, len(self.class_names))
        score, outcome = binary_problem(self.matrix(key), self.scored.label, kind, index)
        return BinaryView(outcome, score, self.scored.weight, None, self.scored.group)

    def classwise(self, key: str, class_names: Sequence[str]) -> Classwise:
        """Calibration of each class under a method, worst KS error first."""
        return class_table(self.in_order(key), class_names)


def fit_matrix(
    predictions: Predictions,
    settings: Settings,
    progress: Progress = no_progress,
    earlier: MatrixFits | None = None,
) -> MatrixFits:
    """Fit each method so that each row can be scored by a calibrator that was fitted without it.

    Test rows, folds and an `earlier` result are used as in `calib.crossfit.fitting.cross_fit`; the
    view has no effect. Raises ValueError if there are too few rows, or only test rows.
    """
    kept: set[str] = set()
    if earlier is not None:
        attempted = (*earlier.calibrators, *earlier.failures)
        kept = still_valid(earlier.settings, attempted, settings, create_multiclass)
    missing = tuple(key for key in settings.methods if key not in kept)
    if earlier is not None and kept and not missing:
        same = earlier.settings.methods == settings.methods
        return earlier if same else _merged(earlier, earlier, settings)
    fresh = _fitted(predictions, missing, settings, progress)
    return fresh if earlier is None or not kept else _merged(fresh, earlier, settings)


def _merged(fresh: MatrixFits, earlier: MatrixFits, settings: Settings) -> MatrixFits:
    """The methods of the settings, taken from both fits. Their folds are the same."""
    splits = tuple(
        replace(split, calibrators=merged(settings, split.calibrators, old.calibrators))
        for split, old in zip(fresh.splits, earlier.splits, strict=True)
    )
    calibrators = merged(settings, fresh.calibrators, earlier.calibrators)
    failures = merged(settings, fresh.failures, earlier.failures)
    return replace(
        fresh, splits=splits, calibrators=calibrators, failures=failures, settings=settings
    )


def _sorted(predictions: Predictions) -> tuple[ScoreMatrix, IntArray]:
    """The rows in their original order, and their positions in an order independent of it."""
    scores, fold, test = predictions.score_matrix, predictions.fold, predictions.test
    split = None if test is None else test.astype(np.int64)
    # Words depend on the last bit of each score, which processors round in their own ways. So they
    # only order rows whose first scores are equal, and folds are the same on every processor.
    columns = (scores[:, 0], row_words(scores), predictions.weight, fold, split)
    order, codes = canonical_order(columns, predictions.outcome, predictions.group)
    group = None
    if codes is not None:
        group = np.empty_like(codes)
        group[order] = codes
    return ScoreMatrix(scores, predictions.outcome, predictions.weight, group, fold), order


def _fitted(
    predictions: Predictions, methods: tuple[str, ...], settings: Settings, progress: Progress
) -> MatrixFits:
    rows, order = _sorted(predictions)
    train, scored_order, scored, folds = order, order, rows, []
    if predictions.test is None:
        folds = [
            (order[fit], order[score_on]) for fit, score_on in matrix_folds(rows, order, settings)
        ]
    else:
        train, scored_order = _by_split(predictions.test, order)
        scored = rows.of(np.flatnonzero(predictions.test))
    steps, fitted_on = _Steps(len(methods) * (len(folds) + 1), progress), rows.of(train)
    calibrators, failures = _fit_all(fitted_on, methods, settings, steps)
    splits, unseen = [], fitted_on.unseen()
    for number, (others, held_out) in enumerate(folds):
        training = rows.of(others)
        steps.place = f", fold {number + 1} of {len(folds)}"
        fitted, failed = _fit_all(training, tuple(calibrators), settings, steps)
        failures |= failed
        unseen |= training.unseen()
        splits.append(Split(held_out, others, fitted))
    # A method that failed in one fold has rows without a score, so it is left out.
    calibrators = {key: fitted for key, fitted in calibrators.items() if key not in failures}
    return MatrixFits(
        rows=rows,
        scored=scored,
        order=scored_order,
        splits=tuple(splits) or (Split(scored_order, train, calibrators),),
        calibrators=calibrators,
        protocol="folds" if folds else "test rows",
        unseen=tuple(sorted(unseen)),
        failures=failures,
        settings=settings,
        class_names=predictions.class_names,
    )


def _by_split(test: BoolArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """The calibration rows, and the positions of test rows among test rows, both in `order`."""
    if test.all() or not test.any():
        only = "test" if test.all() else "calibration"
        raise ValueError(
            f"The split must name calibration and test rows, got only {only} rows. "
            "Split the data in another way."
        )
    return order[~test[order]], (np.cumsum(test) - 1)[order[test[order]]]


class _Steps:
    def __init__(self, n_fits: int, progress: Progress) -> None:
        self.n_fits, self.progress, self.done, self.place = n_fits, progress, 0, ""

    def next(self, key: str) -> None:
        label = CALIBRATORS[key].words(matrix=True)[0]
        self.progress(self.done / self.n_fits, f"Fitting {label}{self.place}")
        self.done += 1


def _fit_all(
    rows: ScoreMatrix, methods: tuple[str, ...], settings: Settings, steps: _Steps
) -> tuple[dict[str, MatrixCalibrator], dict[str, str]]:
    def fit(key: str) -> MatrixCalibrator:
        steps.next(key)
        calibrator = create_multiclass(key, settings)
        return calibrator.fit(rows.scores, rows.label, rows.weight, rows.group)

    return fit_all(methods, fit, matrix=True)
