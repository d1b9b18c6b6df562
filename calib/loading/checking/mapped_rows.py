"""Rows: the columns of a table under a mapping, why some cannot be used, and which repeat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.file_options import ROW_TRANSFORMS, Columns, Transform
from calib.loading.columns import (
    EMPTY,
    Labels,
    Numbers,
    as_classes,
    as_labels,
    as_numbers,
    as_outcome,
    folded,
)
from calib.loading.dates import Times, as_times
from calib.loading.guessing.class_columns import Classes, in_likeliest_reading, match_classes
from calib.loading.name_patterns import ID_NAMES, OWN_IDS, plain_name
from calib.loading.problems import Places
from calib.loading.table import Table
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.class_scores import softmax_of_logits
from calib.numerics.transforms import FAR, sigmoid

NEITHER = "neither positive nor negative"
OUTSIDE = "none of the classes"
# Why a row cannot be used: the role of a column and the state of its cell, by the key under which
# rows are counted.
REASONS: Mapping[str, tuple[str, str]] = {
    "predicted label missing": ("predicted", "missing"),
    **{
        f"{role} {state}": (role, state)
        for role in ("outcome", "score", "weight", "split", "fold", "group", "model")
        for state in ("missing", "unknown", "not a number", "infinite", "not positive")
    },
    **{f"outcome {state}": ("outcome", state) for state in (NEITHER, OUTSIDE)},
}
# With fewer rows, hashing takes no time that a person would notice.
MIN_SORTED_ROWS = 10_000
# Up to this share of values that another row has, they are sought in the others.
FEW_SHARED = 0.1
# The unusable rows are marked by reason. A new reason begins without rows.
Reasons = defaultdict[str, BoolArray]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Numbers of repeated rows and ids in a file."""

    rows: int = 0  # Each equals an earlier row in all columns.
    ids: int = 0  # An earlier row has the same id.
    id_column: str = ""  # It is empty if no column has ids.


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The mapped columns of a table, followed by those of its test rows.

    Attributes
    ----------
    mapping : Columns
    frame : DataFrame
        The mapped columns.
    labels : Labels
        Labels of the outcome. Those of two classes are without letter case, and without words such
        as "unknown".
    outcome : array of int
        1 for positive, 0 for negative; with one column per class the class; label codes if no label
        is positive. It is -1 for missing labels, and for labels that are none of the classes.
    classes : Classes, optional
        The classes, if there is one score column per class.
    raw : dict of str to Numbers
        The score columns before the transform. Class columns of plain numbers are left out.
    score : array
        Scores after the mapping's transform and swap. A matrix of float32 keeps its type.
    weight : Numbers, optional
    split, fold : Labels, optional
    test : array of bool, optional
        Which rows are test rows.
    unusable : dict of str to array of bool
        Unusable rows by reason. Each row has only its first reason.
    repeats : Repeats
        Rows and ids that appear more than once in a file.
    table : Table
    usable : array of bool
        The rows without a reason.
    partly : bool
        Whether rows may lack an outcome, which is then -1, as gold labels and days do.
    times : Times, optional
        Times of the usable rows.
    """

    mapping: Columns
    frame: pd.DataFrame
    labels: Labels
    outcome: IntArray
    classes: Classes | None
    raw: dict[str, Numbers]
    score: NDArray[np.floating]
    weight: Numbers | None
    split: Labels | None
    fold: Labels | None
    test: BoolArray | None
    unusable: dict[str, BoolArray]
    repeats: Repeats
    table: Table
    usable: BoolArray
    partly: bool
    times: Times | None = None

    @property
    def log_odds(self) -> FloatArray | None:
        """Log-odds of the positive class, if the file has some that are far from 0."""
        if self.mapping.transform != "logit" or not isinstance(self.mapping.score, str):
            return None
        values = self.raw[self.mapping.score].values
        if not (np.abs(values) > FAR).any():
            return None
        return -values if self.mapping.swap else values

    @property
    def kept(self) -> NDArray[np.intp] | slice:
        """The places of the usable rows, or a slice if all rows are usable."""
        return slice(None) if self.usable.all() else np.flatnonzero(self.usable)

    def of_usable(self, values: NDArray[Any]) -> NDArray[Any]:
        """The usable rows, or the same array if all rows are usable."""
        return values if self.usable.all() else values[self.usable]

    def places(self, rows: IntArray | BoolArray) -> Places:
        """The numbers of the first of these rows, as in a spreadsheet."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        table, tests = self.table, self.table.tests
        numbers = [
            f"{table.number(row):,}"
            if tests is None or row < len(table)
            else f"{tests.number(row - len(table)):,} of the test file"
            for row in rows[:3].tolist()
        ]
        return numbers, len(rows)


def map_rows(table: Table, mapping: Columns, *, partly: bool = False) -> Rows:
    """Read the mapped columns; the mapping must name columns that exist in both files.

    If the rows are only `partly` labelled, those without an outcome are usable.
    """
    frame = _stacked(table, mapping)
    labels, unknown = _labels(frame, mapping)
    commas = any(file.commas for file in table.files)
    raw, raw_scores = read_scores(frame, mapping, commas=commas)
    weight = None
    if mapping.weight is not None:
        weight = as_numbers(frame[mapping.weight], mapping.decimal, commas=commas)
    use_split = mapping.split is not None and table.tests is None
    split = folded(as_labels(frame[mapping.split])) if use_split else None
    fold = None if mapping.fold is None else as_labels(frame[mapping.fold])
    score = transformed(raw_scores, mapping.transform)
    classes = None
    if isinstance(mapping.score, tuple):
        classes = match_classes(mapping.score, labels, mapping.classes)
        classes = in_likeliest_reading(classes, mapping.score, labels, score)
    outcome = _outcome(frame, mapping, labels, classes)
    reasons = _unknown_outcomes(frame, mapping, labels, outcome, unknown)
    if partly:
        del reasons["outcome missing"], reasons["outcome unknown"]
    for numbers in raw.values():
        infinite = mapping.transform not in ("logit", "exp", "softmax")
        _add(reasons, "score", numbers, infinite=infinite)
    if raw_scores.ndim == 2:
        _add_matrix(reasons, raw_scores, score if mapping.transform == "softmax" else None)
    if weight is not None:
        _add(reasons, "weight", weight, infinite=True)
        reasons["weight not positive"] = weight.values <= 0.0
    for role, labels_of_role in (("split", split), ("fold", fold)):
        if labels_of_role is not None:
            reasons[f"{role} missing"] = labels_of_role.codes < 0
    unusable = _first_reasons(reasons)
    rows = Rows(
        mapping=mapping,
        frame=frame,
        labels=labels,
        outcome=outcome,
        classes=classes,
        raw=raw,
        score=1.0 - score if mapping.swap else score,
        weight=weight,
        split=split,
        fold=fold,
        test=_test_rows(len(table), len(frame), mapping, split),
        unusable=unusable,
        repeats=Repeats() if partly else count_repeats(table, mapping),
        table=table,
        usable=~np.logical_or.reduce([np.zeros(len(frame), dtype=np.bool_), *unusable.values()]),
        partly=partly,
    )
    if mapping.time is None:
        return rows
    # A monitor has one day for one moment, wherever it was written.
    cells = frame[mapping.time].iloc[rows.kept]
    return replace(rows, times=as_times(cells, day_first=mapping.day_first, utc=partly))


def _stacked(table: Table, mapping: Columns) -> pd.DataFrame:
    if table.tests is None:
        return table.frame
    # A test file has all mapped columns except the split, which it replaces.
    columns = [column for column in mapping.columns() if column in table.tests.columns]
    first, second = table.frame[columns], table.tests.frame[columns]
    stacked = [_with_exact_integers(first, second), _with_exact_integers(second, first)]
    return pd.concat(stacked, ignore_index=True)


def _with_exact_integers(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Integers as objects, if they would become floats when the other frame is appended."""
    mixed = [
        column
        for column, dtype in frame.dtypes.items()
        if dtype.kind in "iu" and other[column].dtype.kind in "iuf" and other[column].dtype != dtype
    ]
    return frame.astype(dict.fromkeys(mixed, object)) if mixed else frame


def _labels(frame: pd.DataFrame, mapping: Columns) -> tuple[Labels, BoolArray]:
    """Labels of the outcome, and whether each is a word such as "unknown"."""
    column = frame[mapping.outcome]
    # With many classes, every spelling may be a class, and so may a word such as NA.
    if isinstance(mapping.score, tuple) or mapping.predicted is not None:
        return as_classes(column), np.zeros(len(column), dtype=np.bool_)
    return as_outcome(column, (*mapping.positives, *mapping.negatives))


def _outcome(
    frame: pd.DataFrame, mapping: Columns, labels: Labels, classes: Classes | None
) -> IntArray:
    if classes is not None:
        return classes.index[labels.codes]
    if mapping.predicted is not None:
        return _agreement(labels, as_classes(frame[mapping.predicted]))
    meaning = label_meaning(labels, mapping)
    return labels.codes if meaning is None else meaning[labels.codes]


def label_meaning(labels: Labels, mapping: Columns) -> IntArray | None:
    """The meaning of each label: 1 is positive, 0 negative, -1 neither. The last -1 is for missing.

    It is None if a label that counts as positive does not exist. If no label is named as negative,
    all other labels are, and `outcome_problems` asks whether this is meant.
    """
    codes = [labels.find(name) for name in mapping.positives]
    positive = [code for code in codes if code is not None]
    if not codes or len(positive) < len(codes):
        return None
    negative = [code for name in mapping.negatives if (code := labels.find(name)) is not None]
    meaning = np.full(len(labels) + 1, -1 if negative or EMPTY in mapping.negatives else 0)
    meaning[negative] = 0
    meaning[positive] = 1
    meaning[-1] = 0 if empty_is_negative(labels, mapping) else -1
    return meaning


def empty_is_negative(labels: Labels, mapping: Columns) -> bool:
    """Whether rows without a label count as negative."""
    return EMPTY in mapping.negatives and labels.find(EMPTY) is None


def _agreement(labels: Labels, predicted: Labels) -> IntArray:
    """1 for a correct predicted label (letter case is ignored), 0 for another, -1 for a missing."""
    class_of: dict[str, int] = {}

    def classes(column: Labels, missing: int) -> IntArray:
        codes = [class_of.setdefault(name.casefold(), len(class_of)) for name in column.names]
        return np.array([*codes, missing])[np.where(column.codes < len(codes), column.codes, -1)]

    agree = (classes(labels, -1) == classes(predicted, -2)).astype(np.int64)
    return np.where((labels.codes < 0) | (predicted.codes < 0), -1, agree)


def _test_rows(
    n_first: int, n_rows: int, mapping: Columns, split: Labels | None
) -> BoolArray | None:
    if n_rows > n_first:
        return np.arange(n_rows) >= n_first
    if split is None:
        return None
    code = split.find(mapping.test_value)
    return None if code is None else split.codes == code


def _unknown_outcomes(
    frame: pd.DataFrame,
    mapping: Columns,
    labels: Labels,
    outcome: IntArray,
    unknown: BoolArray,
) -> Reasons:
    reasons = Reasons(lambda: np.zeros(len(frame), dtype=np.bool_))
    reasons["outcome missing"] = (labels.codes < 0) & ~unknown & (outcome < 0)
    reasons["outcome unknown"] = unknown
    if mapping.negatives:
        reasons[f"outcome {NEITHER}"] = (labels.codes >= 0) & (outcome < 0)
    if isinstance(mapping.score, tuple):
        reasons[f"outcome {OUTSIDE}"] = (labels.codes >= 0) & (outcome < 0)
    if mapping.predicted is not None:
        reasons["predicted label missing"] = as_classes(frame[mapping.predicted]).codes < 0
    return reasons


def _add(reasons: Reasons, role: str, numbers: Numbers, *, infinite: bool) -> None:
    missing = np.isnan(numbers.values)
    missing[numbers.text] = False
    reasons[f"{role} missing"] |= missing
    reasons[f"{role} not a number"][numbers.text] = True
    if infinite:
        reasons[f"{role} infinite"] |= np.isinf(numbers.values)


def _add_matrix(
    reasons: Reasons, raw_scores: NDArray[np.floating], softmax: NDArray[np.floating] | None
) -> None:
    # A sum that is not finite shows a number that is not. This needs no mask of the whole matrix.
    with np.errstate(invalid="ignore", over="ignore"):
        suspects = np.flatnonzero(~np.isfinite(raw_scores.sum(axis=1)))
    suspects = suspects[~reasons["score not a number"][suspects]]
    missing = np.isnan(raw_scores[suspects]).any(axis=1)
    # A logit of minus infinity is allowed, because its softmax is 0.
    infinite = np.isinf(raw_scores[suspects]) if softmax is None else np.isnan(softmax[suspects])
    reasons["score missing"][suspects[missing]] = True
    reasons["score infinite"][suspects[infinite.any(axis=1) & ~missing]] = True


def _first_reasons(reasons: Reasons) -> dict[str, BoolArray]:
    has_reason = np.zeros(len(next(iter(reasons.values()))), dtype=np.bool_)
    first = {}
    for reason, rows in reasons.items():
        if (new := rows & ~has_reason).any():
            first[reason] = new
            has_reason |= new
    return first


# Float32 arithmetic can leave a probability this far outside [0, 1]. Such scores are clipped, and
# no problem is reported.
ROUNDING_TOLERANCE = 1e-6
DIVISORS: dict[Transform, float] = {"percent": 100.0, "tenths": 10.0, "thousandths": 1000.0}


def read_scores(
    frame: pd.DataFrame, mapping: Columns, *, commas: bool
) -> tuple[dict[str, Numbers], NDArray[np.floating]]:
    """The score columns that are reported one by one, and all of them as one array."""
    if isinstance(mapping.score, str):
        numbers = as_numbers(frame[mapping.score], mapping.decimal, commas=commas)
        return {mapping.score: numbers}, numbers.values
    matrix = _side_by_side(frame, list(mapping.score_columns))
    not_plain = {
        column: as_numbers(matrix[column], mapping.decimal, commas=commas)
        for column, dtype in matrix.dtypes.items()
        if not (isinstance(dtype, np.dtype) and dtype.kind in "iuf")
    }
    if not_plain:
        matrix = matrix.assign(**{column: numbers.values for column, numbers in not_plain.items()})
    small = all(dtype == np.float32 for dtype in matrix.dtypes)
    # A damaged file may contain a signalling NaN, whose conversion would warn.
    with np.errstate(invalid="ignore"):
        return not_plain, matrix.to_numpy(dtype=np.float32 if small else np.float64)


def _side_by_side(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    places = frame.columns.get_indexer(columns)
    first, last = int(places[0]), int(places[-1])
    # Unlike a selection by names, a slice does not copy a large matrix.
    if bool((places == np.arange(first, first + len(places))).all()):
        return frame.iloc[:, first : last + 1]
    return frame[columns]


def transformed(values: NDArray[np.floating], transform: Transform) -> NDArray[np.floating]:
    """Convert scores to probabilities, and clip those that rounding has put outside [0, 1]."""
    if transform == "logit":
        return sigmoid(np.asarray(values, dtype=np.float64))
    if transform == "clip":
        return np.clip(values, 0.0, 1.0)
    if transform in ROW_TRANSFORMS:
        # Overflow gives NaN, and such rows are refused later.
        with np.errstate(invalid="ignore", over="ignore"):
            return _by_row(values, transform)
    divisor = DIVISORS.get(transform)
    scaled = values if divisor is None else values / divisor
    if transform == "exp":
        # Numbers far above 0 are no logarithms of probabilities, and are refused later.
        with np.errstate(over="ignore"):
            scaled = np.exp(np.asarray(values, dtype=np.float64))
    if scaled.size and scaled.min() >= 0.0 and scaled.max() <= 1.0:
        return scaled
    near = (scaled >= -ROUNDING_TOLERANCE) & (scaled <= 1.0 + ROUNDING_TOLERANCE)
    return np.where(near, np.clip(scaled, 0.0, 1.0), scaled)


def _by_row(values: NDArray[np.floating], transform: Transform) -> NDArray[np.floating]:
    if transform == "softmax":
        return softmax_of_logits(np.array(values, dtype=np.float64, order="C"))
    sums = values.sum(axis=1, keepdims=True)
    # Shares of a row with a negative number are undefined. It is unchanged, and refused later.
    shares = (sums != 0.0) & (values.min(axis=1, keepdims=True) >= 0.0)
    return np.divide(values, sums, out=values.copy(), where=shares)


def count_repeats(table: Table, mapping: Columns) -> Repeats:
    """Count rows and ids that appear in a file more than once."""
    counts = [_count(file, mapping) for file in table.files]
    column = next((count.id_column for count in counts if count.id_column), "")
    return Repeats(sum(c.rows for c in counts), sum(c.ids for c in counts), column)


def _count(table: Table, mapping: Columns) -> Repeats:
    frame = _hashable(table.frame)
    # Scores differ most, so after their column few rows are left to compare.
    first = [column for column in mapping.score_columns[:1] if column in frame]
    rows = _repeated_rows(frame[[*first, *(column for column in frame if column not in first)]])
    column = _id_column(frame, mapping)
    if column is None:
        return Repeats(rows)
    return Repeats(rows, _repeated_ids(frame[column]), column)


def _hashable(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of lists or dicts to text, because pandas compares values by hash."""
    for name in frame.columns[frame.dtypes == "object"]:
        try:
            frame[name].nunique()
        except TypeError:
            frame = frame.assign(**{name: frame[name].map(str)})
    return frame


def _repeated_rows(frame: pd.DataFrame) -> int:
    """Count as `frame.duplicated()` does, but first drop rows that a few columns distinguish."""
    for i, dtype in enumerate(frame.dtypes):
        # Ids differ in all rows, and whole numbers are compared faster than several columns.
        if dtype.kind in "iu" and frame.iloc[:MIN_SORTED_ROWS, i].is_unique:
            frame = frame[_shared(frame.iloc[:, i])]
    n_columns = 1
    while len(frame) and n_columns < len(frame.columns):
        if n_columns == 1:
            shared = _shared(frame.iloc[:, 0])
        else:
            shared = frame.iloc[:, :n_columns].duplicated(keep=False)
        if 2 * shared.sum() < len(frame):
            frame = frame[shared]
        n_columns *= 16
    return int(frame.duplicated().sum())


def _shared(column: pd.Series) -> pd.Series:
    """Whether another row has the same value, as `column.duplicated(keep=False)`."""
    values = column.to_numpy()
    # Most scores of many rows differ, which sorting shows in a tenth of the time of hashing.
    if values.dtype.kind not in "iuf" or len(values) < MIN_SORTED_ROWS:
        return column.duplicated(keep=False)
    ordered = np.sort(values)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated) > FEW_SHARED * len(values) or np.isnan(ordered[-1]):
        return column.duplicated(keep=False)
    return column.isin(repeated)


def _repeated_ids(ids: pd.Series) -> int:
    return int(ids.count() - ids.nunique())


def _id_column(frame: pd.DataFrame, mapping: Columns) -> str | None:
    """The column that has a name for ids and mostly different values."""
    free = set(frame) - set(mapping.columns())
    for column in frame:
        name = plain_name(column)
        if column in free and re.fullmatch(ID_NAMES, name):
            ids = frame[column]
            # A value that many rows share, such as a customer's number, is not the id of a row.
            if re.fullmatch(OWN_IDS, name) or 2 * _repeated_ids(ids) < ids.count():
                return column
    return None
