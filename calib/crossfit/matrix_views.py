"""One view of a matrix comparison: the scores of every method, as for a binary problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.settings import Settings
from calib.data.base import Progress, no_progress
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView, check_view
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.class_scores import binary_problem
from calib.uncertainty import FoldScores, Replicates, replicate, replicate_clusters, resample_rows

# Each method has its own resamples, which therefore use fewer groups. The bounds change by less
# than with another seed.
MAX_GROUPS = 512


def view_of_matrix(
    held_out: MatrixFits,
    predictions: Predictions,
    given: BinaryView,
    settings: Settings,
    progress: Progress = no_progress,
) -> CrossFitted:
    """Held-out scores of every method in the view of the settings. Nothing is fitted.

    Rows with equal uncalibrated scores in the view can have different calibrated scores, and each
    method can have different outcomes in a top-r view. So each method is resampled with its own
    scores and outcomes.

    `predictions` are the rows from which `held_out` was made, and `given` is the result of
    `check_view_outcomes`.
    """
    view = predictions.view(settings.view)
    calibration = view if view.test is None else view.rows(~view.test)
    fitted = CountedRows.of_rows(replace(calibration, test=None), max_scores=len(view)).entries
    fitted_on = fitted.cells()
    counted, firsts = _counted(held_out, given)
    rows = counted.entries
    views, cells, replicates = {}, {}, {}
    for number, key in enumerate(held_out.calibrators):
        label = CALIBRATORS[key].words(matrix=True)[0]
        progress(number / len(held_out.calibrators), f"Evaluating {label}")
        scored = held_out.view(key, settings.view)
        views[key] = rows.with_score(scored.score[firsts], scored.outcome[firsts])
        cells[key] = views[key].cells()
        replicates[key] = replicate_view(views[key], cells[key], settings.seed)
    return CrossFitted(
        rows=rows,
        scores={key: scored.score for key, scored in views.items()},
        cells=cells,
        replicates=replicates,
        calibrators=held_out.calibrators,
        fitted_on=fitted_on,
        protocol=held_out.protocol,
        failures=held_out.failures,
        settings=settings,
        outcomes={
            key: scored.outcome
            for key, scored in views.items()
            if (scored.outcome != rows.outcome).any()
        },
        fold_scores=_fold_scores(held_out, settings.view),
        counted=replace(counted, given=replace(given, group=held_out.scored.group)),
        source=np.arange(len(rows)),
        calibration=None
        if view.test is None
        else replicate_clusters(fitted, fitted_on, settings.seed),
        matrix=held_out,
    )


def _counted(held_out: MatrixFits, rows: BinaryView) -> tuple[CountedRows, IntArray]:
    """Rows of a view counted by row of the matrix and fold, and one row of each entry."""
    order, fold = held_out.order, held_out.fold
    alike = held_out.alike if fold is None else held_out.alike * (fold.max() + 1) + fold[order]
    _, first, entry = np.unique(alike, return_index=True, return_inverse=True)
    firsts, group = order[first], held_out.scored.group
    some = rows.rows(firsts)
    weighted = rows.weight is not None and group is None

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(entry, values[order]).astype(np.float64)

    entries = replace(
        some,
        weight=total(rows.weights) if weighted else some.weight,
        test=None,
        group=None if group is None else group[firsts],
        fold=None if fold is None else fold[firsts],
        count=np.bincount(entry).astype(np.float64) if group is None else None,
        weight_sq=total(rows.squared_weights) if weighted else None,
    )
    return CountedRows(entries, entry=held_out.as_given(entry.astype(np.int64))), firsts


def _fold_scores(held_out: MatrixFits, view: str) -> dict[str, FoldScores]:
    if held_out.protocol != "folds":
        return {}
    kind, index = check_view(view, len(held_out.class_names))
    rows, share_sq = held_out.fold_points
    share = np.sqrt(share_sq) / np.sqrt(share_sq).sum()
    fold_scores = {}
    for key in held_out.calibrators:
        matrices = held_out.fold_matrices(key)
        problems = [
            binary_problem(matrix, held_out.scored.label[rows], kind, index) for matrix in matrices
        ]
        score, outcome = (np.array(values) for values in zip(*problems, strict=True))
        fold_scores[key] = FoldScores(outcome, score, share, share_sq)
    return fold_scores


def replicate_view(rows: BinaryView, cells: ScoreCells, seed: int) -> Replicates:
    drawn = resample_rows(rows, cells, max_groups=MAX_GROUPS, random_state=seed)
    return replicate(drawn, rows.score)


def check_view_outcomes(predictions: Predictions, view: str) -> BinaryView:
    """The scored rows of a view. ValueError if they have one outcome, or it does not exist."""
    rows = predictions.view(view).scored
    positives = int(rows.outcome.sum())
    if 0 < positives < len(rows):
        return rows
    raise ValueError(
        f"The view of {predictions.view_label(view)} must hold rows of both outcomes, got "
        f"{positives:,} positive ones among the {len(rows):,} that are scored. Choose another view."
    )
