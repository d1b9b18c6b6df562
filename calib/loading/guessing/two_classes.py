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
    """The score of the positive class, and that of the other class."""

    score: str
    other: str
    # The label that the score is of, if the names or the order of the columns say it.
    positive: str | None
    # Whether the names of the columns say it. Otherwise the second one is taken, as scikit-learn
    # has the columns.
    sure: bool


def pair_of(guesser: Guesser, score: str) -> tuple[str, ...] | None:
    """The score and the first column that adds up to 1, or to 100, with it; as they stand."""
    columns = [name for name in guesser.free()[:MAX_PROFILED] if score_like(guesser.profile(name))]
    for other in complements(guesser.frame, score, columns):
        return tuple(name for name in guesser.frame.columns if name in (score, other))
    return None


def score_like(profile: ColumnProfile) -> bool:
    """Fractions, of more than two values."""
    return profile.numeric and profile.fractional and profile.distinct > 2


def complements(frame: pd.DataFrame, score: str, others: Sequence[str]) -> Iterator[str]:
    """The columns that add up to 1, or to 100, with the score."""
    return (other for other in others if rows_sum(frame[[score, other]]))


def choose(mapping: ColumnMapping, columns: Sequence[str], labels: Labels) -> Pair:
    """Which of two columns holds the score of the positive class.

    The labels are one or two. If none counts as positive, it is the one with a telling name, else
    the last one.
    """
    written, called = labels.names, mapping.classes or columns
    telling = [code for code, name in enumerate(written) if _is_positive(name)]
    # The larger of two numbers counts as positive: 1 beside 0, and 2 beside 1.
    usual = telling[0] if len(telling) == 1 and not are_numbers(written) else len(written) - 1
    given = labels.find(next(iter(mapping.positives), None))
    wanted = usual if given is None else given
    reading = next(iter(read_classes(called, written)), None)
    numbered = are_numbers(bare_names(called))
    if reading is not None and reading.complete and (reading.match == "name" or numbered):
        place = reading.places[wanted]
        return Pair(columns[place], columns[1 - place], written[wanted], sure=True)
    meant = _positive_place(called, mapping.outcome or "")
    place = 1 if meant is None else meant
    place = place if wanted == usual else 1 - place
    return Pair(columns[place], columns[1 - place], None, sure=meant is not None)


def _positive_place(columns: Sequence[str], outcome: str) -> int | None:
    """The place of the column whose name says that it is of the positive class."""
    bare = bare_names(columns)
    tests = (
        [_is_positive(name) for name in bare],
        [not _is_negative(name) for name in bare],
        [bool(_words(name) & _words(outcome)) for name in bare],
        [re.fullmatch(names.SCORE_NAMES[0], plain_name(name)) is not None for name in columns],
    )
    return next((found.index(True) for found in tests if sum(found) == 1), None)


def _is_positive(name: str) -> bool:
    return name.strip().casefold() in names.POSITIVE_WORDS


def _is_negative(name: str) -> bool:
    return bool(_words(name) & names.NEGATIVE_WORDS)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.casefold()))
