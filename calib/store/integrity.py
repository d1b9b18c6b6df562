"""Check the database and open every report. Damaged rows are listed and skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, select
from sqlalchemy.exc import DatabaseError

from calib.reports import Report
from calib.store.engine import StoreError
from calib.store.entries import Entry, report_of, row_of
from calib.store.tables import entries, has_id, report_tags, reports

# These columns of a row repeat what its report contains.
REPEATED_COLUMNS = (
    "title",
    "data_name",
    "fingerprint",
    "author",
    "note",
    "verdict",
    "sentence",
    "created",
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of the check of a database."""

    n_reports: int  # Deleted reports that can be restored count too.
    problems: tuple[str, ...]  # Each problem is a sentence.


def check_database(
    connection: Connection, keep: Callable[[str, Report], object] | None = None
) -> Verification:
    """Read everything, and give `keep` the id and the report of each row that opens."""
    problems = list(_file_problems(connection))
    ids = _ids(connection)
    for report_id in ids:
        try:
            report = _report(connection, report_id)
        except StoreError as error:
            problems.append(str(error))
            continue
        problems += _row_problems(connection, report_id, report)
        if keep is not None:
            keep(report_id, report)
    return Verification(len(ids), tuple(problems))


def readable_entries(connection: Connection, query: Select[Any]) -> tuple[Entry, ...]:
    """The entries of a query, newest first, each read by itself because some are damaged."""
    listed: list[Entry] = []
    for report_id in _ids(connection):
        try:
            listed += entries(connection, query.where(has_id(report_id)))
        except DatabaseError:
            listed.append(Entry.damaged(report_id))
    oldest = datetime.min.replace(tzinfo=UTC)
    return tuple(sorted(listed, key=lambda entry: entry.saved or oldest, reverse=True))


def _ids(connection: Connection) -> list[str]:
    """The ids of all reports. If their table is damaged, the ids that have tags."""
    try:
        return list(map(str, connection.scalars(select(reports.c.id))))
    except DatabaseError:
        return list(map(str, connection.scalars(select(report_tags.c.report_id).distinct())))


def _file_problems(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        return
    for check, meaning in (
        ("integrity_check(20)", "The file of the database is damaged"),
        ("foreign_key_check", "A row of the database belongs to no report"),
    ):
        try:
            for row in connection.exec_driver_sql(f"PRAGMA {check}"):
                if row[0] != "ok":
                    yield f"{meaning}: {' '.join(str(row[0]).split())}."
        except DatabaseError:
            yield f"{meaning}: it cannot be read."


def _report(connection: Connection, report_id: str) -> Report:
    try:
        content = connection.scalar(select(reports.c.content).where(has_id(report_id)))
    except DatabaseError:
        content = None
    if not isinstance(content, bytes):
        raise StoreError(f"The saved report {report_id!r} cannot be read: it is damaged.")
    return report_of(content, report_id)


def _row_problems(connection: Connection, report_id: str, report: Report) -> Iterator[str]:
    """Columns of the row that differ from the report."""
    try:
        (row,) = connection.execute(select(reports).where(has_id(report_id))).mappings()
    except DatabaseError:
        yield f"The entry of the report {report_id!r} cannot be read: it is damaged."
        return
    expected = row_of(report, report_id, ())
    wrong = [name for name in REPEATED_COLUMNS if row[name] != expected[name]]
    if wrong:
        yield f"The entry of the report {report_id!r} is damaged: {', '.join(wrong)}."
