"""Small files that hold, or promise to hold, very much: what a reader must not fall for."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import calib
from calib.scanning.query import COLUMNS
from tests.loading.workbooks import xlsx

MB = 2**20
LONG = "w" * MB


def parquet(*batches: pa.Table, **how: object) -> bytes:
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, batches[0].schema, **how) as writer:
        for batch in batches:
            writer.write_table(batch)
    return buffer.getvalue()


def zeros(n_rows: int) -> pa.Table:
    none = np.zeros(n_rows)
    return pa.table({"y": none.astype(np.int64), "p": none})


def one_word(n_rows: int, word: str = LONG) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array([word]))


def long_word(n_rows: int) -> bytes:
    """A word that stands once in its dictionary and is meant by every row."""
    # The column is read as text if Arrow's schema is not stored.
    return parquet(zeros(n_rows).append_column("word", one_word(n_rows)), store_schema=False)


def shared_prefixes(n_rows: int) -> bytes:
    """Words that are written as what they add to the word before."""
    words = pa.array([LONG[: 2**17]] * n_rows)
    rows = pa.table({"y": [0] * n_rows, "p": [0.5] * n_rows, "word": words})
    return parquet(
        rows,
        use_dictionary=False,
        compression="zstd",
        column_encoding={"word": "DELTA_BYTE_ARRAY"},
    )


def many_in_lists(n_values: int) -> bytes:
    lists = pa.ListArray.from_arrays(pa.array([0, n_values, n_values]), np.zeros(n_values))
    return parquet(pa.table({"y": [0, 1], "p": [0.2, 0.7], "lists": lists}))


def feather(rows: pa.Table, n_batches: int, compression: str | None, *, stream: bool) -> bytes:
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(buffer, rows.schema, options=options) as writer:
        for _ in range(n_batches):
            writer.write_table(rows)
    return buffer.getvalue()


def shared_views(n_rows: int) -> bytes:
    """Words that are all the same place of one buffer."""
    view = np.array([[MB, 0, 0, 0]], np.int32)
    view[0, 1] = int.from_bytes(b"wwww", "little")
    views = pa.py_buffer(np.repeat(view, n_rows, axis=0))
    words = pa.Array.from_buffers(
        pa.string_view(), n_rows, [None, views, pa.py_buffer(LONG.encode())]
    )
    return feather(zeros(n_rows).append_column("word", words), 1, "zstd", stream=False)


def repeated(pack: Callable[[bytes], bytes], part: bytes, n_mb: int) -> bytes:
    """A packed text, each megabyte a stream of its own."""
    return pack(b"y,p\n") + pack(part * (MB // len(part))) * n_mb


def zipped(n_mb: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("f.csv", b"0,0\n" * (n_mb * MB // 4))
    return buffer.getvalue()


def arrays(n_bytes: int, declared: int | None = None, **values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, y=np.zeros(n_bytes // 8), **values)
    data = buffer.getvalue()
    if declared is None:
        return data
    # The size is in the record of the file and in the directory.
    size = (n_bytes // 8 * 8 + 128).to_bytes(4, "little")
    return data.replace(size, declared.to_bytes(4, "little"))


def short_lines(n_columns: int, n_lines: int) -> bytes:
    """Rows with one cell, below a header that fills them up."""
    return ",".join(f"c{i}" for i in range(n_columns)).encode() + b"\n" + b"1\n" * n_lines


def counts(n_entries: int) -> bytes:
    """A file that says it is counts, all entries of which are equal."""
    whole = calib.aggregate(calib.Predictions.from_arrays([0, 1], [0.2, 0.7]))
    one = whole.to_arrow().slice(0, 1)
    entries = one.take(pa.array(np.zeros(n_entries, np.int64)))
    return parquet(*[entries] * 10, compression="zstd")


def result(n_cells: int, word: str) -> bytes:
    """What a query counted, as Parquet, with a long word in each cell."""
    names = {name: [0] * n_cells for name in COLUMNS} | {"calib_value": one_word(n_cells, word)}
    return parquet(pa.table(names), store_schema=False)


def far_cell() -> bytes:
    """A sheet of two rows, the second one being the last that a sheet can have."""
    sheets = {"Rows": [["y", "p"], [1, 0.5]]}
    return xlsx(sheets, {'r="B2"': 'r="XFD1048576"', '<row r="2">': '<row r="1048576">'})


# A reader without limits would need gigabytes or minutes for each.
BOMBS: dict[str, Callable[[], bytes]] = {
    "Parquet: a word of 1 MB in 100,000 rows": lambda: long_word(100_000),
    "Parquet: 120 million rows of zeros": lambda: parquet(*[zeros(10_000_000)] * 12),
    "Parquet: 30 million rows of zeros": lambda: parquet(*[zeros(10_000_000)] * 3),
    "Parquet: words of shared prefixes": lambda: shared_prefixes(1_500),
    "Parquet: 100 million values in a list": lambda: many_in_lists(100_000_000),
    "Parquet: a word of 1 GB": lambda: parquet(
        pa.table({"y": [0, 1], "p": [0.2, 0.7], "w": ["w" * 2**30, ""]}), compression="zstd"
    ),
    "Feather, lz4: 100 million rows of zeros": lambda: feather(
        zeros(10_000_000), 10, "lz4", stream=False
    ),
    "Arrow stream, zstd: 100 million rows": lambda: feather(
        zeros(10_000_000), 10, "zstd", stream=True
    ),
    "Arrow: categories of 1 MB in 100,000 rows": lambda: feather(
        zeros(100_000).append_column("word", one_word(100_000)), 1, "zstd", stream=False
    ),
    "Arrow: 100,000 views of one word": lambda: shared_views(100_000),
    "gzip: 1 GB of short rows": lambda: repeated(gzip.compress, b"0,0\n", 1020),
    "gzip: 250 MB of short rows": lambda: repeated(gzip.compress, b"0,0\n", 250),
    "gzip: 250 MB of quotation marks": lambda: repeated(gzip.compress, b'"",""\n,\n', 250),
    "gzip: 1 GB in one cell": lambda: repeated(gzip.compress, b"xxxx", 1020),
    "gzip: 20,000 columns above short rows": lambda: gzip.compress(short_lines(20_000, 10**7)),
    "bzip2: 1 GB of short rows": lambda: repeated(bz2.compress, b"0,0\n", 1020),
    "xz: 1 GB of short rows": lambda: repeated(lzma.compress, b"0,0\n", 1020),
    "zstd: 1 GB of short rows": lambda: repeated(
        lambda data: pa.Codec("zstd").compress(data, asbytes=True), b"0,0\n", 1020
    ),
    "zip: 1 GB of short rows": lambda: zipped(1020),
    "NumPy: 1 GB of zeros": lambda: arrays(2**30),
    "NumPy: 30 million columns": lambda: arrays(16, probs=np.zeros((2, 30_000_000), np.float32)),
    "NumPy: less declared than there is": lambda: arrays(2**29, declared=1000),
    "text: 20,000 columns above short rows": lambda: short_lines(20_000, 10**6),
    "text: 4 MB of quotation marks": lambda: b"y,p\n" + b'"' * (4 * MB - 10),
    "Excel: two rows, 17 billion cells": far_cell,
    "Excel: 1 GB of spaces": lambda: xlsx({"Rows": [["y"]]}, {"</sheetData>": " " * 2**30}),
    "counts: 19 million entries": lambda: counts(1_900_000),
    "counts: 100 million entries": lambda: counts(10_000_000),
    "query: a word of 1 MB in 50,000 cells": lambda: result(50_000, LONG),
}
