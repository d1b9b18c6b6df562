"""Cells in quotation marks that go on over several lines, perhaps because a mark is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calib.loading.problems import Problem, refuse, warning

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
