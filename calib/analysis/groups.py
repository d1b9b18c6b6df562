"""Groups of rows, such as slices and periods: what all tables of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from calib.curves.reliability import FEW_ROWS
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, rows_by_code
from calib.metrics.base import SlopeIntercept
from calib.metrics.by_cluster import widened_line
from calib.metrics.regression import line_estimates
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, over_cores, single_thread
from calib.numerics.intervals import holm
from calib.numerics.logistic import LogisticFit
from calib.uncertainty import fit_line


class GroupTable(Locked):
    """A table of groups that have rows. Arrays have the shape (k,)."""

    __slots__ = ()
    names: tuple[str, ...]
    rows: IntArray
    p_adjusted: FloatArray

    def __len__(self) -> int:
        return len(self.names)

    def significant(self, alpha: float = 0.05) -> BoolArray:
        """Whether the adjusted p-value of each group is below alpha."""
        return np.asarray(self.p_adjusted < alpha)

    @property
    def few(self) -> BoolArray:
        """Whether a group has fewer than 30 rows. Such groups are shown but not tested."""
        return np.asarray(self.rows < FEW_ROWS)


class Grouping(Protocol):
    """The assignment of rows to slices or periods."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def codes(self) -> IntArray: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that have rows: their codes, names and numbers of rows."""

    number: IntArray
    names: tuple[str, ...]
    rows: IntArray

    @classmethod
    def of(cls, rows: BinaryView, grouping: Grouping) -> Groups:
        """The groups with rows. Rows of codes below 0 are in no group."""
        count = np.bincount(grouping.codes + 1, rows.count, minlength=len(grouping) + 1)[1:]
        number = np.flatnonzero(count > 0).astype(np.int64)
        names = tuple(grouping.names[i] for i in number)
        return cls(number, names, count[number].astype(np.int64))

    @property
    def head(self) -> dict[str, Any]:
        """The columns that every table of groups has."""
        return {"names": self.names, "rows": self.rows}

    def adjusted(self, p_value: FloatArray) -> FloatArray:
        """Holm-adjusted p-values over the groups that have enough rows, NaN for the others."""
        return holm(np.where(self.rows < FEW_ROWS, np.nan, p_value))


@dataclass(frozen=True, slots=True)
class FittedGroup:
    """The rows of a group, their cells, and the calibration line."""

    rows: BinaryView
    cells: ScoreCells
    fit: LogisticFit | None

    def line(self, confidence_level: float) -> SlopeIntercept:
        """Slope and intercept fitted together, by cluster if groups are named."""
        line = line_estimates(self.cells, self.fit, confidence_level, intercept_only=False)
        return widened_line(self.rows, line)


def fitted_groups(rows: BinaryView, score: FloatArray, grouping: Grouping) -> list[FittedGroup]:
    """Each group that has rows, with these scores, in cells as those of an analysis."""
    parts = rows_by_code(rows.with_score(score), grouping.codes, len(grouping))

    def fitted(code: int) -> FittedGroup:
        cells = parts[code].cells().bounded()
        return FittedGroup(parts[code], cells, fit_line(cells))

    with single_thread():
        return list(over_cores(fitted, parts).values())


def lines_of(
    groups: list[FittedGroup], confidence_level: float, names: tuple[str, ...]
) -> dict[str, Any]:
    """The named numbers of the groups' calibration lines, as arrays."""
    with single_thread():
        numbers = range(len(groups))
        lines = over_cores(lambda k: groups[k].line(confidence_level), numbers).values()
    return {name: np.array([getattr(line, name) for line in lines]) for name in names}
