"""One column per class: which columns, which class each is, and which each label means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.class_names import Reading, are_numbers, bare_names, read_classes, reading_of
from calib.loading.columns import Labels, Numbers, as_labels, as_numbers, as_outcome
from calib.loading.name_patterns import is_bound, plain_name
from calib.numerics.arrays import BoolArray, IntArray

MIN_COLUMNS = 3
LOOK_ROWS = 1_000
CLEARLY = 3.0  # standard errors
SCORE_WORDS = (
    r"(y_?)?(probs?|probas?|probabilit(y|ies)|p|scores?|logits?|log_?probs?|pred(ict(ion|ed))?s?"
    r"|softmax|confidence|conf|outputs?|class)([ _.-]class)?"
)
SPELLED = re.compile(rf"(?P<stem>{SCORE_WORDS})(?P<mark>[ _.\-:(\[]+).+", re.IGNORECASE)
NUMBERED = re.compile(r"(?P<stem>.*?)\d+[)\]]?")


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Which class every score column and every label is."""

    names: tuple[str, ...]  # what the classes are called
    # Class of each label code, -1 for a label that is none of the classes; one more entry, also -1,
    # for a missing label.
    index: IntArray
    # All ways to assign the labels to the columns; the first one is used.
    readings: tuple[Reading, ...]
    # If they are doubtful and scores are known, the share of rows that each reading gets right.
    accuracies: tuple[float, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Whether a person must say which label each column belongs to."""
        return len(self.readings) > 1 or self.readings[0].match in ("index", "order")


def match_classes(columns: Sequence[str], labels: Labels, given: Sequence[str] = ()) -> Classes:
    """The classes of score columns, and the class of each label.

    `given` are the labels of the columns as a person stated them.
    """
    written = labels.names
    if given:
        return _classes(columns, labels, (replace(reading_of(given, written), match="given"),))
    # Beyond the labels that have names there are too many to be classes.
    readings = read_classes(columns, written) if len(written) == len(labels) else ()
    return _classes(columns, labels, readings or (reading_of(bare_names(columns), written),))


def _classes(columns: Sequence[str], labels: Labels, readings: tuple[Reading, ...]) -> Classes:
    first = readings[0]
    names, bare = first.labels, bare_names(columns)
    # If labels are codes of classes, the names of the columns are more informative.
    if first.match in ("given", "index") and are_numbers(names) and not are_numbers(bare):
        names = bare
    rest = [-1] * (len(labels) - len(first.places) + 1)
    return Classes(names, np.array([*first.places, *rest], dtype=np.int64), readings)


def settled(
    classes: Classes,
    columns: Sequence[str],
    labels: Labels,
    scores: NDArray[np.floating] | None = None,
) -> Classes:
    """The classes in the likeliest of several readings, by the rows that each gets right.

    Names that hold all labels are believed, unless the scores are clearly right more often in
    another reading.
    """
    first, *others = classes.readings
    named = first.match == "name" and first.complete
    if scores is None:
        kept = [each for each in others if not named or each.match == "name"]
        return replace(classes, readings=(first, *kept))
    if not classes.doubtful:
        return classes
    known = (labels.codes >= 0) & np.isfinite(scores).all(axis=1)
    highest, codes = scores[known].argmax(axis=1), labels.codes[known]
    right = {each: np.array(each.places)[codes] == highest for each in classes.readings}
    kept = [each for each in others if not named or _is_clearly_more(right[each], right[first])]
    readings = [first, *kept]
    # A reading by name that lacks a label is a question: no other reading takes its place.
    if first.complete:
        readings.sort(key=lambda each: -int(right[each].sum()))
    accuracies = tuple(int(right[each].sum()) / max(len(codes), 1) for each in readings)
    return replace(_classes(columns, labels, tuple(readings)), accuracies=accuracies)


def _is_clearly_more(first: BoolArray, second: BoolArray) -> bool:
    """Whether more rows are right, beyond what chance would explain (McNemar's test)."""
    more, fewer = int((first & ~second).sum()), int((second & ~first).sum())
    return more - fewer > CLEARLY * np.sqrt(more + fewer)


def find_class_columns(frame: pd.DataFrame, taken: set[str], labels: Labels | None) -> list[str]:
    """Columns that have one score per class, if their names show it.

    Columns of like names, or standing side by side, whose rows sum to 1 (or to 100); else, as
    logits do not, those after which the labels are named.
    """
    numbers = _numbers_of(frame, taken)
    groups = [group for group in _groups(frame, numbers) if len(group) >= MIN_COLUMNS]
    summing = [group for group in groups if rows_sum(numbers[group])]
    if summing:
        # Columns of zeros and ones are rather an outcome of one column per class.
        return min(summing, key=lambda group: _zeros_and_ones(numbers[group]))
    for group in groups:
        if labels is not None and _answers(group, labels):
            return group
    return []


def _zeros_and_ones(numbers: pd.DataFrame) -> bool:
    # A signalling NaN, as damaged files have it, is a NaN.
    with np.errstate(invalid="ignore"):
        values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(((values == 0.0) | (values == 1.0)).all())


def _numbers_of(frame: pd.DataFrame, taken: set[str]) -> pd.DataFrame:
    """The first rows of the columns of numbers, also of those that are written as text."""
    head = frame.head(LOOK_ROWS)
    kept, texts = [], {}
    for column, dtype in head.dtypes.items():
        if column in taken or pd.api.types.is_bool_dtype(dtype):
            continue
        if pd.api.types.is_numeric_dtype(dtype):
            kept.append(column)
        elif is_numeric(numbers := as_numbers(head[column])):
            kept.append(column)
            texts[column] = numbers.values
    return head[kept].assign(**texts)


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
    fractions = {column for column, dtype in numbers.dtypes.items() if dtype.kind == "f"}
    for inside, run in groupby(frame.columns, key=fractions.__contains__):
        if inside:
            yield list(run)


def rows_sum(scores: pd.DataFrame) -> bool:
    """Whether most of the first rows sum to 1, or to 100."""
    head = scores.head(LOOK_ROWS)
    texts = {
        column: as_numbers(head[column]).values
        for column, dtype in head.dtypes.items()
        if not pd.api.types.is_numeric_dtype(dtype)
    }
    # A signalling NaN, as damaged files have it, is a NaN.
    with np.errstate(invalid="ignore"):
        values = head.assign(**texts).to_numpy(dtype=np.float64, na_value=np.nan)
    sums = values.sum(axis=1)
    known = sums[np.isfinite(sums)]
    if not len(known) or np.nanmin(values) < -1e-3:
        return False
    return bool(any(np.mean(np.abs(known / whole - 1.0) < 1e-2) > 0.5 for whole in (1.0, 100.0)))


def _answers(columns: Sequence[str], labels: Labels) -> bool:
    """Whether more than two labels all have a column."""
    if not 2 < len(labels) <= len(columns):
        return False
    readings = match_classes(columns, labels).readings
    return any(each.match != "order" and each.complete for each in readings)


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
        # Columns that are not handed out, although they are nothing yet.
        self.hidden: set[str] = set()
        self._profiles: dict[str, ColumnProfile] = {}

    def profile(self, column: str) -> ColumnProfile:
        """What a column shows."""
        if column not in self._profiles:
            self._profiles[column] = _profile_of(self.frame[column])
        return self._profiles[column]

    def free(self) -> list[str]:
        """Columns that are nothing yet."""
        away = self.taken | self.hidden
        return [column for column in self.frame.columns if column not in away]

    def hide_bounds(self) -> None:
        """Hide bounds of intervals, if there are scores beside them."""
        columns = self.free()[:MAX_PROFILED]
        bounds = {column for column in columns if is_bound(column)}
        if bounds and any(probability(self.profile(c)) for c in columns if c not in bounds):
            self.hidden = bounds

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
