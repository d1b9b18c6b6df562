"""Excel and OpenDocument workbooks: one sheet, written as CSV and read like a text."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import replace
from datetime import datetime
from typing import IO

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetTypeEnum

from calib.data.file_options import FileFormat
from calib.loading.problems import Guess, InputError, note, refuse
from calib.loading.reading.archives import DAMAGE
from calib.loading.reading.budget import CELL_BYTES, Budget
from calib.loading.reading.delimited_text import AS_CSV, read_text
from calib.loading.table import Table

OLD_EXCEL = b"\xd0\xcf\x11\xe0"
# A workbook of .xlsx, .xlsb or .ods has one of these members.
MEMBERS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}
MAX_EXACT = 2.0**53  # Not every larger whole number is a float.
# A sheet of Excel is held as a rectangle of cells, each of which takes this many bytes.
HELD_BYTES = 32
SHEETS = re.compile(r"xl/worksheets/[^/]+\.xml")
PLACE = re.compile(rb'\sr="([A-Z]{0,3})([0-9]{1,7})"')
PART_BYTES = 2**20
MAX_PLACE_BYTES = 20


def is_workbook(data: bytes) -> bool:
    """Whether these bytes are a workbook, or a Word file of the time when both looked alike."""
    if data.startswith(OLD_EXCEL):
        return True
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return not MEMBERS.isdisjoint(archive.namelist())
    except DAMAGE:
        return False


def read_workbook(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table:
    """Read the named sheet, or the first one that holds a table with numbers."""
    book = _opened(data, budget)
    names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    if given.sheet is not None and given.sheet not in names:
        raise refuse("no-sheet", sheet=given.sheet, names=names)
    tables: dict[str, Table] = {}
    error = refuse("empty.workbook")
    for sheet in names if given.sheet is None else [given.sheet]:
        text = _as_csv(book.get_sheet_by_name(sheet), budget)
        try:
            tables[sheet] = read_text(text, name, replace(given, **AS_CSV), budget)
        except InputError as problem:
            error = problem if text.count(b"\n") > 1 else error
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
    n_columns = max(map(_number_of_column, columns))
    n_cells = (last - min(map(int, rows)) + 1) * n_columns
    if n_cells * HELD_BYTES > max(budget.size, budget.cells * CELL_BYTES):
        raise refuse("too-large.sheet", row=last, column=n_columns)


def _number_of_column(letters: bytes) -> int:
    """The number of a column such as AA, which is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _as_csv(sheet: CalamineSheet, budget: Budget) -> bytes:
    """The cells of a sheet, with empty rows as empty lines."""
    budget.check_cells(sheet.total_height, sheet.total_width)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in sheet.iter_rows():
        cells = [_written(cell) for cell in row]
        writer.writerow(cells if any(cells) else [])
    return text.getvalue().encode(errors="replace")


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
