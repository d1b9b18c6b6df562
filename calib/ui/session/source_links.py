"""Named sources, and how links and reports describe what was counted there.

A link comes from anybody. It names a source, a table and columns, never a path or an address: a
server opens only what its own operator named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import streamlit as st

from calib.analysis import Analysis
from calib.data.strict_json import Reader, loads
from calib.loading import Columns, as_ranges, from_ranges
from calib.loading.problems import refuse
from calib.ui.session.upload import Connected
from calib.words import verdicts

if TYPE_CHECKING:
    from calib.scanning.connections import Connection

# Proxies refuse addresses of more than 8 kB, in which each quotation mark takes three characters.
MAX_QUERY_CHARACTERS = 3_000
MAX_DIGITS = 12
# With more classes, a link names ranges of columns.
MAX_NAMED_CLASSES = 12
NOT_A_QUERY = "it must be what this app writes for a connected source"
# These fields have the same name in a query and in a connected table.
SHARED_FIELDS = ("view", "pairs", "sample", "row_id")


@dataclass(frozen=True, slots=True)
class Connections:
    """The sources, and the problems of their sections."""

    sources: Mapping[str, Connection]
    problems: tuple[str, ...]


def operator_connections() -> Connections:
    """The sources of secrets.toml. Without this file there are none."""
    try:
        sections = st.secrets.get("connections", {})
    except FileNotFoundError:
        return Connections({}, ())
    if not sections:
        return Connections({}, ())
    # Engines take long to import, and most servers have no sources.
    from calib.scanning.connections import Connection

    sources, problems = {}, []
    for name, options in sections.items():
        try:
            sources[name] = Connection.of(name, options)
        except ValueError as error:
            problems.append(str(error))
    return Connections(sources, tuple(problems))


@dataclass(frozen=True, slots=True)
class Query:
    """How rows were counted. It comes from a link, so nothing of it is trusted."""

    source: str
    table: str
    mapping: Columns
    view: str = ""
    classes: str = ""  # The score columns as ranges, if there are many.
    pairs: tuple[tuple[str, str], ...] = ()  # Slice columns that are also counted together.
    sample: int = 0  # Number of rows that are drawn, or 0 if all are counted.
    row_id: str = ""  # The column that identifies each row.

    @classmethod
    def of(cls, connected: Connected | None) -> Query | None:
        """The query that a link holds; None where the operator named no such source."""
        if (
            connected is None
            or operator_connections().sources.get(connected.source.name) != connected.source
        ):
            return None
        mapping, classes = connected.mapping, ""
        if isinstance(mapping.score, tuple) and len(mapping.score) > MAX_NAMED_CLASSES:
            classes = as_ranges(mapping.score, connected.columns)
            if from_ranges(classes, connected.columns) == mapping.score:
                mapping = replace(mapping, score=None)
            else:
                classes = ""
        made = cls(
            connected.source.name,
            connected.table,
            mapping,
            classes=classes,
            **{name: getattr(connected, name) for name in SHARED_FIELDS},
        )
        return made if len(made.written()) <= MAX_QUERY_CHARACTERS else None

    def written(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value and name != "mapping"}
        given |= self.mapping.changed()
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Query:
        """Read the text of a link; a ValueError if it is nothing that `written` gives."""
        reader, names = _Reader(), {field.name for field in fields(cls)} - {"mapping"}
        try:
            short = text if len(text) <= MAX_QUERY_CHARACTERS else ""
            data = reader.plain(dict, loads(short), "query")
            given = {name: data.pop(name) for name in names & data.keys()}
            made: Query = reader.record(cls, {**given, "mapping": data}, "query")
        except (ValueError, RecursionError):  # The message would repeat text of the link.
            raise ValueError(NOT_A_QUERY) from None
        # A source has no judged rows and no days of a monitor.
        of_others = {"arrived", "scale"} & made.mapping.changed().keys()
        if not made.source or made.sample < 0 or made.mapping.guessed or of_others:
            raise ValueError(NOT_A_QUERY)
        return made

    @property
    def label(self) -> str:
        return f"{self.source}: {self.table}"

    def connected(self) -> Connected:
        """Raises InputError if the operator named no such source, or it does not answer."""
        source = operator_connections().sources.get(self.source)
        if source is None:
            raise refuse("no-source.link", source=self.source)
        columns = tuple(source.first_rows(self.table).columns)
        mapping = self.mapping
        if self.classes:
            mapping = replace(mapping, score=from_ranges(self.classes, columns))
        values = {name: getattr(self, name) for name in SHARED_FIELDS}
        return Connected(source, self.table, mapping, columns=columns, **values)


class _Reader(Reader):
    error = ValueError

    def read(self, kind: Any, data: Any, where: str) -> Any:
        # A field can hold one column or label, or several.
        if isinstance(kind, UnionType) and isinstance(data, list):
            kind = next((option for option in get_args(kind) if get_origin(option) is tuple), kind)
        return super().read(kind, data, where)


@dataclass(frozen=True, slots=True)
class Seen:
    """Results for the rows of a source on one day."""

    day: str = ""  # In ISO 8601; "" if it is not known.
    # If it is None there was no analysis, and the following values are not known either.
    n_rows: int | None = None
    # Results of the uncalibrated scores, with the p-value of the KS test.
    base_rate: float = math.nan
    ks_error: float = math.nan
    p: float = math.nan
    # The answer of the verdict and its kind. Links of version 0.1 have its heading, as one text.
    verdict: tuple[str, ...] = ()

    @classmethod
    def of(cls, day: str, analysis: Analysis | None) -> Seen:
        if analysis is None:
            return cls(day)
        data, verdict = analysis.data, analysis.verdict
        ks = analysis.uncalibrated.metrics["ks_error"].value
        p = analysis.uncalibrated.ks.p_value
        return cls(day, data.n_rows, data.base_rate, ks, p, (verdict.answer, verdict.kind))

    def written(self) -> str:
        if self.n_rows is None:
            return self.day
        numbers = (f"{field:g}" for field in (self.base_rate, self.ks_error, self.p))
        return "~".join((self.day, str(self.n_rows), *numbers, *self.verdict))

    @property
    def heading(self) -> str:
        """The heading of the verdict."""
        return verdicts.heading_of_codes(self.verdict)

    @classmethod
    def read(cls, text: str) -> Seen:
        """Read the text of a link; a ValueError if it is nothing that `written` gives."""
        day, *more = text[:200].split("~", 6)
        try:
            date_counted = date.fromisoformat(day).isoformat() if day else ""
            if not more:
                return cls(date_counted)
            n_rows, *numbers = more[:4]
            rate, ks, p = map(float, numbers)
            if not all(math.isnan(value) or 0.0 <= value <= 1.0 for value in (rate, ks, p)):
                raise ValueError
            return cls(date_counted, int(n_rows[:MAX_DIGITS]), rate, ks, p, tuple(more[4:]))
        except ValueError:
            raise ValueError("it must be a day, and what was found on it") from None
