"""Numbered steps from an empty database to the tables of today.

A step that was released is never edited: a change is a new step at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, Engine, func, insert, inspect, select, text

from calib.store.engine import writing
from calib.store.entries import now
from calib.store.errors import StoreError
from calib.store.tables import schema

# A statement that databases spell differently is given by the database's name.
Statement: TypeAlias = str | Mapping[str, str]
Step: TypeAlias = tuple[Statement, ...]

# Any number, the same in every process: who holds it, migrates.
LOCK = int.from_bytes(b"calib")
BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
SCHEMA = "CREATE TABLE calib_schema (version INTEGER PRIMARY KEY, applied TEXT NOT NULL)"

FIRST_TABLES: Step = (
    """
    CREATE TABLE calib_reports (
        id TEXT PRIMARY KEY,
        saved TEXT NOT NULL,
        created TEXT NOT NULL,
        title TEXT NOT NULL,
        data_name TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        author TEXT NOT NULL,
        note TEXT NOT NULL,
        verdict TEXT NOT NULL,
        sentence TEXT NOT NULL,
        searched TEXT NOT NULL,
        content {bytes} NOT NULL
    )
    """,
    "CREATE INDEX calib_reports_saved ON calib_reports (saved)",
    """
    CREATE TABLE calib_report_tags (
        report_id TEXT NOT NULL REFERENCES calib_reports (id),
        tag TEXT NOT NULL,
        PRIMARY KEY (report_id, tag)
    )
    """,
    """
    CREATE TABLE calib_owners (
        report_id TEXT PRIMARY KEY REFERENCES calib_reports (id),
        owner TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE calib_deletions (
        report_id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        deleted TEXT NOT NULL,
        deleted_by TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE calib_changes (
        report_id TEXT NOT NULL,
        moment TEXT NOT NULL,
        change TEXT NOT NULL,
        title TEXT NOT NULL,
        person TEXT NOT NULL,
        PRIMARY KEY (report_id, moment, change)
    )
    """,
    # calib never changes a saved report. The trigger refuses changes by other programs.
    {
        "sqlite": """
            CREATE TRIGGER calib_reports_stay BEFORE UPDATE ON calib_reports
            BEGIN SELECT RAISE(ABORT, 'a saved report never changes'); END
            """,
        "postgresql": """
            CREATE FUNCTION calib_refuse_change() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION ''a saved report never changes''; END'
            """,
    },
    {
        "postgresql": """
            CREATE TRIGGER calib_reports_stay BEFORE UPDATE ON calib_reports
            FOR EACH ROW EXECUTE FUNCTION calib_refuse_change()
            """
    },
)

STEPS: tuple[Step, ...] = (FIRST_TABLES,)


def migrate(engine: Engine, steps: Sequence[Step] = STEPS) -> None:
    """Bring a database to the last step; processes that start at once do it once."""
    with engine.connect() as connection:
        if _version(connection) == len(steps):
            return
    # All or nothing: both databases also roll back changes of tables.
    with writing(engine) as connection:
        # In SQLite a transaction that writes has the file to itself.
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
        version = _version(connection)
        if version > len(steps):
            raise StoreError(
                f"The reports were saved by another version of calib (schema {version}; this one "
                f"reads up to {len(steps)}). Use that version, or update calib. The reports were "
                "not changed."
            )
        if version == 0:
            connection.execute(text(SCHEMA))
        for number, step in enumerate(steps[version:], version + 1):
            _apply(connection, step)
            connection.execute(insert(schema).values(version=number, applied=now()))


def _version(connection: Connection) -> int:
    if not inspect(connection).has_table(schema.name):
        return 0
    return connection.scalar(select(func.coalesce(func.max(schema.c.version), 0))) or 0


def _apply(connection: Connection, step: Step) -> None:
    name = connection.dialect.name
    for statement in step:
        words = statement if isinstance(statement, str) else statement.get(name)
        if words:
            connection.exec_driver_sql(words.format(bytes=BYTES[name]))
