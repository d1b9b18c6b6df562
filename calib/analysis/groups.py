"""Groups of rows, such as slices and periods: what all tables of them have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.curves.reliability import FEW_ROWS
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, rows_by_code
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked


class GroupTable(Locked):
    """A table of groups that have rows. Arrays have the shape (k,)."""

    __slots__ = ()
    names: tuple[str, ...]
    rows: IntArray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def few(self) -> BoolArray:
        """Whether a group has fewer than 30 rows. Such groups are shown but not tested."""
        return np.asarray(self.rows < FEW_ROWS)


def split_by_group(
    rows: BinaryView, score: FloatArray, codes: IntArray, n: int
) -> tuple[IntArray, list[BinaryView], list[ScoreCells]]:
    """The codes from 0 to n - 1 that have rows, the rows of each with these scores, and cells."""
    by_code = rows_by_code(replace(rows, score=score), codes, n)
    groups = list(by_code.values())
    return np.array(list(by_code), dtype=np.int64), groups, [group.cells() for group in groups]
