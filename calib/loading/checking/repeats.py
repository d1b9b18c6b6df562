"""Rows and ids that a file holds more than once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.data.file_options import Columns
from calib.loading.name_patterns import ID_NAMES, OWN_IDS, plain_name
from calib.loading.table import Table

# With fewer rows, hashing takes no time that a person would notice.
MANY_ROWS = 10_000
# Up to this share of values that another row has, they are sought in the others.
FEW_SHARED = 0.1


@dataclass(frozen=True, slots=True)
class Repeats:
    """Numbers of repeated rows and ids in a file."""

    rows: int = 0  # Each equals an earlier row in all columns.
    ids: int = 0  # An earlier row has the same id.
    id_column: str = ""  # It is empty if no column has ids.


def count_repeats(table: Table, mapping: Columns) -> Repeats:
    """Count rows and ids that appear in a file more than once."""
    counts = [_count(file, mapping) for file in table.files]
    column = next((count.id_column for count in counts if count.id_column), "")
    return Repeats(sum(c.rows for c in counts), sum(c.ids for c in counts), column)


def _count(table: Table, mapping: Columns) -> Repeats:
    frame = _hashable(table.frame)
    # Scores differ most, so after their column few rows are left to compare.
    first = [column for column in mapping.score_columns[:1] if column in frame]
    rows = _repeated_rows(frame[[*first, *(column for column in frame if column not in first)]])
    column = _id_column(frame, mapping)
    if column is None:
        return Repeats(rows)
    return Repeats(rows, _repeated_ids(frame[column]), column)


def _hashable(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of lists or dicts to text, because pandas compares values by hash."""
    for name in frame.columns[frame.dtypes == "object"]:
        try:
            frame[name].nunique()
        except TypeError:
            frame = frame.assign(**{name: frame[name].map(str)})
    return frame


def _repeated_rows(frame: pd.DataFrame) -> int:
    """Count as `frame.duplicated()` does, but first drop rows that a few columns distinguish."""
    for i, dtype in enumerate(frame.dtypes):
        # Ids differ in all rows, and whole numbers are compared faster than several columns.
        if dtype.kind in "iu" and frame.iloc[:MANY_ROWS, i].is_unique:
            frame = frame[_shared(frame.iloc[:, i])]
    n_columns = 1
    while len(frame) and n_columns < len(frame.columns):
        if n_columns == 1:
            shared = _shared(frame.iloc[:, 0])
        else:
            shared = frame.iloc[:, :n_columns].duplicated(keep=False)
        if 2 * shared.sum() < len(frame):
            frame = frame[shared]
        n_columns *= 16
    return int(frame.duplicated().sum())


def _shared(column: pd.Series) -> pd.Series:
    """Whether another row has the same value, as `column.duplicated(keep=False)`."""
    values = column.to_numpy()
    # Most scores of many rows differ, which sorting shows in a tenth of the time of hashing.
    if values.dtype.kind not in "iuf" or len(values) < MANY_ROWS:
        return column.duplicated(keep=False)
    ordered = np.sort(values)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated) > FEW_SHARED * len(values) or np.isnan(ordered[-1]):
        return column.duplicated(keep=False)
    return column.isin(repeated)


def _repeated_ids(ids: pd.Series) -> int:
    return int(ids.count() - ids.nunique())


def _id_column(frame: pd.DataFrame, mapping: Columns) -> str | None:
    """The column that has a name for ids and mostly different values."""
    free = set(frame) - set(mapping.columns())
    for column in frame:
        name = plain_name(column)
        if column in free and re.fullmatch(ID_NAMES, name):
            ids = frame[column]
            # A value that many rows share, such as a customer's number, is not the id of a row.
            if re.fullmatch(OWN_IDS, name) or 2 * _repeated_ids(ids) < ids.count():
                return column
    return None
