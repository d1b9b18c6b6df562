"""An aggregate as JSON, inside of a report: packed cells, to the last bit; none is trusted."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.core.aggregate_file import COLUMN_TYPES, SCHEMA_VERSION, decoded, described
from calib.core.strata import Part, Strata
from calib.numerics.cell_table import CellTable

# Columns that follow from others where each cell is one score, and where no row is weighted.
OF_ONE_SCORE = ("low", "high", "score_sum")
OF_WEIGHTS = ("weight", "weight_sq")
# What is known of cells besides them, by the kind that JSON has for it.
KINDS: Mapping[str, type] = {
    **dict.fromkeys(("exact", "weighted"), bool),
    **dict.fromkeys(("view_key", "name", "score_name", "outcome_name", "positive_name"), str),
    **dict.fromkeys(("time_name", "time_kind"), str),
    **dict.fromkeys(("parts", "class_names", "sources", "fold_names"), list),
    **dict.fromkeys(("strata", "set_aside"), dict),
    "max_scores": int,
}
# It must not unpack to more than a machine holds.
MOST_ENTRIES = 5_000_000


def to_json(
    parts: tuple[Part, ...], strata: Strata, table: CellTable, named: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything as values that JSON can write; `named` are the other attributes."""
    left_out = OF_ONE_SCORE if table.exact else ()
    if not named["weighted"]:
        left_out = (*left_out, *OF_WEIGHTS)
    columns = table.columns().items()
    packed = {name: _packed(own) for name, own in columns if name not in left_out}
    plain = {
        name: list(value) if isinstance(value, tuple) else value for name, value in named.items()
    }
    return {**described(parts, strata, table, plain), "columns": packed}


def from_json(data: Any) -> dict[str, Any]:
    """What was written, by name.

    Raises
    ------
    ValueError
        If an entry is missing or unknown, or cells contradict each other.
    """
    try:
        return _read(dict(data))
    except (KeyError, TypeError, AttributeError, IndexError, zlib.error, OverflowError) as error:
        raise ValueError(f"the cells are damaged ({type(error).__name__}: {error}).") from error


def _read(known: dict[str, Any]) -> dict[str, Any]:
    version, packed = known.pop("schema_version"), dict(known.pop("columns"))
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"the cells have schema version {version!r:.60}; this calib reads version "
            f"{SCHEMA_VERSION}. Update calib."
        )
    for name, kind in KINDS.items():
        if type(known[name]) is not kind:
            raise ValueError(f"{name} must be {kind.__name__}, got {known[name]!r:.60}.")
    if unknown := known.keys() - KINDS.keys():
        raise ValueError(f"the cells must have only known entries, got {min(unknown)!r:.60}.")
    if any(type(n) is not int or n < 0 for n in known["set_aside"].values()):
        raise ValueError("set_aside must hold numbers of rows.")
    columns = {name: _unpacked(text, COLUMN_TYPES[name]) for name, text in packed.items()}
    if len({len(values) for values in columns.values()}) != 1:
        raise ValueError("columns of cells must have one length.")
    if not known["weighted"]:
        columns |= dict.fromkeys(OF_WEIGHTS, columns["rows"].astype(np.float64))
    if known["exact"]:
        score = columns["key"].view(np.float64)
        columns |= {"low": score, "high": score, "score_sum": score * columns["weight"]}
    return decoded({name: columns[name] for name in COLUMN_TYPES}, known)


def _packed(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian, compressed, in base64."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def _unpacked(text: str, kind: type) -> NDArray[Any]:
    unpack = zlib.decompressobj()
    raw = unpack.decompress(base64.b64decode(text, validate=True), 8 * MOST_ENTRIES)
    if not unpack.eof or unpack.unconsumed_tail:
        raise ValueError("a column of cells is cut off, or holds too many.")
    return np.frombuffer(raw, dtype=np.dtype(kind).newbyteorder("<")).astype(kind)
