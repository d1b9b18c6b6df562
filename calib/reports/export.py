"""What a document prints, as files: its tables as CSV, cell by cell, and its charts as pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from calib.figures import Chart
from calib.figures.images import ImageKind, images
from calib.loading.table import unused
from calib.reports.blocks import Beside, Drawing, Section, Table
from calib.reports.contents import Contents
from calib.reports.files import to_csv
from calib.reports.sections import sections

FOLDER = "as_printed"


def slug(title: str) -> str:
    """A title as part of a file's name.

    >>> slug("Slices and time")
    'slices_and_time'
    """
    return re.sub(r"\W+", "_", title.lower())


def printed_tables(report: Contents) -> dict[str, bytes]:
    """Every table by the name of its file, in order, and a list of their captions.

    Small print of a cell, such as an interval, is in a separate column.
    """
    files: dict[str, bytes] = {}
    captions = []
    for section, table in _tables(sections(report)):
        name = f"{len(files) + 1:02d}_{slug(section)}.csv"
        files[f"{FOLDER}/{name}"] = to_csv(_frame(table))
        captions.append((name, table.caption))
    listed = pd.DataFrame(captions, columns=["file", "table"])
    return {f"{FOLDER}/00_tables.csv": to_csv(listed), **files}


def _tables(found: Iterable[Section]) -> Iterator[tuple[str, Table]]:
    for section in found:
        for block in section.blocks:
            if isinstance(block, Table):
                yield section.title, block


def _frame(table: Table) -> pd.DataFrame:
    columns: dict[str, list[str]] = {}
    for place, head in enumerate(table.head):
        values = [row[place] for row in table.rows]
        name = unused(head.strip() or f"column {place + 1}", columns)
        columns[name] = [value.text for value in values]
        if any(value.detail for value in values):
            below = unused(f"{name}, below", columns)
            columns[below] = [value.detail_in_one_line for value in values]
    return pd.DataFrame(columns)


def charts(report: Contents) -> dict[str, Chart]:
    """Every chart of a report, by the name of its file, in order."""
    found: dict[str, Chart] = {}
    for section in sections(report):
        for block in section.blocks:
            drawings = block.drawings if isinstance(block, Beside) else (block,)
            for drawing in drawings:
                if isinstance(drawing, Drawing):
                    found[f"{len(found) + 1:02d}_{slug(section.title)}"] = drawing.chart
    return found


def pictures(
    report: Contents, kind: ImageKind, progress: Callable[[float, str], None]
) -> dict[str, bytes]:
    """Every chart drawn, by the name of its file.

    Before each, ``progress(share, step)`` is called. Raises ValueError if kaleido or a Chrome is
    not installed. The message says which.
    """
    drawn = charts(report)
    made = images(list(drawn.values()), kind, progress)
    return {f"{name}.{kind}": image for name, image in zip(drawn, made, strict=True)}
