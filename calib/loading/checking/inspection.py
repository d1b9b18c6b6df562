"""examine: find problems of the rows under a mapping; checklist_of: list what is correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from calib.data.class_names import label_key
from calib.loading.checking.mapped_rows import Rows, map_rows
from calib.loading.checking.one_hot import one_hot_outcome
from calib.loading.checking.outcomes import outcome_problems
from calib.loading.checking.rows import row_problems
from calib.loading.checking.scores import matrix_problems, score_problems
from calib.loading.file_options import ROW_TRANSFORMS, ColumnMapping
from calib.loading.guessing.class_columns import shortened
from calib.loading.problems import Problem, error, ignoring, note
from calib.loading.table import Table
from calib.text import listed, number, percent, plural, quoted

SEVERITIES = ("error", "question", "warning", "note")
MAX_COMPARED_ROWS = 200_000
MAX_COMPARED_COLUMNS = 20  # Rows that agree in so many columns are assumed to be equal.


def examine(table: Table, mapping: ColumnMapping) -> tuple[tuple[Problem, ...], Rows | None]:
    """Problems, errors first, and the mapped rows if the mapping names columns that exist."""
    problems = [note for file in table.files for note in file.notes]
    structure = list(_structure(table, mapping)) or list(one_hot_outcome(table, mapping))
    problems += structure
    rows = None
    if not any(problem.severity == "error" for problem in structure):
        rows = map_rows(table, mapping)
        problems += row_problems(rows)
        if rows.classes is None:
            problems += outcome_problems(rows)
            problems += score_problems(rows)
        else:
            problems += matrix_problems(rows)
        problems += _overlap(table)
    return by_severity(problems), rows


def by_severity(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by severity, errors first."""
    return tuple(sorted(problems, key=lambda problem: SEVERITIES.index(problem.severity)))


def _structure(table: Table, mapping: ColumnMapping) -> Iterator[Problem]:
    if len(table.columns) == 1:
        yield error(
            "one-column",
            f"The table has one column only, {quoted(table.columns[0])}. An outcome column and a "
            "score column are needed; check the delimiter.",
        )
        return
    test_file = None if table.tests is None else table.tests.columns
    yield from mapping_problems(mapping, table.columns, test_file)
    if test_file is not None and mapping.split is not None:
        yield note(
            "split-unused",
            f"With a test file, the split column {quoted(mapping.split)} is not used.",
        )


def mapping_problems(
    mapping: ColumnMapping,
    columns: Sequence[str],
    test_file: Sequence[str] | None = None,
    *,
    where: str = "the table",
) -> Iterator[Problem]:
    """Problems of a mapping that the names of the columns show, and those of a test file."""
    for role in ("outcome", "score"):
        if not getattr(mapping, role):
            yield error(f"no-{role}", f"Choose the column that holds the {role}.")
    if mapping.outcome and mapping.outcome in mapping.score_columns:
        yield error(
            "same-column",
            f"Outcome and score are the same column, {quoted(mapping.outcome)}. Choose another "
            "column for one of them.",
        )
    yield from class_structure(mapping)
    for column, role in mapping.columns().items():
        if column not in columns:
            yield _absent(column, role, where)
        # With a test file, the split column is not used.
        elif test_file is not None and column not in test_file and role != "split":
            yield _absent(column, role, "the test file")
    if mapping.fold and (mapping.split or test_file is not None):
        tests = f"the split column {quoted(mapping.split)}" if test_file is None else "a test file"
        yield error(
            "folds-and-test",
            f"Both the fold column {quoted(mapping.fold)} and {tests} are given. Cross-fitting is "
            "not used with test rows: use either folds or test rows.",
            *ignoring(mapping, "fold"),
        )


def class_structure(mapping: ColumnMapping) -> Iterator[Problem]:
    """Problems of options that do not fit the number of score columns."""
    if isinstance(mapping.score, tuple) and len(mapping.score) == 1:
        (column,) = mapping.score
        yield error(
            "one-class-column",
            f"One class column, {quoted(column)}, is not enough. Choose the score columns of all "
            "classes, or use it as the score of the positive class.",
            replace(mapping, score=column),
            "Use it as the positive class's score",
        )
    elif mapping.classes and len(mapping.classes) != len(mapping.score_columns):
        yield error(
            "classes",
            f"There must be one label per class column: {plural(len(mapping.classes), 'label')} "
            f"for {plural(len(mapping.score_columns), 'score column')}.",
            replace(mapping, classes=()),
            "Take the labels from the names of the columns",
        )
    elif len({label_key(label) for label in mapping.classes}) < len(mapping.classes):
        yield error(
            "classes",
            f"Two class columns have the same label: {listed(mapping.classes, 5)}.",
            replace(mapping, classes=()),
            "Take the labels from the names of the columns",
        )
    elif isinstance(mapping.score, str) and mapping.transform in ROW_TRANSFORMS:
        yield error(
            "not-a-matrix",
            f"The transform {mapping.transform!r} needs one column per class; "
            f"{quoted(mapping.score)} is a single score.",
            replace(mapping, transform="none"),
            "Undo the transform",
        )


def _absent(column: str, role: str, where: str) -> Problem:
    return error(
        "no-column",
        f"The {role} column {quoted(column)} is not in {where}. Choose another column, or rename "
        "it in the file.",
    )


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
        yield Problem(
            "note" if count < len(both) else "warning",
            "overlap",
            f"{plural(count, 'row')} of the {len(both):,} in the test file also occur in the "
            "calibration file. Results on rows that a calibrator was fitted on are optimistic.",
        )


def checklist_of(rows: Rows | None) -> tuple[str, ...]:
    """Short sentences about what is correct."""
    if rows is None or not rows.usable.any():
        return ()
    return (*_counts(rows), *_outcome_and_score(rows), *_roles(rows))


def _counts(rows: Rows) -> Iterator[str]:
    total = int(rows.usable.sum())
    if rows.test is None:
        yield f"{plural(total, 'row')}."
    else:
        n_test = int((rows.test & rows.usable).sum())
        yield f"{plural(total, 'row')}: {total - n_test:,} to calibrate, {n_test:,} to test."


def _outcome_and_score(rows: Rows) -> Iterator[str]:
    mapping = rows.mapping
    score, outcome = rows.of_usable(rows.score), rows.of_usable(rows.outcome)
    if rows.classes is not None:
        names = rows.classes.names
        yield f"Outcome {quoted(mapping.outcome)}: {len(names):,} classes, {listed(names, 5)}."
    elif (mapping.positives or mapping.predicted) and np.isin(outcome, (0, 1)).all():
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


def _roles(rows: Rows) -> Iterator[str]:
    mapping = rows.mapping
    roles = {"Weights": mapping.weight, "Groups": mapping.group, "Time": mapping.time}
    for role, column in roles.items():
        if column is not None:
            yield f"{role}: {quoted(column)}."
    if mapping.slices:
        yield f"Slices: {listed(mapping.slices)}."
