"""load: files to Predictions in one call; what is not named is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import pandas as pd

from calib.core.predictions import Predictions
from calib.loading import column_ranges
from calib.loading.building.models import assess, one_model
from calib.loading.building.predictions import to_predictions
from calib.loading.guessing.roles import guess
from calib.loading.labels import as_labels
from calib.loading.options import ColumnMapping, Decimal, Transform
from calib.loading.problems import InputError, Problem
from calib.loading.reading.reader import Source, read
from calib.loading.table import Table


def load(
    data: Source,
    *,
    outcome: str | None = None,
    score: str | Sequence[str] | None = None,
    class_columns: str | None = None,
    test: Source | None = None,
    weight: str | None = None,
    group: str | None = None,
    split: str | None = None,
    test_value: object = None,
    fold: str | None = None,
    positive: object = None,
    predicted: str | None = None,
    slices: Sequence[str] = (),
    time: str | None = None,
    transform: Transform = "none",
    drop_missing: bool = False,
    swap: bool = False,
    decimal: Decimal | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    model: str | None = None,
    model_value: object = None,
    exact: bool = False,
    strict: bool = False,
    name: str | None = None,
) -> Predictions:
    """Load predictions and outcomes from a file, text or DataFrame.

    What is not named is guessed: outcome, score, positive label and, by their names, weight, group,
    split, fold, time and slice columns. Nothing is converted unasked except what can have only one
    meaning ("25%" is 0.25, a score of 1.0000001 is 1). All rows are taken for those of one model,
    unless `model` is named.

    Parameters
    ----------
    data : path, str, bytes or DataFrame
        CSV, TSV, Parquet, Feather or Arrow, compressed or not, or a NumPy archive (.npz) of
        arrays such as ``probs`` and ``y``; a str with a line break is text.
    outcome : str, optional
        Column of labels.
    score : str or sequence of str, optional
        Column of the scores of the positive class, or one column a class.
    class_columns : str, optional
        The columns of all classes in few words, as the Data page has them: "p_0 … p_99", "p_*" or
        "cat, dog"; three dots do.
    test : path, str, bytes or DataFrame, optional
        Test rows, in the same columns; `data` are then the calibration rows.
    weight, group, time : str, optional
        Columns of row weights, clusters and time.
    split, test_value : str, optional
        Column that tells test rows from calibration rows, and its value that means test.
    fold : str, optional
        Column of cross-validation folds: methods are cross-fitted in them. Not with test rows.
    positive : str or number, or a sequence of them, optional
        Labels that count as positive, in any letter case; all others are negative. Rows of words
        such as "unknown" or "NA" are never negative: their outcome is not known.
    predicted : str, optional
        Column of predicted labels: a row is positive if prediction and outcome agree.
    slices : sequence of str
        Columns to slice by.
    transform : {"none", "percent", "tenths", "logit", "clip", "softmax", "normalize"}
        What makes the scores probabilities: divide by 100, divide by 10 (ratings), apply the
        sigmoid, clip to [0, 1]; of one column a class: apply the softmax to each row of logits,
        divide each row by its sum.
    drop_missing : bool
        Leave out rows whose outcome, score, weight, split or fold is missing or unreadable; they
        are counted in `Predictions.set_aside`.
    swap : bool
        Use 1 - score: the scores are those of the other class.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are written as text; the other mark separates thousands.
        Where cells such as "1,234" can be read in two ways, nothing is loaded without it.
    delimiter, encoding : str, optional
        Character between two cells, and encoding, of a text; found in it if not named.
    header : bool, optional
        Whether the first line of a text names the columns; found in it if not named.
    model, model_value : str, optional
        Column that names the model of each row, and the one whose rows are read.
    exact : bool
        Guess no columns: what is not named is not used.
    strict : bool
        Refuse whatever would be guessed: columns that are not named (see `exact`), a positive class
        other than 1 or True, and a header, delimiter or encoding that the text does not settle.
        `Predictions.origin.guesses` lists what a call without it has guessed.
    name : str, optional
        What the data are called.

    Raises
    ------
    InputError
        A ValueError. Its message says what is wrong, where, and which argument repairs it; its
        `problems` hold the same one by one. Rows are counted as a spreadsheet shows them.

    See Also
    --------
    load_models : The scores of several models.
    calib.core.origin.Origin : What the predictions remember of this call.

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
    known = _mapping(
        outcome=outcome,
        score=score,
        positive=positive,
        predicted=predicted,
        weight=weight,
        group=group,
        split=split,
        test_value=test_value,
        fold=fold,
        slices=slices,
        time=time,
        transform=transform,
        drop_missing=drop_missing,
        swap=swap,
        decimal=decimal,
    )
    table = _read(data, delimiter, header, encoding)
    test_table = None if test is None else _read(test, delimiter, header, encoding)
    if class_columns is not None:
        if score is not None:
            raise ValueError(
                f"score and class_columns must not both be named, got {score!r} and "
                f"{class_columns!r}."
            )
        known = replace(known, score=column_ranges.read(class_columns, table.columns))
    if model is not None:
        table, test_table = one_model(model, _as_label(model_value), table, test_table)
    mapping = known if exact else guess(table, known)
    if test_table is not None:
        mapping = for_test_file(mapping, test_table, known)
    try:
        return to_predictions(table, mapping, test_table, name=name, strict=strict)
    except InputError as error:
        raise _with_arguments(error, mapping) from None


def _read(data: Source, delimiter: str | None, header: bool | None, encoding: str | None) -> Table:
    try:
        return read(data, delimiter=delimiter, header=header, encoding=encoding)
    except InputError as error:
        raise _with_arguments(error, ColumnMapping()) from None


class Columns(TypedDict, total=False):
    """The arguments of `load` that say what columns mean."""

    outcome: str | None
    score: str | Sequence[str] | None
    weight: str | None
    group: str | None
    split: str | None
    test_value: object
    fold: str | None
    positive: object
    predicted: str | None
    slices: Sequence[str]
    time: str | None
    transform: Transform
    drop_missing: bool
    swap: bool
    decimal: Decimal | None


def load_models(
    data: Source | Sequence[Source] | Mapping[str, Source],
    *,
    model: str | None = None,
    models: Sequence[str] = (),
    test: Source | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    strict: bool = False,
    name: str | None = None,
    **columns: Unpack[Columns],
) -> dict[str, Predictions]:
    """Load the predictions of several models or checkpoints.

    They stand below each other, told apart by a column; or side by side, one score column a model;
    or in several files, one a model. What is not named is guessed, as in `load`.

    Parameters
    ----------
    data : path, str, bytes or DataFrame, or several of them
        A mapping gives several their names; else each has its file's name.
    model : str, optional
        Column that names the model of each row.
    models : sequence of str
        Score columns, one a model.
    test : path, str, bytes or DataFrame, optional
        Test rows of a single file, in the same columns.
    delimiter, header, encoding, strict
        As in `load`.
    name : str, optional
        What the data are called.
    **columns
        The other arguments of `load`: outcome, score, weight, group, split, test_value, fold,
        positive, predicted, slices, time, transform, drop_missing, swap, decimal.

    Returns
    -------
    dict of str to Predictions
        By the models' names: numbers in increasing order, others as they come.

    Raises
    ------
    InputError
        A ValueError that says what is wrong and with which model.

    See Also
    --------
    load : The scores of one model.

    Examples
    --------
    >>> text = "model,y,p\\nold,0,0.2\\nold,1,0.7\\nold,1,0.9\\nold,0,0.4\\n"
    >>> text += "new,0,0.1\\nnew,1,0.8\\nnew,1,0.9\\nnew,0,0.3\\n"
    >>> found = load_models(text, model="model")
    >>> {name: predictions.scores.tolist() for name, predictions in found.items()}
    {'old': [0.2, 0.7, 0.9, 0.4], 'new': [0.1, 0.8, 0.9, 0.3]}
    """
    known = replace(_mapping(**columns), model=model, models=tuple(models))
    written = (delimiter, header, encoding)
    tables = _tables(data, written)
    test_table = None if test is None else _read(test, *written)
    mapping = guess(tables[0], known, models=len(tables) == 1)
    if test_table is not None:
        mapping = for_test_file(mapping, test_table, known)
    found = assess(tables, mapping, test_table, name=name, strict=strict)
    errors = [problem for problem in found.problems if problem.severity == "error"]
    if errors:
        raise _with_arguments(InputError(errors), mapping)
    return dict(found.models)


def _tables(
    data: Source | Sequence[Source] | Mapping[str, Source],
    written: tuple[str | None, bool | None, str | None],
) -> list[Table]:
    if isinstance(data, Mapping):
        tables = [replace(_read(source, *written), name=name) for name, source in data.items()]
    elif isinstance(data, list | tuple):
        tables = [_read(source, *written) for source in data]
    else:
        tables = [_read(data, *written)]
    if not tables:
        raise ValueError(f"data must hold at least one file, got {data!r}.")
    return tables


def _mapping(**columns: Unpack[Columns]) -> ColumnMapping:
    score = columns.get("score")
    plain: dict[str, Any] = {
        **columns,
        "score": score if score is None or isinstance(score, str) else tuple(score),
        "slices": tuple(columns.get("slices", ())),
        "positive": _as_labels(columns.get("positive")),
        "test_value": _as_label(columns.get("test_value")),
    }
    return ColumnMapping(**plain)


def _as_labels(value: object) -> str | tuple[str, ...] | None:
    if not isinstance(value, list | tuple | set | frozenset):
        return _as_label(value)
    names = tuple(name for each in value if (name := _as_label(each)) is not None)
    return names[0] if len(names) == 1 else names or None


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
        # Test rows and folds do not go together; what a person chose is kept, and told.
        fold=None if "fold" in mapping.guessed else mapping.fold,
        time=kept(mapping.time),
        slices=tuple(column for column in mapping.slices if column in there),
    )


def _with_arguments(error: InputError, mapping: ColumnMapping) -> InputError:
    """The same error in words that name the arguments which repair it."""
    told = " ".join(_with_argument(problem, mapping) for problem in error.problems)
    return InputError(error.problems, told, mapping)


def _with_argument(problem: Problem, mapping: ColumnMapping) -> str:
    answers = [choice.arguments for choice in problem.choices]
    if problem.repair is not None:
        answers.insert(0, problem.repair.changed(mapping))
    if not answers:
        return problem.sentence
    said = [", ".join(f"{key}={value!r}" for key, value in each.items()) for each in answers]
    return f"{problem.sentence} In Python: {' or '.join(said)}."
