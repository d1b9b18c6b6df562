"""A published number beside ours, and the studies that measure them."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from sklearn.base import BaseEstimator

from calib.figures import Chart

NO_VALUE = math.nan  # The paper has no such number, or no tolerance is set.
Method = TypeVar("Method", bound=BaseEstimator)


def textbook(method: Method) -> Method:
    """An unfitted calibrator as the papers have it, with rates of exactly 0 and 1."""
    return method.set_params(shrink=False) if "shrink" in method.get_params() else method


@dataclass(frozen=True, slots=True)
class Published:
    """One number.

    Attributes
    ----------
    name : str
        What it is the number of; unique in its study.
    published, ours : float
        NaN where nobody published it.
    tolerance : float
        How far ours may lie from the published one; NaN where they are not expected to agree, and
        the note says why.
    protocol : str
        Rows, folds and seeds in a sentence.
    note : str
    digits : int
        Decimals to show.
    at_most : bool
        Whether ours may lie below the published one by any distance: a loss.
    """

    name: str
    published: float
    ours: float
    tolerance: float
    protocol: str
    note: str = ""
    digits: int = 4
    at_most: bool = False

    @property
    def difference(self) -> float:
        """Ours minus the published number."""
        return self.ours - self.published

    @property
    def holds(self) -> bool:
        """Whether ours is as near as it must be; True where nothing is demanded."""
        if math.isnan(self.tolerance):
            return True
        # Differences of decimals are rounded in double precision, so a little is added.
        near = self.tolerance + 1e-12
        return self.difference <= near and (self.at_most or self.difference >= -near)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a study found.

    Attributes
    ----------
    rows : tuple of Published
    pictures : mapping of str to Chart
        By the names that the study gives its pictures.
    """

    rows: tuple[Published, ...]
    pictures: Mapping[str, Chart] = field(default_factory=dict)


Rows = Mapping[str, Published]


@dataclass(frozen=True, slots=True)
class Study:
    """One table or figure of a paper.

    Attributes
    ----------
    key : str
        Name of its file of rows.
    title : str
    measure : callable
        Makes the rows; raises `Absent` where its data are not here.
    tell : callable
        The text below the table, from the rows by name.
    pictures : mapping of str to str
        Alternative text by name of the picture's file.
    table : callable or None
        The table in Markdown where one line per row would not do.
    """

    key: str
    title: str
    measure: Callable[[], Measured]
    tell: Callable[[Rows], str]
    pictures: Mapping[str, str] = field(default_factory=dict)
    table: Callable[[Rows], str] | None = None


class Absent(Exception):
    """Data that a study needs are not here; the message says which."""


def save(rows: tuple[Published, ...], path: Path) -> None:
    """Write the rows of a study."""
    names = [f.name for f in fields(Published)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_written(getattr(row, name)) for name in names] for row in rows)


def load(path: Path) -> dict[str, Published]:
    """Read the rows of a study, by name."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [_read(line) for line in csv.DictReader(file)]
    return {row.name: row for row in rows}


def _written(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return str(value)


def _read(line: Mapping[str, str]) -> Published:
    def number(name: str) -> float:
        return float(line[name]) if line[name] else math.nan

    return Published(
        line["name"],
        number("published"),
        number("ours"),
        number("tolerance"),
        line["protocol"],
        line["note"],
        int(line["digits"]),
        line["at_most"] == "True",
    )
