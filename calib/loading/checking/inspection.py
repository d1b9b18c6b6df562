"""examine: find problems of the rows under a mapping; checklist_of: list what is correct."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.class_names import label_key
from calib.data.file_options import ROW_TRANSFORMS, Columns
from calib.data.origin import CORRECT_NAMES
from calib.loading.checking.class_scores import problems_of_class_scores
from calib.loading.checking.mapped_rows import Rows, map_rows
from calib.loading.checking.outcomes import outcome_facts, outcome_problems, part_counts
from calib.loading.checking.rows import row_problems
from calib.loading.checking.scores import scores_of_rows
from calib.loading.columns import as_numbers
from calib.loading.guessing.class_columns import shortened
from calib.loading.guessing.evidence import MAX_COLUMNS
from calib.loading.name_patterns import plain_name, source_of_confidence
from calib.loading.problems import Choice, InputError, Problem, error, ignoring, note, warning
from calib.loading.table import Table
from calib.text import listed, number, percent, plural, quoted

SEVERITIES = ("error", "question", "warning", "note")
MAX_COMPARED_ROWS = 200_000
ONE_HOT_LOOK_ROWS = 100
MAX_COMPARED_COLUMNS = 20  # Rows that agree in so many columns are assumed to be equal.


def examine(
    table: Table, mapping: Columns, *, partly: bool = False
) -> tuple[tuple[Problem, ...], Rows | None]:
    """Problems, errors first, and the mapped rows if the mapping names columns that exist.

    If the rows are only `partly` labelled, nothing is checked that needs all outcomes.
    """
    problems = [note for file in table.files for note in file.notes]
    # The checks say what a single column lacks.
    doubts = mapping.open_doubts if len(table.columns) > 1 else ()
    problems += doubts
    if any(problem.severity == "error" for problem in doubts):
        return by_severity(problems), None
    test_file = None if table.tests is None else table.tests.columns
    if len(table.columns) == 1:
        structure = [error("one-column", column=table.columns[0])]
    else:
        structure = list(mapping_problems(mapping, table.columns, test_file))
    structure = structure or list(_one_hot_outcome(table, mapping))
    problems += structure
    rows = None
    if not any(problem.severity == "error" for problem in structure):
        rows = map_rows(table, mapping, partly=partly)
        problems += row_problems(rows)
        if rows.classes is None:
            of_outcome = outcome_facts(rows)
            problems += outcome_problems(of_outcome, part_counts(rows))
            problems += scores_of_rows(rows, of_outcome)
        else:
            problems += problems_of_class_scores(rows)
        problems += _overlap(table)
    return by_severity(problems), rows


def refuse_errors(
    problems: Iterable[Problem], mapping: Columns, arguments: Container[str] = ()
) -> None:
    """Raise InputError if there is an error or an open question.

    Of the answers, those are kept that change only these arguments of the mapping.
    """
    errors = [problem for problem in problems if problem.severity in ("error", "question")]
    if errors:
        raise InputError([_with_answers(problem, mapping, arguments) for problem in errors])


def _with_answers(problem: Problem, mapping: Columns, allowed: Container[str]) -> Problem:
    answers = [(choice.label, choice.arguments) for choice in problem.choices]
    if problem.repair is not None:
        answers.insert(0, (problem.repair_label, problem.repair.changed(mapping)))
    # Rows that are left out already need no argument for it.
    done = {"drop_missing"} if mapping.drop_missing else set()
    new = [Choice(text, {n: v for n, v in one.items() if n not in done}) for text, one in answers]
    choices = tuple(one for one in new if all(name in allowed for name in one.arguments))
    return replace(problem, repair=None, repair_label="", choices=choices)


def by_severity(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by severity, errors first."""
    return tuple(sorted(problems, key=lambda problem: SEVERITIES.index(problem.severity)))


def mapping_problems(
    mapping: Columns,
    columns: Sequence[str],
    test_file: Sequence[str] | None = None,
    *,
    where: str = "the table",
    among: Sequence[str] = (),
) -> Iterator[Problem]:
    """Problems of a mapping that the names of the columns show, and those of a test file.

    The sentence about an absent column says `where` it is absent, and the columns `among` which.
    """
    for role in ("outcome", "score"):
        if not getattr(mapping, role):
            yield error(f"no-{role}")
    if mapping.outcome and mapping.outcome in mapping.score_columns:
        yield error("same-column", column=mapping.outcome)
    yield from class_structure(mapping)
    for column, role in mapping.columns().items():
        if column not in columns:
            yield error("no-column", role=role, column=column, where=where, among=among)
        # With a test file, the split column is not used.
        elif test_file is not None and column not in test_file and role != "split":
            yield error("no-column", role=role, column=column, where="the test file")
    if mapping.fold and (mapping.split or test_file is not None):
        key = "folds-and-test" if test_file is None else "folds-and-test.file"
        given = {"fold": mapping.fold, "split": mapping.split}
        yield error(key, **given, **ignoring(mapping, "fold"))
    if test_file is not None and mapping.split is not None:
        yield note("split-unused", column=mapping.split)


def class_structure(mapping: Columns) -> Iterator[Problem]:
    """Problems of options that do not fit the number of score columns."""
    by_name = {
        "repair": replace(mapping, classes=()),
        "label": "Take the labels from the names of the columns",
    }
    if isinstance(mapping.score, tuple) and len(mapping.score) == 1:
        (column,) = mapping.score
        yield error(
            "one-class-column",
            column=column,
            repair=replace(mapping, score=column),
            label="Use it as the positive class's score",
        )
    elif mapping.classes and len(mapping.classes) != len(mapping.score_columns):
        n = len(mapping.classes)
        yield error("classes", n=n, n_columns=len(mapping.score_columns), **by_name)
    elif len({label_key(label) for label in mapping.classes}) < len(mapping.classes):
        yield error("classes.repeated", labels=mapping.classes, **by_name)
    elif isinstance(mapping.score, str) and mapping.transform in ROW_TRANSFORMS:
        yield error(
            "not-a-matrix",
            transform=mapping.transform,
            column=mapping.score,
            repair=replace(mapping, transform="none"),
            label="Undo the transform",
        )


def _one_hot_outcome(table: Table, mapping: Columns) -> Iterator[Problem]:
    """Refuse an outcome column that is one of several one-hot columns.

    With a single score, a column that a person named is accepted: it is one class against the
    others.
    """
    outcome = mapping.outcome
    matrix = isinstance(mapping.score, tuple)
    if outcome is None or not (matrix or "outcome" in mapping.guessed):
        return
    columns = _one_hot(table.frame, outcome, set(mapping.score_columns))
    if not columns:
        return
    choices = []
    if len(columns) == 2 and not matrix:
        choices = [Choice(f"Outcome: {name[:30]!r}", {"outcome": name}) for name in columns]
    yield error("one-hot.two" if choices else "one-hot", columns=columns, choices=choices)


def _one_hot(frame: pd.DataFrame, outcome: str, scores: set[str]) -> Sequence[str]:
    """The columns of zeros and ones that add up to 1 with the outcome in every row."""
    columns = [name for name in frame.columns if name not in scores][:MAX_COLUMNS]
    binary = []
    for name in columns:
        numbers = as_numbers(frame[name].head(ONE_HOT_LOOK_ROWS))
        values = numbers.values[np.isfinite(numbers.values)]
        if len(values) and not len(numbers.text) and _all_binary(values):
            binary.append(name)
    if outcome not in binary:
        return ()
    words = {name: re.findall(r"\d+|[a-z]+|[^\x00-\x7f]+", plain_name(name)) for name in binary}
    # The names of similar columns begin or end with the same word.
    first, last = (words[outcome] or [None])[0], (words[outcome] or [None])[-1]
    similar = [n for n in binary if words[n] and (words[n][0] == first or words[n][-1] == last)]
    # Two opposite columns with different names may be two facts, so at least three are needed.
    for group, min_columns in ((similar, 2), (binary, 3)):
        if len(group) < min_columns:
            continue
        values = np.column_stack([as_numbers(frame[name]).values for name in group])
        values = values[np.isfinite(values).all(axis=1)]
        if len(values) and _all_binary(values) and (values.sum(axis=1) == 1.0).all():
            return group
    return ()


def _all_binary(values: NDArray[Any]) -> bool:
    # `numpy.isin` takes ten times as long.
    return bool(((values == 0) | (values == 1)).all())


def _overlap(table: Table) -> Iterator[Problem]:
    tests = table.tests
    if tests is None or len(table) + len(tests) > MAX_COMPARED_ROWS:
        return
    shared = [column for column in table.columns if column in tests.columns]
    shared = shared[:MAX_COMPARED_COLUMNS]
    first = table.frame[shared].astype(str)
    second = tests.frame[shared].astype(str)
    hashes = pd.util.hash_pandas_object(first, index=False)
    both = pd.util.hash_pandas_object(second, index=False).isin(set(hashes.tolist()))
    count = int(both.sum())
    # Rows with few, coarse values are often equal by chance, so a small share is no evidence.
    if count > 0.05 * len(both):
        say = note if count < len(both) else warning
        yield say("overlap", count=count, total=len(both))


def checklist_of(rows: Rows | None) -> tuple[str, ...]:
    """Short sentences about what is correct."""
    if rows is None or not rows.usable.any():
        return ()
    mapping, total = rows.mapping, int(rows.usable.sum())
    counted = f"{plural(total, 'row')}."
    if rows.test is not None:
        n_test = int((rows.test & rows.usable).sum())
        counted = f"{plural(total, 'row')}: {total - n_test:,} to calibrate, {n_test:,} to test."
    columns = {"Weights": mapping.weight, "Groups": mapping.group, "Time": mapping.time}
    roles = [f"{role}: {quoted(column)}." for role, column in columns.items() if column is not None]
    slices = [f"Slices: {listed(mapping.slices)}."] if mapping.slices else []
    return (counted, *_outcome_and_score(rows), *roles, *slices)


def _outcome_and_score(rows: Rows) -> Iterator[str]:
    mapping = rows.mapping
    score, outcome = rows.of_usable(rows.score), rows.of_usable(rows.outcome)
    if rows.classes is not None:
        names = rows.classes.names
        yield f"Outcome {quoted(mapping.outcome)}: {len(names):,} classes, {listed(names, 5)}."
    elif (mapping.positives or mapping.predicted) and _all_binary(outcome):
        n_positive, total = int(outcome.sum()), len(outcome)
        counts = (
            f"rows where {quoted(mapping.predicted)} is right count as positive"
            if mapping.predicted
            else f"{listed(mapping.positives)} "
            f"{'counts' if len(mapping.positives) == 1 else 'count'} as positive"
        )
        yield (
            f"Outcome {quoted(mapping.outcome)}: {n_positive:,} of {total:,} positive "
            f"({percent(n_positive / total)}), where {counts}."
        )
    if score.min() >= 0.0 and score.max() <= 1.0:
        columns = quoted(shortened(mapping.score_columns))
        yield f"Scores {columns} from {number(score.min())} to {number(score.max())}."
    source = source_of_confidence(str(mapping.score))
    if source and str(mapping.outcome).casefold() in CORRECT_NAMES:
        yield f"Source of the confidence: {source}, by the name of the column."
