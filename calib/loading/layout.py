"""How a text is laid out: delimiter, header and decimal mark, found in its first records."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from calib.loading.problems import InputError, refuse

SAMPLE_BYTES = 2**20
SAMPLE_RECORDS = 100
DELIMITERS = ("\t", ";", "|", ",")
WHITESPACE = r"\s+"
MOST_COLUMNS = 20_000
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?%?|[-+]?(inf|nan)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+%?")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
MARKUP = re.compile(r"\s*<(!doctype|html|\?xml|table)", re.IGNORECASE)
JSON = re.compile(r'\s*(\{\s*"|\[\s*[\[{]|\{\s*\}|\[\s*\])')

Record = list[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text is laid out.

    Attributes
    ----------
    delimiter : str
    header : list of str or None
        Names of the columns; None where the first line holds data.
    n_columns : int
    start : int
        Offset of the first byte of data.
    decimal : str
    """

    delimiter: str
    header: list[str] | None
    n_columns: int
    start: int
    decimal: str


def find_layout(text: bytes, delimiter: str | None = None) -> Layout:
    """Find delimiter, header and decimal mark in the first records of a text."""
    sample = text[:SAMPLE_BYTES].decode(errors="ignore")
    whole = len(text) <= SAMPLE_BYTES
    _refuse_other_formats(sample)
    found = delimiter or _delimiter(sample)
    records = _records(sample, found)
    if not whole and len(records) < SAMPLE_RECORDS:
        records = records[:-1]
    if not records:
        raise refuse("empty", "The file holds no rows. Upload a table with a header and rows.")
    has_header = _has_header(records)
    header = records[0] if has_header else None
    rows = records[1:] if has_header else records
    if not rows and whole:
        raise refuse(
            "only-header", "The file holds a header line and no rows. Upload the rows as well."
        )
    n_columns = _width(header, rows)
    start = _header_end(sample, found) if has_header else 0
    return Layout(found, header, n_columns, start, _decimal(found, rows))


def _refuse_other_formats(sample: str) -> None:
    for pattern, kind in ((MARKUP, "HTML or XML"), (JSON, "JSON")):
        if pattern.match(sample):
            raise refuse(
                "not-a-table",
                f"This looks like {kind}, not a table. Save the rows as CSV or Parquet.",
            )


def _delimiter(sample: str) -> str:
    best, best_share = ",", 0.0
    for delimiter in (*DELIMITERS, WHITESPACE):
        records = _records(sample, delimiter)
        # A header may be one cell short, as R writes it.
        widths = [len(record) for record in records[1:] or records]
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        share = count / len(widths)
        # Words are separated by blanks too: only a regular pattern counts.
        if width > 1 and share > best_share and (delimiter != WHITESPACE or share > 0.9):
            best, best_share = delimiter, share
    return best


def _records(sample: str, delimiter: str) -> list[Record]:
    try:
        if delimiter == WHITESPACE:
            lines = islice(io.StringIO(sample, newline=None), SAMPLE_RECORDS)
            plain = (" ".join(line.split()) for line in lines if line.strip())
            return list(csv.reader(plain, delimiter=" "))
        return [record for _, record in islice(read_records(sample, delimiter), SAMPLE_RECORDS)]
    except csv.Error:
        raise long_cell() from None


def read_records(text: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    """Records that are not blank, each with the number of its last line."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
    )
    for record in reader:
        if any(cell.strip() for cell in record):
            yield reader.line_num, record


def _has_header(records: Sequence[Record]) -> bool:
    first, rest = records[0], records[1:]
    numeric = [NUMBER.fullmatch(cell.strip()) is not None for cell in first]
    if not any(numeric) and not any(DECIMAL_COMMA.fullmatch(cell.strip()) for cell in first):
        return True
    # Class names may be numbers: a name above a column of numbers shows a header all the same.
    return any(
        not is_number and cell.strip().casefold() not in MISSING and _all_numbers(rest, i)
        for i, (cell, is_number) in enumerate(zip(first, numeric, strict=True))
    )


def _all_numbers(records: Sequence[Record], column: int) -> bool:
    cells = [record[column].strip() for record in records if column < len(record)]
    filled = [cell for cell in cells if cell.casefold() not in MISSING]
    return bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)


def _width(header: Record | None, rows: Sequence[Record]) -> int:
    widths = Counter(len(row) for row in rows)
    widest = max(widths, default=0)
    width = widest if header is None else len(header)
    if header is not None and widest == len(header) + 1 and len(widths) == 1:
        width = widest
    if width > MOST_COLUMNS:
        raise refuse(
            "too-wide",
            f"The table has {width:,} columns; at most {MOST_COLUMNS:,} are read. Upload only the "
            "columns that are needed.",
        )
    return width


def _header_end(sample: str, delimiter: str) -> int:
    lines = io.StringIO(sample, newline="")
    if delimiter == WHITESPACE:
        count = next(i for i, line in enumerate(lines, 1) if line.strip())
    else:
        count = next(read_records(sample, delimiter))[0]
    lines.seek(0)
    return len("".join(islice(lines, count)).encode())


def _decimal(delimiter: str, rows: Sequence[Record]) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row[:200]]
    commas = any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if commas and not any(DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def long_cell() -> InputError:
    """The refusal of a cell that no table has."""
    return refuse(
        "long-cell",
        f"A cell is longer than {csv.field_size_limit():,} characters: either a column of long "
        "texts, which is better left out, or a quotation mark that is never closed.",
    )
