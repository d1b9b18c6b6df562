"""Facts: what some rows of each column show, computed once, and which columns have no role yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.loading.columns import Labels, Numbers, as_labels, as_numbers, as_outcome
from calib.loading.name_patterns import (
    COMMON_PAIRS,
    UNDECIDED_WORDS,
    is_bound,
    is_derived,
    plain_name,
)
from calib.numerics.arrays import FloatArray

MAX_COLUMNS = 200  # The columns after these have no role unless a person names one.
LOOK_ROWS = 10_000
MAX_LABELS = 50
UNNAMED = 99
# Numbers with more decimal places are not rounded for print.
MAX_PRINTED_PLACES = 9
EXACT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """What some rows of a column show.

    Attributes
    ----------
    values : array
        The cells as numbers, NaN for other cells.
    labels : Labels
        The cells as labels of an outcome, without words such as "unknown".
    distinct : int
        Number of distinct values.
    missing : float
        Share of empty cells.
    numeric, unit, fractional : bool
        Whether most cells are numbers; all of them lie in [0, 1]; some are no whole numbers.
    """

    values: FloatArray
    labels: Labels
    distinct: int
    missing: float
    numeric: bool
    unit: bool
    fractional: bool

    @classmethod
    def of(cls, column: pd.Series) -> ColumnFacts:
        numbers = as_numbers(column)
        finite = numbers.values[np.isfinite(numbers.values)]
        numeric = is_numeric(numbers)
        return cls(
            values=numbers.values,
            labels=as_outcome(column)[0],
            distinct=len(as_labels(column)),
            missing=float(column.isna().mean()),
            numeric=numeric,
            unit=numeric and bool(finite.min() >= 0.0 and finite.max() <= 1.0),
            fractional=numeric and bool((finite % 1.0 != 0.0).any()),
        )

    @property
    def probability(self) -> bool:
        """Whether there are fractions, more than one value, and only numbers from 0 to 1."""
        return self.unit and self.fractional and self.distinct > 1

    @property
    def two(self) -> bool:
        """Whether there are two labels, or a common pair beside labels such as "void"."""
        return len(self.labels) == 2 or self.pair is not None

    @property
    def few(self) -> bool:
        """Whether a column has few values, as labels have."""
        # The outcome 1/2 can be a draw beside 0 and 1, so five fractions are allowed.
        return 1 <= self.distinct <= MAX_LABELS and (not self.fractional or self.distinct <= 5)

    @property
    def unique(self) -> bool:
        """Whether each row has a value of its own, as ids have."""
        return self.distinct == len(self.values) and not self.fractional

    @property
    def pair(self) -> tuple[str, str] | None:
        """Negative and positive label of a common pair, if all other labels are undecided."""
        if not 2 < len(self.labels) <= 2 + len(UNDECIDED_WORDS):
            return None
        written = {name.casefold(): name for name in self.labels.names}
        decided = set(written) - UNDECIDED_WORDS
        if len(decided) != 2 or decided not in COMMON_PAIRS:
            return None
        negative, positive = sorted(decided, key=lambda word: word in POSITIVE_OF_PAIRS)
        return written[negative], written[positive]


POSITIVE_OF_PAIRS = {"1", "true", "yes", "y", "t", "won", "win"}


def is_numeric(numbers: Numbers) -> bool:
    """Whether most cells of a column are numbers."""
    return bool(np.isfinite(numbers.values).sum() > 2 * len(numbers.text))


def printed_places(values: FloatArray) -> int | None:
    """The decimal places to which all numbers are rounded; None if they are not rounded."""
    for places in range(1, MAX_PRINTED_PLACES + 1):
        shifted = values * 10.0**places
        if bool((np.abs(shifted - np.rint(shifted)) < 1e-5).all()):
            return places
    return None


def add_up(columns: Sequence[FloatArray]) -> bool:
    """Whether the columns add up to 1, or to 100, in every row, within the rounding of print."""
    values = np.column_stack(columns)
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values) or values.min() < 0.0:
        return False
    sums, n_columns = values.sum(axis=1), values.shape[1]
    whole = 1.0 if abs(sums[0] - 1.0) < abs(sums[0] - 100.0) else 100.0
    places = printed_places(values[:1_000])
    # Each of the numbers can be off by half a unit of its last place.
    rounding = EXACT_TOLERANCE if places is None else 0.5 * n_columns * 10.0**-places
    return bool(np.abs(sums - whole).max() <= rounding * 1.001 + 1e-9)


class Facts:
    """The facts of each column, and the columns that have no role yet.

    Columns that are `hidden` get no role: bounds of intervals, and what is computed from outcomes.
    Those of `predicted` labels are no slices.
    """

    def __init__(self, frame: pd.DataFrame, taken: set[str]) -> None:
        self.frame = frame
        self.taken = taken
        self.hidden: set[str] = set()
        self.predicted: set[str] = set()
        self._facts: dict[str, ColumnFacts] = {}
        self._rows: np.ndarray | None = None
        if len(frame) > LOOK_ROWS:
            # The first rows of a sorted file have a single label, and rows at a fixed distance may
            # be of one model.
            rng = np.random.default_rng(len(frame))
            self._rows = np.unique(rng.integers(0, len(frame), LOOK_ROWS))

    def __getitem__(self, column: str) -> ColumnFacts:
        if column not in self._facts:
            self._facts[column] = ColumnFacts.of(self._looked_at(column))
        return self._facts[column]

    def _looked_at(self, column: str) -> pd.Series:
        cells = self.frame[column]
        return cells if self._rows is None else cells.take(self._rows).reset_index(drop=True)

    def matrix(self, columns: Sequence[str]) -> FloatArray:
        """Some rows of several columns as numbers."""
        return np.column_stack([as_numbers(self._looked_at(name)).values for name in columns])

    def free(self) -> list[str]:
        """Columns that have no meaning yet."""
        columns = self.frame.columns
        return [c for c in columns if c not in self.taken and c not in self.hidden]

    def looked_at(self) -> list[str]:
        """The first of the free columns, whose facts are computed."""
        return self.free()[:MAX_COLUMNS]

    def hide(self) -> None:
        """Hide bounds of intervals, and columns computed from outcomes, if scores stand beside."""
        columns = self.looked_at()
        hidden = {column for column in columns if is_bound(column) or is_derived(column)}
        if hidden and any(self[c].probability for c in columns if c not in hidden):
            self.hidden = hidden

    def find_by_name(
        self, patterns: Sequence[str], fits: Callable[[ColumnFacts], bool]
    ) -> str | None:
        """The free column that the earliest pattern names and whose facts fit."""
        ranks = {column: name_rank(column, patterns) for column in self.free()}
        by_name = sorted((c for c, rank in ranks.items() if rank < UNNAMED), key=ranks.__getitem__)
        return next((column for column in by_name if fits(self[column])), None)

    def take(self, column: str | None) -> str | None:
        """Mark a column as taken, and return it."""
        if column is not None:
            self.taken.add(column)
        return column

    def take_by_name(
        self, patterns: Sequence[str], fits: Callable[[ColumnFacts], bool]
    ) -> str | None:
        """The column that `find_by_name` returns, which is then taken."""
        return self.take(self.find_by_name(patterns, fits))


def name_rank(column: str, patterns: Sequence[str]) -> int:
    """The place of the first pattern that fits the name; `UNNAMED` if none does."""
    name = plain_name(column)
    return next((i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, name)), UNNAMED)
