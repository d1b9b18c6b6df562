"""Uploaded files, with rows or with counts. They are read here or in a separate process."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from calib.data.aggregate import Aggregate
from calib.data.file_options import FileFormat
from calib.loading.problems import InputError, refuse
from calib.loading.reading import apart, reader
from calib.loading.reading.budget import Budget
from calib.loading.table import Table
from calib.scanning import scan
from calib.scanning.query import is_result


def read(
    data: bytes, name: str, *, given: FileFormat | None = None, budget: Budget | None = None
) -> Table | Aggregate:
    """Rows of a file, or counts: those of `Aggregate.save`, or of a query of `scan_sql`."""
    budget = budget or Budget()
    counted = io.BytesIO(data)
    try:
        if Aggregate.is_saved_at(counted):
            _check(data, budget)
            return Aggregate.load(counted)
        if is_result(counted):
            _check(data, budget)
            return scan(counted, name=reader.stem(name))
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise refuse("counts", name=name, message=str(error)) from None
    return reader.read(data, name, given=given, budget=budget)


def _check(data: bytes, budget: Budget) -> None:
    """Refuse a Parquet file that declares too many cells, before it is decoded."""
    try:
        metadata = pq.read_metadata(io.BytesIO(data))
    except pa.ArrowException:
        return
    budget.check_cells(metadata.num_rows, metadata.num_columns)


def serve_one() -> None:
    """Read one file in a separate process; see `calib.loading.reading.apart`."""
    apart.serve_one(read)
