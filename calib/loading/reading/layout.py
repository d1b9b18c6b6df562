"""The layout of a delimited text: delimiter, header, decimal mark, and unclosed quotation marks."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from calib.data.file_options import FileFormat
from calib.loading.columns import mark_of
from calib.loading.problems import Choice, Guess, InputError, Problem, note, refuse, warning

LINE_BREAK = re.compile(rb"\r\n?|\n")
# Content and closing mark of a quoted cell. A mark within other text does not open a cell.
CELL = rb'"(?:(?<=\A")|(?<=[\r\n]")|(?<=[DELIMITER]")|(?<=[DELIMITER] "))((?:[^"]++|"")*+)("?)'
QUOTED_CELL = re.compile(rb'"[^"]*"')
MAX_WARNINGS = 3


@dataclass(frozen=True, slots=True)
class RowForm:
    """How the rows of a text are written: `n_cells` in a row, and numbers in some columns."""

    delimiter: str
    decimal: str
    n_cells: range
    numeric: Sequence[int]

    def fits(self, line: bytes) -> bool:
        """Whether a line, without quotation marks or without what they hold, is a row."""
        texts = (line.replace(b'"', b""), QUOTED_CELL.sub(b"", line))
        return any(map(self._fits, texts))

    def _fits(self, line: bytes) -> bool:
        text = line.decode(errors="replace")
        cells = text.split(self.delimiter) if len(self.delimiter) == 1 else text.split()
        if len(cells) not in self.n_cells:
            return False
        written = [cells[i].replace(self.decimal, ".").strip() for i in self.numeric]
        try:
            return bool([float(cell) for cell in written if cell])
        except ValueError:
            return False


def check_quotes(text: bytes, form: RowForm, n_records: int) -> tuple[Problem, ...]:
    """Refuse a quoted cell that holds rows, and warn of one that ends before other text.

    With a mark too many or too few, all lines up to the next mark are one cell.
    """
    if b'"' not in text or len(LINE_BREAK.findall(text.rstrip(b"\r\n"))) + 1 == n_records:
        return ()
    warnings: list[Problem] = []
    for cell in _cells(text, form.delimiter):
        if not LINE_BREAK.search(cell[1]):
            continue
        start = max(text.rfind(mark, 0, cell.start()) for mark in (b"\r", b"\n")) + 1
        rest = LINE_BREAK.search(text, cell.end())
        lines = LINE_BREAK.split(text[start : rest.start() if rest else len(text)])
        facts = {"line": _line(text, cell), "n": len(lines)}
        if all(map(form.fits, lines)):
            raise refuse("quotes.rows", **facts)
        after = text[cell.end() : cell.end() + 1]
        if after.strip() and after != form.delimiter.encode() and len(warnings) < MAX_WARNINGS:
            warnings.append(warning("quotes.inside", **facts))
    return tuple(warnings)


def open_line(text: bytes, delimiter: str, longest: int | None = None) -> int | None:
    """The line of a quotation mark that is never closed, or only after more than `longest` bytes.

    None if there is no such mark.
    """
    for cell in _cells(text, delimiter):
        if not cell[2] or (longest is not None and len(cell[1]) > longest):
            return _line(text, cell)
    return None


def _cells(text: bytes, delimiter: str) -> Iterator[re.Match[bytes]]:
    mark = re.escape(delimiter) if len(delimiter) == 1 else r" \t"
    return re.finditer(CELL.replace(b"DELIMITER", mark.encode()), text)


def _line(text: bytes, cell: re.Match[bytes]) -> int:
    return len(LINE_BREAK.findall(text, 0, cell.start())) + 1


SAMPLE_BYTES = 2**20
SAMPLE_RECORDS = 100
DELIMITERS = ("\t", ";", "|", ",")
WHITESPACE = r"\s+"
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+%?")
MARKUP = re.compile(r"\s*<(!doctype|html|\?xml|table)", re.IGNORECASE)
JSON = re.compile(r'\s*(\{\s*"|\[\s*[\[{]|\{\s*\}|\[\s*\])')


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a delimited text.

    `names` are those of the columns, "" for a column without a name. `surplus` is the number of
    empty columns at the end, which come only from delimiters at the ends of lines. `has_header`
    says whether a line has the names. `start` is the offset of the first byte of data, and
    `first_row` the number of its row as in a spreadsheet.
    """

    delimiter: str
    names: list[str]
    surplus: int
    has_header: bool
    start: int
    first_row: int
    decimal: str
    guesses: tuple[Guess, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of cells of the longest row."""
        return len(self.names) + self.surplus


def find_layout(text: bytes, given: FileFormat) -> Layout:
    """Find delimiter, header and decimal mark in the first records of a text."""
    sample = text[:SAMPLE_BYTES].decode(errors="ignore")
    complete = len(text) <= SAMPLE_BYTES
    for pattern, kind in ((MARKUP, "HTML or XML"), (JSON, "JSON")):
        if pattern.match(sample):
            raise refuse("not-a-table.markup", kind=kind)
    delimiter, guesses = (given.delimiter, ()) if given.delimiter else _delimiter(sample)
    records = _records(sample, delimiter)
    if not complete and len(records) < SAMPLE_RECORDS:
        records = records[:-1]
    if not records:
        raise refuse("empty.table")
    if given.delimiter is None and _is_prose(records, delimiter):
        raise refuse("not-a-table.text")
    n_above = 0 if given.header is not None else _n_above_header(records)
    above, records = records[:n_above], records[n_above:]
    has_header, sure = (given.header, True) if given.header is not None else find_header(records)
    header = records[0] if has_header else None
    below = records[1 : 1 + _n_describing(records[1:])] if has_header else []
    rows = records[has_header + len(below) :]
    if not rows and complete:
        raise refuse("only-header")
    start, first_row = _first_row(sample, delimiter, n_above + has_header + len(below))
    names = _names(header, rows, text[start : start + SAMPLE_BYTES])
    surplus = _surplus(text, delimiter, start, names, rows)
    guesses += _guesses(header, names, sure=sure)
    decimal = _decimal(delimiter, rows)
    left_out = [" ".join(filter(None, record)) for record in (*above, *below)]
    notes = (note("left-out-lines", n=len(left_out), lines=left_out),) if left_out else ()
    return Layout(delimiter, names, surplus, has_header, start, first_row, decimal, guesses, notes)


def _guesses(header: Record | None, names: Record, *, sure: bool) -> tuple[Guess, ...]:
    guesses = []
    if not sure:
        content = "a row of data" if header is None else "the names of the columns"
        guesses.append(
            Guess("header", header is not None, f"The first line was read as {content}.")
        )
    if header is not None and len(header) < len(names):
        sentence = "The header has one name too few: the first column was read as row names."
        guesses.append(Guess("", None, sentence))
    return tuple(guesses)


def _names(header: Record | None, rows: Sequence[Record], data: bytes) -> Record:
    """Names of the columns. R writes one name too few if the first column has names of rows."""
    if header is None:
        return [""] * Counter(len(row) for row in rows).most_common(1)[0][0]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else len(header)
    if len(header) > width and any(NUMBER.fullmatch(name.strip()) for name in header):
        raise refuse("long-header", n=len(header), n_cells=width)
    longer = bool(rows) and all(len(row) == len(header) + 1 for row in rows)
    # A delimiter at the end of every row makes an empty cell, and not a column, unless the header
    # ends with one too.
    last_is_empty = not any(row[-1].strip() for row in rows)
    if not longer or (last_is_empty and header[-1].strip()):
        return header
    # R writes names of rows in quotation marks.
    if data.lstrip().startswith(b'"') and len({row[0] for row in rows}) == len(rows):
        return ["", *header]
    raise refuse("short-header", n=len(header), n_cells=len(header) + 1)


def _surplus(text: bytes, delimiter: str, start: int, names: Record, rows: Sequence[Record]) -> int:
    """Number of cells that the longest row has beyond the columns, all of them empty."""
    if any(_filled(row) > len(names) for row in rows):
        raise unreadable(text, delimiter, len(names))
    # A first row that is too long is cut by pandas without an error, so it counts even if blank.
    first: Record = next(
        csv_reader(text[start : start + SAMPLE_BYTES].decode(errors="ignore"), delimiter), []
    )
    return max(0, *(len(row) - len(names) for row in (first, *rows)))


def _filled(record: Record) -> int:
    """Number of cells up to the last that is not empty."""
    return max((i for i, cell in enumerate(record, 1) if cell.strip()), default=0)


def _delimiter(sample: str) -> tuple[str, tuple[Guess, ...]]:
    """The delimiter under which most rows have equally many cells."""
    best, best_share = ",", 0.0
    by_delimiter: dict[str, list[Record]] = {}
    for delimiter in (*DELIMITERS, WHITESPACE):
        by_delimiter[delimiter] = []
        with suppress(InputError):  # A cell is too long.
            by_delimiter[delimiter] = _records(sample, delimiter)
        records = by_delimiter[delimiter]
        # R writes headers with one cell too few, so the header is not counted.
        widths = [len(record) for record in records[1:] or records]
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        share = count / len(widths)
        # Texts contain blanks too, so they are delimiters only if nearly all rows have equally many
        # and no other delimiter fits.
        blanks = delimiter == WHITESPACE
        if width > 1 and share > best_share and not (blanks and (share <= 0.9 or best_share > 0.5)):
            best, best_share = delimiter, share
    # A wrong delimiter makes one cell of a line, which may be too long. A right one does not.
    if not any(by_delimiter.values()):
        raise _long_cell(sample, ",")
    chosen = by_delimiter.pop(best)
    widths_of = [({len(record) for record in rival}, rival) for rival in by_delimiter.values()]
    # A rival splits all records into equally many cells, and more than one.
    rivals = [rival for widths, rival in widths_of if len(widths) == 1 and widths != {1}]
    if not any(_n_numbers(rival) >= _n_numbers(chosen) for rival in rivals):
        return best, ()
    return best, (Guess("delimiter", best, f"Cells were assumed to be separated by {best!r}."),)


def _is_prose(records: Sequence[Record], delimiter: str) -> bool:
    """Whether lines of words are not divided into columns, and no column holds numbers."""
    if len(records) < 2:
        return False
    width, n_equal = Counter(map(len, records)).most_common(1)[0]
    if delimiter == WHITESPACE:
        is_divided = n_equal == len(records)
    else:
        is_divided = width > 1 and n_equal > 0.5 * len(records)
        # A single column of names may be a part of a table.
        is_divided |= not any(" " in cell.strip() for record in records for cell in record)
    longest = max(map(len, records))
    return not is_divided and not any(
        sum(map(_is_number, _below(records, column))) >= 0.5 * (len(records) - 1)
        for column in range(min(longest, 200))
    )


def _n_numbers(records: Sequence[Record]) -> int:
    """Number of cells that are numbers."""
    cells = [cell.strip() for record in records for cell in record[:200]]
    return sum(bool(NUMBER.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell)) for cell in cells)


def _records(sample: str, delimiter: str) -> list[Record]:
    try:
        return [record for _, record in islice(read_records(sample, delimiter), SAMPLE_RECORDS)]
    except csv.Error:
        raise _long_cell(sample, delimiter) from None


def read_records(text: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    """Records that are not blank, each with the number of its last line."""
    reader = csv_reader(text, delimiter)
    for record in reader:
        if any(cell.strip() for cell in record):
            yield reader.line_num, record


def csv_reader(text: str, delimiter: str) -> Any:
    if delimiter == WHITESPACE:
        lines = io.StringIO(text, newline=None)
        return csv.reader((" ".join(line.split()) for line in lines), delimiter=" ")
    return csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )


def unreadable(text: bytes, delimiter: str, n_columns: int) -> InputError:
    """Make an error that names the lines with too many cells."""
    with_values: list[str] = []
    with_empty: list[str] = []
    try:
        for line, record in read_records(text.decode(), delimiter):
            if len(record) > n_columns:
                filled = _filled(record) > n_columns
                (with_values if filled else with_empty).append(f"line {line:,} ({len(record)})")
            if len(with_values) == 3:
                break
    except csv.Error:
        return _long_cell(text, delimiter)
    # Lines whose additional cells are all empty are only reported if there are no others.
    if lines := with_values or with_empty[:3]:
        return refuse("ragged", n=n_columns, lines=lines)
    return refuse("quotes", line=open_line(text, delimiter))


def _first_row(sample: str, delimiter: str, n_records: int) -> tuple[int, int]:
    """Offset of the first byte below these records, and the number of the row that begins there."""
    reader, number = csv_reader(sample, delimiter), 1
    while n_records:
        n_records -= any(cell.strip() for cell in next(reader))
        number += 1
    lines = io.StringIO(sample, newline=None if delimiter == WHITESPACE else "")
    return len("".join(islice(lines, reader.line_num)).encode()), number


def _decimal(delimiter: str, rows: Sequence[Record]) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row[:200]]
    # A cell such as 1,234 does not show a decimal comma, because it may mean 1234.
    commas = any(DECIMAL_COMMA.fullmatch(cell) and mark_of(cell) == "," for cell in cells)
    return "," if commas and not any(DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _long_cell(text: str | bytes, delimiter: str) -> InputError:
    """The error about a cell that is too long, with the line of a mark that may be open."""
    data = text.encode() if isinstance(text, str) else text
    most = csv.field_size_limit()
    return refuse("long-cell", most=most, line=open_line(data, delimiter, most))


NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?%?|[-+]?(inf|nan)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+%?")
# Pandas and NumPy write floats with a point or an exponent.
WRITTEN_FRACTION = re.compile(r"[-+]?(\d+\.\d+(e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)", re.IGNORECASE)
WHOLE_FRACTION = re.compile(r"[-+]?\d+\.0+")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
MAX_TITLES = 20  # More lines of other lengths at the top are a table of its own.
LETTER = re.compile(r"[^\W\d_]")
UNIT = re.compile(r"[\[(].*[\])]|%")
TYPES = {
    *("continuous", "c", "discrete", "d", "string", "s", "text", "time", "t", "datetime", "date"),
    *("class", "meta", "m", "weight", "w", "ignore", "i", "numeric", "nominal", "categorical"),
    *("float", "float64", "double", "int", "int64", "integer", "bigint", "bool", "boolean"),
    *("varchar", "char", "object", "factor", "character"),
}

Record = list[str]


def _n_above_header(records: Sequence[Record]) -> int:
    """Number of lines above the header: comments that begin with #, and titles."""
    width = Counter(map(len, records)).most_common(1)[0][0]
    rows = (
        i
        for i, record in enumerate(records)
        if len(record) == width
        and (width == 1 or sum(bool(cell.strip()) for cell in record) != 1)
        and not _is_comment(record)
    )
    n_above = next(rows, 0)
    if n_above <= MAX_TITLES and _begin_with_names(records[n_above:]):
        return n_above
    # The names themselves may begin with #. R writes one name too few, which is no title.
    if n_above and len(records[n_above - 1]) == width:
        n_above -= 1
    return n_above if all(map(_is_comment, records[:n_above])) else 0


def _is_comment(record: Record) -> bool:
    return record[0].lstrip().startswith("#")


def _begin_with_names(records: Sequence[Record]) -> bool:
    names = [name.strip() for name in records[0] if name.strip()]
    if not all(LETTER.search(name) or name.isdecimal() for name in names):
        return False
    try:
        return find_header(records) == (True, True)
    except InputError:
        return False


def _n_describing(records: Sequence[Record]) -> int:
    """Number of lines below the header that describe columns by their units or types.

    Orange writes a line of types, and a line that says which columns are the class or metadata.
    """
    for n_lines, record in enumerate(records[:2]):
        rest = records[n_lines + 1 :]
        cells = {i: cell.strip().casefold() for i, cell in enumerate(record) if cell.strip()}
        describes = [
            (UNIT.fullmatch(cell) is not None or cell in TYPES) and cell not in _below(rest, i)
            for i, cell in cells.items()
        ]
        numbers = n_lines or any(_all_numbers(rest, i) for i in cells)
        if not (rest and describes and all(describes) and numbers):
            return n_lines
    return min(len(records), 2)


def find_header(records: Sequence[Record]) -> tuple[bool, bool]:
    """Whether the first record names the columns, and whether that is certain."""
    first, rest = [cell.strip() for cell in records[0]], records[1:]
    # A delimiter at the end of the line makes an empty cell, and not a column.
    while len(first) > 1 and not first[-1]:
        first.pop()
    # The record may be 0, 1, 2 and so on, perhaps after the blank name of an index.
    names = first[1:] if not first[0] else first
    if len(first) > 1 and names == [str(i) for i in range(len(names))] and rest:
        return _is_counted_header(first, rest), False
    numeric = [_is_number(cell) for cell in first]
    if not any(numeric):
        return True, any(_all_numbers(rest, i) for i in range(len(first)))
    # Some names in a header may be numbers, so a single name above a column of numbers suffices.
    has_name = any(
        not is_number and cell.casefold() not in MISSING and _all_numbers(rest, i)
        for i, (cell, is_number) in enumerate(zip(first, numeric, strict=True))
    )
    has_name = has_name or _names_classes(first, rest)
    return has_name, has_name


def _names_classes(first: Record, rest: Sequence[Record]) -> bool:
    """Whether whole numbers name columns of fractions, beside the name of a column of labels.

    `pd.DataFrame(clf.predict_proba(X))` has such names.
    """
    below = {i: _below(rest, i) for i in range(len(first))}
    classes = [i for i, cell in enumerate(first) if cell.isdecimal()]
    distinct = {first[i] for i in classes}
    fractions = all(below[i] and all(map(WRITTEN_FRACTION.fullmatch, below[i])) for i in classes)
    return (
        len(distinct) == len(classes) > 1
        and fractions
        and any(
            not _is_number(cell)
            and cell not in below[i]
            and len(set(below[i])) <= max(1, len(below[i]) // 2)
            for i, cell in enumerate(first)
            if cell
        )
    )


def _is_counted_header(first: Record, rest: Sequence[Record]) -> bool:
    """Whether the record 0, 1, 2 ... is a header. Raises InputError if it can be data as well."""
    index = _below(rest, 0)
    # The rows are counted as well, or their names are all different.
    is_index = index == [str(i) for i in range(len(index))] or 1 < len(set(index)) == len(index)
    if not first[0] and len(index) == len(rest) and is_index:
        return True
    if any(_does_not_fit(cell, _below(rest, i)) for i, cell in enumerate(first) if cell):
        return True
    choices = (
        Choice("The first line names the columns", {"header": True}),
        Choice("The first line is data", {"header": False}),
    )
    raise refuse("header", line=",".join(first), choices=choices)


def _does_not_fit(name: str, cells: Record) -> bool:
    """Whether a whole number cannot be a cell of the column with these other cells."""
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


def _all_numbers(records: Sequence[Record], column: int) -> bool:
    filled = [cell for cell in _below(records, column) if cell.casefold() not in MISSING]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell))


def _below(records: Sequence[Record], column: int) -> Record:
    """The cells of a column that are not empty."""
    cells = (record[column].strip() for record in records if column < len(record))
    return [cell for cell in cells if cell]
