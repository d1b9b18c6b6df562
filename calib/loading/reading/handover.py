"""A table or counts, or why there are none, as a file of Arrow's: what a process hands on.

The file may come from a process that a hostile file took over: it is data, never code, and nothing
of it is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.core.aggregate import Aggregate
from calib.core.aggregate_file import METADATA_KEY
from calib.loading.options import TextFormat
from calib.loading.problems import Choice, Guess, InputError, Problem
from calib.loading.table import Table

ABOUT = b"calib"
Read = Table | Aggregate
MICROSECOND = timedelta(microseconds=1)
# Cells of columns that hold Python's own objects: how each kind is written, and read again.
KINDS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    type(None): (lambda _: "", lambda _: None),
    bool: (lambda value: "1" if value else "", bool),
    int: (str, int),
    float: (float.hex, float.fromhex),
    str: (str, str),
    Decimal: (str, Decimal),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    timedelta: (lambda each: str(each // MICROSECOND), lambda text: int(text) * MICROSECOND),
}
ORDER = tuple(KINDS)


def write(found: Read, path: Path) -> None:
    """Write what was just read."""
    _write(found.to_arrow() if isinstance(found, Aggregate) else _as_arrow(found), path)


def _as_arrow(table: Table) -> pa.Table:
    columns = [_column(table.frame.iloc[:, i]) for i in range(table.frame.shape[1])]
    about = asdict(replace(table, frame=pd.DataFrame()))
    about["frame"] = [list(table.columns), [kind for kind, _ in columns]]
    names = [str(i) for i in range(len(columns))]
    return _known(pa.table([values for _, values in columns], names=names), about)


def write_error(error: InputError, path: Path) -> None:
    """Write why there is nothing."""
    problems = [asdict(problem) for problem in error.problems]
    _write(_known(pa.table({}), {"problems": problems}), path)


def _known(columns: pa.Table, about: Mapping[str, Any]) -> pa.Table:
    return columns.replace_schema_metadata({ABOUT: json.dumps(about).encode()})


def _write(columns: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, columns.schema) as writer:
        writer.write_table(columns)


def read_back(path: Path) -> Read:
    """What was written; numbers stay in the file and are copied when they are needed.

    Raises the InputError that was written.
    """
    with pa.memory_map(str(path)) as source:
        columns = pa.ipc.open_file(source).read_all()
    if METADATA_KEY in columns.schema.metadata:
        return Aggregate.from_arrow(columns)
    about = json.loads(columns.schema.metadata[ABOUT])
    if "problems" in about:
        raise InputError([_problem(each) for each in about["problems"]])
    names, kinds = about["frame"]
    frames = [_series(columns[i], kind) for i, kind in enumerate(kinds)]
    frame = pd.concat(frames, axis=1) if frames else pd.DataFrame()
    about |= {
        "frame": frame.set_axis(names, axis=1),
        "notes": tuple(_problem(each) for each in about["notes"]),
        "guesses": tuple(Guess(**each) for each in about["guesses"]),
        "format": TextFormat(**about["format"]),
    }
    return Table(**about)


def _problem(written: dict[str, Any]) -> Problem:
    choices = tuple(Choice(**choice) for choice in written.pop("choices"))
    return Problem(**written, choices=choices)


def _column(column: pd.Series) -> tuple[str, pa.Array]:
    """How a column is written, and its values."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        return "objects", _objects(column)
    if isinstance(dtype, np.dtype):
        values = np.ascontiguousarray(column.to_numpy())
        cells = pa.binary(dtype.itemsize)
        return dtype.str, pa.Array.from_buffers(cells, len(values), [None, pa.py_buffer(values)])
    return str(dtype), pa.array(column)


def _series(column: pa.ChunkedArray, kind: str) -> pd.Series:
    if kind == "objects":
        return _from_objects(column)
    if kind[0] in "<>|=":
        chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        start = chunk.offset * np.dtype(kind).itemsize
        values = np.frombuffer(chunk.buffers()[1], kind, len(chunk), start)
        return pd.Series(values, copy=False)
    series = column.to_pandas()
    return series if kind == "category" else series.astype(kind)


def _objects(column: pd.Series) -> pa.Array:
    values = column.tolist()
    kinds = [ORDER.index(type(value)) for value in values]
    texts = [KINDS[ORDER[kind]][0](value) for kind, value in zip(kinds, values, strict=True)]
    # A text may hold halves of characters, which Arrow's own texts refuse.
    cells = [text.encode("utf-8", "surrogatepass") for text in texts]
    return pa.StructArray.from_arrays(
        [pa.array(kinds, pa.int8()), pa.array(cells, pa.large_binary())], ["kind", "text"]
    )


def _from_objects(column: pa.ChunkedArray) -> pd.Series:
    cells = column.to_pylist()
    values = [
        KINDS[ORDER[each["kind"]]][1](each["text"].decode("utf-8", "surrogatepass"))
        for each in cells
    ]
    return pd.Series(values, dtype=object)
