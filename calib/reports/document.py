"""The report: an analysis without its rows, who made it, when, and with what."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

import calib
from calib.analysis import Analysis, MethodResult
from calib.reports.codec import ReportError, decode, encode
from calib.reports.disclosure import aggregated

SCHEMA_VERSION = 1
CONTAINS = "This report contains no individual records."
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
Declared = Literal["unknown", "yes", "no"]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A report of one analysis; it never changes. Make one with `calib.report` or `from_analysis`.

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

    Examples
    --------
    >>> import numpy as np
    >>> from calib.analysis import analyze
    >>> from calib.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(500)
    >>> analysis = analyze(Predictions.from_arrays(rng.random(500) < score, score))
    >>> report = Report.from_analysis(analysis, title="March", created="2026-03-01")
    >>> opened = Report.open(report.json())
    >>> opened.heading, opened.html() == report.html()
    ('March', True)
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

    @classmethod
    def from_analysis(
        cls,
        analysis: Analysis,
        *,
        title: str = "",
        author: str = "",
        note: str = "",
        held_out_declared: Declared = "unknown",
        created: str | None = None,
    ) -> Report:
        """Make a report: rows are left out, and what fewer than ten rows share is merged.

        Parameters
        ----------
        analysis : Analysis
        title, author, note : str
            Printed as they are, on top of the report.
        held_out_declared : {"unknown", "yes", "no"}
            Whether the predictions were made on rows that the model was not trained on.
        created : str, optional
            ISO 8601; now if None.

        Raises
        ------
        ValueError
            If the analysis holds fewer than ten rows, or was itself read from a report.
        ReportError
            If `created` or `held_out_declared` is not allowed.
        """
        made = cls(
            schema_version=SCHEMA_VERSION,
            contains=CONTAINS,
            title=title,
            author=author,
            note=note,
            created=created or datetime.now(UTC).isoformat(timespec="seconds"),
            held_out_declared=held_out_declared,
            versions=_versions(),
            settings_changed=tuple(analysis.settings.changed()),
            analysis=aggregated(analysis),
        )
        # Read back what will be written: a fresh report and an opened one are then the same.
        return cls._read(encode(made))

    @classmethod
    def open(cls, source: str | bytes | Path) -> Report:
        """Read report.json back.

        Parameters
        ----------
        source : path, str or bytes
            A file. Or the report itself: bytes, or a str that begins with a brace.

        Raises
        ------
        ReportError
            If it is no report, is damaged, or was written by a newer version.
        """
        text = _text(source)
        try:
            data = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ReportError(f"This is no report: it is not valid JSON ({error}).") from error
        return cls._read(data)

    @classmethod
    def _read(cls, data: Any) -> Report:
        _check_version(data)
        report = decode(cls, data)
        _check_created(report.created)
        _check_analysis(report.analysis)
        return report

    @property
    def heading(self) -> str:
        """The title, or what stands for one."""
        return self.title or f"Calibration of {self.analysis.data.name}"

    @property
    def date(self) -> datetime:
        """Moment of making, in UTC."""
        return _moment(self.created)

    def json(self) -> str:
        """The report as strict JSON: the same report gives the same text."""
        return json.dumps(encode(self), allow_nan=False, ensure_ascii=False, indent=1) + "\n"

    def html(self) -> str:
        """The report as one self-contained HTML page."""
        from calib.reports.html import to_html

        return to_html(self)

    def markdown(self) -> str:
        """The report as Markdown, without charts."""
        from calib.reports.markdown import to_markdown

        return to_markdown(self)

    def save(self, path: str | Path) -> None:
        """Write the report, in the format that the path's suffix names: .html, .json or .md.

        Raises
        ------
        ValueError
            If the suffix is another.
        """
        path = Path(path)
        writers = {".html": self.html, ".json": self.json, ".md": self.markdown}
        if path.suffix.lower() not in writers:
            raise ValueError(f"path must end in one of {', '.join(writers)}, got {path.name!r}.")
        path.write_text(writers[path.suffix.lower()](), encoding="utf-8", newline="\n")


def _versions() -> dict[str, str]:
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return {"calib": calib.__version__, "python": platform.python_version(), **libraries}


def _text(source: str | bytes | Path) -> str:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReportError("This is no report: it is not text in UTF-8.") from error
    except (OSError, ValueError) as error:
        raise ReportError(f"There is no report to read at {str(source)[:200]!r}.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _check_version(data: Any) -> None:
    if not isinstance(data, dict) or "schema_version" not in data:
        raise ReportError("This is no report: it has no schema_version.")
    version = data["schema_version"]
    if type(version) is not int or version < 1:
        raise ReportError(f"schema_version must be a whole number above 0, got {version!r:.60}.")
    if version > SCHEMA_VERSION:
        raise ReportError(
            f"This report was written by a newer version of calib (schema {version}, this one "
            f"reads up to {SCHEMA_VERSION}): update calib to open it."
        )


def _moment(created: str) -> datetime:
    moment = datetime.fromisoformat(created)
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)


def _check_created(created: str) -> None:
    try:
        _moment(created)
    except (ValueError, OverflowError) as error:
        raise ReportError(f"created must be an ISO 8601 date, got {created[:60]!r}.") from error


def _check_analysis(analysis: Analysis) -> None:
    """Check what the types alone do not say, so that every table and chart can be drawn."""
    if "uncalibrated" not in analysis.methods:
        raise ReportError("the report's methods must hold 'uncalibrated', got none.")
    recommended = analysis.recommendation.method
    if recommended and recommended not in analysis.methods:
        raise ReportError(f"the recommended method must be in the report, got {recommended!r:.60}.")
    _check_lengths("fitted_reliability", analysis.fitted_reliability)
    _check_lengths("compact_logit", analysis.compact_logit)
    for key, method in analysis.methods.items():
        _check_method(key, method, [column.key for column in analysis.columns])


def _check_method(key: str, method: MethodResult, columns: list[str]) -> None:
    if method.key != key:
        raise ReportError(f"methods.{key} must have that key, got {method.key!r:.60}.")
    missing = [name for name in columns if name not in method.metrics]
    if missing:
        raise ReportError(f"methods.{key} must have the metric {missing[0]!r:.60}, got none.")
    for name in ("reliability", "cumulative", "function"):
        _check_lengths(f"methods.{key}.{name}", getattr(method, name))


def _check_lengths(where: str, curve: Any) -> None:
    lengths = {
        f.name: len(value)
        for f in fields(cast("Any", curve))
        if isinstance(value := getattr(curve, f.name), np.ndarray) and f.name != "knots"
    }
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ReportError(
            f"{where} must hold lists of one length, got "
            f"{', '.join(f'{name} of {n}' for name, n in lengths.items())}."
        )
