"""The positive class: which label it is, and which of two columns has its scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.data.class_names import are_numbers, bare_names, read_classes
from calib.data.file_options import Columns
from calib.loading import name_patterns as names
from calib.loading.columns import Labels
from calib.loading.name_patterns import plain_name
from calib.numerics.arrays import FloatArray

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
