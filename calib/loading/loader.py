"""load: files to Predictions in one call; what is not named is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from calib.loading.build import to_predictions
from calib.loading.columns import as_labels
from calib.loading.guessing import guess
from calib.loading.mapping import ColumnMapping, Transform
from calib.loading.problems import InputError, Problem
from calib.loading.reading import Source, read
from calib.loading.table import Table
from calib.predictions import Predictions


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
    transform : {"none", "percent", "tenths", "logit", "clip"}
        What makes the scores probabilities: divide by 100, divide by 10 (ratings), apply the
        sigmoid, clip to [0, 1].
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
    mapping = guess(table, known)
    if test_table is not None:
        mapping = for_test_file(mapping, test_table, known)
    try:
        return to_predictions(table, mapping, test_table, name=name)
    except InputError as error:
        told = " ".join(_with_argument(problem, mapping) for problem in error.problems)
        raise InputError(error.problems, told) from None


def _as_label(value: object) -> str | None:
    if value is None:
        return None
    return as_labels(pd.Series([value])).name(0)


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

    def kept(column: str | None) -> str | None:
        return column if column in there else None

    return replace(
        mapping,
        predicted=kept(mapping.predicted),
        weight=kept(mapping.weight),
        group=kept(mapping.group),
        time=kept(mapping.time),
        slices=tuple(column for column in mapping.slices if column in there),
    )


def _with_argument(problem: Problem, mapping: ColumnMapping) -> str:
    if problem.repair is None:
        return problem.sentence
    changed = problem.repair.changed(mapping)
    arguments = ", ".join(f"{key}={value!r}" for key, value in changed.items())
    return f"{problem.sentence} In Python: {arguments}."
