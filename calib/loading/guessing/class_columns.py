"""The score columns of classes, the class of each column and label, and the positive class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.class_names import Reading, are_numbers, bare_names, read_classes, reading_of
from calib.data.file_options import Columns
from calib.loading import name_patterns as names
from calib.loading.columns import Labels, as_numbers
from calib.loading.guessing.evidence import add_up, is_numeric
from calib.loading.name_patterns import plain_name
from calib.numerics.arrays import FloatArray, IntArray

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
    readings = [first]
    for reading in others:
        better, worse = right[reading] & ~right[first], right[first] & ~right[reading]
        n_better, n_worse = int(better.sum()), int(worse.sum())
        # More rows are right than chance would explain (McNemar's test).
        is_clear = n_better - n_worse > CLEAR_STANDARD_ERRORS * np.sqrt(n_better + n_worse)
        if not by_name or is_clear:
            readings.append(reading)
    # If the names lack a label, a person is asked, so the reading by name stays the first.
    if first.complete:
        readings.sort(key=lambda reading: -int(right[reading].sum()))
    accuracies = tuple(int(right[reading].sum()) / max(len(codes), 1) for reading in readings)
    return replace(_classes(columns, labels, tuple(readings)), accuracies=accuracies)


def find_class_columns(frame: pd.DataFrame, taken: set[str], labels: Labels | None) -> list[str]:
    """Columns that have one score per class, or none if there are no such columns.

    They have similar names, or are neighbours, and their rows sum to 1 (or to 100). Rows of logits
    do not; their columns are found if they are named after the labels.
    """
    numbers = _numbers_of(frame, taken)
    groups = [_without_labels(numbers, group) for group in _groups(frame, numbers)]
    groups = [group for group in groups if len(group) >= MIN_COLUMNS]
    summing = [group for group in groups if rows_sum(numbers[group])]
    if summing:
        # Columns of zeros and ones are more likely an outcome with one column per class.
        return min(summing, key=lambda group: _zeros_and_ones(numbers[group]))
    for group in groups:
        # Each of more than two labels must have a column.
        if labels is None or not 2 < len(labels) <= len(group):
            continue
        readings = match_classes(group, labels).readings
        if any(reading.match != "order" and reading.complete for reading in readings):
            values = _values(numbers[group])
            finite = values[np.isfinite(values)]
            # Labels are whole numbers from 0, and logits are not.
            whole = len(finite) > 0 and (finite % 1.0 == 0.0).all() and finite.min() >= 0.0
            return [] if whole else group
    return []


def _values(numbers: pd.DataFrame) -> FloatArray:
    # A damaged file may contain a signalling NaN, whose conversion would warn.
    with np.errstate(invalid="ignore"):
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _without_labels(numbers: pd.DataFrame, group: list[str]) -> list[str]:
    """The columns without those of labels, if the others add up to 1 without them."""
    labels = [name for name in group if _zeros_and_ones(numbers[[name]])]
    scores = [name for name in group if name not in labels]
    if not labels or len(scores) < 2 or not bool((numbers[labels] == 1.0).any().any()):
        return group
    return scores if add_up([numbers[name].to_numpy(np.float64) for name in scores]) else group


def _zeros_and_ones(numbers: pd.DataFrame) -> bool:
    values = _values(numbers)
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
    values = _values(head.assign(**texts))
    sums = values.sum(axis=1)
    finite = sums[np.isfinite(sums)]
    if not len(finite) or np.nanmin(values) < -1e-3:
        return False
    return bool(any(np.mean(np.abs(finite / whole - 1.0) < 1e-2) > 0.5 for whole in (1.0, 100.0)))


def shortened(columns: Sequence[str]) -> str:
    """Names of columns, abbreviated if there are many: "p_0 … p_999"."""
    if len(columns) <= MIN_COLUMNS:
        return ", ".join(columns)
    return f"{columns[0]} … {columns[-1]}"


# In some fields 1 is yes and 2 is no, in others 2 is the event, so a person must choose.
ONE_AND_TWO = {"1", "2"}


def positive_of(labels: Labels, scores: FloatArray | None) -> str | None:
    """The label that counts as positive: a word such as "yes", or the one with higher scores."""
    if not 1 <= len(labels) <= 2:
        return None
    if telling := telling_labels(labels):
        return telling[0]
    if set(labels.names) == ONE_AND_TWO:
        return None
    # If a column has a single label, 0 and -1 are negative, and any other is positive.
    if len(labels) == 1:
        return "1" if labels.name(0) in ("0", "-1") else labels.name(0)
    if labels.values.dtype.kind in "iuf":
        return labels.name(1)
    return higher_label(labels, scores)


def is_plain_pair(labels: Labels) -> bool:
    """Whether these are 0 and 1, -1 and 1, or false and true."""
    words = {name.casefold() for name in labels.names}
    return any(words <= pair for pair in names.PLAIN_PAIRS)


def telling_labels(labels: Labels) -> tuple[str, ...]:
    """All labels whose names mean "positive", unless all labels do."""
    if set(labels.names) == ONE_AND_TWO:
        return ()
    positives = tuple(name for name in labels.names if name.casefold() in names.POSITIVE_WORDS)
    return positives if len(positives) < len(labels) else ()


def higher_label(labels: Labels, scores: FloatArray | None) -> str:
    """The label whose rows have the highest mean score."""
    if scores is None:
        return labels.name(len(labels) - 1)
    usable = np.isfinite(scores) & (labels.codes >= 0)
    codes = labels.codes[usable]
    total = np.bincount(codes, scores[usable], minlength=len(labels))
    count = np.bincount(codes, minlength=len(labels))
    mean = np.divide(total, count, out=np.full(len(labels), -np.inf), where=count > 0)
    return labels.name(int(np.argmax(mean)))


@dataclass(frozen=True, slots=True)
class Pair:
    """The score columns of the positive class and of the other class.

    `positive` is the label of the positive class, if the names or the order of the columns show it.
    `sure` says whether the names do, and `names_labels` whether they hold the labels. If they show
    nothing, the second column is used, as in scikit-learn.
    """

    score: str
    other: str
    positive: str | None
    sure: bool
    names_labels: bool = False


def choose(mapping: Columns, columns: Sequence[str], labels: Labels) -> Pair:
    """Which of two columns holds the score of the positive class.

    There are one or two labels. If no label was named as positive, it is the one with a name such
    as "yes", or else the last one.
    """
    names_of_labels, class_names = labels.names, mapping.classes or columns
    positives = [code for code, name in enumerate(names_of_labels) if _is_positive(name)]
    # The larger of two numbers counts as positive: 1 beside 0, and 2 beside 1.
    by_word = len(positives) == 1 and not are_numbers(names_of_labels)
    default = positives[0] if by_word else len(names_of_labels) - 1
    given = labels.find(next(iter(mapping.positives), None))
    positive = default if given is None else given
    reading = next(iter(read_classes(class_names, names_of_labels)), None)
    numbered = are_numbers(bare_names(class_names))
    if reading is not None and reading.complete and (reading.match == "name" or numbered):
        place = reading.places[positive]
        names_labels = reading.match == "name"
        return Pair(
            columns[place], columns[1 - place], names_of_labels[positive], True, names_labels
        )
    place_by_name = _positive_place(class_names, mapping.outcome or "")
    place = 1 if place_by_name is None else place_by_name
    place = place if positive == default else 1 - place
    return Pair(columns[place], columns[1 - place], None, sure=place_by_name is not None)


def _positive_place(columns: Sequence[str], outcome: str) -> int | None:
    """The place of the only column whose name shows the positive class."""
    bare = bare_names(columns)
    tests = (
        [_is_positive(name) for name in bare],
        [not _words(name) & names.NEGATIVE_WORDS for name in bare],
        [bool(_words(name) & _words(outcome)) for name in bare],
        [re.fullmatch(names.SCORE_NAMES[0], plain_name(name)) is not None for name in columns],
    )
    return next((passed.index(True) for passed in tests if sum(passed) == 1), None)


def _is_positive(name: str) -> bool:
    return name.strip().casefold() in names.POSITIVE_WORDS


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.casefold()))
