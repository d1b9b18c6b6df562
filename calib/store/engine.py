"""Connections: the settings that each database needs so that committed reports are safe."""

from __future__ import annotations

import sqlite3
import time
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from calib.store.errors import StoreError


def make_engine(url: URL, patience: float, *, read_only: bool = False) -> Engine:
    """An engine whose commits survive a killed process and a lost power supply.

    It waits for others that write, or for a connection, for `patience` seconds.
    `read_only`: the SQLite file is in a place where nothing can be written, not even locks.
    """
    if url.get_backend_name() == "sqlite":
        return _read_only(url) if read_only else _sqlite(url, patience)
    try:
        return _postgresql(url, patience)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"PostgreSQL needs the package {error.name}, which is not installed: "
            "pip install 'psycopg[binary]'."
        ) from error


def _postgresql(url: URL, patience: float) -> Engine:
    return create_engine(
        url,
        hide_parameters=True,
        pool_size=5,
        max_overflow=5,
        pool_timeout=patience,
        pool_recycle=1800,
        # A server may have been restarted since a connection was last used.
        pool_pre_ping=True,
        connect_args=_limits(url, patience),
    )


def _limits(url: URL, patience: float) -> dict[str, object]:
    milliseconds = max(1, round(1000 * patience))
    limits = {
        "statement_timeout": milliseconds,
        "lock_timeout": milliseconds * 3 // 4,
        "idle_in_transaction_session_timeout": 10 * milliseconds,
    }
    given = url.query.get("options", "")
    ours = " ".join(f"-c {name}={value}" for name, value in limits.items())
    return {
        "options": f"{given if isinstance(given, str) else ' '.join(given)} {ours}".strip(),
        "connect_timeout": max(2, min(int(patience), 10)),
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "tcp_user_timeout": milliseconds,
    }


def _read_only(url: URL) -> Engine:
    """An engine that writes no WAL beside the file."""
    place = URL.create(
        "sqlite",
        database=f"file:{quote(str(url.database))}",
        query={"mode": "ro", "immutable": "1", "uri": "true"},
    )
    # There is no pool, because an open connection does not see later writes of others.
    engine = create_engine(place, hide_parameters=True, poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.text_factory = _text

    return engine


def writing(engine: Engine) -> AbstractContextManager[Connection]:
    """A transaction that writes: in SQLite it has the write lock from its beginning."""
    # A transaction that reads first and writes later is refused without waiting if another one
    # wrote in between.
    return engine.execution_options(sqlite_begin="IMMEDIATE").begin()


def _sqlite(url: URL, patience: float) -> Engine:
    engine = create_engine(
        url, hide_parameters=True, pool_timeout=patience, connect_args={"timeout": patience}
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        try:
            _make_durable(connection, patience)
        except (sqlite3.Error, UnicodeDecodeError):
            connection.close()
            raise

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options: dict[str, Any] = dict(connection.get_execution_options())
        connection.exec_driver_sql(f"BEGIN {options.get('sqlite_begin', 'DEFERRED')}")

    return engine


def _make_durable(connection: sqlite3.Connection, patience: float) -> None:
    # The sqlite3 module would commit before a table is created, so SQLAlchemy sends BEGIN instead.
    connection.isolation_level = None
    connection.text_factory = _text
    _use_wal(connection, patience)
    # With FULL, a commit returns when it is on the disk. NORMAL may lose the last commits of a WAL.
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
            # SQLite's time-out does not cover this switch if others open a new file at once.
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _text(content: bytes) -> str:
    # A damaged character must not prevent a whole list from opening.
    return content.decode("utf-8", "replace")
