"""Rows of the tables: what several methods of the store ask for."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, insert, select

from calib.store.entries import Deletion, Entry, moment_words
from calib.store.errors import StoreError
from calib.store.search import plain
from calib.store.tables import deletions, report_tags, reports

LISTED = [column for column in reports.columns if column.name not in ("content", "searched")]


def known_as(report_id: str) -> ColumnElement[bool]:
    """The report of an id; the address that it is taken from may hold anything."""
    return reports.c.id == plain(report_id)


def entries(connection: Connection, query: Select[Any]) -> tuple[Entry, ...]:
    """Entries of a query of `LISTED`, with their tags."""
    rows = connection.execute(query).mappings().all()
    named: dict[str, list[str]] = {row["id"]: [] for row in rows}
    theirs = select(report_tags).where(report_tags.c.report_id.in_(list(named)))
    for report_id, tag in connection.execute(theirs):
        # A damaged index finds tags of other reports.
        if report_id in named:
            named[report_id].append(tag)
    return tuple(Entry.of(row, named[row["id"]]) for row in rows)


def insert_tags(connection: Connection, report_id: str, names: tuple[str, ...]) -> None:
    """Give a new report its tags."""
    if names:
        rows = [{"report_id": report_id, "tag": name} for name in names]
        connection.execute(insert(report_tags), rows)


def unknown(connection: Connection, report_id: str) -> StoreError:
    """Why an id has no report."""
    query = select(deletions).where(deletions.c.report_id == plain(report_id))
    row = connection.execute(query).mappings().first()
    if row is None:
        return StoreError(f"There is no saved report with the id {report_id[:60]!r}.")
    line = Deletion.of(row)
    when = f"on {line.deleted:%Y-%m-%d}" if line.deleted else moment_words(None)
    return StoreError(f"The report {report_id!r} was deleted {when} by {line.deleted_by}.")
