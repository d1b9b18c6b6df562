"""Strata: the groups in which rows are counted separately, and how two sets of them are joined."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calib.numerics.arrays import IntArray, Locked

NONE = -1  # a stratum without a split, a fold or a cluster
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
    """A part of the data that is counted: rows of a model, or rows with one value of a column."""

    model: str = ""  # "" if there is only one model
    # Slice or time column and its value; "" for all rows. Two crossed columns are the column
    # "region × plan" with values such as "north × basic", beside each of the two.
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Strata(Locked):
    """Groups in which rows are counted separately. Arrays: shape (s,), -1 if there is none."""

    part: IntArray  # position in `Aggregate.parts`
    test: IntArray  # 1 for test rows, 0 for calibration rows
    # Named fold, and cluster.
    fold: IntArray
    group: IntArray

    def kept_apart(self) -> tuple[IntArray, IntArray, IntArray]:
        """Split, fold and cluster of each stratum."""
        return self.test, self.fold, self.group


class Counted(Protocol):
    """What of an aggregate names its strata."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is counted."""

    @property
    def strata(self) -> Strata:
        """What is kept apart."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedStrata:
    """Strata of two aggregates as one list, and the positions of those of each."""

    parts: tuple[Part, ...]
    strata: Strata
    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, one: Counted, other: Counted) -> JoinedStrata:
        """Of two aggregates."""
        parts = tuple(dict.fromkeys((*one.parts, *other.parts)))
        place = {part: i for i, part in enumerate(parts)}
        rows = [_moved(each, place) for each in (one, other)]
        both = np.concatenate(rows)
        distinct, number = np.unique(both, axis=0, return_inverse=True)
        number = number.reshape(-1).astype(np.int64)
        n = len(rows[0])
        return cls(parts, Strata(*distinct.T.copy()), number[:n], number[n:])


def _moved(aggregate: Counted, place: Mapping[Part, int]) -> NDArray[np.int64]:
    part = np.array([place[part] for part in aggregate.parts], dtype=np.int64)
    strata = aggregate.strata
    return np.column_stack([part[strata.part], strata.test, strata.fold, strata.group])
