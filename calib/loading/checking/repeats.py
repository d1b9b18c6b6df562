"""Rows and ids that a file holds more than once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.loading.file_options import ColumnMapping
from calib.loading.name_patterns import ID_NAMES, OWN_IDS, plain_name
from calib.loading.table import Table
from calib.numerics.arrays import IntArray, chunks

Keys: TypeAlias = NDArray[np.uint64]
# An odd number without a pattern: products with it differ wherever factors do.
MIXED = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Numbers of repeated rows and ids in a file."""

    rows: int = 0  # rows that equal an earlier row in all columns
    ids: int = 0  # rows whose id an earlier row has
    id_column: str = ""  # column of the ids, or "" if there is none


def count_repeats(table: Table, mapping: ColumnMapping) -> Repeats:
    """Count rows and ids that appear in a file more than once."""
    found = [_of_file(file, mapping) for file in table.files]
    column = next(filter(None, (each.id_column for each in found)), "")
    return Repeats(sum(each.rows for each in found), sum(each.ids for each in found), column)


def _of_file(table: Table, mapping: ColumnMapping) -> Repeats:
    # Scores differ most: after their column few rows are left to compare.
    first = [column for column in mapping.score_columns[:1] if column in table.columns]
    rows = _repeated_rows(table.frame[[*first, *(c for c in table.columns if c not in first)]])
    column = _id_column(table, mapping)
    if column is None:
        return Repeats(rows)
    return Repeats(rows, _repeated(_keys(table.frame[column].dropna())), column)


def _repeated_rows(frame: pd.DataFrame) -> int:
    left: NDArray[np.intp] | None = None  # rows that may be repeated; None while all may
    keys: Keys | None = None
    for name in frame.columns:
        keys = _keys(frame[name] if left is None else frame[name].iloc[left], keys)
        ordered = np.sort(keys)
        again = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(again):
            return 0
        if 2 * len(again) < len(keys):
            kept = np.flatnonzero(np.isin(keys, again))
            left, keys = kept if left is None else left[kept], keys[kept]
    return 0 if keys is None else _repeated(keys)


def _repeated(keys: Keys) -> int:
    ordered = np.sort(keys)
    return int((ordered[1:] == ordered[:-1]).sum())


def _keys(column: pd.Series, earlier: Keys | None = None) -> Keys:
    """Numbers that are equal for equal cells. 64 bits distinguish a billion rows.

    If keys of earlier columns are given, these must be equal, too.
    """
    values = column.to_numpy() if isinstance(column.dtype, np.dtype) else None
    if values is None or values.dtype.kind not in "biufM":
        values = _codes(column)
    keys = np.empty(len(values), dtype=np.uint64)
    for part in chunks(len(values)):
        np.multiply(_bits(values[part]), MIXED, out=keys[part])
        if earlier is not None:
            keys[part] ^= earlier[part] * MIXED
        keys[part] ^= keys[part] >> np.uint64(29)
    return keys


def _bits(values: NDArray[Any]) -> Keys:
    if values.dtype.kind == "f":
        # Zero has two signs and NaN many bits.
        with np.errstate(invalid="ignore"):
            values = np.where(np.isnan(values), np.nan, values + 0.0).astype(np.float64)
    wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
    return wide.view(np.uint64)


def _codes(column: pd.Series) -> IntArray:
    try:
        codes = pd.factorize(column, use_na_sentinel=False)[0]
    except TypeError:
        codes = pd.factorize(column.map(str))[0]
    return codes.astype(np.int64)


def _id_column(table: Table, mapping: ColumnMapping) -> str | None:
    """The column that has a name for ids and mostly different values."""
    free = set(table.columns) - set(mapping.columns())
    for column in table.columns:
        name = plain_name(column)
        if column in free and re.fullmatch(ID_NAMES, name):
            known = table.frame[column].dropna()
            # What many rows share, such as a customer's number, is no id of a row.
            if re.fullmatch(OWN_IDS, name) or 2 * _repeated(_keys(known)) < len(known):
                return column
    return None
