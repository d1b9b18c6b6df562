"""One column per class: which columns, which class each is, and which each label means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Literal

import numpy as np
import pandas as pd

from calib.loading.columns import Labels, Numbers, as_labels, as_numbers, as_outcome
from calib.loading.name_patterns import plain_name
from calib.numerics.arrays import IntArray

MIN_COLUMNS = 3
LOOK_ROWS = 1_000
SEPARATORS = " _.-:/([{"
CLOSING = ")]}"
SCORE_WORDS = (
    r"(y_?)?(probs?|probas?|probabilit(y|ies)|p|scores?|logits?|log_?probs?|pred(ict(ion|ed))?s?"
    r"|softmax|confidence|conf|outputs?|class)([ _.-]class)?"
)
SPELLED = re.compile(rf"(?P<stem>{SCORE_WORDS})(?P<mark>[ _.\-:(\[]+).+", re.IGNORECASE)
NUMBERED = re.compile(r"(?P<stem>.*?)\d+[)\]]?")

Match = Literal["name", "index", "order"]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Which class every score column and every label is."""

    names: tuple[str, ...]
    # Class of each label code, -1 for a label that is none of the classes; one more entry, also -1,
    # for a missing label.
    index: IntArray
    # How labels were found: by the columns' names, as numbers 0..m-1, or by both orders.
    match: Match


def match_classes(columns: Sequence[str], labels: Labels) -> Classes:
    """The classes of score columns, and the class of each label.

    Labels are looked for among the columns' names first; else they are numbers 0..m-1; else, where
    columns have numbers and there are as many labels, these are in sorted order, as scikit-learn
    has them.
    """
    written = labels.names
    names, places = _named(columns, written)
    by_name = [places.get(name, -1) for name in written]
    # Beyond the labels that have names there are too many to be classes.
    rest = [-1] * (len(labels) - len(written) + 1)
    if all(index >= 0 for index in by_name):
        return Classes(names, _codes(by_name, rest), "name")
    by_number = [_number(name, len(columns)) for name in written]
    if all(index >= 0 for index in by_number) and len(written) == len(labels):
        return Classes(names, _codes(by_number, rest), "index")
    n_named, n_numbers = (sum(i >= 0 for i in found) for found in (by_name, by_number))
    numbered = all(name.isdecimal() for name in names)
    if numbered and not n_named and not n_numbers and len(labels) == len(columns):
        return Classes(written, _codes(list(range(len(columns))), rest), "order")
    if n_named >= n_numbers:
        return Classes(names, _codes(by_name, rest), "name")
    return Classes(names, _codes(by_number, rest), "index")


def _codes(found: list[int], rest: list[int]) -> IntArray:
    return np.array([*found, *rest], dtype=np.int64)


def _number(label: str, n_classes: int) -> int:
    plain = label.isascii() and label.isdecimal() and len(label) < 9
    return int(label) if plain and int(label) < n_classes else -1


def _named(columns: Sequence[str], labels: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Names of the classes, and the place of every name that a label may have."""
    places = {column: i for i, column in enumerate(columns)}
    if all(label in places for label in labels):
        return tuple(columns), places
    wanted = set(labels)
    cuts = [tuple(_bare(column[cut:]) for column in columns) for cut in _cuts(columns)]
    # The longest cut of those under which most labels are found: "p_New York" is New York.
    names = max(reversed(cuts), key=lambda names: len(wanted.intersection(names)))
    if len(set(names)) < len(names):
        names = tuple(columns)
    return names, places | {name: i for i, name in enumerate(names)}


def _cuts(columns: Sequence[str]) -> list[int]:
    """Lengths of the beginnings that all columns share and that may be left out, shortest first."""
    alike = takewhile(
        lambda pair: pair[0] == pair[1], zip(min(columns), max(columns), strict=False)
    )
    shared = "".join(first for first, _ in alike)
    cuts = [i + 1 for i, mark in enumerate(shared) if mark in SEPARATORS]
    letters = shared.rstrip("0123456789")
    numbered = all(_bare(column[len(letters) :]).isdecimal() for column in columns)
    return sorted({0, *cuts, *([len(letters)] if numbered else [])})


def _bare(name: str) -> str:
    plain = name.strip()
    opened = any(mark in plain for mark in "([{")
    return (plain if opened else plain.rstrip(CLOSING)).strip() or name


def find_class_columns(frame: pd.DataFrame, taken: set[str], labels: Labels | None) -> list[str]:
    """Columns that have one score per class, if their names show it.

    Columns of like names, or standing side by side, whose rows sum to 1 (or to 100); else, as
    logits do not, those after which the labels are named.
    """
    numbers = _numbers_of(frame, taken)
    groups = [group for group in _groups(frame, numbers) if len(group) >= MIN_COLUMNS]
    for group in groups:
        if rows_sum(numbers[group]):
            return group
    for group in groups:
        if labels is not None and _answers(group, labels):
            return group
    return []


def _numbers_of(frame: pd.DataFrame, taken: set[str]) -> pd.DataFrame:
    """The first rows of the columns of numbers, also of those that are written as text."""
    found = {}
    for column in frame.columns:
        head = frame[column].head(LOOK_ROWS)
        if column in taken or pd.api.types.is_bool_dtype(head.dtype):
            continue
        if pd.api.types.is_numeric_dtype(head.dtype):
            found[column] = head
        elif is_numeric(numbers := as_numbers(head)):
            found[column] = pd.Series(numbers.values)
    return pd.DataFrame(found)


def is_numeric(numbers: Numbers) -> bool:
    """Whether most cells of a column are numbers."""
    known = np.isfinite(numbers.values).sum()
    return bool(known > 2 * len(numbers.text))


def _groups(frame: pd.DataFrame, numbers: pd.DataFrame) -> Iterator[list[str]]:
    """Columns of numbers with the same beginning, the most first; then runs of fractions."""
    stems: dict[str, list[str]] = {}
    for column in numbers.columns:
        found = SPELLED.fullmatch(column[:200]) or NUMBERED.fullmatch(column[:200])
        if found:
            stems.setdefault("".join(found.group("stem")).casefold(), []).append(column)
    yield from sorted(stems.values(), key=len, reverse=True)
    fractions = {column for column in numbers.columns if numbers[column].dtype.kind == "f"}
    for inside, run in groupby(frame.columns, key=fractions.__contains__):
        if inside:
            yield list(run)


def rows_sum(scores: pd.DataFrame) -> bool:
    """Whether most of the first rows sum to 1, or to 100."""
    head = np.column_stack(
        [as_numbers(column).values for _, column in scores.head(LOOK_ROWS).items()]
    )
    sums = head.sum(axis=1)
    known = sums[np.isfinite(sums)]
    if not len(known) or np.nanmin(head) < -1e-3:
        return False
    return bool(any(np.mean(np.abs(known / whole - 1.0) < 1e-2) > 0.5 for whole in (1.0, 100.0)))


def _answers(columns: Sequence[str], labels: Labels) -> bool:
    """Whether more than two labels all have a column."""
    if not 2 < len(labels) <= len(columns):
        return False
    found = match_classes(columns, labels)
    return found.match != "order" and bool((found.index[:-1] >= 0).all())


def shortened(columns: Sequence[str]) -> str:
    """Names of columns in few words: "p_0 … p_999"."""
    if len(columns) <= MIN_COLUMNS:
        return ", ".join(columns)
    return f"{columns[0]} … {columns[-1]}"


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

    def taken_by_name(
        self, patterns: Iterable[str], fits: Callable[[ColumnProfile], bool]
    ) -> str | None:
        """The same column, which then is something."""
        return self.take(self.named(patterns, fits))

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
    numeric = is_numeric(numbers)
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
    """Whether there are two values, ignoring case and words such as "unknown"."""
    return profile.outcomes == 2


def outcome_like(profile: ColumnProfile) -> bool:
    """Few values, as labels have."""
    # Outcomes 0, 1/2 and 1 (a draw) are labels still.
    return 1 <= profile.distinct <= 50 and (not profile.fractional or profile.distinct <= 5)
