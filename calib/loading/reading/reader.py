"""read: bytes, a path, pasted text or a DataFrame become a Table; the content tells the format."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from calib.core.aggregate_file import METADATA_KEY
from calib.loading.numbers import has_commas
from calib.loading.options import TextFormat
from calib.loading.problems import InputError, Problem, note, refuse
from calib.loading.reading.archives import is_numpy_archive, read_numpy_archive, unpack
from calib.loading.reading.text import read_text
from calib.loading.table import Table, make_table
from calib.text import joined, number, quoted

# The page's upload widget says the same number, and so does .streamlit/config.toml.
MAX_BYTES = 2**30
MAX_CELLS = 200_000_000
# Cells of a column that are looked at for decimal commas, where none is a delimiter.
LOOK_ROWS = 10_000
NULLABLE = {
    f"{sign.lower()}int{size}": getattr(pd, f"{sign}Int{size}Dtype")()
    for sign in ("", "U")
    for size in (8, 16, 32, 64)
}
SUFFIXES = {".gz", ".zip", ".bz2", ".xz", ".zst"}


class ArrowTable(Protocol):
    """What pyarrow, Polars and others call a table: it can hand over its columns by Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Source: TypeAlias = str | bytes | os.PathLike[str] | pd.DataFrame | ArrowTable | Table

# What else people drop by mistake, by its first bytes.
OTHER_FORMATS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"SQLite format 3": "an SQLite database",
    b"\x93NUMPY": "a NumPy array without labels (save both with numpy.savez)",
    b"\x89HDF": "an HDF5 file",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
}


def read(
    data: Source,
    name: str | None = None,
    *,
    limit: int = MAX_BYTES,
    given: TextFormat | None = None,
) -> Table:
    """Read a table, whatever holds it.

    Parameters
    ----------
    data : path, str, bytes, DataFrame or Table
        A DataFrame is one of pandas, or of Polars, pyarrow or another library that speaks Arrow.
        A str with a line break is pasted text, any other a path. CSV, TSV and other delimited
        text, Parquet, Feather and Arrow files and NumPy archives (.npz) are told apart by their
        content, so are gzip, zip, bzip2, xz and zstd.
    name : str, optional
        File name, for messages and reports.
    limit : int
        Largest number of bytes, before and after unpacking.
    given : TextFormat, optional
        How a text is written; what is not named is found in it.

    Raises
    ------
    InputError
        If it is not a table, or a text that can be read in two ways; the message says why and what
        to do.

    Examples
    --------
    >>> table = read("y;p\\n0;0,25\\n1;0,75\\n")
    >>> table.columns, table.frame["p"].tolist(), table.first_row
    (('y', 'p'), [0.25, 0.75], 2)
    """
    given = given or TextFormat()
    if isinstance(data, Table):
        return data
    if isinstance(data, pd.DataFrame):
        return _from_frame(data, name or "data")
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(pa.table(data), name or "data")
    if isinstance(data, str) and ("\n" in data or "\r" in data):
        data, given = data.encode(errors="replace"), replace(given, encoding=None)
    if isinstance(data, str | os.PathLike):
        name = name or Path(data).name
        data = _read_path(Path(data), limit)
    table = _from_bytes(bytes(data), stem(name or "pasted text"), limit, given)
    return replace(table, file=Path(name or "").name, format=given)


def _from_frame(frame: pd.DataFrame, name: str) -> Table:
    plain = frame.reset_index(drop=True)
    if plain.empty:
        raise refuse("empty", "The DataFrame holds no rows or no columns.")
    names = [_flat(column) for column in frame.columns]
    return make_table(plain, names, name=name, commas=has_commas(plain, LOOK_ROWS))


def _flat(column: object) -> str:
    return " ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _read_path(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(limit + 1)
    except (OSError, ValueError):
        raise refuse(
            "no-file", f"There is no readable file {quoted(path)}. Check the path."
        ) from None


def stem(name: str) -> str:
    """What the data of a file are called, by the file's name.

    Examples
    --------
    >>> stem("scores.csv"), stem("scores.csv.gz")
    ('scores', 'scores')
    """
    path = Path(name)
    while path.suffix.lower() in SUFFIXES:
        path = path.with_suffix("")
    return path.stem or name


def _from_bytes(data: bytes, name: str, limit: int, given: TextFormat) -> Table:
    if len(data) > limit:
        raise refuse(
            "too-large",
            f"The file is larger than {number(limit / 2**20, 0)} MB. Upload fewer rows, only the "
            "columns that are needed, or Parquet.",
        )
    if is_numpy_archive(data):
        return read_numpy_archive(data, name, limit)
    content = unpack(data, limit)
    if not content.strip():
        raise refuse("empty", "The file is empty. Upload a table with a header and rows.")
    for magic, kind in OTHER_FORMATS.items():
        if content.startswith(magic):
            raise refuse(
                "not-a-table",
                f"This is {kind}, not a table that can be read. Upload CSV, TSV, Parquet, Arrow "
                "or a NumPy archive.",
            )
    _check_single(content)
    if content.startswith(b"PAR1"):
        return _from_arrow(_guarded("Parquet", _parquet, content), name)
    if content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _from_arrow(_guarded("Arrow", _arrow, content), name)
    if content.startswith(b"FEA1"):
        raise refuse("old-feather", "This is a Feather file of version 1. Save it as Parquet.")
    return read_text(content, name, given)


def _check_single(content: bytes) -> None:
    """Refuse files one behind the other: only the last one's directory would be read."""
    for magic, kind in ((b"PAR1", "Parquet"), (b"ARROW1", "Arrow")):
        if content.startswith(magic) and 2 * magic in content:
            raise refuse(
                "several-files",
                f"The file holds several {kind} files, one after the other. Save their rows as "
                "one table.",
            )


def _guarded(kind: str, reader: Any, content: bytes) -> pa.Table:
    try:
        table = reader(content)
        # A damaged or hostile file may point outside its buffers, and hold text that is none.
        table.validate(full=True)
        return table.rename_columns(table.column_names)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError):
        raise refuse(
            "damaged",
            f"This {kind} file cannot be read: it is damaged, cut short, or other bytes follow it. "
            "Write it again.",
        ) from None


def _parquet(content: bytes) -> pa.Table:
    file = pq.ParquetFile(pa.BufferReader(content))
    if METADATA_KEY in (file.metadata.metadata or {}):
        raise refuse(
            "aggregate",
            "This file holds counts made by calib.aggregate, not rows. In Python: "
            "calib.analyze(calib.Aggregate.load(path)).",
        )
    _check_cells(file.metadata.num_rows, file.metadata.num_columns)
    return file.read()


def _arrow(content: bytes) -> pa.Table:
    source = pa.BufferReader(content)
    if content.startswith(b"ARROW1"):
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        schema = file.schema
    else:
        batches = stream = pa.ipc.open_stream(source)
        schema = stream.schema
    read: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        _check_cells(n_rows, len(schema))
        read.append(batch)
    # A stream ends where it says so: what follows would be lost without a word.
    if not content.startswith(b"ARROW1") and content[source.tell() :].strip(b"\0"):
        raise ValueError("another stream follows")
    return pa.Table.from_batches(read, schema)


def _check_cells(n_rows: int, n_columns: int) -> None:
    if n_rows * n_columns > MAX_CELLS:
        raise refuse(
            "too-large",
            f"The file holds {n_rows:,} rows of {n_columns:,} columns; at most {MAX_CELLS:,} "
            "cells are read. Upload fewer rows, or only the columns that are needed.",
        )


def _from_arrow(table: pa.Table, name: str) -> Table:
    nested = [i for i, field in enumerate(table.schema) if not _is_plain(field.type)]
    plain = table.select([i for i in range(table.num_columns) if i not in set(nested)])
    if not plain.num_rows or not plain.num_columns:
        raise refuse("empty", "The file holds no rows or no plain columns. Upload the rows.")
    try:
        frame = _to_frame(plain.rename_columns([str(i) for i in range(plain.num_columns)]))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise refuse(
            "damaged", "The columns of the file cannot be converted. Save it as CSV."
        ) from None
    commas = has_commas(frame, LOOK_ROWS)
    notes = _left_out(table, nested)
    return make_table(frame, plain.column_names, name=name, notes=notes, commas=commas)


def _to_frame(table: pa.Table) -> pd.DataFrame:
    # Without pandas' own metadata: an index comes back as a column, and sizes are as stored.
    frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    # Whole numbers with empty cells would become floats, which cannot tell long ids apart.
    gaps = [
        name
        for name in table.column_names
        if pa.types.is_integer(table[name].type) and table[name].null_count
    ]
    if not gaps:
        return frame
    exact = table.select(gaps).to_pandas(
        ignore_metadata=True, types_mapper=lambda kind: NULLABLE[str(kind)]
    )
    return frame.assign(**{name: exact[name] for name in gaps})


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return not (pa.types.is_nested(kind) or binary or isinstance(kind, pa.BaseExtensionType))


def _left_out(table: pa.Table, nested: list[int]) -> tuple[Problem, ...]:
    if not nested:
        return ()
    shown = joined([quoted(table.column_names[i]) for i in nested[:3]], len(nested))
    sentence = f"{shown} hold lists or bytes, not single values, and were left out."
    return (note("left-out-columns", sentence),)
