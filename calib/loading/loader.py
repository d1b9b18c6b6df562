"""load and load_models: from files, or two files joined by ids, to Predictions in one call."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import wraps
from numbers import Integral
from textwrap import fill
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from calib.data.file_options import (
    ColumnOptions,
    Columns,
    FileOptions,
    LoadOptions,
    ModelOptions,
    Source,
)
from calib.data.predictions import Predictions
from calib.loading import name_patterns as names
from calib.loading.building.models import assess, one_model
from calib.loading.columns import as_labels, class_text, from_ranges, label_text
from calib.loading.guessing.evidence import UNNAMED, Facts, name_rank
from calib.loading.guessing.roles import guess
from calib.loading.logs import combined
from calib.loading.name_patterns import plain_name
from calib.loading.problems import (
    InputError,
    InputWarning,
    Problem,
    refuse,
    warning,
    written_argument,
)
from calib.loading.reading.reader import read
from calib.loading.table import Table
from calib.numerics.arrays import check_kinds


def joined(tables: Sequence[Table]) -> list[Table]:
    """The tables; two of which one has outcomes and the other scores become one.

    Raises
    ------
    InputError
        If no row of one file has an id of the other.
    """
    if len(tables) != 2 or any(table.log or table.tests is not None for table in tables):
        return list(tables)
    for truth, scores in (tables, tables[::-1]):
        key = _key(truth, scores)
        if key is None:
            continue
        of_truth, of_scores = (Facts(table.frame, set()) for table in (truth, scores))
        outcomes = [c for c in _truths(of_truth) if of_truth[c].few and of_truth[c].distinct > 1]
        # Each file has what the other one lacks, and only that.
        is_truth = {*outcomes} - {*scores.columns} and not _scores(of_truth)
        decided = [c for c in _truths(of_scores) if of_scores[c].two]
        if is_truth and {*_scores(of_scores)} - {*truth.columns} and not decided:
            return [_joined(truth, scores, key)]
    return list(tables)


def _key(first: Table, second: Table) -> str | None:
    """The column of ids that both tables have, each with one row per id."""
    shared = [
        name
        for name in first.columns
        if name in second.columns
        and first.frame[name].is_unique
        and second.frame[name].is_unique
        and first.frame[name].dtype.kind != "f"
    ]
    ids = [name for name in shared if re.fullmatch(names.ID_NAMES, plain_name(name))]
    return next(iter([*ids, *shared]), None)


def _truths(facts: Facts) -> list[str]:
    return [
        c
        for c in facts.looked_at()
        if name_rank(c, names.PREDICTED_NAMES) == UNNAMED > name_rank(c, names.OUTCOME_NAMES)
    ]


def _scores(facts: Facts) -> list[str]:
    return [
        c
        for c in facts.looked_at()
        if facts[c].probability and name_rank(c, names.SCORE_NAMES) < UNNAMED
    ]


def _joined(truth: Table, scores: Table, key: str) -> Table:
    both = (truth.frame, scores.frame)
    # One file may have written an id as a number, and the other as text.
    ids = [pd.Index([label_text(value) for value in frame[key]]) for frame in both]
    place = ids[0].get_indexer(ids[1])
    matched = place >= 0
    count = int(matched.sum())
    if not count:
        raise refuse("unmatched", truth=truth.name, scores=scores.name, id=key)
    new = [name for name in truth.columns if name not in scores.columns]
    left = scores.frame[matched].reset_index(drop=True)
    right = truth.frame[new].take(place[matched]).reset_index(drop=True)
    said = warning(
        "joined-files",
        truth=truth.name,
        scores=scores.name,
        id=key,
        n=count,
        n_scores=len(scores),
        n_outcomes=len(truth),
        n_unmatched=len(scores) + len(truth) - 2 * count,
    )
    return replace(
        scores,
        frame=pd.concat([left, right], axis=1),
        notes=(*scores.notes, *truth.notes, said),
        guesses=(*scores.guesses, *truth.guesses),
        name=f"{scores.name} and {truth.name}",
        file=f"{scores.file} and {truth.file}",
        commas=scores.commas or truth.commas,
        places=None if matched.all() else matched.nonzero()[0],
    )


# `load` and `load_models` issue an InputWarning for these, because another column may have been
# meant, the time is not used, or rows may have been read as one cell.
ISSUED_WARNINGS = {
    *("duplicate-columns", "other-scores", "two-classes", "perhaps-predicted"),
    *("dates", "date-order", "not-times"),
    *("left-out", "joined-files", "sources", "unfinished", "no-model", "no-scorer", "no-filter"),
    *("at-most-1", "unread-scores", "quotes"),
}
P = ParamSpec("P")
Data = TypeVar("Data")
Options = TypeVar("Options")
Result = TypeVar("Result")


def mapping_of(options: ColumnOptions, **others: Any) -> Columns:
    """The mapping that options state, with others in their place."""
    names = {f.name for f in fields(Columns)}
    stated = {f.name: getattr(options, f.name) for f in fields(options) if f.name in names}
    return columns_of(**stated | others)


def columns_of(**stated: Any) -> Columns:
    """The mapping of columns as a person states it, with labels as text and lists as tuples."""
    for name in {"score", "classes", "slices", "models"} & stated.keys():
        value = stated[name]
        stated[name] = value if value is None or isinstance(value, str) else tuple(value)
    for name in {"positive", "negative", "test_value"} & stated.keys():
        stated[name] = as_label_texts(stated[name])
    return Columns(**stated | {"classes": tuple(map(class_text, stated.get("classes", ())))})


def takes(
    options: Callable[P, Options],
) -> Callable[[Callable[[Data, Options], Result]], Callable[Concatenate[Data, P], Result]]:
    """Give a function the fields of a dataclass as keyword arguments, and their descriptions."""

    def decorate(
        function: Callable[[Data, Options], Result],
    ) -> Callable[Concatenate[Data, P], Result]:
        signature = inspect.signature(function)
        first = next(iter(signature.parameters.values()))
        parameters = inspect.signature(options).parameters

        @wraps(function)
        def with_options(data: Data, /, *args: P.args, **keywords: P.kwargs) -> Result:
            for name in keywords:
                if name not in parameters:
                    nearest = get_close_matches(name, parameters, n=1, cutoff=0.0)[0]
                    raise TypeError(
                        f"{function.__name__} has no option {name!r}. The nearest is {nearest!r}."
                    )
            return function(data, options(*args, **_checked(options, keywords)))

        with_options.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[first, *parameters.values()]
        )
        # Only Python 3.13 and later remove the indentation of docstrings themselves.
        docstring = inspect.cleandoc(function.__doc__ or "")
        with_options.__doc__ = docstring.replace("{options}\n", _options_docstring(options))
        return with_options

    return decorate


def _checked(options: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Options with names of columns as text: a frame can have whole numbers as names."""
    columns = {
        f.name: "Sequence" in f.type
        for f in fields(options)
        if f.metadata["metavar"] == "COLUMN" and "str" in f.type
    }
    values = {
        name: _names(name, value, many=columns[name]) if name in columns else value
        for name, value in given.items()
    }
    check_kinds(options, {name: value for name, value in values.items() if name not in columns})
    if isinstance(slices := values.get("slices"), str):
        values["slices"] = (slices,)
    return values


def _names(role: str, value: Any, *, many: bool) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    if many and isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        # Slices that are crossed are pairs.
        return tuple(_names(role, one, many=role == "slices") for one in value)
    kind = "the name of a column, or a list of names" if many else "the name of a column"
    raise TypeError(f"{role} must be {kind}, got {value!r}.")


def _options_docstring(options: Any) -> str:
    """The options as the parameters of a docstring."""
    indent = " " * 4
    return "".join(
        f"{f.name} : {f.type}\n"
        f"{fill(f.metadata['meaning'], 100, initial_indent=indent, subsequent_indent=indent)}\n"
        for f in fields(options)
    )


@takes(LoadOptions)
def load(data: Source | Sequence[Source], options: LoadOptions) -> Predictions:
    """Load predictions and outcomes from a file, text or DataFrame, or from evaluation logs.

    Columns that are not named are guessed: outcome, score, positive label and, by their names,
    weight, group, split, fold, time and slice columns. Values are converted only if there is no
    doubt ("25%" is 0.25, a score of 1.0000001 is 1). If `model` is not named, all rows are read as
    rows of one model.

    Parameters
    ----------
    data : path, str, bytes or DataFrame, or a list of evaluation logs or of two files
        CSV, TSV, JSON, Parquet, Feather or Arrow, also compressed, a workbook of Excel or
        OpenDocument, ARFF, a file of Stata or SAS, or a NumPy archive (.npz) with arrays such as
        ``probs`` and ``y``. A str with a line break is read as text. A
        DataFrame can be of pandas, Polars, pyarrow or another library that supports Arrow.
        Evaluation logs of language models are recognised by their content; the outcome is then
        whether an answer is right, and several logs become slices by task and model. Of two files
        that share ids, one can have the outcomes and the other the scores.
    {options}

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        If the data cannot be used. The message says what is wrong, where, and which argument
        repairs it; the attribute `problems` lists the problems. Rows are numbered as in a
        spreadsheet. It is a ValueError.

    Warns
    -----
    InputWarning
        If the positive rows have lower scores (AUC below 0.4) and the columns were guessed, if no
        name tells which label is positive, or if it is not certain which label each class column
        belongs to. The message names the arguments that settle it.

    See Also
    --------
    load_models : Load the scores of several models.
    calib.data.origin.Origin : Record of the arguments and guesses, in `Predictions.origin`.

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
    given = mapping_of(options, model=None, model_value=None)
    files = data if isinstance(data, list | tuple) else [data]
    table, *others = _combined([_read(file, options) for file in files], options)
    if others:
        raise ValueError(
            "data must be one file, a list of evaluation logs, or a file of outcomes and one of "
            f"scores with the same ids, got {len(others) + 1} tables. load_models reads one file "
            "per model."
        )
    if options.class_columns is not None:
        if options.score is not None:
            raise ValueError(
                f"score and class_columns must not both be named, got {options.score!r} and "
                f"{options.class_columns!r}."
            )
        columns = from_ranges(options.class_columns, table.columns)
        given = replace(given, score=columns)
    if options.model is not None:
        value = as_label_text(options.model_value)
        table = one_model(options.model, value, table)
    mapping = given if options.exact else guess(table, given)
    return next(iter(_assessed([table], mapping, given, options).values()))


@takes(ModelOptions)
def load_models(
    data: Source | Sequence[Source] | Mapping[str, Source], options: ModelOptions
) -> dict[str, Predictions]:
    """Load the predictions of several models or checkpoints.

    There are three layouts: one table with a column that names the model of each row; one table
    with a score column per model; or one file per model. Columns that are not named are guessed as
    in `load`.

    Parameters
    ----------
    data : path, str, bytes or DataFrame, or several of them
        A sequence or a mapping holds one file per model. The keys of a mapping are the names of the
        models; in a sequence these are the names of the files.
    {options}

    Returns
    -------
    dict of str to Predictions
        Predictions by model name. Names that are numbers are in increasing order, others in the
        order of the data.

    Raises
    ------
    InputError
        If the data of a model cannot be used. The message says what is wrong and with which model.
        It is a ValueError.

    See Also
    --------
    load : Load the scores of one model.

    Examples
    --------
    >>> text = "model,y,p\\nold,0,0.2\\nold,1,0.7\\nold,1,0.9\\nold,0,0.4\\n"
    >>> text += "new,0,0.1\\nnew,1,0.8\\nnew,1,0.9\\nnew,0,0.3\\n"
    >>> models = load_models(text, model="model")
    >>> {name: predictions.scores.tolist() for name, predictions in models.items()}
    {'old': [0.2, 0.7, 0.9, 0.4], 'new': [0.1, 0.8, 0.9, 0.3]}
    """
    given = mapping_of(options)
    if isinstance(data, Mapping):
        tables = [replace(_read(file, options), name=name) for name, file in data.items()]
    else:
        files = data if isinstance(data, list | tuple) else [data]
        tables = [_read(file, options) for file in files]
    if not tables:
        raise ValueError(f"data must hold at least one file, got {data!r}.")
    tables = _combined(tables, options)
    mapping = guess(tables[0], given, models=len(tables) == 1)
    return _assessed(tables, mapping, given, options)


def _read(data: Source, options: FileOptions) -> Table:
    try:
        return read(data, given=options.format())
    except InputError as error:
        raise with_arguments(error.problems, Columns()) from None


def _combined(tables: Sequence[Table], options: FileOptions) -> list[Table]:
    """The tables, with evaluation logs as one; the first has the test rows."""
    try:
        first, *others = joined(combined(tables))
        if options.test is None:
            return [first, *others]
        tests, *_ = combined([read(options.test, given=options.format())])
        return [replace(first, tests=tests), *(replace(t, tests=tests) for t in others)]
    except InputError as error:
        raise with_arguments(error.problems, Columns()) from None


def _assessed(
    tables: list[Table], mapping: Columns, given: Columns, options: FileOptions
) -> dict[str, Predictions]:
    mapping = for_test_file(mapping, tables[0].tests, given)
    assessment = assess(tables, mapping, name=options.name, strict=options.strict)
    notes = [note for table in tables for note in table.notes if note.code == "decisions-log"]
    if notes and any(problem.severity == "error" for problem in assessment.problems):
        raise InputError(notes)
    raise_and_warn(assessment.problems, mapping)
    return dict(assessment.models)


def raise_and_warn(problems: Sequence[Problem], mapping: Columns) -> None:
    """Raise an InputError for errors, or issue an InputWarning for each doubt."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise with_arguments(errors, mapping)
    for problem in problems:
        issued = problem.severity == "warning" and problem.code in ISSUED_WARNINGS
        if problem.severity == "question" or issued:
            message = _with_argument(problem, mapping)
            warnings.warn(InputWarning(problem, mapping, message), stacklevel=5)


def as_label_texts(value: object) -> str | tuple[str, ...] | None:
    """Convert one or several labels that a person gave to texts."""
    if not isinstance(value, list | tuple | set | frozenset):
        return as_label_text(value)
    names = tuple(name for label in value if (name := as_label_text(label)) is not None)
    return names[0] if len(names) == 1 else names or None


def as_label_text(value: object) -> str | None:
    """One label as text; None stays None."""
    return None if value is None else as_labels(pd.Series([value])).name(0)


def for_test_file(mapping: Columns, tests: Table | None, given: Columns | None = None) -> Columns:
    """A guessed mapping without the optional columns that a test file does not have.

    Columns that a person named (`given`) are kept, so that a missing one is reported.
    """
    if tests is None:
        return mapping
    present = {*tests.columns, *(given.columns() if given else ())}
    optional = ("predicted", "weight", "group", "time")
    lacking: dict[str, Any] = {
        role: None for role in optional if getattr(mapping, role) not in present
    }
    # Cross-fitting by folds is not used with test rows.
    if "fold" in mapping.guessed:
        lacking["fold"] = None
    slices = tuple(column for column in mapping.slices if column in present)
    return replace(mapping, slices=slices, **lacking)


def with_arguments(problems: Sequence[Problem], mapping: Columns) -> InputError:
    """An error that names the arguments which repair it."""
    text = " ".join(_with_argument(problem, mapping) for problem in problems)
    return InputError(problems, text, mapping)


def _with_argument(problem: Problem, mapping: Columns) -> str:
    answers = problem.answers(mapping)
    if not answers:
        return problem.sentence
    calls = [
        ", ".join(written_argument(name, value) for name, value in arguments.items())
        for arguments in answers
    ]
    return f"{problem.sentence} In Python: {' or '.join(calls)}."
