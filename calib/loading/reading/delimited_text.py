"""Read delimited text: convert it to UTF-8, find its layout, and parse it with pandas."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import pandas as pd

from calib.data.file_options import FileFormat
from calib.loading.columns import has_commas
from calib.loading.problems import Guess, InputError, Problem, note, refuse, warning
from calib.loading.reading.budget import Budget
from calib.loading.reading.layout import (
    DELIMITERS,
    QUOTED_CELL,
    SAMPLE_BYTES,
    Layout,
    RowForm,
    check_quotes,
    csv_reader,
    find_layout,
    read_records,
    unreadable,
)
from calib.loading.reading.text_cells import exact, in_parts, read_csv
from calib.loading.table import Table, make_table

LARGE_TEXT_BYTES = 2**25  # A larger text is read in parts.
# The last cell is compared with others of its column in the last bytes of a text. Of 80,000
# simulated files without a final line break, no complete one ended with so much shorter a number.
END_BYTES = 2**16
MIN_COMPARED_CELLS = 20
MIN_LOST_DIGITS = 6
FRACTION = re.compile(r"[-+]?\d*[.,]\d+(e[-+]?\d+)?", re.IGNORECASE)
CUT_FRACTION = re.compile(r"[-+]?\d*[.,]\d*[1-9]\d*")
FIRST_LINE = re.compile(rb"[^\r\n]*")
# Word processors and web pages write a minus sign of its own, and marks without a width.
MINUS = re.compile("\N{MINUS SIGN}".encode() + rb"(?=[\d.,])")
HIDDEN = re.compile("|".join("\u200b\u200e\u200f\u2060\ufeff").encode())
EXCEL_HINT = re.compile(rb'\s*"?sep=(.)"?(\r\n?|\n)')


def read_text(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read delimited text."""
    text, notes, guesses = to_utf8(data, given.encoding)
    if hint := EXCEL_HINT.match(text):
        text = text[hint.end() :]
        if given.delimiter is None and hint[1].isascii():
            given = replace(given, delimiter=hint[1].decode())
    if not text.isascii():
        text, n_hidden = HIDDEN.subn(b"", MINUS.sub(b"-", text))
        notes += (note("hidden-characters", n=n_hidden),) if n_hidden else ()
    budget.check_cells(0, _width(text, given))
    layout = find_layout(text, given)
    # Short rows are filled up with empty cells, so few bytes can become many cells.
    budget.check_cells(max(text.count(b"\n"), text.count(b"\r")), layout.n_columns)
    notes += layout.notes + _check_end(text, layout)
    frame = _parse(text, layout)
    notes += check_quotes(text, _form(layout, frame), layout.first_row - 1 + len(frame))
    # If the delimiter is a comma, numbers can have commas only in quotation marks.
    commas = (layout.delimiter != "," or b'"' in text) and b"," in text and has_commas(frame)
    frame = exact(text, layout, frame, commas=commas)
    # A delimiter at the end of lines makes a column with neither a name nor values.
    keep = [
        i
        for i, name in enumerate(layout.names)
        if name.strip() or bool(frame.iloc[:, i].notna().any())
    ]
    notes += _short_rows(text, layout, frame, max(keep, default=-1) + 1)
    frame, names = frame.iloc[:, keep], [layout.names[i] for i in keep]
    table = make_table(
        frame, names, name=name, first_row=layout.first_row, notes=notes, commas=commas
    )
    guesses = (*guesses, *layout.guesses, *table.guesses)
    return replace(table, guesses=guesses, header=layout.has_header)


def read_cells(
    rows: Iterable[Sequence[object]], name: str, given: FileFormat, budget: Budget
) -> Table:
    """Read rows of cells of another format like a text."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    given = replace(given, delimiter=",", encoding=None)
    return read_text(text.getvalue().encode(errors="replace"), name, given, budget)


def read_anew(table: Table, *, header: bool) -> Table:
    """The same table with its first line as names of columns, or as data.

    Raises InputError if the rows cannot be read like that.
    """
    lines = io.StringIO(newline="")
    if table.header:
        unnamed = [f"column {i}" for i in range(1, len(table.columns) + 1)]
        names = [
            "" if name == no_name else name
            for name, no_name in zip(table.columns, unnamed, strict=True)
        ]
        csv.writer(lines, lineterminator="\n").writerow(names)
    table.frame.to_csv(lines, index=False, header=False)
    given = FileFormat(delimiter=",", header=header)
    again = read_text(lines.getvalue().encode(), table.name, given, Budget())
    given = replace(table.format, header=header)
    return replace(again, file=table.file, format=given, sheets=table.sheets)


def _width(text: bytes, given: FileFormat) -> int:
    """Number of columns of a first line that is longer than the sample of `find_layout`."""
    first = FIRST_LINE.match(text)
    line = b"" if first is None or first.end() < SAMPLE_BYTES else QUOTED_CELL.sub(b"", first[0])
    delimiters = (given.delimiter,) if given.delimiter else DELIMITERS
    return max(line.count(delimiter.encode()) for delimiter in delimiters) + 1


def _check_end(text: bytes, layout: Layout) -> tuple[Problem, ...]:
    """Refuse a text that breaks off in a row, and note a last number that may lack digits."""
    last = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
    # A last cell longer than the limit of csv is not a sign of a truncated file; csv reports it.
    if not last.strip() or b'"' in last or len(last) > csv.field_size_limit():
        return ()
    _, record = next(read_records(last.decode(), layout.delimiter), (0, layout.names))
    if len(record) < len(layout.names):
        raise refuse("cut-short", n=len(record), n_names=len(layout.names))
    return _perhaps_cut(
        text[max(layout.start, len(text) - END_BYTES) :], layout, record[-1].strip()
    )


def _perhaps_cut(end: bytes, layout: Layout, last: str) -> tuple[Problem, ...]:
    """Note that the last cell is a much shorter number than all others of its column."""
    if b'"' in end or not CUT_FRACTION.fullmatch(last):
        return ()
    # The first of these records may begin within a row.
    records = [record for _, record in read_records(end.decode(errors="ignore"), layout.delimiter)]
    others = [row[-1].strip() for row in records[1:-1] if len(row) == len(layout.names)]
    shortest = min(map(len, others), default=0)
    if (
        len(others) < MIN_COMPARED_CELLS
        or len(last) + MIN_LOST_DIGITS > shortest
        or not all(map(FRACTION.fullmatch, others))
    ):
        return ()
    return (note("perhaps-cut", last=last, shortest=shortest),)


def _parse(text: bytes, layout: Layout) -> pd.DataFrame:
    try:
        is_large = len(text) > LARGE_TEXT_BYTES
        frame = in_parts(text, layout) if is_large else read_csv(text, layout)
    except pd.errors.EmptyDataError:
        raise refuse("empty.text") from None
    except (pd.errors.ParserError, ValueError, OverflowError):
        raise unreadable(text, layout.delimiter, layout.n_columns) from None
    n_named = len(layout.names)
    if bool(frame.iloc[:, n_named:].notna().to_numpy().any()):
        raise unreadable(text, layout.delimiter, n_named)
    return frame.iloc[:, :n_named]


def _form(layout: Layout, frame: pd.DataFrame) -> RowForm:
    n_named = len(layout.names)
    numeric = [i for i in range(n_named) if frame.dtypes.iloc[i].kind in "iuf"]
    n_cells = range(n_named, layout.n_columns + 1)
    return RowForm(layout.delimiter, layout.decimal, n_cells, numeric)


def _short_rows(
    text: bytes, layout: Layout, frame: pd.DataFrame, width: int
) -> tuple[Problem, ...]:
    """Warn of rows that end before the last column, because pandas reads their cells as empty."""
    cells = len(frame) * (len(layout.names) - 1)
    if not width or not frame.iloc[:, width - 1].isna().any():
        return ()
    # If the number of delimiters outside quotation marks is right, no row needs to be read.
    bare = QUOTED_CELL.sub(b"", text[layout.start :])
    if not layout.surplus and bare.count(layout.delimiter.encode()) == cells:
        return ()
    short: list[int] = []
    number = layout.first_row
    # If a cell is too long for csv, only the lines above it are counted.
    with suppress(csv.Error):
        for record in csv_reader(text[layout.start :].decode(), layout.delimiter):
            if len(record) > 1 or (record and record[0].strip()):
                if len(record) < width:
                    short.append(number)
                number += 1
    if not short:
        return ()
    return (
        warning("short-rows", n=len(short), rows=([f"{row:,}" for row in short[:3]], len(short))),
    )


BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
HEAD_BYTES = 4096  # The first bytes show whether a file is text.


def to_utf8(
    data: bytes, encoding: str | None = None
) -> tuple[bytes, tuple[Problem, ...], tuple[Guess, ...]]:
    """Return text as UTF-8 without a byte order mark, with notes and guesses about its encoding."""
    marked = next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), None)
    guessed = None if marked or encoding else _guess_utf16(data)
    if guessed and _line_of_zeros(data):
        raise _not_text(data)
    if encoding is not None and marked is None:
        try:
            # Some encodings keep the byte order mark, which is not part of the first name.
            data = data.decode(encoding).removeprefix("\ufeff").encode()
        except UnicodeError:
            raise refuse("encoding", encoding=encoding) from None
    elif name := marked or guessed:
        try:
            data = data.decode(name).encode()
        except UnicodeError:
            raise _not_text(data) from None
    guesses = () if guessed is None else (_guess(guessed),)
    head = data[:HEAD_BYTES]
    if len(NOT_TEXT.findall(head)) > 0.01 * len(head) + 1:
        raise _not_text(data)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise refuse("zero-bytes", line=line)
    # ASCII is UTF-8 already. Nearly all large tables are ASCII, and decoding them takes long.
    if data.isascii():
        return data, (), guesses
    try:
        data.decode()
    except UnicodeDecodeError:
        return _western(data)
    return data, (), guesses


def _guess(encoding: str) -> Guess:
    return Guess("encoding", encoding, f"The text was read as {encoding}.")


def _western(data: bytes) -> tuple[bytes, tuple[Problem, ...], tuple[Guess, ...]]:
    try:
        text, name, codec = data.decode("cp1252"), "Windows-1252", "cp1252"
    except UnicodeDecodeError:
        text, name, codec = data.decode("latin-1"), "Latin-1", "latin-1"
    return text.encode(), (note("encoding.guessed", name=name),), (_guess(codec),)


def _guess_utf16(data: bytes) -> str | None:
    head = data[:HEAD_BYTES]
    half = len(head) // 2
    if half < 4:
        return None
    # In UTF-16, every second byte of Latin text is 0, and the others are not.
    first, second = head[0::2].count(0), head[1::2].count(0)
    if second > 0.7 * half and not first:
        return "utf-16-le"
    if first > 0.7 * half and not second:
        return "utf-16-be"
    return None


def _not_text(data: bytes) -> InputError:
    line = _line_of_zeros(data.removeprefix(codecs.BOM_UTF8))
    return refuse("zero-bytes.encodings", line=line) if line else refuse("not-a-table")


def _line_of_zeros(data: bytes) -> int:
    """The line with the first zero byte after a line of cells without any; 0 if there is none.

    So looks a text whose rest is UTF-16, as when two files are joined.
    """
    first, zero = FIRST_LINE.match(data), data.find(b"\0")
    line = b"" if first is None else first[0]
    cells = any(mark.encode() in line for mark in DELIMITERS) and not NOT_TEXT.search(line)
    return data.count(b"\n", 0, zero) + 1 if cells and zero > len(line) else 0
