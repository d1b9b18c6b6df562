"""The tables of the store, and the migrations of databases of earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, func, insert, inspect, select

from calib.store.engine import StoreError, writing
from calib.store.entries import Deletion, Entry, moment, moment_words, now, plain, searchable

# SQLite refuses patterns of 50,000 bytes; nobody types this many characters.
MAX_SEARCH_LENGTH = 1000
# A deleted report is removed this long after its time was first found to be over. If the clock was
# wrong for a shorter time, nothing is removed.
REMOVAL_DELAY = timedelta(days=1)
EXPIRED_CHANGE = "expired"
metadata = sa.MetaData()


def _table(name: str, keys: str, texts: str = "", *others: sa.schema.SchemaItem) -> sa.Table:
    """A table of texts, none of them null: those of its primary key, and the others."""
    columns = [sa.Column(key, sa.Text, primary_key=True) for key in keys.split()]
    columns += [sa.Column(text, sa.Text, nullable=False) for text in texts.split()]
    return sa.Table(f"calib_{name}", metadata, *columns, *others)


def _of_report() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["report_id"], ["calib_reports.id"])


# Moments are texts of one width in UTC, which sort as time does in every database.
reports = _table(
    "reports",
    "id",
    "saved created title data_name fingerprint author note verdict sentence searched",
    sa.Column("content", sa.LargeBinary, nullable=False),
)
sa.Index("calib_reports_saved", reports.c.saved)
# A saved report never changes: this trigger refuses changes by other programs too.
REFUSED_CHANGES = {
    "sqlite": "CREATE TRIGGER calib_reports_stay BEFORE UPDATE ON calib_reports "
    "BEGIN SELECT RAISE(ABORT, 'a saved report never changes'); END",
    "postgresql": "CREATE FUNCTION calib_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RAISE EXCEPTION ''a saved report never changes''; END'; "
    "CREATE TRIGGER calib_reports_stay BEFORE UPDATE ON calib_reports "
    "FOR EACH ROW EXECUTE FUNCTION calib_refuse_change()",
}

report_tags = _table("report_tags", "report_id tag", "", _of_report())
# A report that is listed here and in `reports` can be restored.
deletions = _table("deletions", "report_id", "title deleted deleted_by")
# The owner is the signed-in user who saved the report. Reports of anonymous users have no row.
owners = _table("owners", "report_id", "owner", _of_report())
# Earlier versions let people change the title that lists show. Their titles are still listed.
titles = _table("titles", "report_id", "title searched", _of_report())
changes = _table("changes", "report_id moment change", "title person")
monitors = _table("monitors", "name", "created horizon columns")
# Entries of a monitor never change, and a correction is an entry too. Only claims are removed.
monitor_entries = sa.Table(
    "calib_monitor_entries",
    metadata,
    sa.Column("monitor", sa.Text, sa.ForeignKey(monitors.c.name), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    *(
        sa.Column(name, sa.Text, nullable=False)
        for name in ("kind", "fingerprint", "source", "added", "person")
    ),
)
# Counts of one day from one entry, see `calib.data.day_counts`.
monitor_days = sa.Table(
    "calib_monitor_days",
    metadata,
    sa.Column("monitor", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.ForeignKeyConstraint(
        ["monitor", "number"], [monitor_entries.c.monitor, monitor_entries.c.number]
    ),
)
schema = sa.Table(
    "calib_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("applied", sa.Text, nullable=False),
)

_OWNER = sa.select(owners.c.owner).where(owners.c.report_id == reports.c.id).scalar_subquery()
_RENAMED = sa.select(titles.c.title).where(titles.c.report_id == reports.c.id).scalar_subquery()
LISTED_TITLE = sa.func.coalesce(_RENAMED, reports.c.title).label("title")
NOT_LISTED = ("content", "searched", "title")
LISTED = [
    *(column for column in reports.columns if column.name not in NOT_LISTED),
    LISTED_TITLE,
    sa.func.coalesce(_OWNER, "").label("owner"),
]
NOT_DELETED = ~reports.c.id.in_(sa.select(deletions.c.report_id))


def list_conditions(
    search: str, tag: str | None, author: str | None, verdict: str | None
) -> list[sa.ColumnElement[bool]]:
    """Conditions of a list: every word of the search, and every filter that is set."""
    conditions = [_has(word) for word in searchable(search[:MAX_SEARCH_LENGTH]).split()]
    if tag is not None:
        tagged = sa.select(report_tags.c.report_id).where(report_tags.c.tag == plain(tag))
        conditions.append(reports.c.id.in_(tagged))
    if author is not None:
        conditions.append(reports.c.author == plain(author))
    if verdict is not None:
        conditions.append(reports.c.verdict == plain(verdict))
    return conditions


def _has(word: str) -> sa.ColumnElement[bool]:
    """Whether a word of the search occurs in the texts of a report, or in its new title."""
    # With `autoescape`, % and _ are ordinary characters of the search.
    renamed = sa.select(titles.c.report_id).where(titles.c.searched.contains(word, autoescape=True))
    return reports.c.searched.contains(word, autoescape=True) | reports.c.id.in_(renamed)


def has_id(report_id: str) -> sa.ColumnElement[bool]:
    """Whether a row has this id, which comes from an address and can be any text."""
    return reports.c.id == plain(report_id)


def entries(connection: sa.Connection, query: sa.Select[Any]) -> tuple[Entry, ...]:
    """Entries of a query of `LISTED`, with their tags."""
    rows = connection.execute(query).mappings().all()
    tags: dict[str, list[str]] = {row["id"]: [] for row in rows}
    query = sa.select(report_tags).where(report_tags.c.report_id.in_(list(tags)))
    for report_id, tag in connection.execute(query):
        # A damaged index can give tags of other reports.
        if report_id in tags:
            tags[report_id].append(tag)
    return tuple(Entry.of({**row, "tags": tags[row["id"]]}) for row in rows)


def log(connection: sa.Connection, report_id: str, change: str, title: str, person: str) -> None:
    line = {"report_id": report_id, "title": title, "person": person}
    connection.execute(sa.insert(changes).values(line | {"moment": now(), "change": change}))


def title_of(connection: sa.Connection, report_id: str, *conditions: sa.ColumnElement[bool]) -> str:
    """The listed title of a report that is about to be changed, with a lock on the report."""
    query = sa.select(LISTED_TITLE).where(has_id(report_id), *conditions).with_for_update()
    title = connection.scalar(query)
    if title is None:
        raise unknown(connection, report_id)
    return plain(str(title))


def remove(connection: sa.Connection, ids: sa.Select[Any]) -> None:
    for column in (report_tags.c.report_id, owners.c.report_id, titles.c.report_id, reports.c.id):
        connection.execute(sa.delete(column.table).where(column.in_(ids)))


def remove_rested(connection: sa.Connection, rest: timedelta) -> None:
    """Remove reports whose time to be restored is over, and was found to be so a day before.

    The first time is only written to the log.
    """
    today = datetime.now(UTC)
    # A damaged date must not count as expired, so only dates that start with "20" are compared.
    over = (deletions.c.deleted < moment(today - rest)) & deletions.c.deleted.like("20%")
    kept = deletions.join(reports, reports.c.id == deletions.c.report_id)
    expired = sa.exists().where(
        changes.c.report_id == deletions.c.report_id,
        changes.c.change == EXPIRED_CHANGE,
        changes.c.moment >= deletions.c.deleted,
    )
    query = sa.select(deletions.c.report_id, deletions.c.title).select_from(kept)
    for line in connection.execute(query.where(over, ~expired)).all():
        log(connection, line.report_id, EXPIRED_CHANGE, plain(str(line.title)), "calib")
    confirmed = expired.where(
        changes.c.moment <= moment(datetime.now(UTC) - min(rest, REMOVAL_DELAY))
    )
    remove(connection, sa.select(deletions.c.report_id).where(over, confirmed))


def unknown(connection: sa.Connection, report_id: str) -> StoreError:
    """Why an id has no report."""
    query = sa.select(deletions).where(deletions.c.report_id == plain(report_id))
    row = connection.execute(query).mappings().first()
    if row is None:
        return StoreError(f"There is no saved report with the id {report_id[:60]!r}.")
    line = Deletion.of(row)
    when = f"on {line.deleted:%Y-%m-%d}" if line.deleted else moment_words(None)
    kept = connection.scalar(sa.select(reports.c.id).where(has_id(report_id))) is not None
    restorable = " It can still be restored." if kept else ""
    return StoreError(
        f"The report {report_id!r} was deleted {when} by {line.deleted_by}.{restorable}"
    )


# A step turns the tables of one schema into those of the next. The first is that of schema 1. A
# step that was released is never edited: a change is a new step, and is made in `tables.py` too.
Step: TypeAlias = Callable[[Connection], None]


def _with_titles(connection: Connection) -> None:
    titles.create(connection)


def _with_monitors(connection: Connection) -> None:
    for table in (monitors, monitor_entries, monitor_days):
        table.create(connection)


STEPS: tuple[Step, ...] = (_with_titles, _with_monitors)

# Processes that migrate wait for each other with this number, which only has to be the same in all.
LOCK = int.from_bytes(b"calib")


def migrate(engine: Engine, steps: Sequence[Step] = STEPS) -> None:
    """Create the tables, or bring them to the last schema; processes that start at once do it once.

    Raises StoreError if the schema is later than the last one, and changes nothing then.
    """
    last = len(steps) + 1
    with engine.connect() as connection:
        if _version(connection) == last:
            return
    # A step that fails undoes all: both databases also roll back changes of tables.
    with writing(engine) as connection:
        # In SQLite a transaction that writes has the file to itself.
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
        version = _version(connection)
        if version > last:
            raise StoreError(
                f"The reports were saved by another version of calib (schema {version}; this one "
                f"reads up to {last}). Use that version, or update calib. The reports were not "
                "changed."
            )
        if version == 0:
            metadata.create_all(connection, checkfirst=False)
            connection.exec_driver_sql(REFUSED_CHANGES[connection.dialect.name])
        else:
            for step in steps[version - 1 :]:
                step(connection)
        if version < last:
            connection.execute(insert(schema).values(version=last, applied=now()))


def _version(connection: Connection) -> int:
    if not inspect(connection).has_table(schema.name):
        return 0
    return connection.scalar(select(func.coalesce(func.max(schema.c.version), 0))) or 0
