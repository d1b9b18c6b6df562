"""Cells of delimited text: read by the C parser of pandas, or kept as they are written."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.loading.columns import CODE, label_text
from calib.loading.reading.layout import Layout
from calib.numerics.arrays import FloatArray

PART_BYTES = 2**23  # A large text is read in parts of this size.
MAX_EXACT_FLOAT = 2.0**53  # Not every larger integer is a float.
# All values of a table of at most this many rows are compared with their text. In larger tables,
# the first rows show which columns may have names.
MAX_COMPARED_ROWS = 10_000
# A column with more distinct values from 0 to 1 has scores, because at most 100 models or folds and
# 20 slices are allowed.
MAX_NAMED_FRACTIONS = 100
LEADING_ZERO = re.compile(rb"0[0-9]")
OUTSIDE_CELL = np.isin(np.arange(256), list(b'\t\n\r ";,|+-'))


def read_csv(text: bytes, layout: Layout, chunksize: int | None = None, **how: Any) -> Any:
    """The cells of a text, or an iterator over parts of `chunksize` rows."""
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
        # Otherwise chunks of a column can get different types, and pandas warns of it.
        low_memory=False,
        # A word such as NA may be a label or a slice, so only empty cells are missing here.
        keep_default_na=False,
        na_values=[""],
        encoding="utf-8",
        chunksize=chunksize,
        **how,
    )


def exact(text: bytes, layout: Layout, frame: pd.DataFrame, *, commas: bool) -> pd.DataFrame:
    """Replace columns of numbers by text if the numbers do not show all that is written."""
    zeros = _has_leading_zero(text)
    lost = [
        # Integers beside empty cells become floats, in which large ones are not distinct.
        *(column for column, sizes in _fractions(frame) if (sizes >= MAX_EXACT_FLOAT).any()),
        *(_codes(text, layout, frame) if zeros else ()),
        *(_perhaps_thousands(frame) if commas else ()),
    ]
    written = _as_text(text, layout, lost) | _unusually_written(
        text, layout, frame, set(lost), odd_whole=zeros or b"+" in text
    )
    if not written:
        return frame
    return pd.concat([written.get(i, frame[i]) for i in frame.columns], axis=1)


def _as_text(text: bytes, layout: Layout, columns: Sequence[int]) -> dict[int, pd.Series]:
    """Read these columns as text."""
    if not columns:
        return {}
    try:
        frame = read_csv(text, layout, usecols=columns, dtype=str)
    except pd.errors.ParserError:
        # With `usecols`, pandas refuses texts in which no row has a cell in the last column.
        frame = read_csv(text, layout, dtype=dict.fromkeys(columns, str))
    return {i: frame[i] for i in columns}


def _fractions(frame: pd.DataFrame) -> Iterator[tuple[int, FloatArray]]:
    """The sizes of the numbers of each column of floats."""
    for column, dtype in frame.dtypes.items():
        if dtype.kind == "f":
            values = np.abs(frame[column].to_numpy())
            yield column, values[np.isfinite(values)]


def _codes(text: bytes, layout: Layout, frame: pd.DataFrame) -> list[int]:
    """Columns of whole numbers, at least one with leading zeros: 007 is not 7."""
    numbers = [frame[column] for column, dtype in frame.dtypes.items() if dtype.kind in "iuf"]
    # Numbers such as 00 and 01, none above 1, are labels and not codes.
    whole = [c.name for c in numbers if _whole(c) and bool(c.max() > 1 or c.min() < 0)]
    written = _as_text(text, layout, whole)
    return [column for column in whole if written[column].str.match(CODE, na=False).any()]


def _whole(column: pd.Series) -> bool:
    """Whether all numbers are whole. They are floats if cells are empty."""
    if column.dtype.kind in "iu":
        return True
    values = column.to_numpy()
    parts = (values[:MAX_COMPARED_ROWS], values)
    return all(bool((part[np.isfinite(part)] % 1.0 == 0.0).all()) for part in parts)


def _unusually_written(
    text: bytes, layout: Layout, frame: pd.DataFrame, as_text: set[int], *, odd_whole: bool
) -> dict[int, pd.Series]:
    """Columns of numbers or truth values that may be names, if some are written unusually.

    As names of models, groups or slices, 1.10 is not 1.1, and TRUE is not true. `odd_whole` says
    whether the text has signs or leading zeros. Otherwise a whole number is written in one way.
    """
    may_be_names = [
        i
        for i in frame.columns
        if i not in as_text and _may_be_names(frame[i], odd_whole=odd_whole)
    ]
    cells = _as_text(text, layout, may_be_names)
    written = {i: column.astype("category") for i, column in cells.items()}
    if layout.decimal == ",":
        written = {
            i: column.cat.rename_categories(lambda cell: cell.replace(",", "."))
            for i, column in written.items()
        }
    return {
        i: written[i]
        for i in may_be_names
        if not _is_usually_written(written[i], frame[i].dtype.kind)
    }


def _may_be_names(column: pd.Series, *, odd_whole: bool) -> bool:
    """Whether the values repeat, as names do and most scores do not."""
    if column.dtype.kind in "iu":
        return odd_whole
    if column.dtype.kind != "f":
        return column.dtype.kind == "b"
    values = column.to_numpy()
    head = values[:MAX_COMPARED_ROWS]
    distinct = np.unique(head[np.isfinite(head)])
    if len(distinct) and distinct[0] >= 0.0 and distinct[-1] <= 1.0 and (distinct % 1.0).any():
        return len(distinct) <= MAX_NAMED_FRACTIONS
    return len(values) <= MAX_COMPARED_ROWS or 2 * len(pd.unique(column)) <= len(values)


def _is_usually_written(column: pd.Series, kind: str) -> bool:
    """Whether all cells are written as Python writes values of this kind."""
    texts = [str(cell).strip() for cell in column.cat.categories]
    if kind == "b":
        return set(texts) <= {"True", "False"}
    return all(text == label_text(float(text) if kind == "f" else int(text)) for text in texts)


def _has_leading_zero(text: bytes) -> bool:
    if LEADING_ZERO.match(text):
        return True
    for start in range(0, len(text), PART_BYTES):
        part = np.frombuffer(text[start : start + PART_BYTES + 2], dtype=np.uint8)
        zero = (part[1:-1] == ord("0")) & (part[2:] - ord("0") < 10)
        if bool(OUTSIDE_CELL[part[:-2][zero]].any()):
            return True
    return False


def _perhaps_thousands(frame: pd.DataFrame) -> list[int]:
    """Columns such as 1.234. In a text with decimal commas, the point may separate thousands."""
    columns = []
    for column, sizes in _fractions(frame):
        fractions = sizes[sizes % 1.0 != 0.0]
        if len(fractions) and bool(
            ((fractions > 1.0) & (np.round(fractions, 3) == fractions)).all()
        ):
            columns.append(column)
    return columns


def in_parts(text: bytes, layout: Layout) -> pd.DataFrame:
    """Read a large text in parts, which takes half the time and memory of one pass.

    If the parts have different types of columns, the text is read again in one pass.
    """
    # All rows have about the same length. The parser holds every cell of a part as text.
    n_rows = max(1, text.count(b"\n") * PART_BYTES // len(text))
    with read_csv(text, layout, n_rows) as parts:
        frames = list(parts)
    if any(not _same_types(frames[0], frame) for frame in frames):
        return read_csv(text, layout)
    return pd.concat(frames, ignore_index=True)


def _same_types(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    # Integers and floats become floats when they are joined, as they do in one pass.
    return all(
        a == b or (a.kind in "if" and b.kind in "if")
        for a, b in zip(first.dtypes, second.dtypes, strict=True)
    )
