"""Is the first line of a text the names of the columns, or a row of data?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from calib.loading.problems import Choice, InputError, Problem, quoted

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?%?|[-+]?(inf|nan)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+%?")
# How pandas and NumPy write fractions: never without a point or an exponent.
WRITTEN_FRACTION = re.compile(r"[-+]?(\d+\.\d+(e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)", re.IGNORECASE)
WHOLE_FRACTION = re.compile(r"[-+]?\d+\.0+")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})

Record = list[str]


def find_header(records: Sequence[Record]) -> tuple[bool, bool]:
    """Whether the first record names the columns, and whether that is certain.

    Raises
    ------
    InputError
        If the first record counts the columns, as pandas names them, and may be data as well.

    Examples
    --------
    >>> find_header([["y", "p"], ["0", "0.2"]]), find_header([["0", "0.1"], ["0", "0.2"]])
    ((True, True), (False, False))
    """
    first, rest = [cell.strip() for cell in records[0]], records[1:]
    # A delimiter at the end of the line makes a cell, and not a column.
    while len(first) > 1 and not first[-1]:
        first.pop()
    if _counts_columns(first) and rest:
        return _of_counted(first, rest), False
    numeric = [_is_number(cell) for cell in first]
    if not any(numeric):
        return True, any(_all_numbers(rest, i) for i in range(len(first)))
    # Class names may be numbers: a name above a column of numbers shows a header all the same.
    named = any(
        not is_number and cell.casefold() not in MISSING and _all_numbers(rest, i)
        for i, (cell, is_number) in enumerate(zip(first, numeric, strict=True))
    )
    return named, named


def _counts_columns(first: Record) -> bool:
    """Whether a record is 0, 1, 2 and so on, below a blank name of an index or not."""
    named = first[1:] if not first[0] else first
    return len(first) > 1 and named == [str(i) for i in range(len(named))]


def _of_counted(first: Record, rest: Sequence[Record]) -> bool:
    index = _below(rest, 0)
    if not first[0] and len(index) == len(rest) and _is_index(index):
        return True
    if any(_not_of(cell, _below(rest, i)) for i, cell in enumerate(first) if cell):
        return True
    raise InputError([_question(first)])


def _is_index(cells: Record) -> bool:
    counted = [str(i) for i in range(len(cells))]
    return cells == counted or (len(cells) > 1 and len(set(cells)) == len(cells))


def _not_of(name: str, cells: Record) -> bool:
    """Whether a whole number cannot be a cell of a column, by what stands below it."""
    if not cells:
        return False
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell) and "%" not in cell]
    if not numbers:
        return True
    if len(numbers) < len(cells):
        return False
    fractions = all(WRITTEN_FRACTION.fullmatch(cell) for cell in numbers)
    if fractions and any(WHOLE_FRACTION.fullmatch(cell) for cell in numbers):
        return True
    values = [float(cell) for cell in numbers]
    unit = all(0.0 <= value <= 1.0 for value in values)
    return unit and int(name) > 1 and any(value % 1.0 for value in values)


def _question(first: Record) -> Problem:
    shown = quoted(",".join(first))
    return Problem(
        "header",
        "error",
        f"The first line, {shown}, may be the names that pandas gives to columns without names, or "
        "a row of data. Say which it is.",
        choices=(
            Choice("The first line names the columns", {"header": True}),
            Choice("The first line is data", {"header": False}),
        ),
    )


def _all_numbers(records: Sequence[Record], column: int) -> bool:
    filled = [cell for cell in _below(records, column) if cell.casefold() not in MISSING]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell))


def _below(records: Sequence[Record], column: int) -> Record:
    """The cells of a column that are not empty."""
    cells = (record[column].strip() for record in records if column < len(record))
    return [cell for cell in cells if cell]
