"""Judging: the tables that a person dropped on the page Automate, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from calib.loading import Columns, FileFormat, InputError, Problem, Table
from calib.loading.judged_rows import JudgedParts, read_judged


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that cannot be read before a person answers the choices of its problems."""

    name: str
    content: bytes
    given: FileFormat
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Judging:
    """Without a table of judged rows the example is shown.

    `parts` are empty while `problems` say what a person must repair.
    """

    judged: Table | None = None
    gold: Table | None = None
    columns: Columns = field(default_factory=Columns)
    parts: JudgedParts = field(default_factory=JudgedParts)
    problems: tuple[Problem, ...] = ()
    unread: Mapping[bool, Unread] = field(default_factory=dict)  # By whether it has gold labels.
    shown: str = ""  # The judge or model that the page shows; the first if there is no such one.

    elsewhere: bool = False  # Whether the tables were dropped on another page.

    @classmethod
    def of(cls, judged: Table, gold: Table | None) -> Judging:
        """Judged rows that were dropped anywhere, and their gold labels if in another table."""
        judging = cls().with_table(judged, gold=False)
        if gold is not None:
            judging = judging.with_table(gold, gold=True)
        return replace(judging, elsewhere=True)

    def with_table(self, table: Table, *, gold: bool) -> Judging:
        """With another table. The meaning of columns is guessed again."""
        changed = replace(self, gold=table) if gold else replace(self, judged=table)
        others = {of_gold: one for of_gold, one in self.unread.items() if of_gold != gold}
        changed = replace(changed, columns=Columns(), unread=others, elsewhere=False)
        return changed._read()

    def having(self, **columns: object) -> Judging:
        """With another meaning of columns."""
        return replace(self, columns=replace(self.columns, **columns))._read()  # type: ignore[arg-type]

    def _read(self) -> Judging:
        if self.judged is None:
            return replace(self, parts=JudgedParts(), problems=())
        try:
            parts = read_judged(self.judged, self.gold, self.columns)
        except InputError as error:
            return replace(self, parts=JudgedParts(), problems=error.problems)
        return replace(self, parts=parts, problems=())
