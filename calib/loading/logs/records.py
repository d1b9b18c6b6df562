"""Objects of JSON that are rows of a table: JSON Lines, or a list. Their keys are its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from calib.data.file_options import FileFormat
from calib.loading.logs.json_values import Document, as_object, records
from calib.loading.logs.rows import MAX_TEXT_LENGTH, text_of
from calib.loading.problems import refuse
from calib.loading.reading.budget import Budget
from calib.loading.reading.delimited_text import read_cells
from calib.loading.reading.spread import probabilities
from calib.loading.table import Table, left_out_columns, make_table

LEFT_OUT_REASON = "of the JSON objects hold lists"


def read(data: bytes, name: str, budget: Budget) -> Table:
    """Read objects as rows. Objects inside them become columns such as "scores.accuracy"."""
    return _of_rows(records(data), name, budget)


def read_frame(data: bytes, name: str, given: FileFormat, budget: Budget) -> Table | None:
    """Read a table that is one value, as `DataFrame.to_json` writes it, or return None."""
    document = Document(data)
    value = document.value()
    if document.peek():
        return None
    if isinstance(value, list) and value and all(map(_is_column, value)):
        # Lists of cells are read like a text, whose first row may have the names of the columns.
        budget.check_cells(len(value), max(map(len, value)))
        return read_cells(value, name, given, budget)
    rows = _rows(as_object(value))
    return None if rows is None else _of_rows(rows, name, budget)


def _rows(frame: dict[str, Any]) -> Iterable[dict[str, Any]] | None:
    """The rows of a table in one of the orients of pandas: split, table, columns, index, list."""
    names, data = frame.get("columns"), frame.get("data")
    if isinstance(names, list) and isinstance(data, list):
        return (dict(zip(map(str, names), row, strict=True)) for row in data)
    if "schema" in frame and isinstance(data, list):
        return map(as_object, data)
    values = list(frame.values())
    if len(values) > 1 and all(map(_is_column, values)):
        return (dict(zip(frame, row, strict=True)) for row in zip(*values, strict=True))
    inner = values[0].keys() if values and isinstance(values[0], dict) else ()
    if not inner or any(not isinstance(v, dict) or v.keys() != inner for v in values):
        return None
    # The names of rows are mostly numbers, and there are mostly more rows than columns.
    are_rows = [all(key.isdecimal() for key in keys) for keys in (frame, inner)]
    if are_rows == [True, False] or (are_rows[0] == are_rows[1] and len(frame) > len(inner)):
        return values
    return ({name: column[row] for name, column in frame.items()} for row in inner)


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(cell, dict) for cell in value)


def _of_rows(rows: Iterable[dict[str, Any]], name: str, budget: Budget) -> Table:
    columns: dict[str, list[Any]] = {}
    lists, n_rows = dict[str, None](), 0
    for record in rows:
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
        raise refuse("empty.json")
    for column in columns.values():
        column += [None] * (n_rows - len(column))
    frame = pd.DataFrame({key: _series(values) for key, values in columns.items()})
    notes = left_out_columns([key for key in lists if key not in columns], LEFT_OUT_REASON)
    return make_table(frame, list(columns), name=name, notes=notes)


def _cells(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        inner = value.values() if isinstance(value, dict) else ()
        is_nested = isinstance(value, list) or any(isinstance(cell, list | dict) for cell in inner)
        if is_nested and (numbers := probabilities(value)) is not None:
            for label, number in numbers.items():
                yield f"{key}_{label}", number
        elif isinstance(value, dict):
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
