"""Comparing calibrators on rows that they were not fitted on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedGroupKFold

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator, calibrator
from calib.calibrators.uncalibrated import Uncalibrated
from calib.core.cells import ScoreCells
from calib.core.counted import CountedRows
from calib.core.predictions import BinaryView
from calib.crossfit.settings import Settings
from calib.metrics.proper import row_brier, row_log_loss
from calib.metrics.ranking import row_auc
from calib.metrics.resolution import resolutions
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.cell_table import MAX_CELLS
from calib.numerics.fold_counts import split_counts
from calib.numerics.intervals import mean_interval, normal_quantile
from calib.numerics.moderated import cluster_effect, unit_sums
from calib.numerics.threads import over_cores
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


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Every method's scores on the same rows, none of which it was fitted on.

    Attributes
    ----------
    rows : BinaryView
        The rows that are scored: the test rows, or all rows where folds are used. Each entry counts
        the rows of one score cell, outcome and fold, or, of a matrix, those that hold the same
        scores; rows of clusters are entries of their own.
    scores : mapping of str to ndarray of shape (n,)
        Calibrated scores of these entries by method key, "uncalibrated" first.
    cells : mapping of str to ScoreCells
        The same scores, counted.
    replicates : mapping of str to Replicates
        The same scores on resampled rows, or clusters of rows; the same ones for all methods.
    maps : mapping of str to Calibrator or MatrixCalibrator
        Maps for drawing and for use: fitted on the calibration rows, or on all rows. In a view of a
        matrix they map whole rows.
    fitted_on : ScoreCells
        The cells that `maps` were fitted on.
    protocol : {"test rows", "folds"}
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    settings : Settings
        The settings that the methods were fitted with.
    counted : CountedRows
        The rows that are scored, counted before they were split into folds; of a matrix, after.
        Without their spread within cells.
    source : ndarray of int, shape (n,)
        Position in `counted` of each entry of `rows`.
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
    given : BinaryView or None
        The rows that are scored, as they came; None where only their counts are known.
    resolution : mapping of str to mapping of str to float
        By method and metric: how far it may be from that of the scores themselves, where scores are
        grouped in cells; see `calib.metrics.resolution`. Empty where each cell is one score.
    """

    rows: BinaryView
    scores: Mapping[str, FloatArray]
    cells: Mapping[str, ScoreCells]
    replicates: Mapping[str, Replicates]
    maps: Mapping[str, Calibrator | MatrixCalibrator]
    fitted_on: ScoreCells
    protocol: str
    failures: Mapping[str, str]
    settings: Settings
    counted: CountedRows
    source: IntArray
    outcomes: Mapping[str, BoolArray] = field(default_factory=dict)
    calibration: Replicates | None = None
    fold: IntArray | None = None
    fold_scores: Mapping[str, FoldScores] = field(default_factory=dict)
    given: BinaryView | None = None
    resolution: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

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

    @cached_property
    def given_rows(self) -> BinaryView:
        """The rows that are scored, as they came, with their uncalibrated scores.

        Raises
        ------
        ValueError
            If only counts of the rows are known.
        """
        if self.given is None:
            raise ValueError(
                "This needs the rows themselves, got only their counts. Load the predictions, and "
                "analyse them."
            )
        return self.given

    def on(self, rows: BinaryView) -> CrossFitted:
        """The same, whose `given_rows` are the scored rows counted in another way.

        Parameters
        ----------
        rows : BinaryView
            Such as those of a column of an `Aggregate`.
        """
        return replace(self, given=rows)

    def row_values(self, values: FloatArray) -> FloatArray:
        """What is known of entries, for each given row.

        Rows of one score and outcome are alike, so that no one fold is a row's own: it gets the
        mean over the folds that such rows lie in.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Of the entries.
        """
        weight, n = self.rows.weights, len(self.counted.entries)
        mean = np.bincount(self.source, weight * values, n) / np.bincount(self.source, weight, n)
        return mean[self._counted_entry]

    def row_view(self, key: str) -> BinaryView:
        """The given rows with one method's scores: means over folds, see `row_values`."""
        rows = self.given_rows
        if key == "uncalibrated":
            return rows
        own = self.outcomes.get(key)
        outcome = rows.outcome if own is None else own[self._counted_entry]
        return replace(rows, outcome=outcome, score=self.row_values(self.scores[key]))

    def row_scores(self, key: str) -> FloatArray:
        """One method's score of each given row, in one of the folds that such rows lie in.

        As many rows have a score as entries count: bins hold as many rows as their curve says.
        """
        own = self._counted_entry
        entry = np.empty(len(own), dtype=np.int64)
        # Entries stand in the order of what they are parts of.
        count = self.rows.counts.astype(np.int64)
        entry[np.argsort(own, kind="stable")] = np.repeat(np.arange(len(count)), count)
        return self.scores[key][entry]

    @cached_property
    def _counted_entry(self) -> IntArray:
        """Which counted entry each given row belongs to."""
        return self.counted.find(self.given_rows)

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


def no_progress(_share: float, _text: str) -> None:
    """Report no progress."""


def create(key: str, settings: Settings) -> Calibrator:
    """An unfitted calibrator with the parameters that the settings give it.

    Raises
    ------
    ValueError
        If the method calibrates matrices only.
    """
    return with_settings(calibrator(key), settings)


def with_settings(made: Estimator, settings: Settings) -> Estimator:
    """Give an unfitted estimator those parameters of the settings that it has."""
    wanted = {"epsilon": settings.epsilon, "random_state": settings.seed}
    known = made.get_params()
    made.set_params(**{name: value for name, value in wanted.items() if name in known})
    return made


def cross_fit(
    view: BinaryView | CountedRows,
    settings: Settings,
    progress: Progress = no_progress,
    earlier: CrossFitted | None = None,
    n_replicates: int = N_REPLICATES,
) -> CrossFitted:
    """Score every method on rows that it has not seen.

    With calibration and test rows: fit on the one, score on the other. Else in the folds that the
    data name, or in stratified, seeded ones (by group where groups are named): each row is scored
    by the map that did not see it, and the maps that are drawn are refitted on all rows.

    Parameters
    ----------
    view : BinaryView or CountedRows
        Rows, or their counts.
    settings : Settings
    progress : callable
        Called with (share done, what is being done).
    earlier : CrossFitted, optional
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
    given = view if isinstance(view, BinaryView) else None
    counted = CountedRows.of_rows(view) if isinstance(view, BinaryView) else view
    if given is not None and counted.entries.group is not None:
        # Numbered by what they hold, so that resamples of a slice know no order of clusters.
        given = replace(given, group=counted.entries.group[counted.find(given)])
    by_rows = _by_folds if counted.entries.test is None else _by_split
    fresh = by_rows(counted, given, missing, settings, progress, n_replicates)
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
        resolution=merged(fresh.resolution, earlier.resolution),
    )


def _still_valid(earlier: CrossFitted | None, settings: Settings) -> set[str]:
    if earlier is None:
        return set()
    old = earlier.settings
    if (old.view, old.n_folds, old.seed) != (settings.view, settings.n_folds, settings.seed):
        return set()
    return {
        key
        for key in (*earlier.scores, *earlier.failures)
        if CALIBRATORS[key].create is not None
        and create(key, old).get_params() == create(key, settings).get_params()
    }


def _by_split(
    counted: CountedRows,
    given: BinaryView | None,
    methods: tuple[str, ...],
    settings: Settings,
    progress: Progress,
    n_replicates: int,
) -> CrossFitted:
    is_test = counted.entries.test
    assert is_test is not None
    calibration, test = counted.entries.rows(~is_test), counted.entries.rows(is_test)
    for name, part in (("calibration", calibration), ("test", test)):
        positives = _n_positive(part)
        if not 0 < positives < part.n_rows:
            raise ValueError(
                f"The {name} rows must hold rows of both classes, got {part.n_rows} rows with "
                f"{positives} positive ones. Split the data in another way."
            )
    fitted_on = calibration.cells()
    progress(0.0, "Fitting on the calibration rows")
    maps, failures = _fit_all(fitted_on, methods, settings)
    scores = {key: fitted.predict(test.score) for key, fitted in maps.items()}
    cells, own = _count(test, scores), counted.part(is_test)
    progress(0.5, "Resampling the test rows")
    plain = cells.get("uncalibrated") or test.cells()
    drawn = _replicate(test, plain, scores, settings, n_replicates)
    return CrossFitted(
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
        given=None if given is None or given.test is None else given.rows(given.test),
        counted=replace(own, spread=None),
        source=np.arange(len(test)),
        resolution=_resolutions(
            test, own, np.arange(len(test)), scores, cells, {key: [maps[key]] for key in scores}
        ),
    )


def _resolutions(
    rows: BinaryView,
    counted: CountedRows,
    source: IntArray,
    scores: Mapping[str, FloatArray],
    cells: Mapping[str, ScoreCells],
    fitted: Mapping[str, list[Calibrator]],
) -> dict[str, dict[str, float]]:
    """By method, with the calibrators of each fold, or the only ones."""
    spread = counted.spread
    if spread is None or counted.cell is None:
        return {}
    own, cell = spread.part(source), counted.cell[source]
    number = np.zeros(len(rows), dtype=np.int64)
    if rows.fold is not None:
        number = np.unique(rows.fold, return_inverse=True)[1]
    low, high = (np.zeros(int(cell.max()) + 1) for _ in range(2))
    low[cell], high[cell] = own.low, own.high

    def bounds(key: str) -> dict[str, float]:
        first, last = (
            np.array([one.predict(at) for one in fitted[key]])[number, cell] for at in (low, high)
        )
        scored = replace(rows, score=scores[key])
        return resolutions(scored, cells[key], (first, last), own.middle, own.aside)

    return over_cores(bounds, scores)


def _n_positive(rows: BinaryView) -> int:
    return int(rows.counts[rows.outcome].sum())


def _by_folds(
    counted: CountedRows,
    given: BinaryView | None,
    methods: tuple[str, ...],
    settings: Settings,
    progress: Progress,
    n_replicates: int,
) -> CrossFitted:
    fitted_on = counted.entries.cells()
    rows, source = split_into_folds(counted.entries, settings)
    fold = rows.fold
    assert fold is not None
    numbers = np.unique(fold)
    progress(0.0, "Fitting on all rows")
    maps, failures = _fit_all(fitted_on, methods, settings)
    scores = {key: np.empty(len(rows)) for key in maps}
    by_fold: dict[str, list[Calibrator]] = {key: [] for key in maps}
    for step, number in enumerate(numbers):
        progress((step + 1) / (len(numbers) + 2), f"Fold {step + 1} of {len(numbers)}")
        held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        fitted, failed = _fit_all(rows.rows(others).cells(), tuple(maps), settings)
        failures |= failed
        for key in fitted:
            by_fold[key].append(fitted[key])
            scores[key][held_out] = fitted[key].predict(rows.score[held_out])
    # A method that failed in one fold has rows without a score. The given ones are held once.
    scores = {
        key: rows.score if isinstance(maps[key], Uncalibrated) else values
        for key, values in scores.items()
        if key not in failures
    }
    maps = {key: maps[key] for key in scores}
    cells = _count(rows, scores)
    progress((len(numbers) + 1) / (len(numbers) + 2), "Resampling the rows")
    drawn = _replicate(rows, fitted_on, scores, settings, n_replicates)
    return CrossFitted(
        rows=rows,
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
        given=given,
        counted=replace(counted, spread=None),
        source=source,
        resolution=_resolutions(rows, counted, source, scores, cells, by_fold),
    )


def split_into_folds(entries: BinaryView, settings: Settings) -> tuple[BinaryView, IntArray]:
    """Entries split into folds: stratified by outcome, or by group, and seeded; or as they name.

    Parameters
    ----------
    entries : BinaryView
        Counted rows.
    settings : Settings
        Its `n_folds` and `seed` are used.

    Returns
    -------
    entries : BinaryView
        With the fold of each.
    source : ndarray of int
        Which of the given entries each is a part of.

    Raises
    ------
    ValueError
        If there are too few rows of a class.
    """
    if entries.fold is not None:
        _check_folds(entries, entries.fold)
        return entries, np.arange(len(entries))
    positives = _n_positive(entries)
    smaller = min(positives, entries.n_rows - positives)
    n_folds = min(settings.n_folds, smaller)
    if n_folds < 2:
        raise ValueError(
            "Cross-fitting needs at least 2 rows of each class, "
            f"got {smaller} of the rarer one. Add rows, or name calibration and test rows."
        )
    if entries.group is None:
        return _split_counts(entries, n_folds, settings.seed)
    grouped = StratifiedGroupKFold(n_folds, shuffle=True, random_state=settings.seed)
    fold = np.empty(len(entries), dtype=np.int64)
    for number, (_, held_out) in enumerate(
        grouped.split(entries.score, entries.outcome, entries.group)
    ):
        fold[held_out] = number
    return replace(entries, fold=fold), np.arange(len(entries))


def _check_folds(entries: BinaryView, fold: IntArray) -> None:
    rows = np.array([entries.counts * entries.outcome, entries.counts * ~entries.outcome])
    for number in np.unique(fold):
        outside = rows[:, fold != number].sum(axis=1)
        if outside.min() == 0:
            raise ValueError(
                "The rows outside of each named fold must hold both classes, got "
                f"{int(outside.sum())} rows with {int(outside[0])} positive ones outside of one. "
                "Name other folds, or leave the fold column out."
            )


def _split_counts(entries: BinaryView, n_folds: int, seed: int) -> tuple[BinaryView, IntArray]:
    rng, count = np.random.default_rng(seed), entries.counts.astype(np.int64)
    parts = np.empty((n_folds, len(entries)), dtype=np.int64)
    for outcome in (True, False):
        own = entries.outcome == outcome
        # The rows that do not divide evenly go to other folds for the other outcome.
        parts[:, own] = split_counts(count[own], n_folds, rng, extra_first=outcome)
    source, fold = np.nonzero(parts.T)
    rows = parts[fold, source].astype(np.float64)
    share = rows / count[source]
    whole = entries.rows(source)
    return replace(
        whole,
        count=rows,
        fold=fold,
        weight=None if whole.weight is None else whole.weight * share,
        weight_sq=None if whole.weight_sq is None else whole.weight_sq * share,
    ), source


def _count(rows: BinaryView, scores: Mapping[str, FloatArray]) -> dict[str, ScoreCells]:
    """Held-out cells; those of several folds' calibrators are put on the grid where many."""

    def counted(key: str) -> ScoreCells:
        cells = replace(rows, score=scores[key]).cells()
        return cells.on_grid() if len(cells) > MAX_CELLS else cells

    return over_cores(counted, scores)


def _replicate(
    rows: BinaryView,
    cells: ScoreCells,
    scores: Mapping[str, FloatArray],
    settings: Settings,
    n_replicates: int,
) -> dict[str, Replicates]:
    fold = rows.fold
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
            failures[key] = f"{CALIBRATORS[key].label} could not be fitted: {error}"
    return maps, failures


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
    weight = view.weights
    total = float(weight.sum())
    mean = float(weight @ values) / total
    residual = weight * (values - mean)
    units = unit_sums(residual, view.group)
    low, high = mean_interval(mean, units, total, confidence_level, view.multiplicity)
    if added_variance > 0.0:
        effect = 1.0 if view.group is None else max(1.0, cluster_effect(residual, units))
        half = normal_quantile(confidence_level) * math.sqrt(effect * added_variance)
        low, high = mean - math.hypot(mean - low, half), mean + math.hypot(high - mean, half)
    return Estimate(mean, low, high)


LOSSES: Mapping[str, Callable[..., FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
}


def losses(held_out: CrossFitted, key: str) -> dict[str, FloatArray]:
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
    return min(as_good or gaining, key=lambda k: (CALIBRATORS[k].simplicity, losses[k].value))
