"""Profiles of columns: what a few thousand of their cells show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.loading.labels import as_labels, as_outcome
from calib.loading.name_patterns import plain_name
from calib.loading.numbers import as_numbers

MAX_PROFILED = 200
PROFILED_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class ColumnProfile:
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
        self._profiles: dict[str, ColumnProfile] = {}

    def profile(self, column: str) -> ColumnProfile:
        """What a column shows."""
        if column not in self._profiles:
            self._profiles[column] = _profile_of(self.frame[column])
        return self._profiles[column]

    def free(self) -> list[str]:
        """Columns that are nothing yet."""
        return [column for column in self.frame.columns if column not in self.taken]

    def named(self, patterns: Iterable[str], fits: Callable[[ColumnProfile], bool]) -> str | None:
        """The free column that the earliest pattern names and whose content fits."""
        plain = {column: plain_name(column) for column in self.free()}
        for pattern in patterns:
            for column, name in plain.items():
                if re.fullmatch(pattern, name) and fits(self.profile(column)):
                    return column
        return None

    def first(self, *tests: Callable[[ColumnProfile], bool]) -> str | None:
        """The first free column whose content fits the earliest test."""
        columns = self.free()[:MAX_PROFILED]
        for fits in tests:
            for column in columns:
                if fits(self.profile(column)):
                    return column
        return None

    def take(self, column: str | None) -> str | None:
        """Say that a column is something."""
        if column is not None:
            self.taken.add(column)
        return column


def _profile_of(column: pd.Series) -> ColumnProfile:
    head = column.head(PROFILED_ROWS)
    missing = float(head.isna().mean())
    numbers = as_numbers(head)
    values = numbers.values[np.isfinite(numbers.values)]
    numeric = len(values) > 0 and len(numbers.text) * 2 < len(values)
    return ColumnProfile(
        distinct=len(as_labels(head)),
        outcomes=len(as_outcome(head)[0]),
        numeric=numeric,
        unit=numeric and bool(values.min() >= 0.0 and values.max() <= 1.0),
        fractional=numeric and bool((values % 1.0 != 0.0).any()),
        missing=missing,
    )


def probability(profile: ColumnProfile) -> bool:
    """Fractions within 0 and 1."""
    return profile.unit and profile.fractional


def two(profile: ColumnProfile) -> bool:
    """Two different values, whatever their letter case, beside words such as "unknown"."""
    return profile.outcomes == 2


def outcome_like(profile: ColumnProfile) -> bool:
    """Few values, as labels have."""
    # Outcomes 0, 1/2 and 1 (a draw) are labels still.
    return 1 <= profile.distinct <= 50 and (not profile.fractional or profile.distinct <= 5)
