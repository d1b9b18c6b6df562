"""Upload: a person's own tables, how their columns are meant, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calib.core.predictions import Predictions
from calib.loading import ColumnMapping, Problem, Table, assess, for_test_file, guess


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """Tables as they were read, their mapping, and the rows that come of the two.

    Attributes
    ----------
    tables : tuple of Table
        As read: the mapping can be changed at any time. Several are one model each.
    mapping : ColumnMapping
    test_table : Table or None
        Rows to score, where they came in a file of their own.
    problems : tuple of Problem
    models : mapping of str to Predictions
        One entry a model; empty while a problem is an error.
    checklist : tuple of str
        Short sentences of what is fine.
    """

    tables: tuple[Table, ...]
    mapping: ColumnMapping
    test_table: Table | None
    problems: tuple[Problem, ...]
    models: Mapping[str, Predictions]
    checklist: tuple[str, ...]

    @classmethod
    def of(
        cls,
        *tables: Table,
        mapping: ColumnMapping | None = None,
        test_table: Table | None = None,
    ) -> Upload:
        """Map tables, by a guess where no mapping is given."""
        if mapping is None:
            mapping = guess(tables[0], models=len(tables) == 1)
        found = assess(tables, mapping, test_table)
        return cls(tables, mapping, test_table, found.problems, found.models, found.checklist)

    @property
    def table(self) -> Table:
        """The only table, or the first."""
        return self.tables[0]

    @property
    def predictions(self) -> Predictions | None:
        """Of the only model, or the first; None while a problem is an error."""
        return next(iter(self.models.values()), None)

    @property
    def fingerprint(self) -> str:
        """Of the rows and names of all models; "" while a problem is an error."""
        found = {name: predictions.fingerprint for name, predictions in self.models.items()}
        if len(found) < 2:
            return "".join(found.values())
        return hashlib.sha256(repr(found).encode()).hexdigest()

    @property
    def name(self) -> str:
        """What the files are called."""
        return named([table.name for table in self.tables])

    @property
    def files(self) -> str:
        """Names of the files as they were dropped, their endings included."""
        return named([table.file or table.name for table in self.tables])

    def mapped(self, mapping: ColumnMapping) -> Upload:
        """The same tables under another mapping."""
        return Upload.of(*self.tables, mapping=mapping, test_table=self.test_table)

    def with_test(self, test_table: Table | None) -> Upload:
        """The same tables with another test table, or none."""
        mapping = self.mapping if test_table is None else for_test_file(self.mapping, test_table)
        return Upload.of(*self.tables, mapping=mapping, test_table=test_table)


def named(names: Sequence[str]) -> str:
    """Several names in few words.

    Examples
    --------
    >>> named(["a"]), named(["a", "b"]), named(["a", "b", "c", "d"])
    ('a', 'a, b', 'a, b and 2 more')
    """
    if len(names) < 4:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"
