"""The largest allowed content of a file, and the Arrow file by which its reader returns it.

A hostile file may have taken over the process that read it. So the Arrow file is only data, and
nothing in it is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.data.aggregate import Aggregate
from calib.data.aggregate_file import METADATA_KEY
from calib.data.file_options import FileFormat
from calib.loading.problems import Choice, Guess, InputError, Problem, refuse
from calib.loading.table import Table

# The upload widget of the page and .streamlit/config.toml have the same number.
MAX_BYTES = 2**30
MAX_CELLS = 200_000_000
MAX_COLUMNS = 20_000
CELL_BYTES = 8


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest allowed content of a file.

    `size` is in bytes, of the file and of its text when unpacked. `cells` is a number of cells.
    `words` is in bytes of all text cells, although the file can store each word only once.
    """

    size: int = MAX_BYTES
    cells: int = MAX_CELLS
    words: int = MAX_BYTES

    def check_file(self, size: int) -> None:
        """Refuse a file of this size if it is too large."""
        if size > self.size:
            raise refuse("too-large", size=self.size)

    def check_unpacked(self, size: int, kind: str) -> None:
        """Refuse a compressed file if its content is too large."""
        if size > self.size:
            raise refuse("too-large.unpacked", kind=kind, size=self.size)

    def check_cells(self, n_rows: int, n_columns: int) -> None:
        """Refuse a table if it has too many rows and columns."""
        if n_columns > MAX_COLUMNS:
            raise refuse("too-wide", n=n_columns, most=MAX_COLUMNS)
        if n_rows * n_columns > self.cells:
            raise refuse("too-large.cells", n_rows=n_rows, n_columns=n_columns, most=self.cells)

    def check_decoded(self, size: int, kind: str) -> None:
        """Refuse columns if they are too large when decoded."""
        limit = max(self.size, self.cells * CELL_BYTES)
        if size > limit:
            raise refuse("too-large.decoded", kind=kind, size=size, limit=limit)

    def check_words(self, size: int, kind: str) -> None:
        """Refuse columns if their words are too large when each is in its row."""
        if size > self.words:
            raise refuse("too-large.words", kind=kind, size=size, limit=self.words)


ABOUT = b"calib"
Read = Table | Aggregate
MICROSECOND = timedelta(microseconds=1)
# Cells of columns of Python objects are written as JSON. A type that JSON lacks is written as its
# name and a text, which one of these functions reads.
CELL_READERS: dict[str, Callable[[str], Any]] = {
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timedelta": lambda text: int(text) * MICROSECOND,
}


class InArrow(Protocol):
    """What writes itself as an Arrow table."""

    def to_arrow(self) -> pa.Table:
        """The columns, and metadata from which it is made again."""


def write(content: Table | InArrow | InputError, path: Path) -> None:
    """Write the content of a file, or the error why it cannot be read."""
    columns = _as_arrow(content) if isinstance(content, Table | InputError) else content.to_arrow()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, columns.schema) as writer:
        writer.write_table(columns)


def _as_arrow(content: Table | InputError) -> pa.Table:
    columns: list[tuple[str, pa.Array]] = []
    if isinstance(content, InputError):
        about: dict[str, Any] = {"problems": [asdict(problem) for problem in content.problems]}
    else:
        columns = [_column(column) for _, column in content.frame.items()]
        about = asdict(replace(content, frame=pd.DataFrame()))
        about["frame"] = [list(content.columns), [kind for kind, _ in columns]]
    names = [str(i) for i in range(len(columns))]
    table = pa.table([values for _, values in columns], names=names)
    return table.replace_schema_metadata({ABOUT: json.dumps(about).encode()})


def read_back(path: Path) -> Read:
    """Read the written rows or counts, or raise the written InputError."""
    columns = columns_of(path)
    if METADATA_KEY in columns.schema.metadata:
        return Aggregate.from_arrow(columns)
    about = json.loads(columns.schema.metadata[ABOUT])
    names, kinds = about["frame"]
    frames = [_series(columns[i], kind) for i, kind in enumerate(kinds)]
    frame = pd.concat(frames, axis=1) if frames else pd.DataFrame()
    about |= {
        "frame": frame.set_axis(names, axis=1),
        "notes": tuple(problem_of(note) for note in about["notes"]),
        "guesses": tuple(Guess(**guess) for guess in about["guesses"]),
        "log_files": tuple(about["log_files"]),
        "sheets": tuple(about["sheets"]),
        "format": FileFormat(**about["format"]),
    }
    return Table(**about)


def columns_of(path: Path) -> pa.Table:
    """The written columns, or raise the written InputError.

    Numbers stay in the file, and are copied when they are needed.
    """
    with pa.memory_map(str(path)) as source:
        columns = pa.ipc.open_file(source).read_all()
    about = json.loads(columns.schema.metadata.get(ABOUT, b"{}"))
    if "problems" in about:
        raise InputError([problem_of(problem) for problem in about["problems"]])
    return columns


def problem_of(written: dict[str, Any]) -> Problem:
    """A problem that was written as JSON."""
    choices = tuple(Choice(**choice) for choice in written.pop("choices"))
    problem = Problem(**written, choices=choices)
    # A program that was taken over may return facts that do not fit the sentence.
    assert problem.sentence
    return problem


def _column(column: pd.Series) -> tuple[str, pa.Array]:
    """The kind of a column, by which it is read back, and its values."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        cells = [json.dumps(cell, default=_typed) for cell in column.tolist()]
        return "objects", pa.array(cells, pa.large_string())
    # Arrow would make missing cells of a series, but not of an array, of NaN.
    return str(dtype), pa.array(column.to_numpy() if isinstance(dtype, np.dtype) else column)


def _series(column: pa.ChunkedArray, kind: str) -> pd.Series:
    if kind == "objects":
        cells = map(json.loads, column.to_pylist())
        objects = [
            CELL_READERS[cell[0]](cell[1]) if isinstance(cell, list) else cell for cell in cells
        ]
        return pd.Series(objects, dtype=object)
    series = column.to_pandas()
    return series if kind == "category" else series.astype(kind)


def _typed(value: object) -> list[str]:
    text = str(value // MICROSECOND if isinstance(value, timedelta) else value)
    return [type(value).__name__, text]
