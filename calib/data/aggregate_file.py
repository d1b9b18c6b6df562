"""An aggregate as a Parquet file, and as the JSON of a report: cells to the last bit, checked."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from calib.data.file_options import Transform
from calib.data.slicing import Part, Strata
from calib.data.strict_json import Reader, loads
from calib.data.views import parse_view
from calib.numerics.arrays import arrays_of
from calib.numerics.cells import CellTable

SCHEMA_VERSION = 1
METADATA_KEY = b"calib.aggregate"
COLUMN_TYPES: Mapping[str, type] = {
    "stratum": np.int64,
    "key": np.int64,
    "outcome": np.bool_,
    "rows": np.int64,
    "weight": np.float64,
    "weight_sq": np.float64,
    "score_sum": np.float64,
    "low": np.float64,
    "high": np.float64,
}
# A forged file of a few kilobytes can claim any number of entries.
MAX_ENTRIES = 20_000_000
# Engines add up scores in any order, so a mean score may be beyond its cell by rounding.
MEAN_SCORE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a saved aggregate: everything except the columns of its cells."""

    exact: bool
    parts: tuple[tuple[str, str, str], ...]
    strata: Strata
    view_key: str
    name: str
    score_name: str
    outcome_name: str
    positive_name: str
    class_names: tuple[str, ...]
    time_name: str
    time_kind: str
    weighted: bool
    set_aside: Mapping[str, int]
    sources: tuple[str, ...]
    fold_names: tuple[str, ...]
    max_scores: int
    transform: Transform
    swap: bool
    steps: Mapping[str, float] = field(default_factory=dict)  # Version 0.1 wrote none.

    def __post_init__(self) -> None:
        parse_view(self.view_key)
        if any(n < 0 for n in self.set_aside.values()):
            raise ValueError("set_aside must hold numbers of rows.")

    @classmethod
    def read(cls, data: Any) -> Header:
        """Raises ValueError if an entry is missing, unknown or of another kind."""
        header: Header = Reader().read(cls, data, "the counts")
        return header


def to_arrow(attributes: Mapping[str, Any]) -> pa.Table:
    """An aggregate with these attributes as an Arrow table."""
    header, columns = described(attributes)
    metadata = {METADATA_KEY: json.dumps(header, ensure_ascii=False, default=dict).encode()}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return table.replace_schema_metadata(metadata)


def described(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header of an aggregate with these attributes, and the columns of its cells."""
    others = dict(attributes)
    parts, strata, table = (others.pop(name) for name in ("parts", "strata", "table"))
    header = {
        "schema_version": SCHEMA_VERSION,
        "exact": table.exact,
        "parts": [[part.model, part.column, part.value] for part in parts],
        "strata": {name: codes.tolist() for name, codes in arrays_of(strata).items()},
    }
    return header | others, arrays_of(table)


def is_written_at(path: str | Path | BinaryIO) -> bool:
    """Whether a file is a saved aggregate, according to its metadata."""
    try:
        return METADATA_KEY in (pq.read_schema(path).metadata or {})
    except (OSError, ValueError, pa.ArrowException):
        return False


def read(path: str | Path | BinaryIO) -> dict[str, Any]:
    """The attributes that were written. Raises ValueError as `from_arrow` does."""
    called = Path(path).name if isinstance(path, str | Path) else "The file"
    try:
        if pq.read_metadata(path).num_rows > MAX_ENTRIES:
            raise ValueError(f"more than {MAX_ENTRIES:,} entries")
        schema = pq.read_schema(path)
        if any(schema.field(k).type != pa.from_numpy_dtype(v) for k, v in COLUMN_TYPES.items()):
            raise ValueError("columns of other types")
        table = pq.read_table(path, columns=list(COLUMN_TYPES), page_checksum_verification=True)
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        # Errors of the operating system have a number; errors of Arrow's decoder do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _damaged(called) from error
    return from_arrow(table, called)


def _damaged(called: str) -> ValueError:
    return ValueError(
        f"{called} is not an aggregate that calib saved, or it is damaged. Count the "
        "predictions again with calib.aggregate."
    )


def from_arrow(table: pa.Table, called: str) -> dict[str, Any]:
    """The attributes of the aggregate from which `to_arrow` made the table.

    Raises ValueError if it is something else, contradicts itself, or is of another version.
    """
    try:
        header = loads((table.schema.metadata or {})[METADATA_KEY])
    except (KeyError, ValueError, RecursionError) as error:
        raise _damaged(called) from error
    version = header.pop("schema_version", None) if isinstance(header, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"{called} has schema version {version!r}; this calib reads version "
            f"{SCHEMA_VERSION}. Update calib, or count the predictions again."
        )
    try:
        # NumPy would turn a missing value into a number or false.
        if any(table.column(name).null_count for name in COLUMN_TYPES):
            raise ValueError("Cells must have no missing values.")
        columns: dict[str, Any] = {
            name: np.array(table.column(name).to_numpy(), dtype=kind)
            for name, kind in COLUMN_TYPES.items()
        }
        return _decoded(columns, Header.read(header))
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise ValueError(
            f"{called} is damaged: its cells contradict each other. Count the predictions "
            "again with calib.aggregate."
        ) from error


def _decoded(columns: dict[str, Any], header: Header) -> dict[str, Any]:
    """The attributes of an aggregate."""
    cells = CellTable(exact=header.exact, **columns)
    _check_cells(cells, header)
    others = {name: getattr(header, name) for name in Header.__slots__ if name != "exact"}
    return others | {"parts": tuple(starmap(Part, header.parts)), "table": cells}


def _check_cells(cells: CellTable, header: Header) -> None:
    """Refuse sums that no rows can have."""
    strata, n_parts, codes = header.strata, len(header.parts), arrays_of(header.strata).values()
    with np.errstate(over="ignore", invalid="ignore"):
        least, most = (
            end * cells.weight
            for end in (cells.low - MEAN_SCORE_TOLERANCE, cells.high + MEAN_SCORE_TOLERANCE)
        )
    one_score = (cells.low == cells.high) & (cells.low == cells.key.view(np.float64))
    sound = (
        len(cells) > 0
        and len({len(values) for values in codes}) == 1
        and bool(((cells.stratum >= 0) & (cells.stratum < len(strata.part))).all())
        and bool(((strata.part >= 0) & (strata.part < n_parts)).all())
        and bool((cells.rows > 0).all())
        and bool((np.isfinite(cells.weight) & (cells.weight > 0)).all())
        and bool((np.isfinite(cells.weight_sq) & (cells.weight_sq > 0)).all())
        and bool(((cells.low >= 0) & (cells.low <= cells.high) & (cells.high <= 1)).all())
        and bool(((cells.score_sum >= least) & (cells.score_sum <= most)).all())
        and (not cells.exact or bool(one_score.all()))
        and (header.weighted or bool((cells.weight == cells.rows).all()))
        and (header.weighted or bool((cells.weight_sq == cells.rows).all()))
    )
    if not sound:
        raise ValueError("Cells must have rows, weights above 0 and scores within [0, 1].")


# If each cell is one score, or rows have no weights, these columns follow from others.
ONE_SCORE_COLUMNS = ("low", "high", "score_sum")
WEIGHT_COLUMNS = ("weight", "weight_sq")
# A forged column must not unpack to more numbers than fit in memory.
MAX_UNPACKED_ENTRIES = 5_000_000


def to_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an aggregate as values that JSON can write."""
    header, columns = described(attributes)
    left_out = (ONE_SCORE_COLUMNS if header["exact"] else ()) + (
        () if header["weighted"] else WEIGHT_COLUMNS
    )
    packed = {name: _packed(values) for name, values in columns.items() if name not in left_out}
    plain = {
        name: list(values) if isinstance(values, tuple) else values
        for name, values in header.items()
    }
    return {**plain, "columns": packed}


def from_json(data: Any) -> dict[str, Any]:
    """The attributes of the aggregate of which `to_json` made the data.

    Raises ValueError if an entry is missing or unknown, or cells contradict each other.
    """
    try:
        return _read(dict(data))
    except (KeyError, TypeError, AttributeError, IndexError, zlib.error, OverflowError) as error:
        raise ValueError("the cells are damaged.") from error


def _read(data: dict[str, Any]) -> dict[str, Any]:
    version, packed = data.pop("schema_version"), dict(data.pop("columns"))
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"the cells have schema version {version!r:.60}; this calib reads version "
            f"{SCHEMA_VERSION}. Update calib."
        )
    header = Header.read(data)
    columns = {name: _unpacked(text, COLUMN_TYPES[name]) for name, text in packed.items()}
    if len({len(values) for values in columns.values()}) != 1:
        raise ValueError("columns of cells must have one length.")
    if not header.weighted:
        columns |= dict.fromkeys(WEIGHT_COLUMNS, columns["rows"].astype(np.float64))
    if header.exact:
        score = columns["key"].view(np.float64)
        columns |= {"low": score, "high": score, "score_sum": score * columns["weight"]}
    return _decoded({name: columns[name] for name in COLUMN_TYPES}, header)


def _packed(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian, compressed, in base64."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def _unpacked(text: str, kind: type) -> NDArray[Any]:
    unpack = zlib.decompressobj()
    try:
        raw = unpack.decompress(base64.b64decode(text, validate=True), 8 * MAX_UNPACKED_ENTRIES)
    except ValueError as error:
        raise ValueError("a column of cells is no base64 text.") from error
    if not unpack.eof or unpack.unconsumed_tail:
        raise ValueError("a column of cells is cut off, or holds too many.")
    return np.frombuffer(raw, dtype=np.dtype(kind).newbyteorder("<")).astype(kind)
