"""Strata: the groups in which rows are counted separately, and how two sets of them are joined."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

import numpy as np

from calib.numerics.arrays import IntArray, Locked, arrays_of

# Strata without a split, a fold or a cluster have this code.
NONE = -1
CROSSED = " × "


def crossed_name(names: Iterable[str]) -> str:
    """The name of crossed columns, or of their values. A single name is returned unchanged."""
    return CROSSED.join(names)


def crossing_of(name: str, columns: Container[str]) -> tuple[str, str] | None:
    """The two of these columns that a column crosses, if it does.

    >>> crossing_of("region × plan", ["plan", "region"])
    ('region', 'plan')
    """
    words = name.split(CROSSED)
    pairs = ((CROSSED.join(words[:i]), CROSSED.join(words[i:])) for i in range(1, len(words)))
    return next((pair for pair in pairs if pair[0] in columns and pair[1] in columns), None)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A part of the data that is counted: rows of a model, or rows with one value of a column.

    Attributes
    ----------
    model : str
        "" if there is only one model.
    column, value : str
        Slice or time column and its value; "" for all rows. Two crossed columns are the column
        "region × plan" with values such as "north × basic", beside each of the two.
    """

    model: str = ""
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Strata(Locked):
    """Groups in which rows are counted separately.

    Attributes
    ----------
    part : ndarray of int, shape (s,)
        Position in `Aggregate.parts`.
    test : ndarray of int, shape (s,)
        1 for test rows, 0 for calibration rows, -1 without a split.
    fold, group : ndarray of int, shape (s,)
        Named fold and cluster, -1 if there is none.
    """

    part: IntArray
    test: IntArray
    fold: IntArray
    group: IntArray


def joined_strata(
    *counted: tuple[tuple[Part, ...], Strata],
) -> tuple[tuple[Part, ...], Strata, list[IntArray]]:
    """Parts and strata of aggregates as one list, and the positions of those of each."""
    parts = tuple(dict.fromkeys(part for parts_of_one, _ in counted for part in parts_of_one))
    place = {part: i for i, part in enumerate(parts)}
    rows = [
        np.column_stack([np.array([place[p] for p in parts_of_one])[part], *codes])
        for parts_of_one, strata in counted
        for part, *codes in [arrays_of(strata).values()]
    ]
    distinct, number = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    ends = np.cumsum([len(codes) for codes in rows])[:-1]
    return parts, Strata(*distinct.T.copy()), np.split(number.reshape(-1), ends)
