"""Two columns that add up to 1 in every row: the scores of both classes, of which one is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from calib.data.class_names import are_numbers, bare_names, read_classes
from calib.data.file_options import Columns
from calib.loading import name_patterns as names
from calib.loading.columns import Labels
from calib.loading.name_patterns import plain_name


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
