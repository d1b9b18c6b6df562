"""A table with calibrated scores beside its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.checks import ROW_SUM_TOLERANCE
from calib.data.file_options import Columns
from calib.loading.building.models import rows_of_models
from calib.loading.checking.mapped_rows import read_scores, transformed
from calib.loading.problems import refuse
from calib.loading.table import Table, unique_names
from calib.numerics.arrays import BoolArray, FloatArray

SET_ASIDE = "set aside"
CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedTable:
    """A table with new columns, and the number of rows without a calibrated score by reason."""

    frame: pd.DataFrame
    set_aside: Mapping[str, int]


def with_calibrated(
    tables: Sequence[Table],
    mapping: Columns,
    calibrated: pd.DataFrame,
    model: int = 0,
) -> CalibratedTable:
    """Add calibrated scores to all rows of the table from which predictions were made.

    Tables and mapping are those of `calib.loading.assess`, and `model` is the number of the model
    in their order. `calibrated` is the result of `calib.calibrated_scores` for the usable rows. The
    column `calibrated_by` marks rows that were left out.
    """
    rows = list(rows_of_models(tables, mapping).values())[model]
    frames = [table.frame for table in rows.table.files]
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    places = np.arange(len(frame))[rows.kept]
    all_rows = calibrated.set_axis(places).reindex(range(len(frame)))
    by = all_rows["calibrated_by"].cat.add_categories(SET_ASIDE).fillna(SET_ASIDE)
    counts = {reason: int(unusable.sum()) for reason, unusable in rows.unusable.items()}
    return _side_by_side(frame, all_rows.assign(calibrated_by=by), counts)


def calibrate_table(
    table: Table,
    mapping: Columns,
    predict: Callable[..., FloatArray],
    class_names: Sequence[str] = (),
) -> CalibratedTable:
    """Add calibrated scores to a table of new scores, which needs no outcomes.

    `predict` is that of the fitted calibrator. A calibrator of a matrix has class names. Raises
    InputError if the table lacks a score column.
    """
    absent = [name for name in mapping.score_columns if name not in table.columns]
    if absent:
        raise refuse("score-column", table=table.name, absent=absent)
    _, raw = read_scores(table.frame, mapping, commas=table.commas)
    scores = transformed(raw, mapping.transform).astype(np.float64)
    scores = 1.0 - scores if mapping.swap else scores
    reasons = _reasons(scores)
    usable = ~np.logical_or.reduce(list(reasons.values()))
    values = np.full_like(scores, np.nan)
    if usable.any():
        given = [scores[usable]]
        if mapping.transform == "logit":
            log_odds = np.asarray(-raw if mapping.swap else raw, dtype=np.float64)
            given.append(log_odds[usable])
        values[usable] = predict(*given)
    columns = [f"{CALIBRATED}_{name}" for name in class_names] if values.ndim == 2 else [CALIBRATED]
    calibrated = pd.DataFrame(values.reshape(len(values), -1), columns=columns)
    counts = {reason: int(unusable.sum()) for reason, unusable in reasons.items() if unusable.any()}
    return _side_by_side(table.frame, calibrated, counts)


def _reasons(scores: FloatArray) -> dict[str, BoolArray]:
    """Why rows have no calibrated score. Each row is counted under its first reason."""
    matrix = scores.reshape(len(scores), -1)
    missing = np.asarray(np.isnan(matrix).any(axis=1))
    outside = ~missing & ((matrix < 0.0) | (matrix > 1.0)).any(axis=1)
    reasons: dict[str, BoolArray] = {"score missing": missing, "score outside [0, 1]": outside}
    if scores.ndim == 2:
        uneven = np.abs(matrix.sum(axis=1) - 1.0) > ROW_SUM_TOLERANCE
        reasons["scores do not sum to 1"] = ~missing & ~outside & uneven
    return reasons


def _side_by_side(
    frame: pd.DataFrame, new: pd.DataFrame, counts: Mapping[str, int]
) -> CalibratedTable:
    names = unique_names([*frame.columns, *new.columns])[len(frame.columns) :]
    joined_frame = pd.concat([frame.reset_index(drop=True), new.set_axis(names, axis=1)], axis=1)
    return CalibratedTable(joined_frame, {reason: n for reason, n in counts.items() if n})
