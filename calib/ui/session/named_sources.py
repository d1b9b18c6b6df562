"""Sources that the operator named, and their tables as links and reports name them.

A link comes from anybody. It names a source and a table, never a path or an address: a server opens
only what its own operator named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from calib.data.strict_json import loads
from calib.loading.problems import refuse
from calib.ui.session.upload import Connected, Upload

if TYPE_CHECKING:
    from calib.scanning.connections import Connection

MAX_NAMES_CHARACTERS = 3_000


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


def names_of(connected: Connected | None) -> tuple[str, str]:
    """The names of a source and its table, empty unless the operator named this source."""
    if connected is None:
        return "", ""
    name = connected.source.name
    is_named = operator_connections().sources.get(name) == connected.source
    return (name, connected.table) if is_named else ("", "")


def names_in(text: str) -> tuple[str, str]:
    """The names that a report holds, or the query of an earlier link; empty if it has none."""
    try:
        data = loads(text) if len(text) <= MAX_NAMES_CHARACTERS else {}
        source, table = data["source"], data["table"]
    except (ValueError, RecursionError, TypeError, LookupError):
        return "", ""
    return (source, table) if isinstance(source, str) and isinstance(table, str) else ("", "")


def table_named(source: str, table: str) -> Upload:
    """A table with guessed columns.

    Raises InputError if the operator named no such source, or it does not answer.
    """
    connection = operator_connections().sources.get(source)
    if connection is None:
        raise refuse("no-source.link", source=source)
    return Upload.of_table(connection, table)
