"""Objects of JSON that are rows of a table: JSON Lines, or a list. Their keys are its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from calib.loading.logs.json_values import records
from calib.loading.logs.rows import MAX_TEXT_LENGTH, text_of
from calib.loading.problems import refuse
from calib.loading.reading.budget import Budget
from calib.loading.table import Table, left_out_columns, make_table

LEFT_OUT_REASON = "of the JSON objects hold lists"


def read(data: bytes, name: str, budget: Budget) -> Table:
    """Read objects as rows. Objects inside them become columns such as "scores.accuracy"."""
    columns: dict[str, list[Any]] = {}
    lists, n_rows = dict[str, None](), 0
    for record in records(data):
        for key, value in _cells(record):
            if isinstance(value, list):
                lists[key] = None
                continue
            column = columns.setdefault(key, [])
            column += [None] * (n_rows - len(column))
            if len(column) == n_rows:
                column.append(value)
        n_rows += 1
        budget.check_cells(n_rows, len(columns))
    if not columns:
        raise refuse("empty", "The JSON text has no objects with values, which would be rows.")
    for column in columns.values():
        column += [None] * (n_rows - len(column))
    frame = pd.DataFrame({key: _series(values) for key, values in columns.items()})
    notes = left_out_columns([key for key in lists if key not in columns], LEFT_OUT_REASON)
    return make_table(frame, list(columns), name=name, notes=notes)


def _cells(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            for inner, cell in value.items():
                yield f"{key}.{inner}", str(cell) if isinstance(cell, dict | list) else _cell(cell)
        else:
            yield str(key), _cell(value)


def _cell(value: Any) -> Any:
    return text_of(value, MAX_TEXT_LENGTH) if isinstance(value, str) else value


def _series(values: list[Any]) -> pd.Series:
    """A column of one type; mixed types become text, as in a delimited text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        return pd.Series(values).infer_objects()
    texts = [None if value is None else str(value) for value in values]
    return pd.Series(texts, dtype="str")
