"""The tables of an empty database, and numbered steps from those of an earlier schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, Engine, func, insert, inspect, select

from calib.store.engine import writing
from calib.store.entries import now
from calib.store.errors import StoreError
from calib.store.tables import (
    REFUSED_CHANGES,
    metadata,
    monitor_days,
    monitor_entries,
    monitors,
    schema,
    titles,
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
