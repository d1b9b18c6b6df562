"""A person's own table with calibrated scores beside its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.checks import ROW_SUM_TOLERANCE
from calib.loading.building.models import rows_of_models
from calib.loading.checking.mapped_rows import read_scores, transformed
from calib.loading.file_options import ColumnMapping
from calib.loading.problems import refuse
from calib.loading.table import Table, unique_names
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import listed, quoted

SET_ASIDE = "set aside"
CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedTable:
    """A table with new columns."""

    frame: pd.DataFrame
    set_aside: Mapping[str, int]  # reason -> number of rows without a calibrated score


def with_calibrated(
    tables: Sequence[Table],
    mapping: ColumnMapping,
    calibrated: pd.DataFrame,
    model: int = 0,
) -> CalibratedTable:
    """All rows of the table that predictions came from, and their calibrated scores.

    Tables and mapping are those of `calib.loading.assess`, and `model` is the number of the model
    in their order. `calibrated` is what `calib.calibrated_scores` makes of the rows that were
    used; the column `calibrated_by` marks rows that were left out.
    """
    rows = list(rows_of_models(tables, mapping).values())[model]
    parts = [each.frame for each in rows.table.files]
    frame = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    places = np.arange(len(frame))[rows.kept]
    whole = calibrated.set_axis(places).reindex(range(len(frame)))
    by = whole["calibrated_by"].cat.add_categories(SET_ASIDE).fillna(SET_ASIDE)
    reasons = {reason: int(found.sum()) for reason, found in rows.unusable.items()}
    return _beside(frame, whole.assign(calibrated_by=by), reasons)


def calibrate_table(
    table: Table,
    mapping: ColumnMapping,
    predict: Callable[[FloatArray], FloatArray],
    class_names: Sequence[str] = (),
) -> CalibratedTable:
    """A table of new scores, without outcomes, and their calibrated scores.

    `predict` is that of the fitted calibrator; a matrix has class names. Raises InputError if the
    table lacks a score column.
    """
    absent = [name for name in mapping.score_columns if name not in table.columns]
    if absent:
        raise refuse(
            "score-column",
            f"{quoted(table.name)} has no column {listed(absent, 3)}. Choose the "
            "column of the scores, or rename it as in the file of the analysis.",
        )
    _, written = read_scores(table.frame, mapping, commas=table.commas)
    scores = transformed(written, mapping.transform).astype(np.float64)
    scores = 1.0 - scores if mapping.swap else scores
    reasons = _reasons(scores)
    usable = ~np.logical_or.reduce(list(reasons.values()))
    values = np.full_like(scores, np.nan)
    if usable.any():
        values[usable] = predict(scores[usable])
    named = [f"{CALIBRATED}_{name}" for name in class_names] if values.ndim == 2 else [CALIBRATED]
    made = pd.DataFrame(values.reshape(len(values), -1), columns=named)
    counts = {reason: int(found.sum()) for reason, found in reasons.items() if found.any()}
    return _beside(table.frame, made, counts)


def _reasons(scores: FloatArray) -> dict[str, BoolArray]:
    """Why rows have no calibrated score; each row stands under its first reason."""
    matrix = scores.reshape(len(scores), -1)
    missing = np.asarray(np.isnan(matrix).any(axis=1))
    outside = ~missing & ((matrix < 0.0) | (matrix > 1.0)).any(axis=1)
    reasons: dict[str, BoolArray] = {"score missing": missing, "score outside [0, 1]": outside}
    if scores.ndim == 2:
        uneven = np.abs(matrix.sum(axis=1) - 1.0) > ROW_SUM_TOLERANCE
        reasons["scores do not sum to 1"] = ~missing & ~outside & uneven
    return reasons


def _beside(frame: pd.DataFrame, new: pd.DataFrame, reasons: Mapping[str, int]) -> CalibratedTable:
    names = unique_names([*frame.columns, *new.columns])[len(frame.columns) :]
    joined_frame = pd.concat([frame.reset_index(drop=True), new.set_axis(names, axis=1)], axis=1)
    return CalibratedTable(joined_frame, {why: n for why, n in reasons.items() if n})
