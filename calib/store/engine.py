"""Connections to the database of the reports: where it is, its settings, and its errors."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

BUSY = "is busy: other processes keep writing to it. Try again in a moment"
SLOW = "did not answer in time: it is overloaded, or others lock its tables. Try again in a moment"
DISK_FULL = "is full: no disk space is left. Free some space, then try again"
READ_ONLY = (
    "cannot be written to. Allow writing, or set CALIB_HOME to another folder or "
    "CALIB_DATABASE_URL to another database"
)
NOT_GRANTED = (
    "does not let this user create or use its tables. Grant it CREATE and USAGE on the schema"
)
BROKEN = "is damaged, or is not an SQLite database. Restore it from a copy, or name another"

# The keys are primary result codes, https://www.sqlite.org/rescode.html.
SQLITE = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_FULL: DISK_FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: READ_ONLY,
    sqlite3.SQLITE_PERM: READ_ONLY,
    sqlite3.SQLITE_CORRUPT: BROKEN,
    sqlite3.SQLITE_NOTADB: BROKEN,
}

# The keys are the first characters of SQLSTATE:
# https://www.postgresql.org/docs/current/errcodes-appendix.html.
POSTGRESQL = {
    "55P03": BUSY,
    "40": BUSY,
    "57014": SLOW,
    "53100": DISK_FULL,
    "25006": "is read-only. Set CALIB_DATABASE_URL to a database that accepts writes",
    "42501": NOT_GRANTED,
    "3F": NOT_GRANTED,
    "28": "refuses this user or password. Correct CALIB_DATABASE_URL",
    "3D": "does not exist. Create it (createdb), or correct CALIB_DATABASE_URL",
}


class StoreError(Exception):
    """Saved reports cannot be read or written. The message says why and what to do."""


class ReadOnlyError(StoreError):
    """Nothing can be written there."""


class DamagedError(StoreError):
    """The database is damaged, or the file is not a database."""


ERRORS = {READ_ONLY: ReadOnlyError, BROKEN: DamagedError}


@contextmanager
def translate_errors(url: URL) -> Iterator[None]:
    """Turn errors of the database into sentences."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = _explained(error)
        said = f"{reason}." if reason else _unknown(error)
        raise ERRORS.get(reason or "", StoreError)(f"The {place(url)} {said}") from error
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged bytes in its message, which Python then cannot decode.
        raise DamagedError(f"The {place(url)} {BROKEN}.") from error


def place(url: URL) -> str:
    """Where reports are kept, in words, without user and password.

    Examples
    --------
    >>> from sqlalchemy import make_url
    >>> place(make_url("postgresql://ada:secret@db.example/team"))
    "PostgreSQL database 'team' on db.example"
    """
    if url.get_backend_name() == "sqlite":
        return f"database {url.database}"
    host = url.host or url.query.get("host") or "this machine"
    return f"PostgreSQL database {url.database!r} on {host}"


def _unknown(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    driver_text = " ".join(str(cause).split())[:300].rstrip(".")
    if isinstance(error, DBAPIError) and _unreached(error):
        return f"cannot be reached: {driver_text}. Is it running?"
    return f"failed: {driver_text}."


def _explained(error: SQLAlchemyError) -> str | None:
    if isinstance(error, PoolTimeout):
        return BUSY
    cause = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0)
        # The memory that connections share is a file, which a full disk cannot extend.
        return DISK_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else SQLITE.get(code & 0xFF)
    state = str(getattr(cause, "sqlstate", None) or _state_in_words(str(cause)))
    return next((POSTGRESQL[start] for start in POSTGRESQL if state.startswith(start)), None)


def _state_in_words(text: str) -> str:
    """SQLSTATE of a refused connection, of which the driver passes on the words only."""
    refusals = ("authentication failed", "no password supplied", 'FATAL:  role "')
    if any(words in text for words in refusals):
        return "28000"
    return "3D000" if "database" in text and "does not exist" in text else ""


def _unreached(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    lost = state is None or str(state).startswith(("08", "57P"))
    return lost and not isinstance(error.orig, sqlite3.Error)


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


FILE = "reports.db"
FORMS = (
    "The database's address (CALIB_DATABASE_URL) must look like "
    "postgresql://user:password@host/database or sqlite:////folder/reports.db"
)


def database_url(environ: Mapping[str, str] | None = None) -> URL:
    """Address of the database: CALIB_DATABASE_URL, else a file of SQLite.

    The file lies in the folder CALIB_HOME, else in the user's data directory.

    Parameters
    ----------
    environ : mapping of str to str, optional
        The process's environment if None.

    Raises
    ------
    StoreError
        If the address is not one of PostgreSQL or of a file of SQLite, or no folder is known.

    Examples
    --------
    >>> database_url({"CALIB_HOME": "/srv/calib"}).render_as_string()
    'sqlite:////srv/calib/reports.db'
    >>> database_url({"CALIB_DATABASE_URL": "postgres://db.example/team"}).drivername
    'postgresql+psycopg'
    """
    environ = os.environ if environ is None else environ
    given = environ.get("CALIB_DATABASE_URL", "").strip()
    if given:
        return checked_url(given)
    home = environ.get("CALIB_HOME", "").strip()
    try:
        folder = Path(home).expanduser() if home else user_data_path("calib", appauthor=False)
    except RuntimeError:
        raise StoreError(
            "This user has no home folder for reports: set CALIB_HOME to a folder, as a full "
            f"path, got {home!r}."
        ) from None
    return URL.create("sqlite", database=str(folder / FILE))


def checked_url(given: str | URL) -> URL:
    """An address with its driver. Addresses of other kinds of databases are refused."""
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        # The address may contain a password, so the message does not repeat it.
        raise StoreError(f"{FORMS}, got an address that cannot be read.") from None
    kind = url.drivername.partition("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return url.set(drivername="sqlite")
    got = f"{url.drivername}://" + ("" if kind != "sqlite" else " without a file")
    raise StoreError(f"{FORMS}, got {got}.")


def make_folder(url: URL) -> None:
    """Make the folder of a file of SQLite; a new one is for this user alone."""
    if url.get_backend_name() != "sqlite" or url.database is None:
        return
    folder = Path(url.database).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The folder for reports, {folder}, cannot be made ({error.strerror}). Set "
            "CALIB_HOME to another folder."
        ) from error
