"""Store: save, list, open, delete and restore reports. A saved report never changes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Column, Connection, Select, delete, func, insert, select

from calib.reports import Report
from calib.store.engine import (
    DamagedError,
    ReadOnlyError,
    StoreError,
    checked_url,
    database_url,
    make_engine,
    make_folder,
    translate_errors,
    writing,
)
from calib.store.entries import (
    Change,
    Deletion,
    Entry,
    checked_tags,
    now,
    plain,
    row_of,
    sealed_report_of,
)
from calib.store.integrity import Verification, check_database, readable_entries
from calib.store.monitors import Monitors
from calib.store.tables import (
    LISTED,
    NOT_DELETED,
    changes,
    deletions,
    entries,
    has_id,
    list_conditions,
    log,
    migrate,
    owners,
    remove,
    remove_rested,
    report_tags,
    reports,
    title_of,
    unknown,
)

REST = timedelta(days=30)
# The log names this user if nobody was signed in.
ANONYMOUS = "nobody signed in"


class Store:
    """Saved reports in one database. Threads can share a store; a forked process needs its own.

    Parameters
    ----------
    url : str or URL
        ``sqlite:///path/to/file.db`` or ``postgresql://user:password@host/database``. Missing
        tables are created.
    patience : float
        Seconds to wait for other writers, or for a connection to a server.
    rest : timedelta
        Time during which a deleted report can be restored.

    Raises
    ------
    StoreError
        If the database cannot be reached, read or written, also in every method. The message says
        why and what to do.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from calib.analysis import analyze
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(500)
    >>> predictions = Predictions.from_arrays(rng.random(500) < score, score)
    >>> analysis = analyze(predictions, {"methods": ("platt",)})
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/r.db") as store:
    ...     report_id = store.save(Report.from_analysis(analysis, title="March"), tags=["credit"])
    ...     print(store.open(report_id).heading, [entry.tags for entry in store.list("march")])
    March [('credit',)]
    """

    def __init__(self, url: str | URL, *, patience: float = 30.0, rest: timedelta = REST) -> None:
        self.url = checked_url(url)
        self.rest = rest
        self.read_only = False
        make_folder(self.url)
        self._engine = make_engine(self.url, patience)
        try:
            self._migrate()
        except ReadOnlyError:
            self._open_read_only(patience)
        except BaseException:
            self.close()
            raise

    def _migrate(self) -> None:
        with translate_errors(self.url):
            migrate(self._engine)

    def _open_read_only(self, patience: float) -> None:
        """Read a file in a read-only place, if it is complete without the log beside it."""
        self.close()
        path = Path(str(self.url.database))
        log = Path(f"{path}-wal")
        if not path.is_file() or (log.exists() and log.stat().st_size):
            raise
        self._engine, self.read_only = make_engine(self.url, patience, read_only=True), True
        self._migrate()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Store:
        """The store that CALIB_DATABASE_URL or CALIB_HOME names. Default: in the user's folder."""
        return cls(database_url(environ))

    @property
    def monitors(self) -> Monitors:
        """The monitors in the same database."""
        return Monitors(self._reading, self._writing)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def save(self, report: Report, *, tags: Iterable[str] = (), owner: str = "") -> str:
        """Save a report.

        Parameters
        ----------
        tags : iterable of str
            At most 20 tags with at most 60 characters each.
        owner : str
            The signed-in user, or "" if nobody is signed in.

        Returns
        -------
        str
            The id: 128 random bits in 22 characters that are valid in a URL. The report is on the
            disk when the method returns.
        """
        report_id = _new_id()
        names = checked_tags(tags)
        row = row_of(report, report_id, names)
        with self._writing() as connection:
            remove_rested(connection, self.rest)
            connection.execute(insert(reports).values(row))
            if names:
                tagged = [{"report_id": report_id, "tag": name} for name in names]
                connection.execute(insert(report_tags), tagged)
            if owner:
                whose = {"report_id": report_id, "owner": plain(owner)}
                connection.execute(insert(owners).values(whose))
            log(connection, report_id, "saved", str(row["title"]), plain(owner) or ANONYMOUS)
        return report_id

    def open(self, report_id: str) -> Report:
        """Open the report with this id.

        Raises
        ------
        StoreError
            If there is no such report, or it was deleted. The message then says when and by whom.
        """
        return self.open_sealed(report_id)[0]

    def open_sealed(self, report_id: str) -> tuple[Report, str]:
        """Open a report as `open` does; also returns what is wrong with its seal, or ""."""
        with self._reading() as connection:
            query = select(reports.c.content).where(has_id(report_id), NOT_DELETED)
            content = connection.scalar(query)
            if content is None:
                raise unknown(connection, report_id)
        return sealed_report_of(content, report_id)

    def entry(self, report_id: str) -> Entry:
        """The entry of one report, as in a list."""
        with self._reading() as connection:
            matching = entries(connection, select(*LISTED).where(has_id(report_id), NOT_DELETED))
            if not matching:
                raise unknown(connection, report_id)
        return matching[0]

    def list(
        self,
        search: str = "",
        *,
        tag: str | None = None,
        author: str | None = None,
        verdict: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[Entry, ...]:
        """List saved reports, newest first.

        Parameters
        ----------
        search : str
            Words that must all occur in title, data name, author, note, verdict or tags. Case is
            ignored. No character has a special meaning.
        tag, author, verdict : str, optional
            List only reports with this tag, author or verdict.
        limit, offset : int
            Largest number of reports, and number of reports to skip, for pages of a list.
        """
        query = select(*LISTED).where(NOT_DELETED, *list_conditions(search, tag, author, verdict))
        newest = query.order_by(reports.c.saved.desc(), reports.c.id).limit(limit).offset(offset)
        try:
            with self._reading() as connection:
                return entries(connection, newest)
        except DamagedError:
            with self._reading() as connection:
                return readable_entries(connection, query)[offset : offset + limit]

    def of_rows(self, fingerprint: str) -> tuple[Entry, ...]:
        """List saved reports of the same rows, newest first."""
        query = select(*LISTED).where(NOT_DELETED, reports.c.fingerprint == fingerprint)
        try:
            with self._reading() as connection:
                return entries(connection, query.order_by(reports.c.saved.desc(), reports.c.id))
        except DamagedError:
            with self._reading() as connection:
                return readable_entries(connection, query)

    def count(
        self,
        search: str = "",
        *,
        tag: str | None = None,
        author: str | None = None,
        verdict: str | None = None,
    ) -> int:
        """Number of reports that `list` would show on all pages."""
        conditions = list_conditions(search, tag, author, verdict)
        with self._reading() as connection:
            return (
                connection.scalar(select(func.count(reports.c.id)).where(NOT_DELETED, *conditions))
                or 0
            )

    def tags(self) -> tuple[str, ...]:
        """All tags of saved reports, sorted."""
        return self._different(report_tags.c.tag, report_tags.c.report_id)

    def authors(self) -> tuple[str, ...]:
        """All authors of saved reports, sorted."""
        return self._different(reports.c.author, reports.c.id)

    def verdicts(self) -> tuple[str, ...]:
        """All verdicts of saved reports, sorted."""
        return self._different(reports.c.verdict, reports.c.id)

    def delete(self, report_id: str, *, by: str, for_good: bool = False) -> None:
        """Delete a report. It can be restored for some time.

        Parameters
        ----------
        by : str
            The user who deletes it, for the log.
        for_good : bool
            Whether it is removed at once and cannot be restored, also if it was deleted before.
        """
        name = _person(by)
        with self._writing() as connection:
            remove_rested(connection, self.rest)
            conditions = [] if for_good else [NOT_DELETED]
            title = title_of(connection, report_id, *conditions)
            line = {"report_id": report_id, "title": title, "deleted": now()}
            connection.execute(delete(deletions).where(deletions.c.report_id == report_id))
            connection.execute(insert(deletions).values(line | {"deleted_by": name}))
            log(connection, report_id, "deleted", title, name)
            if for_good:
                remove(connection, select(reports.c.id).where(has_id(report_id)))

    def sweep(self) -> None:
        """Remove reports whose time to be restored is over; saving and deleting do it too."""
        if self.read_only:
            return
        with self._writing() as connection:
            remove_rested(connection, self.rest)

    def restore(self, report_id: str, *, by: str) -> None:
        """Restore a deleted report, if it was not removed yet."""
        name = _person(by)
        with self._writing() as connection:
            if connection.scalar(select(reports.c.id).where(has_id(report_id), NOT_DELETED)):
                raise StoreError(f"The report {report_id!r} is not deleted.")
            title = title_of(connection, report_id, ~NOT_DELETED)
            connection.execute(delete(deletions).where(deletions.c.report_id == report_id))
            log(connection, report_id, "restored", title, name)

    def resting(self) -> tuple[Deletion, ...]:
        """Deleted reports that can be restored, newest deletion first."""
        kept = deletions.c.report_id.in_(select(reports.c.id))
        return self._deletions(select(deletions).where(kept))

    def changes(self, limit: int = 200) -> tuple[Change, ...]:
        """The log of all that was saved, deleted or restored, newest first."""
        query = select(changes).order_by(changes.c.moment.desc()).limit(limit)
        with self._reading() as connection:
            return tuple(Change.of(row) for row in connection.execute(query).mappings())

    def deletions(self) -> tuple[Deletion, ...]:
        """All deleted reports, newest deletion first."""
        return self._deletions(select(deletions))

    def verify(self) -> Verification:
        """Check the whole database, and open every report and every monitor."""
        with self._reading() as connection:
            made = check_database(connection)
        return replace(made, problems=(*made.problems, *self.monitors.problems()))

    def export(self, folder: str | Path) -> Verification:
        """Write all reports to a folder as ID.json. Reports that cannot be opened are listed."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with self._reading() as connection:
            return check_database(connection, lambda key, report: report.save(path / f"{key}.json"))

    def _deletions(self, query: Select[Any]) -> tuple[Deletion, ...]:
        with self._reading() as connection:
            rows = connection.execute(query.order_by(deletions.c.deleted.desc()))
            return tuple(Deletion.of(row) for row in rows.mappings())

    def _different(self, column: Column[str], whose: Column[str]) -> tuple[str, ...]:
        # Databases differ in the order of letters, so the texts are sorted here.
        with self._reading() as connection:
            gone = whose.in_(select(deletions.c.report_id))
            values = connection.scalars(select(column).where(~gone).distinct())
            return tuple(sorted(text for text in values if text and isinstance(text, str)))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translate_errors(self.url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with translate_errors(self.url), writing(self._engine) as connection:
            yield connection


def _person(by: str) -> str:
    name = " ".join(plain(by).split())
    if not name:
        raise StoreError(f"by must name who changes the report, got {by!r}.")
    return name


def _new_id() -> str:
    # The command line reads an id that begins with a dash as an option.
    while (made := secrets.token_urlsafe(16)).startswith("-"):
        pass
    return made
