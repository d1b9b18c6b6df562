"""Store: saved reports, listed, opened and deleted; never changed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import URL, Column, Connection, delete, func, insert, select

from calib.reports import Report
from calib.store.engine import make_engine, writing
from calib.store.entries import Deletion, Entry, checked_tags, now, report_of, row_of
from calib.store.errors import StoreError, translate_errors
from calib.store.location import checked_url, database_url, make_folder
from calib.store.migrations import migrate
from calib.store.queries import LISTED, entries, insert_tags, known_as, unknown
from calib.store.search import conditions, plain
from calib.store.tables import deletions, report_tags, reports


class Store:
    """Saved reports in one database. Threads may share it; a forked process makes its own.

    Parameters
    ----------
    url : str or URL
        ``sqlite:///path/to/file.db`` or ``postgresql://user:password@host/database``. Tables are
        made, or brought up to date, on construction.
    patience : float
        Seconds to wait for others that write, or for a server that does not answer.

    Raises
    ------
    StoreError
        Here and in every method: the database cannot be reached, read or written; the message says
        why and what to do.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from calib.analysis import analyze
    >>> from calib.core.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(500)
    >>> analysis = analyze(Predictions.from_arrays(rng.random(500) < score, score))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/r.db") as store:
    ...     report_id = store.save(Report.from_analysis(analysis, title="March"), tags=["credit"])
    ...     print(store.open(report_id).heading, [entry.tags for entry in store.list("march")])
    March [('credit',)]
    """

    def __init__(self, url: str | URL, *, patience: float = 30.0) -> None:
        self.url = checked_url(url)
        make_folder(self.url)
        self._engine = make_engine(self.url, patience)
        try:
            with translate_errors(self.url):
                migrate(self._engine)
        except BaseException:
            self.close()
            raise

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Store:
        """The store that CALIB_DATABASE_URL or CALIB_HOME names, else the user's own."""
        return cls(database_url(environ))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def save(self, report: Report, *, tags: Iterable[str] = ()) -> str:
        """Keep a report.

        Parameters
        ----------
        report : Report
        tags : iterable of str
            At most 20, of at most 60 characters each.

        Returns
        -------
        str
            The id: 128 random bits in 22 characters of a URL. Once it is returned, the report is on
            the disk.
        """
        report_id = secrets.token_urlsafe(16)
        names = checked_tags(tags)
        row = row_of(report, report_id, names)
        with self._writing() as connection:
            connection.execute(insert(reports).values(row))
            insert_tags(connection, report_id, names)
        return report_id

    def open(self, report_id: str) -> Report:
        """The report of an id, as it was saved.

        Raises
        ------
        StoreError
            If there is none, or if it was deleted: then the message says when and by whom.
        """
        with self._reading() as connection:
            query = select(reports.c.content).where(known_as(report_id))
            content = connection.scalar(query)
            if content is None:
                raise unknown(connection, report_id)
        return report_of(content, report_id)

    def entry(self, report_id: str) -> Entry:
        """What a list shows of one report."""
        with self._reading() as connection:
            found = entries(connection, select(*LISTED).where(known_as(report_id)))
            if not found:
                raise unknown(connection, report_id)
        return found[0]

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
        """Saved reports, the newest first.

        Parameters
        ----------
        search : str
            Words that must all occur in title, data name, author, note, verdict or tags, whatever
            their case. No character has a special meaning.
        tag, author, verdict : str, optional
            Only reports with exactly this one.
        limit, offset : int
            At most so many, after leaving out so many: a page.
        """
        query = select(*LISTED).where(*conditions(search, tag, author, verdict))
        newest = query.order_by(reports.c.saved.desc(), reports.c.id).limit(limit).offset(offset)
        with self._reading() as connection:
            return entries(connection, newest)

    def count(
        self,
        search: str = "",
        *,
        tag: str | None = None,
        author: str | None = None,
        verdict: str | None = None,
    ) -> int:
        """How many reports `list` would show on all its pages."""
        fulfilled = conditions(search, tag, author, verdict)
        with self._reading() as connection:
            return connection.scalar(select(func.count(reports.c.id)).where(*fulfilled)) or 0

    def tags(self) -> tuple[str, ...]:
        """Every tag that some report has, sorted."""
        return self._different(report_tags.c.tag)

    def authors(self) -> tuple[str, ...]:
        """Every author of some report, sorted."""
        return self._different(reports.c.author)

    def verdicts(self) -> tuple[str, ...]:
        """Every verdict of some report, sorted."""
        return self._different(reports.c.verdict)

    def delete(self, report_id: str, *, by: str) -> None:
        """Delete a report for good; the log keeps its title, when it was, and who it was.

        Parameters
        ----------
        report_id : str
        by : str
            Name of the person who deletes it.
        """
        name = " ".join(plain(by).split())
        if not name:
            raise StoreError(f"by must name the person who deletes the report, got {by!r}.")
        with self._writing() as connection:
            found = select(reports.c.title).where(known_as(report_id)).with_for_update()
            title = connection.scalar(found)
            if title is None:
                raise unknown(connection, report_id)
            line = {"report_id": report_id, "title": title, "deleted": now(), "deleted_by": name}
            connection.execute(insert(deletions).values(line))
            connection.execute(delete(report_tags).where(report_tags.c.report_id == report_id))
            connection.execute(delete(reports).where(known_as(report_id)))

    def deletions(self) -> tuple[Deletion, ...]:
        """The log of deleted reports, the newest first."""
        with self._reading() as connection:
            rows = connection.execute(select(deletions).order_by(deletions.c.deleted.desc()))
            return tuple(Deletion.of(row) for row in rows.mappings())

    def _different(self, column: Column[str]) -> tuple[str, ...]:
        # Sorted here: databases differ in the order of letters.
        with self._reading() as connection:
            found = connection.scalars(select(column).distinct())
            return tuple(sorted(text for text in found if text and isinstance(text, str)))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translate_errors(self.url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with translate_errors(self.url), writing(self._engine) as connection:
            yield connection
