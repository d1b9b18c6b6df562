"""Contents: everything that a report holds, as report.json has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from calib.analysis import Analysis, MethodResult
from calib.reports.parts import Parts

Declared = Literal["unknown", "yes", "no"]


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What a report holds; how it is made, read and written is said in `Report`.

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
        Aggregates only: ``held_out`` is None.
    parts : Parts or None
        Slices, periods and decisions, where they were taken along.
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

    @property
    def heading(self) -> str:
        """The title, or what stands for one."""
        return self.title or f"Calibration of {self.analysis.data.name}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before believing the numbers, and which part is missing and why."""
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
