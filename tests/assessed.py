"""Problems and predictions of one table, without those of other models."""

from dataclasses import replace

from calib.loading import Assessment, Columns, InputError, Problem, Table, assess
from calib.loading.checking.inspection import examine


def inspect(table: Table, mapping: Columns, test_table: Table | None = None):
    """The problems of the rows of a table."""
    problems: tuple[Problem, ...] = examine(replace(table, tests=test_table), mapping)[0]
    return problems


def to_predictions(table: Table, mapping: Columns):
    """The predictions of a table, or an InputError."""
    assessment: Assessment = assess([table], mapping)
    if not assessment.models:
        raise InputError(problem for problem in assessment.problems if problem.severity == "error")
    return next(iter(assessment.models.values()))
