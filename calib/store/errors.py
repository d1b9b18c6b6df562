"""StoreError: errors of the database, described in sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
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


class DiskFullError(StoreError):
    """There is no space left, not even for a deletion."""


class ReadOnlyError(StoreError):
    """Nothing can be written there."""


class DamagedError(StoreError):
    """The database is damaged, or the file is not a database."""


KINDS = {DISK_FULL: DiskFullError, READ_ONLY: ReadOnlyError, BROKEN: DamagedError}


@contextmanager
def translate_errors(url: URL) -> Iterator[None]:
    """Turn errors of the database into sentences."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = _explained(error)
        said = f"{reason}." if reason else _unknown(error)
        raise KINDS.get(reason or "", StoreError)(f"The {place(url)} {said}") from error
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
