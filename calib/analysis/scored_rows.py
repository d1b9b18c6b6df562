"""Calibrated scores of rows, with a label: was the calibrator fitted on the row?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.analysis.analysis import LiveAnalysis
from calib.calibrators import Calibrator
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.matrix import create
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray

OUT_OF_FOLD = "out-of-fold"
UNSEEN = "fitted on other rows"
SEEN = "fitted on this row"


def calibrated_scores(
    analysis: LiveAnalysis, predictions: Predictions, method: str = ""
) -> pd.DataFrame:
    """Calibrated scores of the rows of an analysis, in their order.

    If methods were cross-fitted, each row is scored by the calibrator that was fitted on the other
    folds. If there are calibration and test rows, all rows are scored by the calibrator that was
    fitted on the calibration rows.

    Parameters
    ----------
    analysis : LiveAnalysis
    predictions : Predictions
        The rows that were analysed.
    method : str
        Key of a method of the analysis. Default: the recommended method.

    Returns
    -------
    DataFrame of n rows
        Column `calibrated`, or `calibrated_NAME` for each class of a matrix, with values in [0, 1].
        Column `calibrated_by`: "out-of-fold", "fitted on other rows" or "fitted on this row".

    Raises
    ------
    ValueError
        If the predictions are not those of the analysis, or the analysis does not have the method.

    Examples
    --------
    >>> import calib
    >>> predictions = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(predictions, {"methods": ("platt",)})
    >>> calibrated_scores(analysis, predictions, "platt").round(4).head(2)
       calibrated calibrated_by
    0      0.9081   out-of-fold
    1      0.2120   out-of-fold
    """
    if predictions.fingerprint != analysis.data.fingerprint:
        raise ValueError(
            "predictions must be those of the analysis, got rows with another fingerprint. "
            "Analyse these rows first, or use `predict` of a fitted calibrator for new scores."
        )
    held_out, matrix = analysis.held_out, analysis.held_out.matrix
    method = method or analysis.recommendation.method or "uncalibrated"
    if method not in held_out.calibrators:
        methods = ", ".join(held_out.calibrators)
        raise ValueError(f"method must be one of {methods}, got {method!r}.")
    test = predictions.test
    if matrix is None:
        rows = predictions.view(analysis.settings.view)
        values = _of_scores(held_out, rows, method)[:, None]
        names = ["calibrated"]
    else:
        values = np.empty_like(predictions.scores)
        values[slice(None) if test is None else test] = matrix.matrix(method)
        if test is not None:
            values[~test] = matrix.calibrators[method].predict(predictions.scores[~test])
        names = [f"calibrated_{name}" for name in predictions.class_names]
    frame = pd.DataFrame(values, columns=names)
    code = np.zeros(len(frame), dtype=np.int8) if test is None else np.where(test, 1, 2)
    labels = pd.Categorical.from_codes(code, [OUT_OF_FOLD, UNSEEN, SEEN])
    return frame.assign(calibrated_by=labels)


def _of_scores(held_out: CrossFitted, rows: BinaryView, method: str) -> FloatArray:
    if held_out.protocol != "folds":
        calibrator = held_out.calibrators[method]
        assert isinstance(calibrator, Calibrator)
        return calibrator.predict(rows.score, rows.log_odds)
    entries, fold = held_out.rows, _fold_of_rows(held_out, rows)
    assert entries.fold is not None
    calibrated = np.empty(len(rows))
    for number in np.unique(entries.fold):
        cells = entries.rows(entries.fold != number).cells()
        in_fold = fold == number
        fitted = create(method, held_out.settings).fit_cells(cells)
        left_out = rows.rows(in_fold)
        calibrated[in_fold] = fitted.predict(left_out.score, left_out.log_odds)
    return calibrated


def _fold_of_rows(held_out: CrossFitted, rows: BinaryView) -> IntArray:
    """The fold of each row.

    Folds split the counts of rows with equal scores and outcomes. Which of these rows belongs to
    which fold is random, with the seed of the settings.
    """
    if rows.fold is not None:
        return rows.fold
    entries = held_out.rows
    assert entries.fold is not None
    entry = CountedRows.of_rows(rows).find(rows)
    shuffled = np.random.default_rng(held_out.settings.seed).permutation(len(rows))
    in_entries = shuffled[np.argsort(entry[shuffled], kind="stable")]
    by_source = np.argsort(held_out.source, kind="stable")
    dealt = np.repeat(entries.fold[by_source], entries.counts[by_source].astype(np.int64))
    fold = np.empty(len(rows), dtype=np.int64)
    fold[in_entries] = dealt
    return fold
