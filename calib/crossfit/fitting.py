"""Cross-fitting: each method is fitted on some rows and evaluated on others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib.calibrators import Calibrator
from calib.calibrators.stack import Stack
from calib.calibrators.uncalibrated import Uncalibrated
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.folds import cells_outside_folds, n_positive, split_into_folds
from calib.crossfit.matrix import create, fit_all, fit_matrix, merged, still_valid
from calib.crossfit.matrix_views import check_view_outcomes, view_of_matrix
from calib.crossfit.settings import Settings, with_view
from calib.data.base import Data, Progress, no_progress
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.predictions import rows_of
from calib.data.views import BinaryView
from calib.metrics.resolution import resolutions
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, over_cores
from calib.uncertainty import FoldScores, replicate, replicate_clusters, resample_rows
from calib.uncertainty.replicates import N_REPLICATES


def cross_fit(
    data: Data,
    settings: Settings,
    progress: Progress = no_progress,
    earlier: CrossFitted | None = None,
) -> CrossFitted:
    """Evaluate each method on rows on which it was not fitted: on test rows, or in folds.

    Folds are those that the data name, or stratified random ones that keep groups together; the
    calibrators for plots and for use are then fitted on all rows. A matrix is calibrated as a
    whole, so that another view needs no new fit, and has its own number of resamples, per method.
    Methods that an `earlier` result for the same data has with equal parameters and folds are not
    fitted again. Raises ValueError if the rows to score, or to fit on, are all of one class.
    """
    settings = with_view(settings, data)
    if not data.is_matrix:
        return cross_fit_scores(data.counted(settings.view), settings, progress, earlier)
    predictions = rows_of(data)
    rows = check_view_outcomes(predictions, settings.view)
    fitted = None if earlier is None else earlier.matrix
    fits = fit_matrix(predictions, settings, progress, fitted)
    return view_of_matrix(fits, predictions, rows, settings, progress)


def cross_fit_scores(
    counted: CountedRows,
    settings: Settings,
    progress: Progress = no_progress,
    earlier: CrossFitted | None = None,
    n_replicates: int = N_REPLICATES,
) -> CrossFitted:
    """Cross-fit one score per row, as `cross_fit` does."""
    kept: set[str] = set()
    if earlier is not None:
        attempted, folds_by = (*earlier.calibrators, *earlier.failures), ("view", "n_folds", "seed")
        kept = still_valid(earlier.settings, attempted, settings, create, folds_by)
    missing = tuple(key for key in settings.methods if key not in kept)
    fresh = _evaluated(counted, missing, settings, progress, n_replicates)
    if earlier is None or not kept:
        return fresh
    by_method = (
        "scores",
        "cells",
        "replicates",
        "calibrators",
        "failures",
        "fold_scores",
        "resolution",
    )
    results: dict[str, Any] = {
        name: merged(settings, getattr(fresh, name), getattr(earlier, name)) for name in by_method
    }
    return replace(fresh, **results)


def _evaluated(
    counted: CountedRows,
    methods: tuple[str, ...],
    settings: Settings,
    progress: Progress,
    n_replicates: int,
) -> CrossFitted:
    is_test, training = counted.entries.test, counted.entries
    if is_test is None:
        rows, source = split_into_folds(training, settings)
        assert rows.fold is not None
        n_folds = len(np.unique(rows.fold))
    else:
        training, rows = _by_split(training, is_test)
        counted, source, n_folds = counted.test_rows(), np.arange(len(rows)), 0
    training, rows = training.at_middles(), rows.at_middles()
    fitted_on = training.cells()
    progress(0.0, f"Fitting on {'all' if n_folds else 'the calibration'} rows")
    calibrators, failures = _fit_all(fitted_on, methods, settings)
    if n_folds:
        cell = None if counted.cell is None else counted.cell[source]
        scores, by_fold, failed = _in_folds(rows, cell, calibrators, settings, progress)
        failures |= failed
        calibrators = {key: calibrators[key] for key in scores}
    else:
        by_fold = {key: [fitted] for key, fitted in calibrators.items()}
        scores = {
            key: rows.score
            if isinstance(fitted, Uncalibrated)
            else fitted.predict(rows.score, rows.log_odds)
            for key, fitted in calibrators.items()
        }
    cells = _count(rows, scores)
    progress((n_folds + 1) / (n_folds + 2), f"Resampling the {'' if n_folds else 'test '}rows")
    plain = fitted_on if n_folds else cells.get("uncalibrated") or rows.cells()
    drawn = resample_rows(
        rows, plain, rows.fold, n_replicates=n_replicates, random_state=settings.seed
    )
    return CrossFitted(
        rows=rows,
        scores=scores,
        cells=cells,
        replicates=over_cores(lambda key: replicate(drawn, scores[key]), scores),
        calibrators=calibrators,
        fitted_on=fitted_on,
        protocol="folds" if n_folds else "test rows",
        failures=failures,
        settings=settings,
        calibration=None if n_folds else replicate_clusters(training, fitted_on, settings.seed),
        fold_scores={
            key: FoldScores.of(fitted_on, [calibrator.predict for calibrator in by_fold[key]])
            for key in (calibrators if n_folds else ())
        },
        counted=replace(counted, spread=None),
        source=source,
        resolution=_resolutions(rows, counted, source, scores, cells, by_fold),
    )


def _by_split(entries: BinaryView, is_test: BoolArray) -> tuple[BinaryView, BinaryView]:
    calibration, test = entries.rows(~is_test), entries.rows(is_test)
    for name, part in (("calibration", calibration), ("test", test)):
        positives = n_positive(part)
        if not 0 < positives < part.n_rows:
            raise ValueError(
                f"The {name} rows must hold rows of both classes, got {part.n_rows} rows with "
                f"{positives} positive ones. Split the data in another way."
            )
    return calibration, test


def _in_folds(
    rows: BinaryView,
    cell: IntArray | None,
    calibrators: Mapping[str, Calibrator],
    settings: Settings,
    progress: Progress,
) -> tuple[dict[str, FloatArray], dict[str, list[Calibrator]], dict[str, str]]:
    """Scores of the methods that were fitted in every fold, the calibrators, and the failures."""
    assert rows.fold is not None
    numbers, failures = np.unique(rows.fold), dict[str, str]()
    scores, log_odds = {key: np.empty(len(rows)) for key in calibrators}, rows.log_odds
    by_fold: dict[str, list[Calibrator]] = {key: [] for key in calibrators}
    for step, (number, others) in enumerate(
        zip(numbers, cells_outside_folds(rows, cell), strict=True)
    ):
        progress((step + 1) / (len(numbers) + 2), f"Fold {step + 1} of {len(numbers)}")
        fitted, failed = _fit_all(others, tuple(calibrators), settings)
        failures |= failed
        held_out = np.flatnonzero(rows.fold == number)
        given = rows.score[held_out], None if log_odds is None else log_odds[held_out]
        for key in fitted:
            by_fold[key].append(fitted[key])
            scores[key][held_out] = fitted[key].predict(*given)
    # A method that failed in one fold has rows without a score, so it is left out. The uncalibrated
    # scores are not copied.
    scores = {
        key: rows.score if isinstance(calibrators[key], Uncalibrated) else values
        for key, values in scores.items()
        if key not in failures
    }
    return scores, by_fold, failures


def _resolutions(
    rows: BinaryView,
    counted: CountedRows,
    source: IntArray,
    scores: Mapping[str, FloatArray],
    cells: Mapping[str, ScoreCells],
    fitted: Mapping[str, list[Calibrator]],
) -> dict[str, dict[str, float]]:
    """Resolutions by method, with the calibrators of each fold or of the test rows."""
    spread = counted.spread
    if spread is None or counted.cell is None:
        return {}
    positions, cell = spread.part(source), counted.cell[source]
    ends = np.zeros((2, int(cell.max()) + 1))
    ends[:, cell] = positions.low, positions.high
    place = cell
    if rows.fold is not None:
        place = np.unique(rows.fold, return_inverse=True)[1] * ends.shape[1] + cell

    def bounds(key: str) -> dict[str, float]:
        # One call for both ends, because every call makes the pieces of a spline anew.
        at_ends = [one.predict(ends.ravel()).reshape(ends.shape) for one in fitted[key]]
        first, last = np.concatenate(at_ends, axis=1)[:, place]
        scored = rows.with_score(scores[key])
        return resolutions(scored, cells[key], (first, last), positions.middle, positions.aside)

    return over_cores(bounds, scores)


def _count(rows: BinaryView, scores: Mapping[str, FloatArray]) -> dict[str, ScoreCells]:
    """Held-out cells. If the calibrators of several folds make many, they are put on the grid."""

    return over_cores(lambda key: rows.with_score(scores[key]).cells().bounded(), scores)


def _fit_all(
    cells: ScoreCells, methods: tuple[str, ...], settings: Settings
) -> tuple[dict[str, Calibrator], dict[str, str]]:
    fitted: dict[str, Calibrator] = {}

    def fit(key: str) -> Calibrator:
        made = create(key, settings)
        if isinstance(made, Stack):
            return made.fit_cells(cells, fitted)
        return fitted.setdefault(key, made.fit_cells(cells))

    return fit_all(methods, fit, matrix=False)
