"""to_predictions and load: from a table and a mapping to validated Predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.loading.checks import examine
from calib.loading.columns import Labels, as_labels
from calib.loading.guessing import guess
from calib.loading.mapping import ColumnMapping, Transform
from calib.loading.problems import InputError, Problem, joined, quoted, refuse
from calib.loading.reading import Source, read
from calib.loading.rows import Rows
from calib.loading.table import Table
from calib.numerics.arrays import IntArray
from calib.predictions import Predictions

MISSING = "(missing)"


def to_predictions(
    table: Table,
    mapping: ColumnMapping,
    test_table: Table | None = None,
    *,
    name: str | None = None,
) -> Predictions:
    """The rows of a table, or of a calibration table and a test table below it.

    Parameters
    ----------
    table : Table
    mapping : ColumnMapping
    test_table : Table, optional
    name : str, optional
        What the data are called; the file's name by default.

    Raises
    ------
    InputError
        If `inspect` finds an error.
    """
    problems, rows = examine(table, mapping, test_table)
    errors = [problem for problem in problems if problem.severity == "error"]
    if rows is None or errors:
        raise InputError(errors)
    keep = np.flatnonzero(rows.usable)
    outcome, class_names = _classes(rows)
    try:
        return Predictions.from_arrays(
            outcome[keep],
            rows.score[keep],
            None if rows.weight is None else rows.weight.values[keep],
            test=None if rows.test is None else rows.test[keep],
            group=_group(rows, keep),
            columns=_columns(rows, keep),
            class_names=class_names,
            name=name or table.name,
            score_name=", ".join(mapping.score_columns),
            outcome_name=mapping.outcome or "",
            set_aside={reason: int(found.sum()) for reason, found in rows.unusable.items()},
        )
    except ValueError as error:
        raise refuse("invalid", str(error)) from None


def load(
    data: Source,
    *,
    outcome: str | None = None,
    score: str | Sequence[str] | None = None,
    test: Source | None = None,
    weight: str | None = None,
    group: str | None = None,
    split: str | None = None,
    test_value: object = None,
    positive: object = None,
    predicted: str | None = None,
    slices: Sequence[str] = (),
    time: str | None = None,
    transform: Transform = "none",
    drop_missing: bool = False,
    swap: bool = False,
    name: str | None = None,
) -> Predictions:
    """Load predictions and outcomes from a file, text or DataFrame.

    What is not named is guessed: outcome, score, positive label and, by their names, weight, group,
    split, time and slice columns. Nothing is converted unasked except what can have only one
    meaning ("25%" is 0.25, a score of 1.0000001 is 1).

    Parameters
    ----------
    data : path, str, bytes or DataFrame
        CSV, TSV, Parquet, Feather or Arrow, compressed or not; a str with a line break is text.
    outcome : str, optional
        Column of labels.
    score : str or sequence of str, optional
        Column of the scores of the positive class, or one column a class.
    test : path, str, bytes or DataFrame, optional
        Test rows, in the same columns; `data` are then the calibration rows.
    weight, group, time : str, optional
        Columns of row weights, clusters and time.
    split, test_value : str, optional
        Column that tells test rows from calibration rows, and its value that means test.
    positive : str or number, optional
        Label that counts as positive; all others are negative.
    predicted : str, optional
        Column of predicted labels: a row is positive if prediction and outcome agree.
    slices : sequence of str
        Columns to slice by.
    transform : {"none", "percent", "logit", "clip"}
        What makes the scores probabilities: divide by 100, apply the sigmoid, clip to [0, 1].
    drop_missing : bool
        Leave out rows whose outcome, score, weight or split is missing or unreadable; they are
        counted in `Predictions.set_aside`.
    swap : bool
        Use 1 - score: the scores are those of the other class.
    name : str, optional
        What the data are called.

    Raises
    ------
    InputError
        A ValueError. Its message says what is wrong, where, and which argument repairs it; its
        `problems` hold the same one by one. Rows are counted as a spreadsheet shows them.

    Examples
    --------
    >>> predictions = load("y,p\\n0,0.2\\n1,0.7\\n1,0.9\\n0,0.4\\n")
    >>> predictions.outcome, predictions.scores
    (array([0, 1, 1, 0]), array([0.2, 0.7, 0.9, 0.4]))
    >>> load("y,p\\n0,20\\n1,70\\n1,90\\n0,40\\n")
    Traceback (most recent call last):
    ...
    calib.loading.problems.InputError: Column `p` has 4 values outside [0, 1] (from 20 to 90), \
first in rows 2, 3, 4 and 1 more. They look like percentages: divide them by 100. In Python: \
transform='percent'.
    """
    known = ColumnMapping(
        outcome=outcome,
        score=score if score is None or isinstance(score, str) else tuple(score),
        positive=_as_label(positive),
        predicted=predicted,
        weight=weight,
        group=group,
        split=split,
        test_value=_as_label(test_value),
        slices=tuple(slices),
        time=time,
        transform=transform,
        drop_missing=drop_missing,
        swap=swap,
    )
    table = read(data)
    test_table = None if test is None else read(test)
    mapping = _shared(guess(table, known), known, test_table)
    try:
        return to_predictions(table, mapping, test_table, name=name)
    except InputError as error:
        told = " ".join(_with_argument(problem, mapping) for problem in error.problems)
        raise InputError(error.problems, told) from None


def _as_label(value: object) -> str | None:
    if value is None:
        return None
    return as_labels(pd.Series([value])).name(0)


def _shared(
    mapping: ColumnMapping, known: ColumnMapping, test_table: Table | None
) -> ColumnMapping:
    return mapping if test_table is None else for_test_file(mapping, test_table, known)


def for_test_file(
    mapping: ColumnMapping, test_table: Table, known: ColumnMapping | None = None
) -> ColumnMapping:
    """A guessed mapping without the optional columns that the test file lacks.

    Parameters
    ----------
    mapping : ColumnMapping
    test_table : Table
    known : ColumnMapping, optional
        What a person chose: kept, so that its absence is told.
    """
    chosen = set() if known is None else set(known.columns())
    there = set(test_table.columns) | chosen
    lost = {
        role: None
        for role in ("weight", "group", "time", "predicted")
        if (column := getattr(mapping, role)) is not None and column not in there
    }
    values = {f.name: getattr(mapping, f.name) for f in fields(mapping)}
    slices = tuple(column for column in mapping.slices if column in there)
    return ColumnMapping(**{**values, **lost, "slices": slices})


def _with_argument(problem: Problem, mapping: ColumnMapping) -> str:
    if problem.repair is None:
        return problem.sentence
    changed = problem.repair.changed(mapping)
    arguments = ", ".join(f"{key}={value!r}" for key, value in changed.items())
    return f"{problem.sentence} In Python: {arguments}."


def _classes(rows: Rows) -> tuple[IntArray, tuple[str, ...]]:
    mapping, names = rows.mapping, rows.labels.names
    if not isinstance(mapping.score, str):
        order = _class_of_label(names, mapping.score_columns)
        lookup = np.array([*order.values(), -1], dtype=np.int64)
        by_class = {index: label for label, index in order.items()}
        return lookup[rows.outcome], tuple(
            by_class.get(i, column) for i, column in enumerate(mapping.score_columns)
        )
    if mapping.predicted is not None:
        return rows.outcome, ("wrong", "right")
    positive = names[rows.labels.find(mapping.positive) or 0]
    others = [name for name in names if name != positive]
    return rows.outcome, (others[0] if len(others) == 1 else f"not {positive}", positive)


def _class_of_label(names: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Index of each label's score column: by its name, else labels 0..m-1, else sorted order."""
    by_name = {
        name: i
        for name in names
        for i, column in enumerate(columns)
        if column == name or column.endswith((f"_{name}", f".{name}", f" {name}"))
    }
    if len(by_name) == len(names):
        return by_name
    if all(name.isdecimal() and int(name) < len(columns) for name in names):
        return {name: int(name) for name in names}
    if len(names) == len(columns):
        return {name: i for i, name in enumerate(names)}
    raise refuse(
        "class-columns",
        f"The labels {joined([quoted(name) for name in names[:5]], len(names))} do not tell which "
        "score column belongs to which class. Name each column after its label.",
    )


def _group(rows: Rows, keep: NDArray[np.intp]) -> IntArray | None:
    if rows.mapping.group is None:
        return None
    codes = as_labels(rows.frame[rows.mapping.group]).codes[keep]
    # Rows without a group are each their own, not one large cluster.
    alone = codes < 0
    return np.where(alone, codes.max() + np.cumsum(alone), codes)


def _columns(rows: Rows, keep: NDArray[np.intp]) -> dict[str, NDArray[np.generic]]:
    mapping = rows.mapping
    found = {column: _texts(as_labels(rows.frame[column]), keep) for column in mapping.slices}
    if mapping.time is not None:
        found[mapping.time] = _times(rows.frame[mapping.time], keep)
    return found


def _texts(labels: Labels, keep: NDArray[np.intp]) -> NDArray[np.generic]:
    names = [labels.name(code) for code in range(len(labels))]
    # Fixed width: text that is cheap to compare and to hash. Code -1 picks the last.
    return np.array([*names, MISSING])[labels.codes[keep]]


def _times(column: pd.Series, keep: NDArray[np.intp]) -> NDArray[np.generic]:
    chosen = column.iloc[keep]
    if pd.api.types.is_datetime64_any_dtype(chosen.dtype):
        return np.asarray(chosen.to_numpy(dtype="datetime64[us]"))
    if pd.api.types.is_numeric_dtype(chosen.dtype):
        return np.asarray(chosen.to_numpy(dtype=np.float64, na_value=np.nan))
    dates = pd.to_datetime(chosen.astype(str), errors="coerce", format="ISO8601", utc=True)
    if bool(dates.notna().any()):
        return np.asarray(dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))
    return _texts(as_labels(column), keep)
