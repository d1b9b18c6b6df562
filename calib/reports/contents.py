"""Contents: everything that a report holds, as report.json has it.

Its parts are slices, periods and decisions, of at least ten rows each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from calib.analysis import Analysis, MethodResult
from calib.analysis.decisions import CostCurves, DecisionTable, NetBenefit
from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SliceGaps
from calib.reports.evidence import Evidence
from calib.reports.sealing import Seal

Declared = Literal["unknown", "yes", "no"]


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


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What a report holds; `Report` makes, reads and writes it.

    Attributes
    ----------
    schema_version : int
    contains : str
        What is known about records of single rows: there are none.
    title, author, note : str
    created : str
        Moment of making, ISO 8601, UTC.
    held_out_declared : {"unknown", "yes", "no"}
        The person's answer to "Were these predictions made on rows that the model was not trained
        on?".
    versions : mapping of str to str
        What the numbers were computed with.
    settings_changed : tuple of str
        Settings that differ from the defaults of that time.
    analysis : Analysis
        Aggregates only, without scores of rows.
    parts : Parts or None
        Slices, periods and decisions, where they were taken along.
    evidence : Evidence or None
        Counts that the numbers can be recomputed from; None of reports of earlier schemas.
    seal : Seal or None
        SHA-256 of all the rest, perhaps signed; None of reports of earlier schemas.
    """

    schema_version: int
    contains: str
    title: str
    author: str
    note: str
    created: str
    held_out_declared: Declared
    versions: Mapping[str, str]
    settings_changed: tuple[str, ...]
    analysis: Analysis
    parts: Parts | None = None
    evidence: Evidence | None = None
    seal: Seal | None = None
    # How a source that the dashboard's operator named can count the rows again, as links say it.
    source: str = ""

    @property
    def heading(self) -> str:
        """The title, or what stands for one."""
        return self.title or f"Calibration of {self.analysis.data.name}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before using the numbers, and which part is missing and why."""
        return (*self.analysis.warnings, *(self.parts.notes if self.parts else ()))

    @property
    def date(self) -> datetime:
        """Moment of making, in UTC."""
        return moment(self.created)

    @property
    def shown(self) -> tuple[MethodResult, ...]:
        """The methods of before and after: the uncalibrated scores, and one more if any."""
        return tuple(self.analysis.methods[key] for key in shown_methods(self.analysis))


def moment(created: str) -> datetime:
    """A moment in UTC, of ISO 8601; one without a zone is in UTC."""
    date = datetime.fromisoformat(created)
    return date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC)


def shown_methods(analysis: Analysis) -> tuple[str, ...]:
    """Keys of before and after: "after" is the recommended method, else the best, if any."""
    chosen = analysis.recommendation.method
    others = [key for key in analysis.methods if key != "uncalibrated"]
    if chosen in others:
        return ("uncalibrated", chosen)
    losses = {key: analysis.methods[key].metrics["log_loss"].value for key in others}
    best = min(others, key=losses.__getitem__, default=None)
    return ("uncalibrated", best) if best else ("uncalibrated",)


def written_setting(value: object) -> str:
    """The value of a setting.

    Examples
    --------
    >>> written_setting(None), written_setting(("platt", "beta")), written_setting(15)
    ('automatic', 'platt, beta', '15')
    """
    if value is None:
        return "automatic"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
