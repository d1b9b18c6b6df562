"""Two columns whose rows add up to 1: the scores of both classes, of which one is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from calib.data.class_names import are_numbers, bare_names, read_classes
from calib.loading import name_patterns as names
from calib.loading.columns import Labels
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import (
    MAX_PROFILED,
    ColumnProfile,
    Guesser,
    rows_sum,
)
from calib.loading.name_patterns import plain_name


@dataclass(frozen=True, slots=True)
class Pair:
    """The score columns of the positive class and of the other class.

    `positive` is the label of the positive class, if the names or the order of the columns show it.
    `sure` says whether the names do. If not, the second column is used, as in scikit-learn.
    """

    score: str
    other: str
    positive: str | None
    sure: bool


def pair_of(guesser: Guesser, score: str) -> tuple[str, ...] | None:
    """The score and the first column that adds up to 1, or to 100, with it, in their order."""
    columns = [name for name in guesser.free()[:MAX_PROFILED] if score_like(guesser.profile(name))]
    for other in complements(guesser.frame, score, columns):
        return tuple(name for name in guesser.frame.columns if name in (score, other))
    return None


def score_like(profile: ColumnProfile) -> bool:
    """Whether a column has fractions, and more than two values."""
    return profile.numeric and profile.fractional and profile.distinct > 2


def complements(frame: pd.DataFrame, score: str, others: Sequence[str]) -> Iterator[str]:
    """The columns that add up to 1, or to 100, with the score."""
    return (other for other in others if rows_sum(frame[[score, other]]))


def choose(mapping: ColumnMapping, columns: Sequence[str], labels: Labels) -> Pair:
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
        return Pair(columns[place], columns[1 - place], names_of_labels[positive], sure=True)
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
