"""Looking at columns: what a few thousand of their cells show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.loading.columns import as_labels, as_outcome
from calib.loading.names import plain_name
from calib.loading.numbers import as_numbers

MAX_LOOKED_AT = 200
LOOK_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Look:
    """What a few thousand cells of a column show."""

    distinct: int
    outcomes: int
    numeric: bool
    unit: bool
    fractional: bool
    missing: float


class Guesser:
    """Looks at columns once, and hands each out once."""

    def __init__(self, frame: pd.DataFrame, taken: set[str]) -> None:
        self.frame = frame
        self.taken = taken
        self._looks: dict[str, Look] = {}

    def look(self, column: str) -> Look:
        """What a column shows."""
        if column not in self._looks:
            self._looks[column] = _look_at(self.frame[column])
        return self._looks[column]

    def free(self) -> list[str]:
        """Columns that are nothing yet."""
        return [column for column in self.frame.columns if column not in self.taken]

    def named(self, patterns: Iterable[str], fits: Callable[[Look], bool]) -> str | None:
        """The free column that the earliest pattern names and whose content fits."""
        plain = {column: plain_name(column) for column in self.free()}
        for pattern in patterns:
            for column, name in plain.items():
                if re.fullmatch(pattern, name) and fits(self.look(column)):
                    return column
        return None

    def first(self, *tests: Callable[[Look], bool]) -> str | None:
        """The first free column whose content fits the earliest test."""
        columns = self.free()[:MAX_LOOKED_AT]
        for fits in tests:
            for column in columns:
                if fits(self.look(column)):
                    return column
        return None

    def take(self, column: str | None) -> str | None:
        """Say that a column is something."""
        if column is not None:
            self.taken.add(column)
        return column


def _look_at(column: pd.Series) -> Look:
    head = column.head(LOOK_ROWS)
    missing = float(head.isna().mean())
    numbers = as_numbers(head)
    values = numbers.values[np.isfinite(numbers.values)]
    numeric = len(values) > 0 and len(numbers.text) * 2 < len(values)
    return Look(
        distinct=len(as_labels(head)),
        outcomes=len(as_outcome(head)[0]),
        numeric=numeric,
        unit=numeric and bool(values.min() >= 0.0 and values.max() <= 1.0),
        fractional=numeric and bool((values % 1.0 != 0.0).any()),
        missing=missing,
    )


def probability(look: Look) -> bool:
    """Fractions within 0 and 1."""
    return look.unit and look.fractional


def two(look: Look) -> bool:
    """Two different values, whatever their letter case, beside words such as "unknown"."""
    return look.outcomes == 2


def outcome_like(look: Look) -> bool:
    """Few values, as labels have."""
    # Outcomes 0, 1/2 and 1 (a draw) are labels still.
    return 1 <= look.distinct <= 50 and (not look.fractional or look.distinct <= 5)
