"""read: make a Table of bytes, a path, text or a DataFrame. The content determines the format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import pyarrow as pa

from calib.data.file_options import FileFormat, Source
from calib.loading.columns import has_commas
from calib.loading.logs import inspect_logs, recognising
from calib.loading.logs.rows import JSON_START
from calib.loading.logs.together import named_by, paths_beside
from calib.loading.problems import InputError, refuse
from calib.loading.reading.archives import UNPACKERS, names_in_zip, read_numpy_archive, unpack
from calib.loading.reading.budget import Budget
from calib.loading.reading.columnar import (
    ARROW_FILE,
    ARROW_STREAM,
    LOOK_ROWS,
    PARQUET,
    from_arrow,
    read_columnar,
)
from calib.loading.reading.delimited_text import read_text
from calib.loading.reading.programs import (
    ARFF,
    MEMBERS,
    OLD_EXCEL,
    STATISTICS,
    read_arff,
    read_statistics,
    read_workbook,
)
from calib.loading.reading.spread import spread
from calib.loading.table import Table, make_table

DEFAULT_BUDGET = Budget()
SUFFIXES = {".gz", ".zip", ".bz2", ".xz", ".zst"}

# People upload files of these formats by mistake. Each is recognised by its first bytes.
OTHER_FORMATS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x93NUMPY": "a NumPy array without labels (save both with numpy.savez)",
    b"\x89HDF": "an HDF5 file",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
}

# Other programs can write these formats as CSV by one command.
EXPORTS = {
    b"$FL2": ("SPSS", "SAVE TRANSLATE OUTFILE='predictions.csv' /TYPE=CSV /FIELDNAMES."),
    b"$FL3": ("SPSS", "SAVE TRANSLATE OUTFILE='predictions.csv' /TYPE=CSV /FIELDNAMES."),
    b"X\n\0\0\0": ("R", 'write.csv(readRDS("predictions.rds"), "predictions.csv")'),
    b"RDX2\n": ("R", 'write.csv(get(load("predictions.RData")), "predictions.csv")'),
    b"RDX3\n": ("R", 'write.csv(get(load("predictions.RData")), "predictions.csv")'),
    b"MATLAB ": ("MATLAB", "writetable(struct2table(load('predictions.mat')), 'predictions.csv')"),
}
GIT_LFS = b"version https://git-lfs.github.com/spec/"

COLUMNAR = re.compile(b"|".join(map(re.escape, (PARQUET, ARROW_FILE, ARROW_STREAM))))
# The content of files that begin with these bytes can be much larger than the file.
PACKED = (*UNPACKERS, PARQUET, ARROW_FILE, ARROW_STREAM, OLD_EXCEL)


def _no_table(data: object) -> TypeError:
    return TypeError(
        "data must be a path, a text, bytes or a DataFrame, "
        f"got {type(data).__name__}. Make a pandas.DataFrame of columns or arrays."
    )


def read(
    data: Source | Table,
    name: str | None = None,
    *,
    budget: Budget = DEFAULT_BUDGET,
    given: FileFormat | None = None,
) -> Table:
    """Read a table from any supported source. The name is for messages and reports.

    A str with a line break is pasted text, any other str a path. Formats are distinguished by their
    content, and so are gzip, zip, bzip2, xz and zstd. The fields of `given` are not guessed.
    An InputError says why something is not a table, or why a text can be read in two ways, and what
    to do.
    """
    given = given or FileFormat()
    if isinstance(data, Table):
        return data
    if isinstance(data, pd.DataFrame):
        return spread(_from_frame(data, name or "data"))
    if hasattr(data, "__arrow_c_stream__"):
        try:
            columns = pa.table(data)
        except pa.ArrowInvalid:
            # A single column is exported to Arrow in the same way, but has no name and no outcome.
            raise _no_table(data) from None
        return from_arrow(columns, name=name or "data")
    if isinstance(data, str) and ("\n" in data or "\r" in data):
        data, given = data.encode(errors="replace"), replace(given, encoding=None)
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if path is not None:
        name = name or path.name
        try:
            with path.open("rb") as stream:
                data = stream.read(budget.size + 1)
        except (OSError, ValueError):
            raise refuse("no-file.readable", path=str(path)) from None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _no_table(data)
    try:
        table = _from_bytes(bytes(data), stem(name or "pasted text"), budget, given)
        table = table if table.log else spread(table)
    except MemoryError:
        raise refuse("memory.here") from None
    table = replace(table, file=Path(name or "").name, format=given)
    return _with_names_beside(path, table) if path is not None and table.log else table


def _with_names_beside(path: Path, table: Table) -> Table:
    """An evaluation log with the names that files in its folder give its model."""
    beside = []
    for other in paths_beside(path, table):
        # A file of another kind in the same folder does not matter.
        with suppress(InputError):
            beside.append(read(other.read_bytes(), other.name))
    return named_by(table, beside) if beside else table


def _from_frame(frame: pd.DataFrame, name: str) -> Table:
    plain = frame.reset_index(drop=True)
    if plain.empty:
        raise refuse("empty.frame")
    names = [
        " ".join(map(str, column)) if isinstance(column, tuple) else str(column)
        for column in frame.columns
    ]
    return make_table(plain, names, name=name, commas=has_commas(plain, LOOK_ROWS))


def stem(name: str) -> str:
    """The name of the data of a file, which is "scores" for scores.csv.gz."""
    path = Path(name)
    while path.suffix.lower() in SUFFIXES:
        path = path.with_suffix("")
    return path.stem or name


def _from_bytes(data: bytes, name: str, budget: Budget, given: FileFormat) -> Table:
    budget.check_file(len(data))
    members = names_in_zip(data)
    if members and all(member.endswith(".npy") for member in members):
        return read_numpy_archive(data, name, budget)
    if not {inspect_logs.START, inspect_logs.HEADER}.isdisjoint(members):
        return recognising.read_archive(data, name, given, budget)
    if data.startswith(OLD_EXCEL) or not MEMBERS.isdisjoint(members):
        return read_workbook(data, name, given, budget)
    content = unpack(data, budget)
    if not content or content.isspace():
        raise refuse("empty")
    _refuse_others(content)
    for start, reads in FORMATS:
        if start.match(content):
            return reads(content, name, given, budget)
    return read_text(content, name, given, budget)


# A reader takes the bytes, the name and the format of a file, and how large it may be.
Reader: TypeAlias = Callable[[bytes, str, FileFormat, Budget], Table]
# A format is recognised by its first bytes. All other content is delimited text.
FORMATS: tuple[tuple[re.Pattern[bytes], Reader], ...] = (
    (COLUMNAR, lambda data, name, _, budget: read_columnar(data, name, budget)),
    (STATISTICS, lambda data, name, _, budget: read_statistics(data, name, budget)),
    (JSON_START, recognising.read_json),
    (ARFF, read_arff),
)


def _refuse_others(content: bytes) -> None:
    """Refuse formats that are not read, with what to do, and several files in one."""
    for magic, kind in OTHER_FORMATS.items():
        if content.startswith(magic):
            raise refuse("not-a-table.other", kind=kind)
    for magic, (program, command) in EXPORTS.items():
        if content.startswith(magic):
            raise refuse("not-a-table.program", program=program, command=command)
    if content.startswith(GIT_LFS):
        raise refuse("git-lfs")

    if content.startswith(b"FEA1"):
        raise refuse("old-feather")
    for magic, kind in ((PARQUET, "Parquet"), (ARROW_FILE, "Arrow")):
        # Only the last of several files would be read.
        if content.startswith(magic) and 2 * magic in content:
            raise refuse("several-files", kind=kind)
