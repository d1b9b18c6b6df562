"""Comparing calibrators on rows that they were not fitted on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from calib.calibrators import CALIBRATORS, Calibrator
from calib.cells import ScoreCells
from calib.methods import method_of
from calib.metrics.proper import row_brier, row_log_loss
from calib.metrics.ranking import row_auc
from calib.multiclass import MulticlassCalibrator
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.intervals import mean_interval, normal_quantile
from calib.numerics.moderated import cluster_effect, unit_sums
from calib.numerics.threads import over_cores
from calib.predictions import BinaryView
from calib.settings import Settings
from calib.uncertainty import Estimate as Estimate  # callers of this room find it here
from calib.uncertainty import (
    FoldScores,
    Replicates,
    fold_variance,
    replicate,
    replicate_clusters,
    resample_rows,
)
from calib.uncertainty.rows import N_REPLICATES

Progress = Callable[[float, str], None]
Estimator = TypeVar("Estimator", bound=BaseEstimator)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Every method's scores on the same rows, none of which it was fitted on.

    Attributes
    ----------
    rows : BinaryView
        The rows that are scored: the test rows, or all rows where folds are used.
    scores : mapping of str to ndarray of shape (n,)
        Calibrated scores by method key, "uncalibrated" first.
    cells : mapping of str to ScoreCells
        The same scores, counted.
    replicates : mapping of str to Replicates
        The same scores on resampled rows, or clusters of rows; the same ones for all methods.
    maps : mapping of str to Calibrator or MulticlassCalibrator
        Maps for drawing and for use: fitted on the calibration rows, or on all rows. In a view of a
        matrix they map whole rows.
    fitted_on : ScoreCells
        The cells that `maps` were fitted on.
    protocol : {"test rows", "folds"}
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    settings : Settings
        The settings that the methods were fitted with.
    outcomes : mapping of str to ndarray of bool, shape (n,)
        Outcomes of the methods whose outcomes are not those of `rows`: the class that comes r-th
        is another where a method ranks the classes of a row otherwise.
    calibration : Replicates or None
        Of the calibration rows' uncalibrated scores, where those come in clusters and are others
        than the rows that are scored.
    fold : ndarray of int, shape (n,), or None
        Which fold each row was held out in; None where the rows that are scored are test rows.
    fold_scores : mapping of str to FoldScores
        Scores of the same points by every fold's calibrator; empty without folds.
    """

    rows: BinaryView
    scores: Mapping[str, FloatArray]
    cells: Mapping[str, ScoreCells]
    replicates: Mapping[str, Replicates]
    maps: Mapping[str, Calibrator | MulticlassCalibrator]
    fitted_on: ScoreCells
    protocol: str
    failures: Mapping[str, str]
    settings: Settings
    outcomes: Mapping[str, BoolArray] = field(default_factory=dict)
    calibration: Replicates | None = None
    fold: IntArray | None = None
    fold_scores: Mapping[str, FoldScores] = field(default_factory=dict)

    def clusters(self, key: str) -> Replicates | None:
        """One method's replicates where they are of clusters, as bars and bands take them."""
        return None if self.rows.group is None else self.replicates[key]

    @property
    def fitted_clusters(self) -> Replicates | None:
        """The same of the rows that `maps` were fitted on."""
        return self.clusters("uncalibrated") if self.protocol == "folds" else self.calibration

    def view(self, key: str) -> BinaryView:
        """The rows with one method's scores, and the outcomes that these are about."""
        outcome = self.outcomes.get(key, self.rows.outcome)
        return replace(self.rows, outcome=outcome, score=self.scores[key])

    def fold_variance(
        self, key: str, loss: Callable[..., FloatArray], reference: str = "uncalibrated"
    ) -> float:
        """What the calibrators' own noise adds to the variance of a difference of mean losses.

        0 where calibrators were fitted on other rows than those that are scored: they are given.

        Parameters
        ----------
        key, reference : str
            Methods.
        loss : callable
            Of outcomes and scores.
        """
        if not self.fold_scores:
            return 0.0
        own, other = self.fold_scores[key], self.fold_scores[reference]
        change = loss(own.outcome, own.score) - loss(other.outcome, other.score)
        return fold_variance(change, own.share_sq)

    def fold_variance_of_auc(self, key: str) -> float:
        """The same of the change of AUC; 0 where every fold's calibrator ranks alike."""
        if not self.fold_scores:
            return 0.0
        points = self.fold_scores[key]
        outcome = np.broadcast_to(points.outcome, points.score.shape)
        found = [
            np.nan_to_num(row_auc(ScoreCells.from_arrays(y, score, points.share), y, score))
            for y, score in zip(outcome, points.score, strict=True)
        ]
        return fold_variance(np.array(found), points.share_sq)


def quiet(_share: float, _text: str) -> None:
    """Report no progress."""


def create(key: str, settings: Settings) -> Calibrator:
    """An unfitted calibrator with the parameters that the settings give it.

    Raises
    ------
    ValueError
        If the method calibrates matrices only.
    """
    if key not in CALIBRATORS:
        raise ValueError(
            f"{method_of(key).label} calibrates a matrix of one score a class, got one score a row."
        )
    return with_settings(CALIBRATORS[key].create(), settings)


def with_settings(made: Estimator, settings: Settings) -> Estimator:
    """Give an unfitted estimator those parameters of the settings that it has."""
    wanted = {"epsilon": settings.epsilon, "random_state": settings.seed}
    known = made.get_params()
    made.set_params(**{name: value for name, value in wanted.items() if name in known})
    return made


def hold_out(
    view: BinaryView,
    settings: Settings,
    progress: Progress = quiet,
    earlier: HeldOut | None = None,
    n_replicates: int = N_REPLICATES,
) -> HeldOut:
    """Score every method on rows that it has not seen.

    With calibration and test rows: fit on the one, score on the other. Else stratified, seeded
    folds (by group where groups are named): each row is scored by the map that did not see it, and
    the maps that are drawn are refitted on all rows.

    Parameters
    ----------
    view : BinaryView
    settings : Settings
    progress : callable
        Called with (share done, what is being done).
    earlier : HeldOut, optional
        Of the same view: methods whose parameters and folds are the same are not fitted again.
    n_replicates : int
        Resamples of the rows.

    Raises
    ------
    ValueError
        If the rows to score, or those to fit on, hold one class only.
    """
    kept = _still_valid(earlier, settings)
    missing = tuple(key for key in settings.methods if key not in kept)
    by_rows = _by_folds if view.test is None else _by_split
    fresh = by_rows(view, missing, settings, progress, n_replicates)
    if earlier is None or not kept:
        return fresh

    def merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        both = {**theirs, **ours}
        return {key: both[key] for key in settings.methods if key in both}

    return replace(
        fresh,
        scores=merged(fresh.scores, earlier.scores),
        cells=merged(fresh.cells, earlier.cells),
        replicates=merged(fresh.replicates, earlier.replicates),
        maps=merged(fresh.maps, earlier.maps),
        failures=merged(fresh.failures, earlier.failures),
        fold_scores=merged(fresh.fold_scores, earlier.fold_scores),
    )


def _still_valid(earlier: HeldOut | None, settings: Settings) -> set[str]:
    if earlier is None:
        return set()
    old = earlier.settings
    if (old.view, old.n_folds, old.seed) != (settings.view, settings.n_folds, settings.seed):
        return set()
    return {
        key
        for key in (*earlier.scores, *earlier.failures)
        if key in CALIBRATORS
        and create(key, old).get_params() == create(key, settings).get_params()
    }


def _by_split(
    view: BinaryView,
    methods: tuple[str, ...],
    settings: Settings,
    progress: Progress,
    n_replicates: int,
) -> HeldOut:
    assert view.test is not None
    calibration, test = view.rows(~view.test), view.rows(view.test)
    for name, part in (("calibration", calibration), ("test", test)):
        if not 0 < part.outcome.sum() < len(part):
            raise ValueError(
                f"The {name} rows must hold rows of both classes, got {len(part)} rows with "
                f"{int(part.outcome.sum())} positive ones. Split the data in another way."
            )
    fitted_on = calibration.cells()
    progress(0.0, "Fitting on the calibration rows")
    maps, failures = _fit_all(fitted_on, methods, settings)
    scores = {key: fitted.predict(test.score) for key, fitted in maps.items()}
    cells = _count(test, scores)
    progress(0.5, "Resampling the test rows")
    plain = cells.get("uncalibrated") or test.cells()
    drawn = _replicate(test, plain, scores, None, settings, n_replicates)
    return HeldOut(
        rows=test,
        scores=scores,
        cells=cells,
        replicates=drawn,
        maps=maps,
        fitted_on=fitted_on,
        protocol="test rows",
        failures=failures,
        settings=settings,
        calibration=replicate_clusters(calibration, fitted_on, settings.seed),
    )


def _by_folds(
    view: BinaryView,
    methods: tuple[str, ...],
    settings: Settings,
    progress: Progress,
    n_replicates: int,
) -> HeldOut:
    fitted_on = view.cells()
    folds = make_folds(view, settings)
    progress(0.0, "Fitting on all rows")
    maps, failures = _fit_all(fitted_on, methods, settings)
    scores = {key: np.empty(len(view)) for key in maps}
    by_fold: dict[str, list[Calibrator]] = {key: [] for key in maps}
    fold = np.empty(len(view), dtype=np.int64)
    for number, (train, held_out) in enumerate(folds):
        progress((number + 1) / (len(folds) + 2), f"Fold {number + 1} of {len(folds)}")
        fitted, failed = _fit_all(view.rows(train).cells(), tuple(maps), settings)
        failures |= failed
        fold[held_out] = number
        for key in fitted:
            by_fold[key].append(fitted[key])
            scores[key][held_out] = fitted[key].predict(view.score[held_out])
    # A method that failed in one fold has rows without a score.
    scores = {key: values for key, values in scores.items() if key not in failures}
    maps = {key: maps[key] for key in scores}
    cells = _count(view, scores)
    progress((len(folds) + 1) / (len(folds) + 2), "Resampling the rows")
    drawn = _replicate(view, fitted_on, scores, fold, settings, n_replicates)
    return HeldOut(
        rows=view,
        scores=scores,
        cells=cells,
        replicates=drawn,
        maps=maps,
        fitted_on=fitted_on,
        protocol="folds",
        failures=failures,
        settings=settings,
        fold=fold,
        fold_scores={key: FoldScores.of(fitted_on, by_fold[key]) for key in maps},
    )


def _count(rows: BinaryView, scores: Mapping[str, FloatArray]) -> dict[str, ScoreCells]:
    return over_cores(lambda key: replace(rows, score=scores[key]).cells(), scores)


def _replicate(
    rows: BinaryView,
    cells: ScoreCells,
    scores: Mapping[str, FloatArray],
    fold: IntArray | None,
    settings: Settings,
    n_replicates: int,
) -> dict[str, Replicates]:
    drawn = resample_rows(rows, cells, fold, n_replicates=n_replicates, random_state=settings.seed)
    return over_cores(lambda key: replicate(drawn, scores[key]), scores)


def _fit_all(
    cells: ScoreCells, methods: tuple[str, ...], settings: Settings
) -> tuple[dict[str, Calibrator], dict[str, str]]:
    """Fitted calibrators by key, and the reasons of those that could not be fitted."""
    maps, failures = {}, {}
    for key in methods:
        try:
            maps[key] = create(key, settings).fit_cells(cells)
        except ValueError as error:
            failures[key] = f"{method_of(key).label} could not be fitted: {error}"
    return maps, failures


def make_folds(
    view: BinaryView, settings: Settings
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to fit on and rows to score, fold by fold: stratified, or by group, and seeded."""
    smaller = int(min(view.outcome.sum(), (~view.outcome).sum()))
    n_folds = min(settings.n_folds, smaller)
    if n_folds < 2:
        raise ValueError(
            "Cross-fitting needs at least 2 rows of each class, "
            f"got {smaller} of the rarer one. Add rows, or name calibration and test rows."
        )
    if view.group is None:
        stratified = StratifiedKFold(n_folds, shuffle=True, random_state=settings.seed)
        return list(stratified.split(view.score, view.outcome))
    grouped = StratifiedGroupKFold(n_folds, shuffle=True, random_state=settings.seed)
    return list(grouped.split(view.score, view.outcome, view.group))


def mean_estimate(
    values: FloatArray, view: BinaryView, confidence_level: float, added_variance: float = 0.0
) -> Estimate:
    """Weighted mean of per-row values with its interval, by cluster where groups are named.

    Student's interval with Hall's correction for skewness, see `calib.numerics.intervals`.

    Parameters
    ----------
    values : ndarray of shape (n,)
        One contribution a row, such as its log loss, or its difference between two methods.
    view : BinaryView
        Whose weights and groups are used.
    confidence_level : float
    added_variance : float
        Of the mean, were rows independent, beyond what the values show: that of calibrators fitted
        in folds, see `calib.uncertainty.fold_variance`.
    """
    weight = view.weight
    total = float(len(values) if weight is None else weight.sum())
    mean = float(values.sum() if weight is None else weight @ values) / total
    residual = values - mean
    if weight is not None:
        residual *= weight
    units = unit_sums(residual, view.group)
    low, high = mean_interval(mean, units, total, confidence_level)
    if added_variance > 0.0:
        effect = 1.0 if view.group is None else max(1.0, cluster_effect(residual, units))
        half = normal_quantile(confidence_level) * math.sqrt(effect * added_variance)
        low, high = mean - math.hypot(mean - low, half), mean + math.hypot(high - mean, half)
    return Estimate(mean, low, high)


LOSSES: Mapping[str, Callable[..., FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
}


def losses(held_out: HeldOut, key: str) -> dict[str, FloatArray]:
    """Per-row log loss and Brier score of one method."""
    rows = held_out.view(key)
    return {name: loss(rows.outcome, rows.score) for name, loss in LOSSES.items()}


def simplest(
    losses: Mapping[str, Estimate],
    to_best: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
) -> str:
    """The simplest method that gains significantly and is not significantly worse than the best.

    Parameters
    ----------
    losses : mapping of str to Estimate
    to_best : mapping of str to Estimate
        Loss of each method minus that of the best one, paired.
    changes : mapping of str to Estimate
        Loss of each method minus that of the uncalibrated scores, paired.

    Returns
    -------
    str
        "uncalibrated" where no method lowers the loss significantly.
    """
    gaining = [key for key, change in changes.items() if change.high < 0.0]
    if not gaining:
        return "uncalibrated"
    best = min(losses, key=lambda key: losses[key].value)
    as_good = [key for key in gaining if key == best or to_best[key].low <= 0.0]
    # A best method whose own gain is uncertain may leave none of them.
    # Of equally simple ones, as Platt and logistic with two parameters each, the better one.
    return min(as_good or gaining, key=lambda k: (method_of(k).simplicity, losses[k].value))
