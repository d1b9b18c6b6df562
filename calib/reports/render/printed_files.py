"""The tables of a document as CSV, cell by cell, and its charts as pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pandas as pd

from calib.blocks.kinds import Block, Drawing, Table, parts
from calib.figures.chart import ImageKind, images
from calib.loading.table import unused
from calib.reports.contents.structure import Contents
from calib.reports.render.files import to_csv
from calib.reports.render.sections import answer, sections

FOLDER = "as_printed"


def slug(title: str) -> str:
    """A title as part of a file's name.

    >>> slug("Slices and time")
    'slices_and_time'
    """
    return re.sub(r"\W+", "_", title.lower())


def printed_tables(report: Contents) -> dict[str, bytes]:
    """Every table by the name of its file, and their captions. Small print is a separate column."""
    files: dict[str, bytes] = {}
    captions = []
    for section, table in _blocks(report):
        if isinstance(table, Table):
            name = f"{len(files) + 1:02d}_{section}.csv"
            files[f"{FOLDER}/{name}"] = to_csv(_frame(table))
            captions.append((name, table.caption))
    listed = pd.DataFrame(captions, columns=["file", "table"])
    return {f"{FOLDER}/00_tables.csv": to_csv(listed), **files}


def _blocks(report: Contents) -> Iterator[tuple[str, Block]]:
    """Every block, those beside each other one by one, with its section as part of a name."""
    for section in sections(report):
        for block in parts(section.blocks):
            yield slug(section.title), block


def _frame(table: Table) -> pd.DataFrame:
    columns: dict[str, list[str]] = {}
    for place, head in enumerate(table.head):
        values = [row[place] for row in table.rows]
        name = unused(head.strip() or f"column {place + 1}", columns)
        columns[name] = [value.text for value in values]
        if any(value.lines for value in values):
            below = unused(f"{name}, below", columns)
            columns[below] = [value.detail_in_one_line for value in values]
    return pd.DataFrame(columns)


def pictures(
    report: Contents, kind: ImageKind, progress: Callable[[float, str], None]
) -> dict[str, bytes]:
    """Every chart drawn, by the name of its file; ValueError without kaleido or a Chrome."""
    first = answer(report).chart
    drawn = [] if first is None else [("verdict", first)]
    drawn += [(name, block.chart) for name, block in _blocks(report) if isinstance(block, Drawing)]
    made = images([chart for _, chart in drawn], kind, progress)
    names = (f"{number:02d}_{name}.{kind}" for number, (name, _) in enumerate(drawn, 1))
    return dict(zip(names, made, strict=True))
