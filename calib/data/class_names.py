"""Which label each score column belongs to, by the columns' names or by their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Literal

# Leading zeros and a fraction of zeros are ignored, so 1, 01 and 1.0 are one label.
WHOLE = re.compile(r"0*(\d+)(?:\.0*)?")
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
TRUTHS = {"false": "0", "true": "1"}
WORD = re.compile(r"\d+|[^\W\d_]+")
# Names are searched for labels with at most this many words cut off at either end.
MAX_CUTS = 12

Match = Literal["given", "name", "index", "order"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to say which label each score column belongs to.

    Attributes
    ----------
    labels : tuple of str
        The label of each column, in the order of the columns.
    match : {"given", "name", "index", "order"}
        How they were found: as a person gave them, in the columns' names, as numbers in the order
        of the columns, or in sorted order.
    places : tuple of int
        The columns of the labels that were asked for; -1 for a label without a column.
    """

    labels: tuple[str, ...]
    match: Match
    places: tuple[int, ...]

    @property
    def complete(self) -> bool:
        """Whether every label has a column."""
        return min(self.places, default=0) >= 0


def label_key(text: str) -> str:
    """The common form of all spellings of a label.

    >>> [label_key(text) for text in (" Cat", "cat", "01", "1.0", "True")]
    ['cat', 'cat', '1', '1', '1']
    """
    plain = text.strip().casefold()
    plain = TRUTHS.get(plain, plain)
    whole = WHOLE.fullmatch(plain)
    return str(int(whole[1])) if whole and len(whole[1]) < 19 and whole[1].isascii() else plain


def read_classes(columns: Sequence[str], labels: Sequence[str]) -> tuple[Reading, ...]:
    """All ways to assign the labels, in sorted order, to score columns; the likeliest first.

    One reading by name is certain. Several readings, or one by order, are a question.

    >>> [each.labels for each in read_classes(["2_prob", "1_prob", "0_prob"], ["0", "1", "2"])]
    [('2', '1', '0')]
    >>> [each.labels for each in read_classes(["p_0", "p_1", "p_2"], ["1", "2", "3"])]
    [('0', '1', '2'), ('1', '2', '3')]
    """
    by_name = _by_name(columns, labels)
    if by_name and by_name[0].complete:
        return (*by_name, *_shifted(by_name[0], labels)) if len(by_name) == 1 else by_name
    bare, ordered = bare_names(columns), _by_order(columns, labels)
    # A number in some of the names, such as "resnet1", is not a label.
    if by_name and ordered and not are_numbers(bare):
        by_name = ()
    if not ordered and not by_name and len(labels) == len(columns):
        ordered = _in_sorted_order(columns, labels)
        # Words that differ from the labels contradict them, so a person must confirm their order.
        by_name = () if are_numbers(bare) else (reading_of(bare, labels),)
    return _distinct([*by_name, *ordered])


def reading_of(names: Sequence[str], labels: Sequence[str]) -> Reading:
    """The reading where each column has the label that `names` gives for it."""
    return _of_names(names, labels, {name: place for place, name in enumerate(names)})


def bare_names(columns: Sequence[str]) -> tuple[str, ...]:
    """The names without the beginning and the end that all of them share.

    >>> bare_names(["prob_10_cal", "prob_11_cal", "prob_2_cal"])
    ('10', '11', '2')
    """
    return _cut_names(columns)[-1]


def are_numbers(names: Sequence[str]) -> bool:
    """Whether all names are different whole numbers."""
    return _numbers(names) is not None


def _by_name(columns: Sequence[str], labels: Sequence[str]) -> tuple[Reading, ...]:
    """The readings of the names under which the most labels have a column."""
    cut = _cut_names(columns)
    readings = [reading_of(names, labels) for names in cut]
    # Labels can also be words of the whole names, or of the parts in which the names differ.
    readings += [_of_names(names, labels, _held(names, labels)) for names in (cut[0], cut[-1])]
    # SAS joins the name of the outcome and its label: P_churnno and P_churnyes.
    rest = tuple(column[_shared(columns) :] for column in columns)
    if {label_key(name) for name in rest} == {label_key(label) for label in labels}:
        readings.append(reading_of(rest, labels))
    most = max(sum(place >= 0 for place in reading.places) for reading in readings)
    if not most:
        return ()
    # The shorter of two names is the class: "p_cat" is "cat".
    best = [reading for reading in readings if sum(place >= 0 for place in reading.places) == most]
    return _distinct(reversed(best))


def _of_names(names: Sequence[str], labels: Sequence[str], places: Mapping[str, int]) -> Reading:
    """The reading where labels are spelled as the names are, or nearly so."""
    keys = {label_key(name): place for name, place in places.items()}
    label_keys = [label_key(label) for label in labels]
    if len(keys) < len(places) or len(set(label_keys)) < len(label_keys):
        keys, label_keys = dict(places), list(labels)
    columns = tuple(keys.get(key, -1) for key in label_keys)
    written = dict(zip(columns, labels, strict=True))
    return Reading(tuple(written.get(i, name) for i, name in enumerate(names)), "name", columns)


def _held(names: Sequence[str], labels: Sequence[str]) -> dict[str, int]:
    """The place of each label that is a part of exactly one name, if no name holds two."""
    label_of_words = {tuple(_words(label)): label for label in labels}
    lengths = sorted({len(words) for words in label_of_words}, reverse=True)
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        labels_of_name = _longest(_words(name), label_of_words, lengths)
        if len(labels_of_name) > 1 or labels_of_name & set(places):
            return {}
        places |= dict.fromkeys(labels_of_name, place)
    return places


def _longest(
    words: list[str], label_of_words: Mapping[tuple[str, ...], str], lengths: list[int]
) -> set[str]:
    """The labels in a name; of labels that overlap, such as "New York" and "York", the longest."""
    labels: set[str] = set()
    free = [True] * len(words)
    for length in lengths:
        for start in range(len(words) - length + 1):
            part = slice(start, start + length)
            if length and tuple(words[part]) in label_of_words and all(free[part]):
                labels.add(label_of_words[tuple(words[part])])
                free[part] = [False] * length
    return labels


def _words(name: str) -> list[str]:
    """Words and whole numbers of a name, in lower case."""
    plain = re.sub(r"(\d)\.0+(?!\d)", r"\1", CAPITAL.sub(" ", name))
    return [label_key(word) for word in WORD.findall(plain)]


def _cut_names(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The names without shared beginnings and ends, those that leave out the least first."""
    starts = _cuts(columns)
    ends = _cuts([column[::-1] for column in columns])
    cut: dict[tuple[str, ...], None] = {}
    for start, end in sorted(product(starts, ends), key=sum):
        names = tuple(_bare(column[start : len(column) - end]) for column in columns)
        if len(set(names)) == len(names) and all(names):
            cut[names] = None
    return list(cut) or [tuple(columns)]


def _cuts(columns: Sequence[str]) -> list[int]:
    """Lengths of shared beginnings that end where a word or a number ends, shortest first."""
    shared = min(_shared(columns), min(map(len, columns)) - 1)
    cuts = [0]
    for length in range(1, shared + 1):
        last = columns[0][length - 1]
        following = {_kind(column[length]) for column in columns}
        if not last.isalnum() or (following == {"digit"} and _kind(last) != "digit"):
            cuts.append(length)
    return cuts[:1] + cuts[1:][-MAX_CUTS:]


def _shared(columns: Sequence[str]) -> int:
    """The length of the beginning that all names share."""
    pairs = zip(min(columns), max(columns), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _kind(character: str) -> str:
    return "digit" if character.isdigit() else "letter" if character.isalpha() else ""


def _bare(name: str) -> str:
    plain = name.strip()
    opened = any(mark in plain for mark in "([{")
    # A minus sign at the beginning belongs to a label such as -1.
    return (plain if opened else plain.rstrip(" _-:=)]}").lstrip(" _:=")).strip() or name


def _shifted(reading: Reading, labels: Sequence[str]) -> Iterable[Reading]:
    """The reading that labels count from 1, where columns count from 0 and no label is 0."""
    names, numbers = _numbers(reading.labels), _numbers(labels)
    if names is None or numbers is None or 0 in numbers or set(names) != set(range(len(names))):
        return
    written = tuple(str(number + 1) for number in names)
    yield Reading(written, "order", tuple(names.index(number - 1) for number in numbers))


def _by_order(columns: Sequence[str], labels: Sequence[str]) -> list[Reading]:
    """The readings of labels as numbers from 0 or from 1."""
    numbers = _numbers(labels)
    readings = []
    for order in _orders(columns):
        for first in (0, 1):
            if numbers and first <= min(numbers) and max(numbers) < len(columns) + first:
                names = [str(first + i) for i in range(len(columns))]
                readings.append(_in_order(order, names, [n - first for n in numbers], "index"))
    return readings


def _in_sorted_order(columns: Sequence[str], labels: Sequence[str]) -> list[Reading]:
    """The reading of as many labels as columns, in sorted order, as scikit-learn has them."""
    order, numbers = _orders(columns)[0], _numbers(labels)
    ranks = [sorted(numbers).index(n) for n in numbers] if numbers else list(range(len(labels)))
    names = [label for _, label in sorted(zip(ranks, labels, strict=True))]
    return [_in_order(order, names, ranks, "order")]


def _orders(columns: Sequence[str]) -> list[list[int]]:
    """The columns ordered by their numbers, or else in the given order and by name."""
    bare, places = bare_names(columns), range(len(columns))
    if numbers := _numbers(bare):
        return [sorted(places, key=numbers.__getitem__)]
    return [list(places), sorted(places, key=bare.__getitem__)]


def _in_order(
    order: list[int], names: Sequence[str], ranks: Sequence[int], match: Match
) -> Reading:
    written = dict(zip(order, names, strict=True))
    labels = tuple(written[place] for place in range(len(order)))
    return Reading(labels, match, tuple(order[rank] for rank in ranks))


def _numbers(names: Sequence[str]) -> list[int] | None:
    """Different whole numbers, if all names are such."""
    keys = [label_key(name) for name in names]
    if not all(key.isascii() and key.isdecimal() for key in keys):
        return None
    numbers = [int(key) for key in keys]
    return numbers if len(set(numbers)) == len(numbers) else None


def _distinct(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """The readings that differ in the column of a label; the first of those that do not."""
    return tuple({reading.places: reading for reading in reversed(list(readings))}.values())[::-1]
