"""Delimited text, read by pandas' C parser in the layout that was found."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from calib.loading.encodings import to_utf8
from calib.loading.layout import WHITESPACE, Layout, find_layout, long_cell, read_records
from calib.loading.problems import InputError, joined, refuse
from calib.loading.table import Table, make_table

# Bytes from which on a text is read in parts, and of each part.
LARGE, PART = 2**25, 2**23
EXCEL_HINT = re.compile(rb'\s*"?sep=(.)"?\r?\n')


def read_text(data: bytes, name: str) -> Table:
    """Read delimited text.

    Raises
    ------
    InputError
        If it is not a table.
    """
    text, notes = to_utf8(data)
    delimiter = None
    if hint := EXCEL_HINT.match(text):
        delimiter, text = hint[1].decode(errors="replace"), text[hint.end() :]
    layout = find_layout(text, delimiter)
    frame = _parse(text, layout)
    names: list[Any] = [""] * layout.n_columns
    if layout.header is not None:
        # One cell more in the rows than in the header: row names, as R writes them.
        names = [""] * (layout.n_columns - len(layout.header)) + layout.header
    if layout.header is None or len(layout.header) == len(names):
        frame, names = _without_blank_columns(frame, names)
    first_row = 1 if layout.header is None else 2
    return make_table(frame, names, name=name, first_row=first_row, notes=notes)


def _parse(text: bytes, layout: Layout) -> pd.DataFrame:
    try:
        return _in_parts(text, layout) if len(text) > LARGE else _read_csv(text, layout)
    except pd.errors.EmptyDataError:
        raise refuse("empty", "The file holds no rows. Upload the rows as well.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError, OverflowError):
        raise _unreadable(text.decode(), layout) from None


def _read_csv(text: bytes, layout: Layout, chunksize: int | None = None) -> Any:
    stream = io.BytesIO(text)
    stream.seek(layout.start)
    return pd.read_csv(
        stream,
        sep=layout.delimiter,
        header=None,
        names=list(range(layout.n_columns)),
        index_col=False,
        decimal=layout.decimal,
        skipinitialspace=layout.delimiter != "\t",
        # One pass over the whole column: no column of mixed types, no warning about it.
        low_memory=False,
        encoding="utf-8",
        chunksize=chunksize,
    )


def _in_parts(text: bytes, layout: Layout) -> pd.DataFrame:
    """The same in half the time and memory, where every part finds the same kinds of columns."""
    # Rows are of about one length; the parser holds every cell of a part as text.
    n_rows = max(1, text.count(b"\n") * PART // len(text))
    with _read_csv(text, layout, n_rows) as parts:
        frames = list(parts)
    if any(not _like(frames[0], frame) for frame in frames):
        return _read_csv(text, layout)
    return pd.concat(frames, ignore_index=True)


def _like(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    # Whole numbers and fractions become fractions together, as they do in one pass.
    return all(
        a == b or (a.kind in "if" and b.kind in "if")
        for a, b in zip(first.dtypes, second.dtypes, strict=True)
    )


def _unreadable(text: str, layout: Layout) -> InputError:
    """Say which line is not like the others."""
    odd: list[str] = []
    try:
        records = (
            read_records(text, layout.delimiter) if layout.delimiter != WHITESPACE else iter(())
        )
        for line, record in records:
            if len(record) > layout.n_columns:
                odd.append(f"line {line:,} ({len(record)})")
            if len(odd) == 3:
                break
    except csv.Error:
        return long_cell()
    if odd:
        return refuse(
            "ragged",
            f"The table has {layout.n_columns} columns, but some lines have more cells: "
            f"{joined(odd)}. Put cells that contain the delimiter in quotation marks.",
        )
    return refuse(
        "quotes",
        "A quotation mark is opened and never closed, or rows have unequal numbers of cells. "
        "Repair the quotation marks, or save the table again as CSV.",
    )


def _without_blank_columns(
    frame: pd.DataFrame, names: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Drop nameless columns without values, such as a delimiter at each line's end makes."""
    keep = [
        i
        for i, name in enumerate(names)
        if str(name).strip() or bool(frame.iloc[:, i].notna().any())
    ]
    return frame.iloc[:, keep], [names[i] for i in keep]
