"""Rows: a table read through a mapping, with every row that cannot be used and why."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from calib.loading.columns import Labels, Numbers, as_labels, as_numbers
from calib.loading.mapping import ColumnMapping, Transform
from calib.loading.problems import joined
from calib.loading.table import Table
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.transforms import sigmoid

# Float32 arithmetic leaves a probability this far outside [0, 1]; such scores are clipped silently.
ROUNDING = 1e-6
DIVISORS: dict[Transform, float] = {"percent": 100.0, "tenths": 10.0}


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The mapped columns of one table, or of a calibration table and a test table below it.

    Attributes
    ----------
    mapping : ColumnMapping
    frame : DataFrame
        The mapped columns.
    labels : Labels
        Of the outcome column.
    outcome : ndarray of int, shape (n,)
        1 for positive, 0 for negative; label codes where no label is positive; -1 where missing.
    raw : dict of str to Numbers
        Score columns, as written.
    score : ndarray of shape (n,) or (n, m)
        Scores after the mapping's transform and swap.
    weight : Numbers or None
    split : Labels or None
    test : ndarray of bool, shape (n,), or None
    unusable : dict of str to ndarray of bool
        Reason -> rows; each row stands under its first reason only.
    n_first, first_row, test_first_row : int
        Where the test table begins, and the number of either table's first row.
    """

    mapping: ColumnMapping
    frame: pd.DataFrame
    labels: Labels
    outcome: IntArray
    raw: dict[str, Numbers]
    score: FloatArray
    weight: Numbers | None
    split: Labels | None
    test: BoolArray | None
    unusable: dict[str, BoolArray]
    n_first: int
    first_row: int = 1
    test_first_row: int = 1
    usable: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        usable = np.ones(len(self.outcome), dtype=np.bool_)
        for rows in self.unusable.values():
            usable &= ~rows
        object.__setattr__(self, "usable", usable)

    def where(self, rows: IntArray | BoolArray) -> str:
        """Row numbers in words: "row 3", "rows 3, 5 and 9", "rows 3, 5, 9 and 7 more"."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        numbers = [self._number(int(row)) for row in rows[:3]]
        return f"{'row' if len(rows) == 1 else 'rows'} {joined(numbers, len(rows))}"

    def _number(self, row: int) -> str:
        if row < self.n_first:
            return f"{row + self.first_row:,}"
        return f"{row - self.n_first + self.test_first_row:,} of the test file"


def map_rows(table: Table, mapping: ColumnMapping, test_table: Table | None = None) -> Rows:
    """Read the mapped columns; the mapping must name columns that exist in both tables."""
    frame = _stacked(table, mapping, test_table)
    labels = as_labels(frame[mapping.outcome])
    raw = {column: as_numbers(frame[column]) for column in mapping.score_columns}
    weight = None if mapping.weight is None else as_numbers(frame[mapping.weight])
    use_split = mapping.split is not None and test_table is None
    split = as_labels(frame[mapping.split]) if use_split else None
    return Rows(
        mapping=mapping,
        frame=frame,
        labels=labels,
        outcome=_outcome(frame, mapping, labels),
        raw=raw,
        score=_scores(raw, mapping),
        weight=weight,
        split=split,
        test=_test_rows(len(table), len(frame), mapping, split),
        unusable=_unusable(labels, frame, mapping, raw, weight, split),
        n_first=len(table),
        first_row=table.first_row,
        test_first_row=1 if test_table is None else test_table.first_row,
    )


def _stacked(table: Table, mapping: ColumnMapping, test_table: Table | None) -> pd.DataFrame:
    columns = list(mapping.columns())
    if test_table is None:
        return table.frame[columns]
    # Both files need all columns but the split, which two files replace.
    columns = [column for column in columns if column in test_table.frame.columns]
    return pd.concat([table.frame[columns], test_table.frame[columns]], ignore_index=True)


def _outcome(frame: pd.DataFrame, mapping: ColumnMapping, labels: Labels) -> IntArray:
    if mapping.predicted is not None:
        return _agreement(labels, as_labels(frame[mapping.predicted]))
    positive = labels.find(mapping.positive)
    if positive is None or not isinstance(mapping.score, str):
        return labels.codes
    return np.where(labels.codes < 0, -1, labels.codes == positive).astype(np.int64)


def _agreement(labels: Labels, predicted: Labels) -> IntArray:
    code_of = {name: code for code, name in enumerate(labels.names)}
    lookup = np.array([*(code_of.get(name, -2) for name in predicted.names), -1], dtype=np.int64)
    codes = np.where(predicted.codes < len(lookup) - 1, predicted.codes, -1)
    agree = (lookup[codes] == labels.codes).astype(np.int64)
    return np.where((labels.codes < 0) | (predicted.codes < 0), -1, agree)


def _scores(raw: dict[str, Numbers], mapping: ColumnMapping) -> FloatArray:
    columns = [transformed(numbers.values, mapping.transform) for numbers in raw.values()]
    score = columns[0] if isinstance(mapping.score, str) else np.column_stack(columns)
    return 1.0 - score if mapping.swap else score


def transformed(values: FloatArray, transform: Transform) -> FloatArray:
    """Make probabilities of scores, and undo what rounding did."""
    if transform == "logit":
        return sigmoid(values)
    if transform == "clip":
        return np.clip(values, 0.0, 1.0)
    divisor = DIVISORS.get(transform)
    scaled = values if divisor is None else values / divisor
    near = (scaled >= -ROUNDING) & (scaled <= 1.0 + ROUNDING)
    return np.where(near, np.clip(scaled, 0.0, 1.0), scaled)


def _test_rows(
    n_first: int, n_rows: int, mapping: ColumnMapping, split: Labels | None
) -> BoolArray | None:
    if n_rows > n_first:
        return np.arange(n_rows) >= n_first
    if split is None:
        return None
    code = split.find(mapping.test_value)
    return None if code is None else split.codes == code


def _unusable(
    labels: Labels,
    frame: pd.DataFrame,
    mapping: ColumnMapping,
    raw: dict[str, Numbers],
    weight: Numbers | None,
    split: Labels | None,
) -> dict[str, BoolArray]:
    found = {"outcome missing": labels.codes < 0}
    if mapping.predicted is not None:
        found["predicted label missing"] = as_labels(frame[mapping.predicted]).codes < 0
    for numbers in raw.values():
        _add(found, "score", numbers, infinite=mapping.transform != "logit")
    if weight is not None:
        _add(found, "weight", weight, infinite=True)
        found["weight not positive"] = weight.values <= 0.0
    if split is not None:
        found["split missing"] = split.codes < 0
    return _first_reasons(found)


def _add(found: dict[str, BoolArray], role: str, numbers: Numbers, *, infinite: bool) -> None:
    masks = {f"{role} missing": np.isnan(numbers.values)}
    text = np.zeros(len(numbers.values), dtype=np.bool_)
    text[numbers.text] = True
    masks[f"{role} missing"] &= ~text
    masks[f"{role} not a number"] = text
    if infinite:
        masks[f"{role} infinite"] = np.isinf(numbers.values)
    for reason, rows in masks.items():
        found[reason] = found[reason] | rows if reason in found else rows


def _first_reasons(found: dict[str, BoolArray]) -> dict[str, BoolArray]:
    named = np.zeros(len(next(iter(found.values()))), dtype=np.bool_)
    first = {}
    for reason, rows in found.items():
        if rows.any():
            first[reason] = rows & ~named
            named |= rows
    return {reason: rows for reason, rows in first.items() if rows.any()}
