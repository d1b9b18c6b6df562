"""Cells of delimited text: read by the C parser of pandas, or kept as they are written."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from calib.loading.columns import CODE, label_text
from calib.loading.reading.layout import WHITESPACE, Layout
from calib.numerics.arrays import FloatArray

PART_BYTES = 2**23  # A large text is read in parts of this size.
MAX_EXACT_FLOAT = 2.0**53  # Not every larger integer is a float.
# All values of a table of at most this many rows are compared with their text. In larger tables,
# the first rows show which columns may have names.
MAX_COMPARED_ROWS = 10_000
# A column with more distinct values, and fractions among them, has scores or amounts, because at
# most 100 models or folds and 20 slices are allowed.
MAX_NAMED_FRACTIONS = 100
# A cell that begins like a whole number with a plus sign or with a zero that is not needed.
ODD_START = r'(^|[\n\r"{}])[ \t]*(\+|0[0-9]|-0[^.])'
# Pandas and pyarrow do not treat a quotation mark after blanks in the same way.
QUOTE_AFTER_BLANK = re.compile(rb'[ \t]"')
# The usual way to write a whole number, and a fraction without an exponent. Fractions of at most 15
# digits are written like this by Python too. Those of more digits may be rounded.
WHOLE = r"^(0|-?[1-9][0-9]*)$"
FRACTION = r"^-?([1-9][0-9]*\.[0-9]*|0\.0{0,3}[1-9]|0\.0{0,3}[1-9][0-9]*)[1-9]$|^-?0\.0{0,3}[1-9]$"
MAX_SHORT_CELL = 16


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
    odd = _has_odd_start(text, layout)
    # Integers beside empty cells become floats, in which large ones are not distinct.
    lost = {column for column, sizes in _fractions(frame) if (sizes >= MAX_EXACT_FLOAT).any()}
    lost |= set(_perhaps_thousands(frame) if commas else ())
    codes = {i for i in frame.columns if odd and _may_be_codes(frame[i])}
    names = {i for i in frame.columns if i not in lost and _may_be_names(frame[i], odd_whole=odd)}
    written = {}
    for i, cells in _as_text(text, layout, frame, sorted(lost | codes | names)).items():
        if i in lost or (i in codes and _any_match(cells, f"^{CODE.pattern}")):
            written[i] = cells.to_pandas()
        elif i in names:
            plain = pc.replace_substring(cells, ",", ".") if layout.decimal == "," else cells
            # The first cells mostly show whether Python would write the values like this.
            parts, kind = (plain[:MAX_COMPARED_ROWS], plain), frame[i].dtype.kind
            if not all(_are_usual(pc.utf8_trim_whitespace(part), kind) for part in parts):
                column = plain.dictionary_encode().to_pandas()
                in_order = column.cat.categories.sort_values()
                written[i] = column.cat.reorder_categories(in_order)
    if not written:
        return frame
    return pd.concat([written.get(i, frame[i]).rename(i) for i in frame.columns], axis=1)


def _has_odd_start(text: bytes, layout: Layout) -> bool:
    """Whether any cell may begin with a plus sign or with a zero that is not needed."""
    delimiter = " " if layout.delimiter == WHITESPACE else re.escape(layout.delimiter)
    ends = pa.py_buffer(np.array([layout.start, len(text)]))
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(text)])
    return _any_match(whole, ODD_START.format(delimiter))


def _any_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern=pattern)).as_py())


def _as_text(
    text: bytes, layout: Layout, frame: pd.DataFrame, columns: Sequence[int]
) -> dict[int, pa.ChunkedArray]:
    """The cells of these columns of the frame as text."""
    if not columns:
        return {}
    try:
        table = _read_by_arrow(text, layout, columns)
        is_same = len(table) == len(frame)
    except pa.ArrowInvalid:
        is_same = False
    if not is_same:
        # With `usecols`, pandas refuses texts in which no row has a cell in the last column.
        texts = read_csv(text, layout, dtype=dict.fromkeys(columns, str))[columns]
        table = pa.Table.from_pandas(texts, preserve_index=False)
    return {column: table.column(i) for i, column in enumerate(columns)}


def _read_by_arrow(text: bytes, layout: Layout, columns: Sequence[int]) -> pa.Table:
    """Read columns as text, several times faster than pandas, or raise ArrowInvalid."""
    has_quotes = b'"' in text
    if layout.delimiter == WHITESPACE or (has_quotes and QUOTE_AFTER_BLANK.search(text)):
        raise pa.ArrowInvalid
    names = [str(column) for column in columns]
    table = csv.read_csv(
        pa.BufferReader(pa.py_buffer(text).slice(layout.start)),
        csv.ReadOptions(
            use_threads=False,
            block_size=PART_BYTES,
            column_names=[str(i) for i in range(layout.n_columns)],
        ),
        csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=has_quotes),
        csv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.large_string())
        ),
    )
    cells = table.columns
    if layout.delimiter != "\t":
        cells = [pc.utf8_ltrim(column, characters=" \t") for column in cells]
    missing = pa.scalar(None, pa.large_string())
    cells = [pc.if_else(pc.equal(column, ""), missing, column) for column in cells]
    return pa.table(cells, names)


def _fractions(frame: pd.DataFrame) -> Iterator[tuple[int, FloatArray]]:
    """The sizes of the numbers of each column of floats."""
    for column, dtype in frame.dtypes.items():
        if dtype.kind == "f":
            values = np.abs(frame[column].to_numpy())
            yield column, values[np.isfinite(values)]


def _may_be_codes(column: pd.Series) -> bool:
    """Whether all numbers are whole, and not only 0 and 1: 007 is not 7, but 01 is the label 1."""
    return (
        column.dtype.kind in "iuf" and _whole(column) and bool(column.max() > 1 or column.min() < 0)
    )


def _whole(column: pd.Series) -> bool:
    """Whether all numbers are whole. They are floats if cells are empty."""
    if column.dtype.kind in "iu":
        return True
    values = column.to_numpy()
    parts = (values[:MAX_COMPARED_ROWS], values)
    return all(bool((part[np.isfinite(part)] % 1.0 == 0.0).all()) for part in parts)


def _may_be_names(column: pd.Series, *, odd_whole: bool) -> bool:
    """Whether the values repeat, as names do and most scores do not.

    As names of models, groups or slices, 1.10 is not 1.1, and TRUE is not true. `odd_whole` says
    whether the text has signs or leading zeros. Otherwise a whole number is written in one way.
    """
    if column.dtype.kind in "iu":
        return odd_whole
    if column.dtype.kind != "f":
        return column.dtype.kind == "b"
    values = column.to_numpy()
    head = values[:MAX_COMPARED_ROWS]
    distinct = np.unique(head[np.isfinite(head)])
    if (distinct % 1.0).any():
        return len(distinct) <= MAX_NAMED_FRACTIONS
    if len(values) <= MAX_COMPARED_ROWS:
        return True
    # NumPy sorts floats faster than pandas counts distinct ones.
    increasing = np.sort(values)
    return 2 * int((increasing[1:] > increasing[:-1]).sum()) < len(values)


def _are_usual(texts: pa.ChunkedArray, kind: str) -> bool:
    """Whether all cells are written as Python writes values of this kind."""
    if kind == "b":
        return set(pc.unique(texts.drop_null()).to_pylist()) <= {"True", "False"}
    # Python compares only the cells that no pattern knows.
    for pattern in (WHOLE,) if kind in "iu" else (WHOLE, FRACTION):
        usual = pc.match_substring_regex(texts, pattern=pattern)
        short = pc.less_equal(pc.binary_length(texts), MAX_SHORT_CELL)
        texts = texts.filter(pc.invert(pc.and_(usual, short)))
    read = float if kind == "f" else int
    return all(text == label_text(read(text)) for text in pc.unique(texts).to_pylist())


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
    # Integers and floats become floats when they are joined, as they do in one pass.
    kinds = [["number" if t.kind in "if" else str(t) for t in one.dtypes] for one in frames]
    if any(of_part != kinds[0] for of_part in kinds):
        return read_csv(text, layout)
    return pd.concat(frames, ignore_index=True)
