"""Where reports are kept: a database by its address, else a file in a folder of the user's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from calib.store.errors import StoreError

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


RESERVE_BYTES = 2**20
CHUNK_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file of zeros beside a file of SQLite.

    Even a deletion must first be written, and a full disk has no place for that.
    """

    path: Path | None  # The path is None if the database is not a file.

    @classmethod
    def of(cls, url: URL) -> Reserve:
        """The reserve of a database."""
        is_file = url.get_backend_name() == "sqlite" and url.database is not None
        return cls(Path(f"{url.database}-reserve") if is_file else None)

    def keep(self) -> None:
        """Occupy the space, if there is any."""
        if self.path is None or (self.path.exists() and self.path.stat().st_size == RESERVE_BYTES):
            return
        # On a nearly full disk a smaller reserve still helps.
        with suppress(OSError), self.path.open("wb", buffering=0) as file:
            for _ in range(RESERVE_BYTES // CHUNK_BYTES):
                file.write(bytes(CHUNK_BYTES))

    def free(self) -> bool:
        """Free the space. Returns whether any was freed."""
        if self.path is None or not self.path.exists():
            return False
        with suppress(OSError):
            self.path.unlink()
        return not self.path.exists()
