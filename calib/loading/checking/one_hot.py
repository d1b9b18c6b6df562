"""Outcomes in one column per class, with a single 1 in each row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from calib.loading.columns import as_numbers
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import MAX_PROFILED
from calib.loading.name_patterns import plain_name
from calib.loading.problems import Choice, Problem, error
from calib.loading.table import Table
from calib.text import listed

LOOK_ROWS = 100
MAX_LISTED_COLUMNS = 5


def one_hot_outcome(table: Table, mapping: ColumnMapping) -> Iterator[Problem]:
    """Refuse an outcome column that is one of several one-hot columns.

    With a single score, a column that a person named is accepted: it is one class against the
    others.
    """
    outcome = mapping.outcome
    matrix = isinstance(mapping.score, tuple)
    if outcome is None or not (matrix or "outcome" in mapping.guessed):
        return
    columns = _one_hot(table.frame, outcome, set(mapping.score_columns))
    if not columns:
        return
    text = (
        f"The columns {listed(columns, MAX_LISTED_COLUMNS)} have a single 1 per row, so together "
        "they are the outcome. "
    )
    if len(columns) == 2 and not matrix:
        choices = tuple(Choice(f"Outcome: {name[:30]!r}", {"outcome": name}) for name in columns)
        yield error("one-hot", f"{text}Choose that of the positive class.", choices=choices)
    else:
        text += (
            "Write the class of each row into one column, such as `label`, and choose that column. "
            "In pandas: frame['label'] = frame[columns].idxmax(axis=1)."
        )
        yield error("one-hot", text)


def _one_hot(frame: pd.DataFrame, outcome: str, scores: set[str]) -> Sequence[str]:
    """The columns of zeros and ones that add up to 1 with the outcome in every row."""
    columns = [name for name in frame.columns if name not in scores][:MAX_PROFILED]
    binary = [name for name in columns if _zeros_and_ones(frame[name].head(LOOK_ROWS))]
    if outcome not in binary:
        return ()
    similar = [name for name in binary if _shared_word(name, outcome)]
    # Two opposite columns with different names may be two facts, so at least three are needed.
    for group, min_columns in ((similar, 2), (binary, 3)):
        if len(group) >= min_columns and _single_one(frame[group]):
            return group
    return ()


def _zeros_and_ones(cells: pd.Series) -> bool:
    numbers = as_numbers(cells)
    values = numbers.values[np.isfinite(numbers.values)]
    return len(values) > 0 and not len(numbers.text) and bool(np.isin(values, (0.0, 1.0)).all())


def _shared_word(name: str, other: str) -> bool:
    """Whether two names begin or end with the same word."""
    first, second = (re.findall(r"\d+|[a-z]+|[^\x00-\x7f]+", plain_name(x)) for x in (name, other))
    return bool(first and second) and (first[0] == second[0] or first[-1] == second[-1])


def _single_one(cells: pd.DataFrame) -> bool:
    values = np.column_stack([as_numbers(column).values for _, column in cells.items()])
    finite = np.isfinite(values).all(axis=1)
    ones = values[finite].sum(axis=1) == 1.0
    whole = bool(np.isin(values[finite], (0.0, 1.0)).all())
    return whole and bool(finite.any()) and bool(ones.all())
