"""Make checked Predictions, with their origin, from mapped rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.file_options import Columns
from calib.data.origin import Origin
from calib.data.predictions import Predictions
from calib.loading.checking.class_scores import why_doubtful
from calib.loading.checking.mapped_rows import Rows
from calib.loading.columns import CODE, Labels, as_labels, as_numbers, as_ranges, from_ranges
from calib.loading.guessing.class_columns import shortened
from calib.loading.problems import Choice, Guess, Problem, error, refuse
from calib.numerics.arrays import IntArray
from calib.text import joined, listed

# The usable rows are given by their places, or by a slice of all rows.
Kept: TypeAlias = NDArray[np.intp] | slice
MISSING = "(missing)"
# A column with more distinct numbers is a quantity, which is cut into ranges; fewer may be codes.
MAX_CODES = 20


def refused_guess(guess: Guess) -> Problem:
    """The error that names the argument to give in place of a guess."""
    if not guess.argument:
        return error("guessed-file", guess=guess.sentence)
    confirmation = Choice("if this is correct", {guess.argument: guess.value})
    return error(f"guessed-{guess.argument}", guess=guess.sentence, choices=(confirmation,))


def from_rows(rows: Rows, name: str) -> Predictions:
    """Make predictions of the usable rows of a table without errors."""
    mapping, keep, log_odds = rows.mapping, rows.kept, rows.log_odds
    columns = {column: slice_values(rows.frame[column], keep) for column in mapping.slices}
    if mapping.time is not None and rows.times is not None and rows.times.values is not None:
        columns[mapping.time] = rows.times.values
    fold = None
    if rows.fold is not None:
        fold = pd.Series(pd.Categorical.from_codes(rows.fold.codes[keep], rows.fold.names))
    try:
        return Predictions.from_arrays(
            rows.outcome[keep],
            rows.score[keep] if log_odds is None else None,
            None if rows.weight is None else rows.weight.values[keep],
            log_odds=None if log_odds is None else log_odds[keep],
            test=None if rows.test is None else rows.test[keep],
            group=clusters(rows, keep),
            fold=fold,
            columns=columns,
            class_names=_class_names(rows),
            name=name,
            score_name=shortened(mapping.score_columns),
            outcome_name=mapping.outcome or "",
            set_aside={reason: int(marked.sum()) for reason, marked in rows.unusable.items()},
            time_name=mapping.time if mapping.time in columns else "",
            origin=origin_of(rows),
        )
    except ValueError as error:
        raise refuse("invalid", message=str(error)) from None


def _class_names(rows: Rows) -> tuple[str, ...]:
    if rows.classes is not None:
        return rows.classes.names
    if rows.mapping.predicted is not None:
        return "wrong", "right"
    return class_names(rows.labels, rows.mapping)


def class_names(labels: Labels, mapping: Columns) -> tuple[str, str]:
    """Names of the negative and the positive class."""
    positives, negatives = (
        [name if (code := labels.find(name)) is None else labels.name(code) for name in names]
        for names in (mapping.positives, mapping.negatives)
    )
    positive = " or ".join(positives)
    negatives = negatives or [name for name in labels.names if name not in positives]
    return negatives[0] if len(negatives) == 1 else f"not {positive}", positive


def clusters(rows: Rows, keep: Kept) -> IntArray | None:
    """The number of each row's cluster, if a column has clusters."""
    if rows.mapping.group is None:
        return None
    codes = as_labels(rows.frame[rows.mapping.group]).codes[keep]
    # Each row without a group is a cluster by itself.
    ungrouped = codes < 0
    return np.where(ungrouped, codes.max() + np.cumsum(ungrouped), codes)


def slice_values(column: pd.Series, keep: Kept) -> NDArray[np.generic]:
    """The numbers of a column with many distinct numbers, or the texts of any other column."""
    labels = as_labels(column)
    if len(labels) > MAX_CODES:
        numbers = as_numbers(column)
        zeros = any(CODE.match(name) for name in labels.names)
        if not len(numbers.text) and not len(numbers.unclear) and not zeros:
            return np.asarray(numbers.values[keep])
    names = [labels.name(code) for code in range(len(labels))]
    missing = MISSING
    while missing in names:
        missing = f"({missing})"
    # Text of fixed width is cheap to compare and to hash. The code -1 selects the last name.
    return np.array([*names, missing])[labels.codes[keep]]


# The sentence of any other guess begins with "The ... column was".
GUESS_BEGINNINGS = {
    "positive": "The positive class was",
    "negative": "The negative class was",
    "predicted": "The column of predicted labels was",
    "test_value": "The value that marks test rows was",
    "slices": "The columns to slice by were",
    "models": "The columns of models were",
    "drop_missing": "Leaving out rows without a label of either class was",
}


def origin_of(rows: Rows) -> Origin:
    """The arguments of `calib.load` that read these rows again without guessing."""
    mapping, table = rows.mapping, rows.table
    model, model_value = table.model or (None, None)
    columns, class_columns = replace(mapping, model=model, model_value=model_value), ""
    columns = replace(columns, guessed=(), reasons=(), doubts=())
    if mapping.split is None:
        columns = replace(columns, test_value=None)
    if rows.classes is not None and rows.classes.readings[0].match != "name":
        columns = replace(columns, classes=rows.classes.readings[0].labels)
    if isinstance(mapping.score, tuple):
        written = as_ranges(mapping.score, table.columns)
        if from_ranges(written, table.columns) == mapping.score:
            columns, class_columns = replace(columns, score=None), written
    guesses = guesses_of(rows)
    return Origin(
        columns,
        table.format,
        file=table.file,
        test="" if table.tests is None else table.tests.file,
        log_files=table.log_files,
        class_columns=class_columns,
        guesses=tuple(map(str, guesses)),
        guessed=tuple(guess.argument for guess in guesses if guess.argument),
        reasons=_reasons(mapping),
        repeated_rows=rows.repeats.rows,
        repeated_ids=rows.repeats.ids,
    )


def _reasons(mapping: Columns) -> tuple[str, ...]:
    """The roles that were guessed for each reason."""
    reasons, roles = dict(mapping.reasons), dict[str, list[str]]()
    for role in mapping.guessed:
        if role in reasons:
            roles.setdefault(reasons[role], []).append(role)
    return tuple(f"{joined(names)}: {reason}" for reason, names in roles.items())


def guesses_of(rows: Rows) -> tuple[Guess, ...]:
    """Everything that was guessed, because it was not given and the file is ambiguous about it."""
    of_text = dict.fromkeys(guess for table in rows.table.files for guess in table.guesses)
    # The mapping of one model's rows has no model column any more.
    model, _ = rows.table.model or ("", "")
    changed = rows.mapping.changed() | {"model": model}
    reasons = dict(rows.mapping.reasons)
    of_columns = [
        column_guess(name, changed[name], reasons.get(name, ""))
        for name in rows.mapping.guessed
        if changed.get(name)
    ]
    classes = rows.classes
    if classes is None or not classes.doubtful:
        return (*of_text, *of_columns)
    why = why_doubtful(classes, rows.labels)
    return (*of_text, *of_columns, Guess("classes", classes.readings[0].labels, why))


def column_guess(name: str, value: object, reason: str = "") -> Guess:
    """A guess of the meaning of a column or a label, and the reason for it."""
    beginning = GUESS_BEGINNINGS.get(name, f"The {name} column was")
    values = value if isinstance(value, tuple) else (value,)
    because = f", because {reason}" if reason else ""
    return Guess(name, value, f"{beginning} assumed to be {listed(values, 3)}{because}.")
