"""A table or counts, or why there are none, as a file of Arrow's: what a process hands on.

The file may come from a process that a hostile file took over: it is data, never code, and nothing
of it is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.data.aggregate import Aggregate
from calib.data.aggregate_file import METADATA_KEY
from calib.loading.file_options import TextFormat
from calib.loading.problems import Choice, Guess, InputError, Problem
from calib.loading.table import Table

ABOUT = b"calib"
Read = Table | Aggregate
MICROSECOND = timedelta(microseconds=1)
# Cells of columns that hold Python's own objects are JSON. What JSON does not know is its type and
# a text, which is read by one of these.
KINDS: dict[str, Callable[[str], Any]] = {
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timedelta": lambda text: int(text) * MICROSECOND,
}


def write(found: Read | InputError, path: Path) -> None:
    """Write what was just read, or why there is nothing."""
    columns = _as_arrow(found) if isinstance(found, Table | InputError) else found.to_arrow()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, columns.schema) as writer:
        writer.write_table(columns)


def _as_arrow(found: Table | InputError) -> pa.Table:
    columns: list[tuple[str, pa.Array]] = []
    if isinstance(found, InputError):
        about: dict[str, Any] = {"problems": [asdict(problem) for problem in found.problems]}
    else:
        columns = [_column(column) for _, column in found.frame.items()]
        about = asdict(replace(found, frame=pd.DataFrame()))
        about["frame"] = [list(found.columns), [kind for kind, _ in columns]]
    names = [str(i) for i in range(len(columns))]
    table = pa.table([values for _, values in columns], names=names)
    return table.replace_schema_metadata({ABOUT: json.dumps(about).encode()})


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
        cells = [json.dumps(each, default=_typed) for each in column.tolist()]
        return "objects", pa.array(cells, pa.large_string())
    if isinstance(dtype, np.dtype):
        values = np.ascontiguousarray(column.to_numpy())
        kind = pa.binary(dtype.itemsize)
        return dtype.str, pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
    return str(dtype), pa.array(column)


def _series(column: pa.ChunkedArray, kind: str) -> pd.Series:
    if kind == "objects":
        cells = map(json.loads, column.to_pylist())
        objects = [KINDS[each[0]](each[1]) if isinstance(each, list) else each for each in cells]
        return pd.Series(objects, dtype=object)
    if kind[0] in "<>|=":
        chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        start = chunk.offset * np.dtype(kind).itemsize
        values = np.frombuffer(chunk.buffers()[1], kind, len(chunk), start)
        return pd.Series(values, copy=False)
    series = column.to_pandas()
    return series if kind == "category" else series.astype(kind)


def _typed(value: object) -> list[str]:
    text = str(value // MICROSECOND if isinstance(value, timedelta) else value)
    return [type(value).__name__, text]
