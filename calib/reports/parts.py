"""Parts: slices, periods and decisions that a report takes along, of at least ten rows each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calib.analysis.decisions import CostCurves, DecisionTable, NetBenefit
from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SliceGaps


@dataclass(frozen=True, slots=True, eq=False)
class SlicePart:
    """Observed minus predicted in the slices of one column, or of two crossed.

    Attributes
    ----------
    gaps : mapping of str to SliceGaps
        By method, of the same slices.
    n_merged : int
        Slices that are one here, since they have fewer than ten rows; with the next larger one
        where they have fewer than ten together.
    n_left_out : int
        Slices beyond the hundred with the strongest evidence.
    """

    gaps: Mapping[str, SliceGaps]
    n_merged: int
    n_left_out: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were cut."""
        return next(iter(self.gaps.values())).columns


@dataclass(frozen=True, slots=True, eq=False)
class PeriodPart:
    """Calibration over time.

    Attributes
    ----------
    column : str
    tables : mapping of str to PeriodTable
        By method, of the same periods. Their ``n_missing`` counts all rows that are left out.
    """

    column: str
    tables: Mapping[str, PeriodTable]


@dataclass(frozen=True, slots=True, eq=False)
class DecisionPart:
    """Decisions, and what they cost.

    Attributes
    ----------
    table : DecisionTable
    cost : CostCurves
    benefit : NetBenefit
    left_out : tuple of str
        Methods that flag, or leave unflagged, fewer than ten rows.
    """

    table: DecisionTable
    cost: CostCurves
    benefit: NetBenefit
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What a report holds beside the analysis; made by `parts_of`.

    Attributes
    ----------
    slices : tuple of SlicePart
    n_ranges : int
        Ranges of a column of many numbers.
    time : str
        Column of time that was asked for, "" where none was.
    unit : str
        Length of a period that was asked for, "" where none was.
    periods : PeriodPart or None
    decisions : DecisionPart or None
    notes : tuple of str
        Why something that was asked for is not here.
    """

    slices: tuple[SlicePart, ...] = ()
    n_ranges: int = 5
    time: str = ""
    unit: str = ""
    periods: PeriodPart | None = None
    decisions: DecisionPart | None = None
    notes: tuple[str, ...] = ()

    @property
    def slice_columns(self) -> Sequence[tuple[str, ...]]:
        """The columns, or pairs of columns, that were sliced by."""
        return [part.columns for part in self.slices]
