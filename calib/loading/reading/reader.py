"""read: make a Table of bytes, a path, text or a DataFrame. The content determines the format."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from calib.data.aggregate_file import METADATA_KEY
from calib.data.file_options import FileFormat, Source
from calib.loading.columns import has_commas
from calib.loading.logs import inspect_logs, recognising
from calib.loading.logs.rows import JSON_START
from calib.loading.logs.together import named_by, paths_beside
from calib.loading.problems import InputError, refuse
from calib.loading.reading.archives import UNPACKERS, names_in_zip, read_numpy_archive, unpack
from calib.loading.reading.budget import Budget
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
from calib.loading.reading.spread import MAX_CLASSES, by_class, of_classes, spread
from calib.loading.table import Table, left_out_columns, make_table
from calib.numerics.arrays import FloatArray

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
ROWS_AT_ONCE = 10_000  # More cells as Python objects would take too much memory.
LOOK_ROWS = 10_000  # Decimal commas in text are searched in this many rows.
NULLABLE = {
    f"{sign.lower()}int{size}": getattr(pd, f"{sign}Int{size}Dtype")()
    for sign in ("", "U")
    for size in (8, 16, 32, 64)
}


def read_columnar(content: bytes, name: str, budget: Budget) -> Table:
    """Read a Parquet, Feather or Arrow file, or a stream of Arrow.

    Lists of probabilities become columns. Columns of other lists or of bytes are not decoded.
    """
    kind, reader = ("Parquet", _parquet) if content.startswith(PARQUET) else ("Arrow", _arrow)
    try:
        table, left_out = reader(content, budget)
        table = table.rename_columns(table.column_names)
    except (InputError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        if "deeply nested" in str(error):
            raise refuse("too-nested", kind=kind) from None
        raise refuse("damaged.columnar", kind=kind) from None
    return from_arrow(table, left_out, name=name)


def _parquet(content: bytes, budget: Budget) -> tuple[pa.Table, list[str]]:
    source = pa.BufferReader(content)
    file = pq.ParquetFile(source)
    if METADATA_KEY in (file.metadata.metadata or {}):
        raise refuse("aggregate")
    schema = file.schema_arrow
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    budget.check_decoded(sum(max(group.total_byte_size, 0) for group in groups), "Parquet")
    chunks = _chunks(file, [f.name for f in schema if _is_text(f.type) or _is_vector(f.type)])
    lengths = _lengths_of_lists(chunks, file.metadata.num_rows)
    for field in schema:
        if pa.types.is_struct(field.type):
            lengths[field.name] = max(lengths.get(field.name, 0.0), float(field.type.num_fields))
    kept = [
        field.name
        for field in schema
        if _is_plain(field.type)
        or (_is_vector(field.type) and 1 < lengths.get(field.name, 0.0) <= MAX_CLASSES)
    ]
    n_cells = sum(lengths.get(name, 1.0) for name in kept)
    budget.check_cells(file.metadata.num_rows, int(n_cells))
    budget.check_decoded(sum(max(c.total_uncompressed_size, 0) for c in chunks), "Parquet")
    # Words of a dictionary are kept there, so that their size is checked before each row gets its
    # word.
    words = {field.name for field in schema if _is_text(field.type)}
    encodings = [(chunk.path_in_schema, str(chunk.encodings)) for chunk in chunks]
    # A column can be read as a dictionary if it has one, and no delta encoding.
    encoded = {name for name, encoding in encodings if "DICTIONARY" in encoding}
    encoded -= {name for name, encoding in encodings if "DELTA" in encoding}
    dictionaries = words & encoded
    file = pq.ParquetFile(source, read_dictionary=dictionaries, page_checksum_verification=True)
    # Columns can be selected by name only if all names are different.
    some = len(kept) < len(schema) and len(set(schema.names)) == len(schema)
    table = file.read(columns=kept if some else None)
    table, left_out = _checked(table, schema, budget, "Parquet")
    columns = [
        column.cast(column.type.value_type)
        if name in words and pa.types.is_dictionary(column.type)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, table.column_names), left_out


def _lengths_of_lists(chunks: Sequence[pq.ColumnChunkMetaData], n_rows: int) -> dict[str, float]:
    """The mean number of values in a cell of each column; 1 if its cells are no lists."""
    values = Counter[str]()
    for chunk in chunks:
        values[chunk.path_in_schema] += chunk.num_values
    lengths: dict[str, float] = {}
    for path, number in values.items():
        name = path.split(".")[0]
        lengths[name] = max(lengths.get(name, 0.0), number / max(n_rows, 1))
    return lengths


def _chunks(file: pq.ParquetFile, names: Sequence[str]) -> list[pq.ColumnChunkMetaData]:
    """What the file says about some columns.

    Arrow ends the process if that is damaged, whereas reading a row raises an error.
    """
    leaves = range(len(file.schema))
    wanted = [j for j in leaves if file.schema.column(j).path.split(".")[0] in names]
    chunks = []
    for i in range(file.metadata.num_row_groups if wanted else 0):
        for _ in file.reader.iter_batches(1, [i], column_indices=wanted, use_threads=False):
            break
        chunks += [file.metadata.row_group(i).column(j) for j in wanted]
    return chunks


def _arrow(content: bytes, budget: Budget) -> tuple[pa.Table, list[str]]:
    source = pa.BufferReader(content)
    if content.startswith(ARROW_FILE):
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        schema = file.schema
    else:
        batches = stream = pa.ipc.open_stream(source)
        schema = stream.schema
    read: list[pa.RecordBatch] = []
    n_rows = size = 0
    for batch in batches:
        n_rows += batch.num_rows
        size += batch.nbytes
        budget.check_cells(n_rows, len(schema))
        budget.check_decoded(size, "Arrow")
        read.append(batch)
    # Arrow ignores all bytes after the end mark of a stream.
    if not content.startswith(ARROW_FILE) and content[source.tell() :].strip(b"\0"):
        raise ValueError("another stream follows")
    return _checked(pa.Table.from_batches(read, schema), schema, budget, "Arrow")


def _checked(
    table: pa.Table, schema: pa.Schema, budget: Budget, kind: str
) -> tuple[pa.Table, list[str]]:
    kept = [
        i for i, field in enumerate(table.schema) if _is_plain(field.type) or _is_vector(field.type)
    ]
    # A damaged or hostile file may point outside its buffers, and its text may be invalid.
    table.select(kept).validate(full=True)
    plain, left_out = _plain_columns(table, schema)
    size = sum(_word_bytes(chunk) for column in plain.columns for chunk in column.chunks)
    budget.check_words(int(size), kind)
    return plain, left_out


def _plain_columns(table: pa.Table, schema: pa.Schema) -> tuple[pa.Table, list[str]]:
    """The columns of single values, those that lists hold, and the names of the others."""
    columns: list[tuple[str, pa.ChunkedArray]] = []
    left_out = [field.name for field in schema if not _is_plain(field.type)]
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _is_plain(column.type):
            columns.append((name, column))
        elif parts := _of_classes(column) if _is_vector(column.type) else {}:
            columns += [(f"{name}_{label}", pa.array(part)) for label, part in parts.items()]
            left_out.remove(name)
    return pa.table([column for _, column in columns], [name for name, _ in columns]), left_out


def _of_classes(column: pa.ChunkedArray) -> Mapping[str, FloatArray]:
    """One column per class, by its label or place, if every row has a probability of each."""
    if column.null_count:
        return {}
    if pa.types.is_map(column.type):
        pairs = pa.struct([("label", column.type.key_type), ("prob", column.type.item_type)])
        column = column.cast(pa.list_(pairs))
    cells = column.combine_chunks()
    if pa.types.is_struct(cells.type):
        fields = {field.name: pc.struct_field(cells, field.name) for field in cells.type}
        # A vector of Spark says the places of its values only if it leaves out zeros.
        places = fields.get("indices")
        if "values" in fields and (places is None or places.null_count == len(places)):
            cells = fields["values"]
    if not (_is_list(cells.type) and pa.types.is_floating(cells.type.value_type)):
        starts = range(0, len(cells), ROWS_AT_ONCE)
        return of_classes(cell for i in starts for cell in cells[i : i + ROWS_AT_ONCE].to_pylist())
    lengths = pc.min_max(pc.list_value_length(cells)).as_py()
    numbers, n_classes = pc.list_flatten(cells), lengths["min"] or 0
    if (
        cells.null_count
        or numbers.null_count
        or not 2 <= n_classes == lengths["max"] <= MAX_CLASSES
    ):
        return {}
    matrix = numbers.to_numpy(zero_copy_only=False).reshape(-1, n_classes)
    return by_class(map(str, range(n_classes)), matrix)


def _word_bytes(chunk: pa.Array) -> float:
    """Bytes of words, if every row has its own copy."""
    if not pa.types.is_dictionary(chunk.type):
        return float(_lengths(chunk).sum())
    codes = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
    lengths = _lengths(chunk.dictionary)
    return float(np.bincount(codes, minlength=len(lengths)) @ lengths)


def _lengths(words: pa.Array) -> FloatArray:
    """Bytes of each word, and 0 for other types. Floats are used, because sums may overflow."""
    if pa.types.is_string_view(words.type):
        views = np.frombuffer(words.buffers()[1], np.int32).reshape(-1, 4)
        valid = words.is_valid().to_numpy(zero_copy_only=False)
        return np.where(valid, views[words.offset :][: len(words), 0], 0).astype(np.float64)
    if not _is_text(words.type):
        return np.zeros(len(words))
    lengths = pc.binary_length(words).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.float64)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def from_arrow(table: pa.Table, left_out: list[str] | None = None, *, name: str) -> Table:
    """Convert a table of Arrow. Columns of lists or bytes are left out."""
    if left_out is None:
        table, left_out = _plain_columns(table, table.schema)
    if not table.num_rows or not table.num_columns:
        raise refuse("empty.columns")
    try:
        frame = _to_frame(table.rename_columns([str(i) for i in range(table.num_columns)]))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise refuse("damaged.columns") from None
    commas = has_commas(frame, LOOK_ROWS)
    notes = left_out_columns(left_out, "hold lists, maps or bytes, not single values")
    return make_table(frame, table.column_names, name=name, notes=notes, commas=commas)


def _to_frame(table: pa.Table) -> pd.DataFrame:
    # The metadata of pandas are ignored, so that an index is a column and types are as stored.
    frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    # Integers with missing cells would become floats, in which long ids are not distinct.
    with_missing = [
        name
        for name in table.column_names
        if pa.types.is_integer(table[name].type) and table[name].null_count
    ]
    if not with_missing:
        return frame
    exact = table.select(with_missing).to_pandas(
        ignore_metadata=True, types_mapper=lambda kind: NULLABLE[str(kind)]
    )
    return frame.assign(**{name: exact[name] for name in with_missing})


def _is_vector(kind: pa.DataType) -> bool:
    """Whether cells may hold probabilities: lists of floats, pairs with labels, or fields."""
    if pa.types.is_map(kind):
        return bool(pa.types.is_floating(kind.item_type))
    if pa.types.is_struct(kind) and kind.num_fields > 1:
        floats = [pa.types.is_floating(field.type) for field in kind]
        return all(floats) or any(_is_vector(field.type) for field in kind)
    if not _is_list(kind):
        return False
    inner = kind.value_type
    of_pairs = pa.types.is_struct(inner) and any(pa.types.is_floating(f.type) for f in inner)
    return bool(pa.types.is_floating(inner)) or of_pairs


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return not (pa.types.is_nested(kind) or binary or isinstance(kind, pa.BaseExtensionType))


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
