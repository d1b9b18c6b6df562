"""Rows of the tables: what several methods of the store ask for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select

from calib.store.entries import Deletion, Entry, moment, moment_words, now
from calib.store.errors import StoreError
from calib.store.tables import changes, deletions, owners, plain, report_tags, reports

_OWNER = select(owners.c.owner).where(owners.c.report_id == reports.c.id).scalar_subquery()
LISTED = [
    *(column for column in reports.columns if column.name not in ("content", "searched")),
    func.coalesce(_OWNER, "").label("owner"),
]
# Reports that were not deleted.
THERE = ~reports.c.id.in_(select(deletions.c.report_id))


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
    return tuple(Entry.of({**row, "tags": named[row["id"]]}) for row in rows)


def log(connection: Connection, report_id: str, change: str, title: str, person: str) -> None:
    line = {"report_id": report_id, "title": title, "person": person}
    connection.execute(insert(changes).values(line | {"moment": now(), "change": change}))


def title_of(connection: Connection, report_id: str, *conditions: ColumnElement[bool]) -> str:
    """The title of a report that is about to be changed, with a lock on the report."""
    known = select(reports.c.title).where(known_as(report_id), *conditions).with_for_update()
    title = connection.scalar(known)
    if title is None:
        raise unknown(connection, report_id)
    return plain(str(title))


def remove(connection: Connection, ids: Select[Any]) -> None:
    for column in (report_tags.c.report_id, owners.c.report_id, reports.c.id):
        connection.execute(delete(column.table).where(column.in_(ids)))


def remove_rested(connection: Connection, rest: timedelta) -> None:
    """Remove reports whose time to be restored is over."""
    # A damaged moment is none.
    over = deletions.c.deleted < moment(datetime.now(UTC) - rest)
    rested = select(deletions.c.report_id).where(over, deletions.c.deleted.like("20%"))
    remove(connection, rested)


def unknown(connection: Connection, report_id: str) -> StoreError:
    """Why an id has no report."""
    query = select(deletions).where(deletions.c.report_id == plain(report_id))
    row = connection.execute(query).mappings().first()
    if row is None:
        return StoreError(f"There is no saved report with the id {report_id[:60]!r}.")
    line = Deletion.of(row)
    when = f"on {line.deleted:%Y-%m-%d}" if line.deleted else moment_words(None)
    rests = connection.scalar(select(reports.c.id).where(known_as(report_id))) is not None
    again = " It can still be restored." if rests else ""
    return StoreError(f"The report {report_id!r} was deleted {when} by {line.deleted_by}.{again}")
