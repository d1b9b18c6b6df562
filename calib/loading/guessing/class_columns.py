"""Find the score columns of classes, and the class of each column and of each label."""

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
CLEAR_STANDARD_ERRORS = 3.0  # McNemar's test then has p = 0.003, which chance rarely gives.
SCORE_WORDS = (
    r"(y_?)?(probs?|probas?|probabilit(y|ies)|p|scores?|logits?|log_?probs?|pred(ict(ion|ed))?s?"
    r"|softmax|confidence|conf|outputs?|class)([ _.-]class)?"
)
SPELLED = re.compile(rf"(?P<stem>{SCORE_WORDS})(?P<mark>[ _.\-:(\[]+).+", re.IGNORECASE)
NUMBERED = re.compile(r"(?P<stem>.*?)\d+[)\]]?")


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Which class every score column and every label is.

    `names` are those of the classes. `index` has the class of each label code, -1 for a label that
    is none of the classes, and a last -1 for a missing label. `readings` are all ways to assign the
    labels to the columns; the first is used. If they are doubtful and scores are known,
    `accuracies` are the shares of rows that each reading gets right.
    """

    names: tuple[str, ...]
    index: IntArray
    readings: tuple[Reading, ...]
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
    # A column with more labels than `names` returns has too many for classes.
    readings = read_classes(columns, written) if len(written) == len(labels) else ()
    return _classes(columns, labels, readings or (reading_of(bare_names(columns), written),))


def _classes(columns: Sequence[str], labels: Labels, readings: tuple[Reading, ...]) -> Classes:
    first = readings[0]
    names, bare = first.labels, bare_names(columns)
    # Labels that are only numbers are less informative than the names of the columns.
    if first.match in ("given", "index") and are_numbers(names) and not are_numbers(bare):
        names = bare
    rest = [-1] * (len(labels) - len(first.places) + 1)
    return Classes(names, np.array([*first.places, *rest], dtype=np.int64), readings)


def in_likeliest_reading(
    classes: Classes,
    columns: Sequence[str],
    labels: Labels,
    scores: NDArray[np.floating] | None = None,
) -> Classes:
    """Choose the likeliest of several readings, by the rows that each gets right.

    A reading by names that hold all labels is kept, unless the scores are clearly right more often
    in another reading.
    """
    first, *others = classes.readings
    by_name = first.match == "name" and first.complete
    if scores is None:
        kept = [reading for reading in others if not by_name or reading.match == "name"]
        return replace(classes, readings=(first, *kept))
    if not classes.doubtful:
        return classes
    usable = (labels.codes >= 0) & np.isfinite(scores).all(axis=1)
    highest, codes = scores[usable].argmax(axis=1), labels.codes[usable]
    right = {reading: np.array(reading.places)[codes] == highest for reading in classes.readings}
    kept = [
        reading
        for reading in others
        if not by_name or _is_clearly_better(right[reading], right[first])
    ]
    readings = [first, *kept]
    # If the names lack a label, a person is asked, so the reading by name stays the first.
    if first.complete:
        readings.sort(key=lambda reading: -int(right[reading].sum()))
    accuracies = tuple(int(right[reading].sum()) / max(len(codes), 1) for reading in readings)
    return replace(_classes(columns, labels, tuple(readings)), accuracies=accuracies)


def _is_clearly_better(first: BoolArray, second: BoolArray) -> bool:
    """Whether more rows are right than chance would explain (McNemar's test)."""
    better, worse = int((first & ~second).sum()), int((second & ~first).sum())
    return better - worse > CLEAR_STANDARD_ERRORS * np.sqrt(better + worse)


def find_class_columns(frame: pd.DataFrame, taken: set[str], labels: Labels | None) -> list[str]:
    """Columns that have one score per class, or none if there are no such columns.

    They have similar names, or are neighbours, and their rows sum to 1 (or to 100). Rows of logits
    do not; their columns are found if they are named after the labels.
    """
    numbers = _numbers_of(frame, taken)
    groups = [group for group in _groups(frame, numbers) if len(group) >= MIN_COLUMNS]
    summing = [group for group in groups if rows_sum(numbers[group])]
    if summing:
        # Columns of zeros and ones are more likely an outcome with one column per class.
        return min(summing, key=lambda group: _zeros_and_ones(numbers[group]))
    for group in groups:
        if labels is not None and _are_named_after(labels, group):
            return group
    return []


def _zeros_and_ones(numbers: pd.DataFrame) -> bool:
    # A damaged file may contain a signalling NaN, whose conversion would warn.
    with np.errstate(invalid="ignore"):
        values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(((values == 0.0) | (values == 1.0)).all())


def _numbers_of(frame: pd.DataFrame, taken: set[str]) -> pd.DataFrame:
    """The first rows of the columns of numbers, and of those with numbers in text."""
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
    return bool(np.isfinite(numbers.values).sum() > 2 * len(numbers.text))


def _groups(frame: pd.DataFrame, numbers: pd.DataFrame) -> Iterator[list[str]]:
    """Columns with the same beginning, the largest group first; then neighbours with fractions."""
    stems: dict[str, list[str]] = {}
    for column in numbers.columns:
        match = SPELLED.fullmatch(column[:200]) or NUMBERED.fullmatch(column[:200])
        if match:
            stems.setdefault("".join(match.group("stem")).casefold(), []).append(column)
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
    # A damaged file may contain a signalling NaN, whose conversion would warn.
    with np.errstate(invalid="ignore"):
        values = head.assign(**texts).to_numpy(dtype=np.float64, na_value=np.nan)
    sums = values.sum(axis=1)
    finite = sums[np.isfinite(sums)]
    if not len(finite) or np.nanmin(values) < -1e-3:
        return False
    return bool(any(np.mean(np.abs(finite / whole - 1.0) < 1e-2) > 0.5 for whole in (1.0, 100.0)))


def _are_named_after(labels: Labels, columns: Sequence[str]) -> bool:
    """Whether there are more than two labels, and all have a column."""
    if not 2 < len(labels) <= len(columns):
        return False
    readings = match_classes(columns, labels).readings
    return any(reading.match != "order" and reading.complete for reading in readings)


def shortened(columns: Sequence[str]) -> str:
    """Names of columns, abbreviated if there are many: "p_0 … p_999"."""
    if len(columns) <= MIN_COLUMNS:
        return ", ".join(columns)
    return f"{columns[0]} … {columns[-1]}"


MAX_PROFILED = 200
PROFILED_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Facts about the first rows of a column, from which its meaning is guessed."""

    distinct: int
    outcomes: int
    numeric: bool
    unit: bool
    fractional: bool
    missing: float


class Guesser:
    """Finds columns by name and content. A column that is taken is not offered again.

    Columns that are `hidden` are not offered either, although they have no meaning yet.
    """

    def __init__(self, frame: pd.DataFrame, taken: set[str]) -> None:
        self.frame = frame
        self.taken = taken
        self.hidden: set[str] = set()
        self._profiles: dict[str, ColumnProfile] = {}

    def profile(self, column: str) -> ColumnProfile:
        """The profile of a column, which is computed once."""
        if column not in self._profiles:
            self._profiles[column] = _profile_of(self.frame[column])
        return self._profiles[column]

    def free(self) -> list[str]:
        """Columns that have no meaning yet."""
        return [c for c in self.frame.columns if c not in self.taken and c not in self.hidden]

    def hide_bounds(self) -> None:
        """Hide bounds of intervals, if there are scores beside them."""
        columns = self.free()[:MAX_PROFILED]
        bounds = {column for column in columns if is_bound(column)}
        if bounds and any(probability(self.profile(c)) for c in columns if c not in bounds):
            self.hidden = bounds

    def find_by_name(
        self, patterns: Iterable[str], fits: Callable[[ColumnProfile], bool]
    ) -> str | None:
        """The free column that the earliest pattern names and whose content fits."""
        plain = {column: plain_name(column) for column in self.free()}
        for pattern in patterns:
            for column, name in plain.items():
                if re.fullmatch(pattern, name) and fits(self.profile(column)):
                    return column
        return None

    def take_by_name(
        self, patterns: Iterable[str], fits: Callable[[ColumnProfile], bool]
    ) -> str | None:
        """The same column, which is then taken."""
        return self.take(self.find_by_name(patterns, fits))

    def first_that_fits(self, *tests: Callable[[ColumnProfile], bool]) -> str | None:
        """The first free column whose content fits the earliest test."""
        columns = self.free()[:MAX_PROFILED]
        for fits in tests:
            for column in columns:
                if fits(self.profile(column)):
                    return column
        return None

    def take(self, column: str | None) -> str | None:
        """Mark a column as taken, and return it."""
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
    """Whether a column has fractions, and only numbers from 0 to 1."""
    return profile.unit and profile.fractional


def two(profile: ColumnProfile) -> bool:
    """Whether there are two values, ignoring case and words such as "unknown"."""
    return profile.outcomes == 2


def outcome_like(profile: ColumnProfile) -> bool:
    """Whether a column has few values, as labels have."""
    # The outcome 1/2 can be a draw beside 0 and 1, so five fractions are allowed.
    return 1 <= profile.distinct <= 50 and (not profile.fractional or profile.distinct <= 5)
