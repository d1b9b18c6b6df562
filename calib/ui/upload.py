"""Upload: a person's own table, how its columns are meant, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from calib.loading import (
    ColumnMapping,
    InputError,
    Problem,
    Table,
    for_test_file,
    guess,
    inspect,
    to_predictions,
)
from calib.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """A table as it was read, its mapping, and the rows that come of the two.

    Attributes
    ----------
    table : Table
        As read: the mapping can be changed at any time.
    mapping : ColumnMapping
    test_table : Table or None
        Rows to score, where they came in a file of their own.
    problems : tuple of Problem
    predictions : Predictions or None
        None while a problem is an error.
    """

    table: Table
    mapping: ColumnMapping
    test_table: Table | None
    problems: tuple[Problem, ...]
    predictions: Predictions | None

    @classmethod
    def of(
        cls,
        table: Table,
        mapping: ColumnMapping | None = None,
        test_table: Table | None = None,
    ) -> Upload:
        """Map a table, by a guess where no mapping is given."""
        mapping = guess(table) if mapping is None else mapping
        problems = tuple(inspect(table, mapping, test_table))
        predictions = None
        if not any(problem.severity == "error" for problem in problems):
            try:
                predictions = to_predictions(table, mapping, test_table, name=table.name)
            except InputError as error:
                problems = (*problems, *error.problems)
        return cls(table, mapping, test_table, problems, predictions)

    def mapped(self, mapping: ColumnMapping) -> Upload:
        """The same tables under another mapping."""
        return Upload.of(self.table, mapping, self.test_table)

    def with_test(self, test_table: Table | None) -> Upload:
        """The same table with another test table, or none."""
        mapping = self.mapping if test_table is None else for_test_file(self.mapping, test_table)
        return Upload.of(self.table, mapping, test_table)
