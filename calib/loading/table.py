"""Table: the contents of a file, before its columns have a meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from calib.data.file_options import FileFormat
from calib.loading.problems import Guess, Problem, note, warning
from calib.numerics.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of a file, with unique names.

    Attributes
    ----------
    frame : DataFrame
        The columns as they were read. They must not be changed.
    name : str
        Name of the data.
    first_row : int
        Number of the first data row as in a spreadsheet: 2 below a header line, otherwise 1.
    notes : tuple of Problem
        Remarks from reading, for example about a guessed encoding or renamed columns.
    places : array of int, optional
        Positions of the rows in the file, from 0, if only some of its rows were selected.
    file : str
        Name of the file without its folder, or "" if there is none.
    model : pair of str, optional
        Column and name of the model, if its rows were selected.
    header : bool, optional
        Whether the first line of a text named the columns.
    guesses : tuple of Guess
        What was guessed while the file was read.
    format : FileFormat
        Format of the text as a person stated it.
    commas : bool
        Whether any column has numbers with a comma. A point can then separate thousands.
    tests : Table, optional
        Test rows from a second file with the same columns. They follow these rows.
    log : str
        Format of the evaluation log, whose columns are those of `calib.loading.logs`; "" for any
        other table.
    log_files : tuple of str
        Names of the files, if the table is of several evaluation logs.
    sheets : tuple of str
        Names of the sheets of a workbook, that of this table first; empty if there is only one.
    judged : bool
        Whether "right" and "wrong" of a log only repeat the judge's score.
    """

    frame: pd.DataFrame
    name: str = "data"
    first_row: int = 1
    notes: tuple[Problem, ...] = ()
    places: IntArray | None = None
    file: str = ""
    model: tuple[str, str] | None = None
    header: bool | None = None
    guesses: tuple[Guess, ...] = ()
    format: FileFormat = field(default_factory=FileFormat)
    commas: bool = False
    tests: Table | None = None
    log: str = ""
    log_files: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    judged: bool = False

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def files(self) -> tuple[Table, ...]:
        """This table, and that of the test rows if there is one."""
        return (self,) if self.tests is None else (self, self.tests)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    def number(self, row: int) -> int:
        """Number of a row as in a spreadsheet."""
        return self.first_row + (row if self.places is None else int(self.places[row]))

    def chosen(self, rows: IntArray) -> Table:
        """Select rows. They keep their numbers in the file."""
        frame = self.frame.take(rows).reset_index(drop=True)
        return replace(self, frame=frame, places=rows)

    def preview(self, n_rows: int = 8) -> pd.DataFrame:
        """The first rows, indexed by the row numbers that sentences use."""
        head = self.frame.head(n_rows)
        return head.set_axis(range(self.first_row, self.first_row + len(head)), axis=0)


def make_table(
    frame: pd.DataFrame,
    names: Sequence[object],
    *,
    name: str,
    first_row: int = 1,
    notes: Iterable[Problem] = (),
    commas: bool = False,
) -> Table:
    """Make a table. Repeated names of columns get a number, and a warning says so."""
    plain = [str(column).strip() or f"column {i}" for i, column in enumerate(names, 1)]
    repeated = [column for column, count in Counter(plain).items() if count > 1]
    unique = frame.set_axis(unique_names(plain), axis=1)
    problems, guesses = list(notes), []
    if repeated:
        said = warning("duplicate-columns", names=repeated, renamed=f"{repeated[0]} (2)")
        problems.append(said)
        guesses.append(Guess("", None, said.sentence))
    return Table(unique, name, first_row, tuple(problems), guesses=tuple(guesses), commas=commas)


def left_out_columns(names: Sequence[str], why: str) -> tuple[Problem, ...]:
    """Make a note about columns that a table cannot hold."""
    if not names:
        return ()
    return (note("left-out-columns", names=names, why=why),)


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number after repeated ones."""
    taken, seen = set(names), set[str]()
    unique = []
    for name in names:
        unique.append(unused(name, taken) if name in seen else name)
        seen.add(unique[-1])
        taken.add(unique[-1])
    return unique


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number after it if it is taken."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name} ({number})", number + 1
    return chosen
