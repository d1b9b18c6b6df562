"""Files of other programs: Excel and OpenDocument, Weka (ARFF), Stata and SAS.

A sheet of a workbook and the rows of ARFF are written as CSV and read like a text.
"""

from __future__ import annotations

import csv
import io
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import reduce
from itertools import chain
from typing import IO

import pandas as pd
from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

from calib.data.file_options import FileFormat
from calib.loading.problems import Guess, InputError, note, refuse
from calib.loading.reading.archives import DAMAGE
from calib.loading.reading.budget import CELL_BYTES, Budget
from calib.loading.reading.delimited_text import read_cells, to_utf8
from calib.loading.table import Table, make_table

OLD_EXCEL = b"\xd0\xcf\x11\xe0"
# A workbook of .xlsx, .xlsb or .ods has one of these members. An old one may be a Word file.
MEMBERS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}
MAX_EXACT = 2.0**53  # Not every larger whole number is a float.
# A sheet of Excel is held as a rectangle of cells, each of which takes this many bytes.
HELD_BYTES = 32
SHEETS = re.compile(r"xl/worksheets/[^/]+\.xml")
PLACE = re.compile(rb'\sr="([A-Z]{0,3})([0-9]{1,7})"')
PART_BYTES = 2**20
MAX_PLACE_BYTES = 20


def read_workbook(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the named sheet, or the first one that holds a table with numbers."""
    book = _opened(data, budget)
    names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    if given.sheet is not None and given.sheet not in names:
        raise refuse("no-sheet", sheet=given.sheet, names=names)
    tables: dict[str, Table] = {}
    error = refuse("empty.workbook")
    for sheet in names if given.sheet is None else [given.sheet]:
        cells = book.get_sheet_by_name(sheet)
        budget.check_cells(cells.total_height, cells.total_width)
        rows = ([_written(cell) for cell in row] for row in cells.iter_rows())
        try:
            # Empty rows are empty lines.
            lines = (row if any(row) else [] for row in rows)
            tables[sheet] = read_cells(lines, name, given, budget)
        except InputError as problem:
            error = problem if cells.total_height > 1 else error
            continue
        if len(tables[sheet].frame.select_dtypes("number").columns):
            break
    if not tables:
        raise error
    # If no sheet has numbers, the first one that was read has rows of words.
    sheet = sheet if sheet in tables else next(iter(tables))
    return _chosen(tables[sheet], sheet, names, given)


def _opened(data: bytes, budget: Budget) -> CalamineWorkbook:
    try:
        if not data.startswith(OLD_EXCEL):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                sizes = [member.file_size for member in archive.infolist()]
                budget.check_unpacked(sum(sizes), "Excel")
                for name in filter(SHEETS.fullmatch, archive.namelist()):
                    with archive.open(name) as sheet:
                        _check_extent(sheet, budget)
        return CalamineWorkbook.from_filelike(io.BytesIO(data))
    except (CalamineError, *DAMAGE) as error:
        if isinstance(error, InputError):
            raise
        raise refuse("damaged.workbook") from None


def _check_extent(sheet: IO[bytes], budget: Budget) -> None:
    """Refuse a sheet whose last cell is so far away that its rectangle would not fit in memory."""
    columns, rows = set[bytes](), set[bytes]()
    rest = b""
    while part := sheet.read(PART_BYTES):
        text = rest + part
        for column, row in PLACE.findall(text):
            columns.add(column)
            rows.add(row)
        # A place can be cut by the end of a part.
        rest = text[-MAX_PLACE_BYTES:]
    if not rows:
        return
    last = max(map(int, rows))
    # A column such as AA, the 27th, has a number with 26 digits, the letters.
    n_columns = max(reduce(lambda n, letter: 26 * n + letter - 64, name, 0) for name in columns)
    n_cells = (last - min(map(int, rows)) + 1) * n_columns
    if n_cells * HELD_BYTES > max(budget.size, budget.cells * CELL_BYTES):
        raise refuse("too-large.sheet", row=last, column=n_columns)


def _written(cell: object) -> str:
    """A cell as text. Excel holds whole numbers as floats."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < MAX_EXACT else repr(cell)
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


def _chosen(table: Table, sheet: str, names: list[str], given: FileFormat) -> Table:
    others = [name for name in names if name != sheet]
    if not others:
        return table
    table = replace(table, sheets=(sheet, *others))
    if given.sheet is not None:
        return table
    said = note("sheet", sheet=sheet, others=others)
    guess = Guess("sheet", sheet, said.sentence)
    return replace(table, guesses=(*table.guesses, guess), notes=(*table.notes, said))


ARFF = re.compile(rb"(\xef\xbb\xbf)?(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
DATA = re.compile(r"^[ \t]*@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(
    r"""^[ \t]*@attribute[ \t]+('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s{]+)""", re.IGNORECASE | re.MULTILINE
)


def read_arff(content: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the attributes as the names of columns, and ? as a missing cell."""
    text = to_utf8(content, given.encoding)[0].decode().replace("\r\n", "\n")
    data = DATA.search(text)
    names = [
        re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name
        for name in ATTRIBUTE.findall(text, 0, data.start() if data else 0)
    ]
    if data is None or not names:
        raise refuse("empty.arff")
    rows = text[data.end() :]
    if re.match(r"\s*\{", rows):
        raise refuse("sparse")
    # Weka and SciPy write words in single quotation marks, and CSV in double ones.
    quote = "'" if "'" in rows else '"'
    lines = (line for line in io.StringIO(rows, newline="") if not line.lstrip().startswith("%"))
    try:
        reader = csv.reader(lines, quotechar=quote, skipinitialspace=True, escapechar="\\")
        cells = (["" if cell.strip() == "?" else cell for cell in row] for row in reader)
        return read_cells(chain([names], cells), name, replace(given, header=True), budget)
    except csv.Error:
        raise refuse("damaged.arff") from None


# Before version 117, a file of Stata begins with its version, the order of bytes, 1 and 0.
STATA = rb"<stata_dta>|[\x69\x6c\x6e\x6f\x71-\x73][\x01\x02]\x01\x00"
SAS = re.escape(bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011"))
SAS_TRANSPORT = re.escape(b"HEADER RECORD*******LIB")
# The readers of pandas check little, so a damaged file can raise any of these.
STATISTICS_DAMAGE = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, OSError),
    *(ArithmeticError, struct.error, NotImplementedError),
)


def _stata(content: bytes) -> pd.DataFrame:
    try:
        return pd.read_stata(io.BytesIO(content))
    except ValueError:
        # Two values of a column can have the same label.
        return pd.read_stata(io.BytesIO(content), convert_categoricals=False)


READERS: dict[str, tuple[bytes, Callable[[bytes], pd.DataFrame]]] = {
    "Stata": (STATA, _stata),
    "SAS": (
        SAS,
        lambda data: pd.read_sas(io.BytesIO(data), format="sas7bdat", encoding="infer"),
    ),
    "SAS transport": (
        SAS_TRANSPORT,
        lambda data: pd.read_sas(io.BytesIO(data), format="xport", encoding="utf-8"),
    ),
}
STATISTICS = re.compile(b"|".join(start for start, _ in READERS.values()))


def read_statistics(content: bytes, name: str, budget: Budget) -> Table:
    """Read a file of Stata (.dta) or SAS (.sas7bdat, .xpt). Labels of values are their text."""
    kind = next(kind for kind, (start, _) in READERS.items() if re.match(start, content))
    try:
        frame = READERS[kind][1](content)
    except STATISTICS_DAMAGE:
        raise refuse("damaged.statistics", kind=kind) from None
    if frame.empty:
        raise refuse("empty.statistics", kind=kind)
    budget.check_cells(*frame.shape)
    labelled = frame.select_dtypes("category")
    texts = {
        column: labelled[column].astype("str").where(labelled[column].notna())
        for column in labelled
    }
    return make_table(frame.assign(**texts), list(frame.columns), name=name)
