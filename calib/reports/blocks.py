"""What a report is made of, before it is HTML or Markdown. All text in blocks is plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calib.figures import Chart


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a lead is the sentence that matters most in its section."""

    text: str
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and their values."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A cell of a table: a number, its interval, and whether the row stands out for it."""

    text: str
    # What stands below the number. Several details are a line each, so that the column stays
    # narrow.
    detail: str = ""
    marked: bool = False

    @property
    def detail_in_one_line(self) -> str:
        return ", ".join(self.detail.splitlines())


def row(*cells: str | Value) -> tuple[Value, ...]:
    """A row of a table, of texts and of values with details."""
    return tuple(cell if isinstance(cell, Value) else Value(cell) for cell in cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first `n_text` columns hold text and the others numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    n_text: int = 1


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of Python."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A chart."""

    chart: Chart


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Charts beside each other, or below each other if there is not enough space."""

    drawings: tuple[Drawing, ...]


Block = Paragraph | Bullets | Facts | Table | Code | Drawing | Beside


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """Its place, for links of the contents list."""
        return re.sub(r"\W+", "-", self.title.lower())


@dataclass(frozen=True, slots=True, eq=False)
class ReportDocument:
    """Everything that is printed, in order: a report, or two compared."""

    # The title, and who made it when.
    heading: str
    made: str
    facts: Facts | None  # what the head says besides
    note: str
    sections: tuple[Section, ...]
    version: str  # of calib, which made the numbers
    contains: str  # what is known about records of single rows
    # What the explorer draws, as `calib.figures.explorer` makes it; None where it has no cells.
    explorer: Mapping[str, Any] | None = None
