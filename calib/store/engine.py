"""Connections: what each database needs to keep a promise that was made."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from calib.store.errors import StoreError


def make_engine(url: URL, patience: float) -> Engine:
    """An engine whose commits survive a killed process and a lost power supply.

    Parameters
    ----------
    url : URL
    patience : float
        Seconds to wait for others that write, or for a server that does not answer.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, patience)
    try:
        # A server may have been restarted since a connection was last used: asked before use.
        return create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_timeout=patience,
            connect_args={"connect_timeout": max(2, round(patience))},
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL needs the package {error.name}, which is not installed: "
            "pip install 'psycopg[binary]'."
        ) from error


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: in SQLite it has the file's only pen from its first moment."""
    # A transaction that first reads and then wants to write is refused at once if another wrote in
    # between, however long it would be ready to wait.
    with engine.execution_options(sqlite_begin="IMMEDIATE").begin() as connection:
        yield connection


def _sqlite(url: URL, patience: float) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_timeout=patience,
        connect_args={"timeout": patience},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        try:
            _make_durable(connection, patience)
        except sqlite3.Error:
            connection.close()
            raise

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options: dict[str, Any] = dict(connection.get_execution_options())
        connection.exec_driver_sql(f"BEGIN {options.get('sqlite_begin', 'DEFERRED')}")

    return engine


def _make_durable(connection: sqlite3.Connection, patience: float) -> None:
    # Python's own transactions commit before a table is made: SQLAlchemy says BEGIN instead.
    connection.isolation_level = None
    # A damaged letter must not keep a whole list from opening.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    _use_wal(connection, patience)
    # FULL: a commit returns when it is on the disk. NORMAL may lose the last commits of a WAL.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _use_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Let readers and a writer work at once; the file remembers it."""
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # The switch does not wait for others that open a new file at the same moment.
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.02)
