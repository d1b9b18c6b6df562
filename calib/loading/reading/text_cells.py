"""Cells of delimited text: as pandas' C parser reads them, and as they are written."""

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

PART = 2**23  # Bytes of a part of a large text.
# Whole numbers from here on have no float of their own.
LARGEST_EXACT = 2.0**53
# Tables of fewer rows are always read as text too; of larger ones the first rows are looked at.
FEW_ROWS = 10_000
# More values from 0 to 1 are scores: at most 100 models or folds are allowed, and 20 such slices.
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
        # One pass over the whole column: no column of mixed types, no warning about it.
        low_memory=False,
        # Only an empty cell is missing. The meaning of a word such as NA depends on the column.
        keep_default_na=False,
        na_values=[""],
        encoding="utf-8",
        chunksize=chunksize,
        **how,
    )


def exact(text: bytes, layout: Layout, frame: pd.DataFrame, *, commas: bool) -> pd.DataFrame:
    """The same with columns as text that would lose something as numbers."""
    zeros = _has_leading_zero(text)
    lost = [
        # Large integers beside empty cells, which are not distinct as floats.
        *(column for column, sizes in _fractions(frame) if (sizes >= LARGEST_EXACT).any()),
        *(_codes(text, layout, frame) if zeros else ()),
        *(_perhaps_thousands(frame) if commas else ()),
    ]
    written = _as_text(text, layout, lost) | _otherwise_written(
        text, layout, frame, set(lost), odd_whole=zeros or b"+" in text
    )
    if not written:
        return frame
    return pd.concat([written.get(i, frame[i]) for i in frame.columns], axis=1)


def _as_text(text: bytes, layout: Layout, columns: Sequence[int]) -> dict[int, pd.Series]:
    """These columns as they are written."""
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
    """Columns of whole numbers of which one is written with leading zeros: 007 is not 7."""
    whole = [column for column, dtype in frame.dtypes.items() if dtype.kind in "iuf"]
    codes = [column for column in whole if _whole(frame[column]) and _beyond_one(frame[column])]
    written = _as_text(text, layout, codes)
    return [column for column in codes if written[column].str.match(CODE, na=False).any()]


def _whole(column: pd.Series) -> bool:
    """Whether all numbers are whole; empty cells make floats of whole numbers."""
    if column.dtype.kind in "iu":
        return True
    values = column.to_numpy()
    parts = (values[:FEW_ROWS], values)
    return all(bool((part[np.isfinite(part)] % 1.0 == 0.0).all()) for part in parts)


def _beyond_one(column: pd.Series) -> bool:
    return bool(column.max() > 1 or column.min() < 0)


def _otherwise_written(
    text: bytes, layout: Layout, frame: pd.DataFrame, known: set[int], *, odd_whole: bool
) -> dict[int, pd.Series]:
    """Columns of numbers or truth values that may be names, of which one is written otherwise.

    1.10 is not 1.1, nor TRUE true, where they name models, groups or slices. `odd_whole` says
    whether the text has signs or leading zeros: without them whole numbers are written in one way.
    """
    found = [
        i for i in frame.columns if i not in known and _may_name(frame[i], odd_whole=odd_whole)
    ]
    cells = _as_text(text, layout, found)
    written = {i: column.astype("category") for i, column in cells.items()}
    if layout.decimal == ",":
        written = {i: column.cat.rename_categories(_with_point) for i, column in written.items()}
    return {i: written[i] for i in found if not _usual(written[i], frame[i].dtype.kind)}


def _with_point(cell: str) -> str:
    return cell.replace(",", ".")


def _may_name(column: pd.Series, *, odd_whole: bool) -> bool:
    """Whether values repeat, as names do and most scores do not."""
    if column.dtype.kind in "iu":
        return odd_whole
    if column.dtype.kind != "f":
        return column.dtype.kind == "b"
    values = column.to_numpy()
    head = values[:FEW_ROWS]
    distinct = np.unique(head[np.isfinite(head)])
    if len(distinct) and distinct[0] >= 0.0 and distinct[-1] <= 1.0 and (distinct % 1.0).any():
        return len(distinct) <= MAX_NAMED_FRACTIONS
    return len(values) <= FEW_ROWS or 2 * len(pd.unique(column)) <= len(values)


def _usual(column: pd.Series, kind: str) -> bool:
    """Whether all cells are written as the values of this kind are shown."""
    texts = [str(each).strip() for each in column.cat.categories]
    if kind == "b":
        return set(texts) <= {"True", "False"}
    return all(text == label_text(float(text) if kind == "f" else int(text)) for text in texts)


def _has_leading_zero(text: bytes) -> bool:
    if LEADING_ZERO.match(text):
        return True
    for start in range(0, len(text), PART):
        part = np.frombuffer(text[start : start + PART + 2], dtype=np.uint8)
        zero = (part[1:-1] == ord("0")) & (part[2:] - ord("0") < 10)
        if bool(OUTSIDE_CELL[part[:-2][zero]].any()):
            return True
    return False


def _perhaps_thousands(frame: pd.DataFrame) -> list[int]:
    """Columns such as 1.234 in a text that has decimal commas: the point may separate thousands."""
    found = []
    for column, sizes in _fractions(frame):
        broken = sizes[sizes % 1.0 != 0.0]
        if len(broken) and bool(((broken > 1.0) & (np.round(broken, 3) == broken)).all()):
            found.append(column)
    return found


def in_parts(text: bytes, layout: Layout) -> pd.DataFrame:
    """The same in half the time and memory, where every part finds the same kinds of columns."""
    # Rows are of about one length; the parser holds every cell of a part as text.
    n_rows = max(1, text.count(b"\n") * PART // len(text))
    with read_csv(text, layout, n_rows) as parts:
        frames = list(parts)
    if any(not _like(frames[0], frame) for frame in frames):
        return read_csv(text, layout)
    return pd.concat(frames, ignore_index=True)


def _like(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    # Whole numbers and fractions become fractions together, as they do in one pass.
    return all(
        a == b or (a.kind in "if" and b.kind in "if")
        for a, b in zip(first.dtypes, second.dtypes, strict=True)
    )
