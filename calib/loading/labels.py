"""One column read as labels."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.loading.numbers import MISSING_WORDS
from calib.numerics.arrays import BoolArray, IntArray, chunks

# Labels that mean "unknown outcome".
UNKNOWN_WORDS = (MISSING_WORDS - {""}) | {
    *("?", "??", "unknown", "unk", "undefined", "undetermined", "missing", "(missing)"),
    *("n.a.", "not available", "not known", "nil"),
}
MAX_NAMES = 1_000
KINDS = {"i": np.int64, "u": np.uint64, "f": np.float64}
# How a whole number looks in a column of fractions that was written as text.
WHOLE = re.compile(r"(-?[1-9]\d{0,14}|0)\.0+")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column as labels."""

    codes: IntArray  # index into `values`; -1 where a cell is missing
    values: NDArray[Any]  # the distinct values, in increasing order if they have an order

    def __len__(self) -> int:
        return len(self.values)

    def name(self, code: int) -> str:
        """A label as text: 1.0 is "1"."""
        return label_text(self.values[code])

    @property
    def names(self) -> tuple[str, ...]:
        """All labels as text; of a column with very many values only the first ones."""
        return tuple(label_text(value) for value in self.values[:MAX_NAMES])

    def find(self, name: str | None) -> int | None:
        """Code of a label given as text; letter case decides only between two that fit."""
        names = self.names
        if name is None:
            return None
        if name in names:
            return names.index(name)
        folded = [known.casefold() for known in names]
        return folded.index(name.casefold()) if name.casefold() in folded else None

    def counts(self) -> IntArray:
        """Number of rows of each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)


def label_text(value: object) -> str:
    """A label as text, the same for 1, 1.0, "1" and "1.0".

    Examples
    --------
    >>> label_text(1.0), label_text(0.5), label_text(True), label_text(" yes "), label_text("1.0")
    ('1', '0.5', 'True', 'yes', '1')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def as_labels(column: pd.Series) -> Labels:
    """Read a column as labels; blank text is missing, and blanks around text do not count."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        codes, values = pd.factorize(column.map(str))
    codes, distinct = codes.astype(np.int64, copy=False), np.asarray(values)
    if isinstance(column.dtype, pd.api.extensions.ExtensionDtype) and column.dtype.kind in "iuf":
        # The distinct values have none of the column's empty cells.
        distinct = distinct.astype(KINDS[column.dtype.kind])
    if distinct.dtype.kind not in "iufbM":
        codes, distinct = _tidy(codes, distinct)
    return _ordered(codes, distinct)


def _tidy(codes: IntArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    names = pd.Series([label_text(value) for value in values], dtype=object)
    merged, distinct = pd.factorize(names.where(names != ""))
    lookup = np.append(merged, -1).astype(np.int64)
    return lookup[codes], np.asarray(distinct, dtype=object)


def _ordered(codes: IntArray, values: NDArray[Any]) -> Labels:
    """Labels in order; the codes are changed in place."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    for part in chunks(len(codes)):
        codes[part] = rank[codes[part]]
    return Labels(codes, values[order])


def folded(labels: Labels) -> Labels:
    """The same with labels that differ in letter case alone as one, in their commonest spelling."""
    if labels.values.dtype.kind != "O":
        return labels
    merged, distinct = pd.factorize(np.array([str(v).casefold() for v in labels.values], object))
    if len(distinct) == len(labels):
        return labels
    spelled = np.zeros(len(distinct), dtype=np.int64)
    # The last assignment wins: the most common one.
    for code in np.argsort(labels.counts(), kind="stable"):
        spelled[merged[code]] = code
    lookup = np.append(merged, -1).astype(np.int64)
    return _ordered(lookup[labels.codes], labels.values[spelled])


def known_labels(labels: Labels, wanted: Collection[str] = ()) -> tuple[Labels, BoolArray]:
    """Labels of an outcome without words for "unknown", and the positions of these words.

    Words that a person named (`wanted`) stay labels.
    """
    kept = {name.casefold() for name in wanted}
    names = [name.casefold() for name in labels.names]
    words = np.array([name in UNKNOWN_WORDS and name not in kept for name in names], dtype=np.bool_)
    if labels.values.dtype.kind != "O" or not words.any():
        return labels, np.zeros(len(labels.codes), dtype=np.bool_)
    known = np.append(~words, np.ones(len(labels) - len(words), dtype=np.bool_))
    lookup = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)
    unknown = (labels.codes >= 0) & (lookup[labels.codes] < 0)
    return Labels(lookup[labels.codes], labels.values[known]), unknown


def as_outcome(column: pd.Series, wanted: Collection[str] = ()) -> tuple[Labels, BoolArray]:
    """The labels of an outcome with two classes, and whether each is a word for "unknown".

    Examples
    --------
    >>> labels, unknown = as_outcome(pd.Series(["Yes", "no", "YES", "yes ", "n/a", "YES"]))
    >>> labels.names, labels.codes, unknown.sum()
    (('YES', 'no'), array([ 0,  1,  0,  0, -1,  0]), np.int64(1))
    """
    return known_labels(folded(as_labels(column)), wanted)
