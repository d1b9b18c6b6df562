"""Cells that hold more than one value, as columns of single values.

Spark, BigQuery, Vertex AI, Snowflake and Hugging Face write the probabilities of all classes into
one cell, and Weka writes a label together with its number.
"""

from __future__ import annotations

import ast
import json
import re
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.loading.columns import label_text
from calib.loading.problems import note
from calib.loading.reading.budget import MAX_CELLS
from calib.loading.table import Table, unique_names
from calib.numerics.arrays import FloatArray

MAX_CLASSES, MAX_CELL_LENGTH = 1_000, 100_000
ROUNDING = 1e-6  # Probabilities of 32 bits may be above 1 by this.
# NumPy, Python and Spark write a list of numbers like this.
NUMBERS = re.compile(r"\s*(?:DenseVector\()?\[([-+\d.eE,\s]+)\]\)?\s*")
# Spark writes a vector without its zeros like this: its length, the other places, their numbers.
SPARSE = re.compile(r"\s*\(([0-9]{1,4}),\s*\[([0-9,\s]*)\],\s*\[([-+\d.eE,\s]*)\]\)\s*")
LABELS = ("label", "class", "value", "category", "name")
SHARES = ("prob", "probability", "score", "p")
WEKA_LABEL = r"[1-9][0-9]*:.*"
WEKA_NUMBER = r"\*?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?"


def spread(table: Table) -> Table:
    """Give each value of such a cell its own column."""
    columns = dict[str, dict[str, pd.Series]]()
    for name, column in table.frame.items():
        is_text = pd.api.types.is_string_dtype(column.dtype) or column.dtype == object
        if is_text and (parts := of_classes(cells := column.dropna())):
            frame = pd.DataFrame(parts, index=cells.index).reindex(column.index)
            columns[str(name)] = {f"{name}_{label}": frame[label] for label in frame}
    notes = [
        note("several-values", name=name, parts=list(parts)) for name, parts in columns.items()
    ]
    if of_weka := _of_weka(table.frame):
        columns = of_weka | columns
        notes.append(note("weka"))
    if not columns:
        return table
    spread_columns = [
        part
        for name, column in table.frame.items()
        for part in columns.get(str(name), {str(name): column}).items()
    ]
    frame = pd.concat([column for _, column in spread_columns], axis=1)
    names = unique_names([name for name, _ in spread_columns])
    return replace(table, frame=frame.set_axis(names, axis=1), notes=(*table.notes, *notes))


def of_classes(cells: Iterable[object]) -> Mapping[str, FloatArray]:
    """The numbers of each class, if every cell has a probability of each."""
    first, rows = dict[str, float](), array("d")
    for cell in cells:
        shares = probabilities(cell)
        first = first or shares or {}
        # Few values can stand for very many zeros.
        if shares is None or shares.keys() != first.keys() or len(rows) > MAX_CELLS:
            return {}
        rows.extend(shares[label] for label in first)
    return by_class(first, np.array(rows).reshape(-1, max(len(first), 1)))


def by_class(labels: Iterable[str], matrix: FloatArray) -> Mapping[str, FloatArray]:
    """The columns of a matrix of probabilities by the labels of the classes."""
    if not bool(((matrix >= 0.0) & (matrix <= 1.0 + ROUNDING)).all()):
        return {}
    return {label: np.ascontiguousarray(matrix[:, i]) for i, label in enumerate(labels)}


def probabilities(cell: object) -> dict[str, float] | None:
    """The probability of each class, by its label or place, or None if a cell holds no such."""
    by_label = _by_label(_parsed(cell) if isinstance(cell, str) else cell)
    if by_label is None or not 2 <= len(by_label) <= MAX_CLASSES:
        return None
    with suppress(TypeError, ValueError):
        numbers = {label: float(value) for label, value in by_label.items()}
        if all(0.0 <= value <= 1.0 + ROUNDING for value in numbers.values()):
            return numbers
    return None


def _parsed(text: str) -> object:
    if text.lstrip()[:1] not in ("[", "{", "D", "(") or len(text) > MAX_CELL_LENGTH:
        return None
    if numbers := NUMBERS.fullmatch(text):
        return _split(numbers[1])
    if sparse := SPARSE.fullmatch(text):
        size, indices, values = int(sparse[1]), _split(sparse[2]), _split(sparse[3])
        return {"size": size, "indices": indices, "values": values}
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    # Python writes dicts and lists of text with other quotation marks.
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(text)
    return None


def _split(numbers: str) -> list[str]:
    return re.findall(r"[^,\s]+", numbers)


def _by_label(value: object) -> Mapping[str, Any] | None:
    """The numbers of a list, by their places, or of an object, by their labels."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        if all(isinstance(item, dict) for item in value):
            return _of_pairs(value)
        return {str(i): item for i, item in enumerate(value)}
    if not isinstance(value, dict):
        return None
    # A vector of Spark has these keys.
    if isinstance(value.get("values"), list | np.ndarray):
        return _of_vector(**{key: value.get(key) for key in ("values", "size", "indices")})
    labels, scores = value.get("classes"), value.get("scores")
    if labels is not None and scores is not None and len(labels) == len(scores):
        return dict(zip(map(label_text, labels), scores, strict=True))
    for key in ("probability", "probabilities"):
        if isinstance(value.get(key), dict | list):
            return _by_label(value[key])
    return {label_text(label): number for label, number in value.items()}


def _of_vector(values: Any, size: Any, indices: Any) -> Mapping[str, Any] | None:
    """The numbers of a vector, which may leave out zeros."""
    if indices is None:
        return _by_label(values)
    if not isinstance(size, int) or size > MAX_CLASSES or len(indices) != len(values):
        return None
    shares = dict.fromkeys(map(str, range(size)), 0.0)
    shares |= dict(zip(map(str, indices), values, strict=True))
    return shares if len(shares) == size else None


def _of_pairs(items: list[dict[str, Any]] | tuple[dict[str, Any], ...]) -> dict[str, Any] | None:
    """The number of each label, of objects that hold one of each."""
    shares = {}
    for item in items:
        label = next((item[key] for key in LABELS if key in item), None)
        share = next((item[key] for key in SHARES if key in item), None)
        if label is None or share is None:
            return None
        shares[label_text(label)] = share
    return shares if len(shares) == len(items) else None


def _of_weka(frame: pd.DataFrame) -> dict[str, dict[str, pd.Series]]:
    """Labels such as 1:yes without their number, and the distribution over them as numbers.

    Weka writes ? for a label that is not known, and a star before the largest probability.
    """
    names = [str(name) for name in frame]
    if not {"actual", "predicted"} <= set(names):
        return {}
    texts = {name: frame[name] for name in ("actual", "predicted")}
    if not all(_all_match(column, WEKA_LABEL) for column in texts.values()):
        return {}
    parts = {name: column.str.extract(r"([0-9]+):(.*)") for name, column in texts.items()}
    columns = {name: {name: part[1].mask(part[1] == "?")} for name, part in parts.items()}
    both = pd.concat(list(parts.values())).dropna().drop_duplicates()
    pairs = both[both[1] != "?"]
    if pairs[0].duplicated().any() or pairs[1].duplicated().any():
        return {}
    labels = dict(pairs.itertuples(index=False))
    if "distribution" in names:
        # Only the first column of the distribution has a name.
        first = names.index("distribution")
        for number, name in enumerate(names[first : first + len(labels)], 1):
            numbers = frame[name]
            if _all_match(numbers, WEKA_NUMBER):
                numbers = numbers.str.lstrip("*").astype(float)
            columns[name] = {f"distribution_{labels.get(str(number), number)}": numbers}
    return columns


def _all_match(column: pd.Series, pattern: str) -> bool:
    is_text = pd.api.types.is_string_dtype(column)
    return is_text and bool(column.dropna().str.fullmatch(pattern).all())
