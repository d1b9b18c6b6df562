"""Contents: everything that a report contains, in the structure of report.json.

Its parts are slices, periods and decisions, each computed from at least ten rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from calib.analysis import Analysis, MethodResult
from calib.analysis.decisions import Certificate, CostCurves, DecisionTable, NetBenefit
from calib.analysis.judge import JudgedRanges, JudgeNumbers
from calib.analysis.model_comparison import ModelComparison
from calib.analysis.periods import PeriodTable
from calib.analysis.slices import SliceGaps, SliceTests
from calib.analysis.summary import shown_methods
from calib.data.strict_json import added
from calib.numerics.intervals import Estimate
from calib.reports.contents.checklist import Checklist
from calib.reports.contents.evidence import Evidence

Declared = Literal["unknown", "yes", "no"]


@dataclass(frozen=True, slots=True, eq=False)
class SlicePart:
    """Gaps and tests of calibration in the slices of one column, or of two crossed columns."""

    gaps: Mapping[str, SliceGaps]  # The keys are methods, which all have the same slices.
    # Slices of fewer than ten rows are joined, with the next larger slice if they have fewer than
    # ten rows together.
    n_merged: int
    # Only the 100 slices with the strongest evidence are shown.
    n_left_out: int
    tests: Mapping[str, SliceTests]  # The keys are methods. The slices are those of the gaps.
    # The intercept at slope 1 of the uncalibrated scores in each slice of the gaps.
    intercept: tuple[Estimate, ...] = added(())

    @property
    def columns(self) -> tuple[str, ...]:
        return next(iter(self.gaps.values())).columns


@dataclass(frozen=True, slots=True, eq=False)
class PeriodPart:
    """Calibration over time."""

    column: str
    # The keys are methods, which all have the same periods. `n_missing` counts all rows that are
    # left out.
    tables: Mapping[str, PeriodTable]


@dataclass(frozen=True, slots=True, eq=False)
class DecisionPart:
    """Decisions and their costs."""

    table: DecisionTable
    cost: CostCurves
    benefit: NetBenefit
    # Each of these methods flags fewer than ten rows, or does not flag fewer than ten.
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class JudgePart:
    """A judge's scores against gold labels. The report's analysis is of the labelled rows."""

    numbers: JudgeNumbers
    ranges: JudgedRanges  # Each has at least ten labels.
    # The arguments of `calib.judge` that name the columns.
    read_with: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelPart:
    """All models of the data. The report's analysis is of one of them."""

    shown: str  # The name of the model of the analysis.
    comparison: ModelComparison  # Each model has at least ten rows.


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Slices, periods and decisions in a report, or a judge. `parts_of` makes it.

    Attributes
    ----------
    slices : tuple of SlicePart
    n_ranges : int
        Number of ranges into which columns with many numbers were cut.
    time : str
        The requested time column, or "" if there was none.
    unit : str
        The requested length of periods, or "" if there was none.
    periods : PeriodPart or None
    decisions : DecisionPart or None
    notes : tuple of str
        Reasons why a requested part is missing.
    judge : JudgePart or None
    certificate : Certificate or None
        Its curves have only the certified thresholds.
    models : ModelPart or None
        All models of the data, if there are several.
    """

    slices: tuple[SlicePart, ...] = ()
    n_ranges: int = 5
    time: str = ""
    unit: str = ""
    periods: PeriodPart | None = None
    decisions: DecisionPart | None = None
    notes: tuple[str, ...] = ()
    judge: JudgePart | None = added(None)
    certificate: Certificate | None = added(None)
    models: ModelPart | None = added(None)

    @property
    def slice_columns(self) -> Sequence[tuple[str, ...]]:
        """The slice columns, or pairs of crossed columns."""
        return [part.columns for part in self.slices]


@dataclass(frozen=True, slots=True)
class Seal:
    """The seal of a report, by which a change is detected."""

    # It is computed from the canonical JSON of everything else, and has hexadecimal digits.
    sha256: str
    # These are an Ed25519 key and its signature of that JSON in base64 (32 and 64 bytes), or empty
    # if the report is not signed.
    public_key: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """The contents of a report. `Report` makes, reads and writes them.

    Attributes
    ----------
    schema_version : int
    contains : str
        What of the rows the report contains, in the words of the version that made it.
    title, author, note : str
    created : str
        Time of creation (ISO 8601, UTC).
    held_out_declared : {"unknown", "yes", "no"}
        The author's answer to "Were these predictions made on rows that the model was not trained
        on?".
    versions : mapping of str to str
        Versions of the software.
    settings_changed : tuple of str
        Settings that differ from the defaults of that version.
    analysis : Analysis
        The analysis without scores of rows.
    parts : Parts or None
        Slices, periods and decisions, if they were requested.
    evidence : Evidence
        Counts from which the numbers can be recomputed.
    seal : Seal
        SHA-256 of the rest of the report, signed or not.
    source : str
        The named source from which the dashboard can count the rows again, as in its links.
    reviewer, sign_off : str
        Who reviewed the report, and who signed it off and when, as written by the author.
    model_version : str
        The model that made the scores and its version, as written by the author.
    limits : mapping of str to float
        Limits that were set, by the names of `calib.analysis.summary.LIMITS`.
    checklist : Checklist or None
        The template by which the report is printed, and what its author wrote into the fields.
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
    parts: Parts | None
    evidence: Evidence
    seal: Seal
    source: str
    # Reports that were saved before these were added do not have them.
    reviewer: str = ""
    sign_off: str = ""
    model_version: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    checklist: Checklist | None = added(None)

    @property
    def heading(self) -> str:
        """The title, or a default if there is none."""
        what = "Pass rate" if self.parts and self.parts.judge else "Calibration"
        return self.title or f"{what} of {self.analysis.data.name}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limitations of the results, and reasons why requested parts are missing."""
        return (*self.analysis.warnings, *(self.parts.notes if self.parts else ()))

    @property
    def date(self) -> datetime:
        """Time of creation in UTC."""
        return moment(self.created)

    @property
    def shown(self) -> tuple[MethodResult, ...]:
        """The methods shown as before and after: the uncalibrated scores and at most one other."""
        return tuple(self.analysis.methods[key] for key in shown_methods(self.analysis))


def moment(created: str) -> datetime:
    """A moment in UTC from ISO 8601, in which a time without a zone is in UTC."""
    date = datetime.fromisoformat(created)
    return date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC)


def written_setting(value: object) -> str:
    """The value of a setting.

    >>> written_setting(None), written_setting(("platt", "beta")), written_setting(15)
    ('automatic', 'platt, beta', '15')
    """
    if value is None:
        return "automatic"
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)
