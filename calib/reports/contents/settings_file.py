"""The settings of a report as a file, with which `calib report --settings` makes it again.

It has names of columns, labels, settings and the author's texts, and no values of the data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from calib.analysis.decisions import Costs, ErrorLimit
from calib.analysis.periods.cutting import Unit
from calib.crossfit.settings import Settings
from calib.data.file_options import Columns
from calib.data.origin import Origin, conversion_of
from calib.data.strict_json import added
from calib.loading.reading.reader import stem
from calib.reports.contents.codec import ReportError, decode, encode
from calib.reports.contents.evidence import Grade
from calib.reports.contents.structure import Contents, Declared, Parts

FILE_NAME = "settings.json"
SETTINGS_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSettings:
    """The arguments of `parts_of`."""

    slices: tuple[tuple[str, ...], ...] = ()
    n_ranges: int = Parts().n_ranges
    time: str = ""
    unit: Unit | None = None
    costs: Costs | None = None
    error_limit: ErrorLimit | None = added(None)

    @classmethod
    def of(cls, parts: Parts) -> PartSettings:
        return cls(
            slices=tuple(parts.slice_columns),
            n_ranges=parts.n_ranges,
            time=parts.time,
            unit=parts.unit or None,  # type: ignore[arg-type]  # `parts_of` checked it
            costs=parts.decisions.table.costs if parts.decisions else None,
            error_limit=parts.certificate.limit if parts.certificate else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSettings:
    """Everything but the data that a report was made from."""

    settings_version: int
    origin: Origin = field(default_factory=Origin)
    # The name of the data is empty if it is that of the file.
    name: str = ""
    # If the origin names all columns, none must be guessed.
    exact: bool = False
    settings: Settings
    parts: PartSettings | None = None
    title: str = ""
    author: str = ""
    note: str = ""
    held_out_declared: Declared = "unknown"
    grade: Grade = "guarded"

    @classmethod
    def of(cls, report: Contents) -> SavedSettings:
        """The settings of a report."""
        origin, name = origin_of(report), report.analysis.data.name
        return cls(
            settings_version=SETTINGS_VERSION,
            origin=replace(origin, guessed=(), sampled_of=0, repeated_rows=0, repeated_ids=0),
            name="" if not origin.file or name == stem(origin.file) else name,
            exact=is_recorded(report) and not origin.example,
            settings=report.analysis.settings,
            parts=PartSettings.of(report.parts) if report.parts else None,
            title=report.title,
            author=report.author,
            note=report.note,
            held_out_declared=report.held_out_declared,
            grade=report.evidence.grade,
        )

    @classmethod
    def from_json(cls, data: Any) -> SavedSettings:
        """Read them from what `json.loads` returned. Raises ReportError."""
        if not isinstance(data, dict) or "settings_version" not in data:
            raise ReportError(
                "This is neither a report nor settings of one: it has no schema_version and no "
                "settings_version."
            )
        version = data["settings_version"]
        if version != SETTINGS_VERSION:
            raise ReportError(
                f"These settings have version {version!r:.60}, and this version of calib reads "
                f"version {SETTINGS_VERSION}: update calib, or give the options instead."
            )
        return decode(cls, data, "the file")

    def json(self) -> str:
        """The settings as strict JSON, without arguments of the file that were not given."""
        data = encode(self) | {"origin": self.origin.entries()}
        return json.dumps(data, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def is_recorded(report: Contents) -> bool:
    """Whether the report records how its rows were read. Reports of counts do not."""
    return not (report.analysis.data.origin or Origin()).of_counts


def origin_of(report: Contents) -> Origin:
    """How the rows were read, as far as the report contains it."""
    data, parts = report.analysis.data, report.parts
    recorded = data.origin or Origin()
    if is_recorded(report):
        return recorded
    columns = [name for names in parts.slice_columns for name in names] if parts else []
    return Origin(
        Columns(
            outcome=data.outcome_name or None,
            # A matrix has more score columns than its name shows.
            score=None if report.analysis.multiclass else data.score_name or None,
            slices=tuple(dict.fromkeys(columns)),
            time=(parts.time or None) if parts else None,
            **conversion_of(recorded),
        )
    )
