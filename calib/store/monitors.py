"""Monitors: counts of predictions by day, which are only ever added to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from calib.data.day_counts import DayCounts
from calib.store.engine import DamagedError, StoreError
from calib.store.entries import READERS, now, plain
from calib.store.tables import log, monitor_days, monitor_entries, monitors
from calib.text import plural

MAX_NAME_LENGTH = 60
ROWS, CORRECTION, CALIBRATOR, ALERT, CLAIM = "rows", "correction", "calibrator", "alert", "claim"
# A message is sent within seconds. A claim that is older is of a process that was killed; clocks of
# several computers may differ by so much.
CLAIM_TIME = timedelta(minutes=5)
INSERT: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
Opens = Callable[[], AbstractContextManager[sa.Connection]]


@dataclass(frozen=True, slots=True)
class MonitorEntry:
    """Something that was added to a monitor.

    Attributes
    ----------
    number : int
        Numbers of a monitor's entries increase.
    kind : str
        "rows"; "correction", whose counts replace those of earlier entries for its days;
        "calibrator", from whose day on the scores are those of a new calibrator; "alert", a message
        about an alarm that was sent; or "claim", one that a process is about to send.
    fingerprint : str
        That of the rows; of a new calibrator, its first day; of an alert, which alarm it was about.
    name : str
        Name of the file.
    moment : datetime or None
        When it was added.
    person : str
    """

    number: int
    kind: str
    fingerprint: str
    name: str
    moment: datetime | None
    person: str


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Monitor:
    """A monitor and what was added to it; the counts are those that corrections left.

    Attributes
    ----------
    name : str
    horizon : int
        Days after which the outcome of a row is regarded as final.
    columns : mapping of str to str or list of str
        Arguments that say how its files are read.
    entries : tuple of MonitorEntry
    counts : DayCounts or None
        None if there are none. Rows of `waiting` days have no outcome here.
    waiting : tuple of date
        Days that are older than the horizon now, but were younger when they were added, and had
        rows without an outcome then. Outcomes that arrived first are not like the others, so none
        of them is used until all rows of the day are added again as a correction.
    new_calibrators : tuple of date
        The first days of new calibrators, in order.
    """

    name: str
    horizon: int
    columns: Mapping[str, Any]
    entries: tuple[MonitorEntry, ...]
    counts: DayCounts | None
    waiting: tuple[date, ...]
    new_calibrators: tuple[date, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not tested because of how it was added; one sentence each."""
        if not self.waiting:
            return ()
        return (
            f"{plural(len(self.waiting), 'day')}, first {self.waiting[0]}, had open outcomes when "
            "they were added, and are not tested. Add all their rows again with --correct.",
        )

    @property
    def last_alert(self) -> str:
        """The alarm about which the last message was sent; "" if there was none."""
        return _last_alert(self.entries)


class Monitors:
    """The monitors of a store, as `Store.monitors`. Every method is one transaction."""

    def __init__(self, reading: Opens, writing: Opens) -> None:
        self._reading, self._writing = reading, writing

    def add(
        self,
        name: str,
        counts: DayCounts,
        *,
        fingerprint: str,
        horizon: int | None = None,
        columns: Mapping[str, Any] | None = None,
        source: str = "",
        by: str,
        correct: bool = False,
    ) -> MonitorEntry | None:
        """Add counts, if rows with this fingerprint do not count already.

        Parameters
        ----------
        fingerprint : str
            That of the rows.
        horizon : int, optional
            Days. Needed for the first rows of a monitor, and then always the same.
        columns : mapping, optional
            How the file was read.
        source : str
            Name of the file.
        by : str
            Who adds it, for the log.
        correct : bool
            If True, the counts of earlier entries for the days of these rows no longer count.

        Returns
        -------
        MonitorEntry or None
            The earlier entry if these rows were added before, and then nothing is changed, whatever
            was corrected since. With `correct`, nothing is changed only if these rows alone count
            for their days, and no day was younger than the horizon when they were added.

        Raises
        ------
        StoreError
            If the monitor exists with another horizon or other columns, or the database fails.
        """
        key = _checked_name(name)
        contents = counts.by_day()
        with self._writing() as connection:
            needed = _horizon(_begin(connection, key, horizon, columns))
            earlier = _entries(connection, key, fingerprint, (ROWS, CORRECTION))
            if correct:
                earlier = _only_counted(connection, key, earlier, set(contents), needed)
            if earlier:
                return earlier[0]
            kind = CORRECTION if correct else ROWS
            line = _insert(connection, key, kind, fingerprint, source, by)
            rows = [
                {"monitor": key, "number": line, "day": day, "content": content}
                for day, content in contents.items()
            ]
            connection.execute(sa.insert(monitor_days), rows)
        return None

    def add_calibrator(self, name: str, first_day: date, *, by: str) -> None:
        """Note the day from which on the scores are those of a new calibrator."""
        key, day = _checked_name(name), first_day.isoformat()
        with self._writing() as connection:
            _lock(connection, key)
            if not _entries(connection, key, day, (CALIBRATOR,)):
                _insert(connection, key, CALIBRATOR, day, "", by)

    def claim_alert(self, name: str, alarm: str, *, after: str, by: str) -> bool:
        """Claim the message about an alarm, so that processes that check at once send it once.

        Parameters
        ----------
        alarm : str
        after : str
            `Monitor.last_alert` when the alarm was computed.

        Returns
        -------
        bool
            False if another process has claimed a message, or has sent one since `after`. A claim
            ends with `settle_alert`, or after five minutes if its process was killed.
        """
        key = _checked_name(name)
        with self._writing() as connection:
            _lock(connection, key)
            entries = _entries(connection, key)
            if _last_alert(entries) != after or any(map(_is_claim, entries)):
                return False
            _remove_claims(connection, key)
            _insert(connection, key, CLAIM, alarm, "", by)
        return True

    def settle_alert(self, name: str, alarm: str, *, sent: bool, by: str) -> None:
        """End the claim of a message. If it was not sent, any process may claim it again."""
        key = _checked_name(name)
        with self._writing() as connection:
            _lock(connection, key)
            _remove_claims(connection, key)
            if sent:
                _insert(connection, key, ALERT, alarm, "", by)

    def settings(self, name: str) -> tuple[int, dict[str, Any]] | None:
        """The horizon and the columns of a monitor, or None if there is none of this name."""
        key = _checked_name(name)
        with self._reading() as connection:
            query = sa.select(monitors).where(monitors.c.name == key)
            line = connection.execute(query).first()
        return None if line is None else (_horizon(line), _columns(line))

    def open(self, name: str, *, between: tuple[date, date] | None = None) -> Monitor:
        """A monitor with its counts, or with those from a first to a last day.

        Raises StoreError if there is no monitor of this name.
        """
        key = _checked_name(name)
        with self._reading() as connection:
            line = _line(connection, key)
            table = monitor_days.c
            query = sa.select(table.day, table.number, table.content)
            query = query.where(table.monitor == key)
            if between is not None:
                query = query.where(_between(table.day, between))
            effective = set(_effective(connection, key, between))
            entries = _entries(connection, key)
            rows = connection.execute(query).all()
        stored = [row for row in rows if (row.day, row.number) in effective]
        days = sorted(stored, key=lambda row: (row.day, row.number))
        horizon, columns = _horizon(line), _columns(line)
        try:
            parts = [DayCounts.of_bytes(row.day, row.content) for row in days]
            waiting = _waiting(days, parts, entries, horizon)
            used = [
                part.without_outcomes() if waits else part
                for part, waits in zip(parts, waiting, strict=True)
            ]
            names = {row.day for row, waits in zip(days, waiting, strict=True) if waits}
            return Monitor(
                key,
                horizon,
                columns,
                entries,
                DayCounts.sum(used) if used else None,
                tuple(sorted(map(date.fromisoformat, names))),
                tuple(sorted({date.fromisoformat(day) for day in _new_calibrators(entries)})),
            )
        except (ValueError, TypeError) as error:
            raise DamagedError(f"The monitor {name!r} cannot be read: {error}") from error

    def names(self) -> tuple[str, ...]:
        """The names of all monitors, in alphabetical order."""
        with self._reading() as connection:
            return tuple(sorted(connection.scalars(sa.select(monitors.c.name))))

    def problems(self) -> tuple[str, ...]:
        """A sentence for each monitor that cannot be opened."""
        sentences = []
        for name in self.names():
            try:
                self.open(name)
            except StoreError as error:
                sentences.append(str(error))
        return tuple(sentences)

    def remove(self, name: str, *, by: str) -> None:
        """Remove a monitor and all its counts; only the log of the reports keeps its name."""
        key = _checked_name(name)
        with self._writing() as connection:
            _lock(connection, key)
            for column in (monitor_days.c.monitor, monitor_entries.c.monitor, monitors.c.name):
                connection.execute(sa.delete(column.table).where(column == key))
            log(connection, f"monitor {key}", "monitor removed", key, plain(by))


def _last_alert(entries: Sequence[MonitorEntry]) -> str:
    alerts = [entry.fingerprint for entry in entries if entry.kind == ALERT]
    return alerts[-1] if alerts else ""


def _is_claim(entry: MonitorEntry) -> bool:
    """Whether an entry is a claim of a process that may still send its message."""
    if entry.kind != CLAIM or entry.moment is None:
        return False
    return abs(datetime.now(UTC) - entry.moment) < CLAIM_TIME


def _remove_claims(connection: sa.Connection, key: str) -> None:
    table = monitor_entries.c
    query = sa.delete(monitor_entries).where(table.monitor == key, table.kind == CLAIM)
    connection.execute(query)


def _checked_name(name: str) -> str:
    key = " ".join(plain(name).split())
    if not 0 < len(key) <= MAX_NAME_LENGTH:
        raise StoreError(f"The name of a monitor must have 1 to 60 characters, got {name[:99]!r}.")
    return key


def _begin(
    connection: sa.Connection, key: str, horizon: int | None, columns: Mapping[str, Any] | None
) -> Any:
    """Create the monitor if it is new; otherwise check that it is read in the same way."""
    if horizon is not None:
        line = {"name": key, "created": now(), "horizon": str(horizon)}
        line["columns"] = json.dumps(columns or {}, sort_keys=True)
        # Two writers may create it at once.
        new = INSERT[connection.dialect.name](monitors).values(line)
        connection.execute(new.on_conflict_do_nothing())
    stored = _lock(connection, key)
    if horizon is not None and _horizon(stored) != horizon:
        raise StoreError(
            f"The monitor {key!r} has a horizon of {stored.horizon} days, got {horizon}. Another "
            "horizon needs another monitor."
        )
    before = _columns(stored)
    for name, value in (columns or {}).items():
        if before.get(name) != value:
            raise StoreError(
                f"The monitor {key!r} has {_words(before.get(name))} as its {name}, got "
                f"{_words(value)}. Other columns or labels need another monitor."
            )
    return stored


def _words(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value else "nothing"


def _is_overdue(day: str, entry: MonitorEntry, horizon: int) -> bool:
    """Whether a day is as old as the horizon now, but was not when the entry was added."""
    final = date.fromisoformat(day) + timedelta(days=horizon + 1)
    added = entry.moment.date() if entry.moment else final
    return added < final <= datetime.now(UTC).date()


def _waiting(
    days: Sequence[Any], parts: Sequence[DayCounts], entries: Sequence[MonitorEntry], horizon: int
) -> list[bool]:
    """Whether the counts of each day were added while its outcomes were still arriving."""
    by_number = {entry.number: entry for entry in entries}
    return [
        bool(part.missing.any()) and _is_overdue(row.day, by_number[row.number], horizon)
        for row, part in zip(days, parts, strict=True)
    ]


def _lock(connection: sa.Connection, key: str) -> Any:
    """The row of a monitor, which others cannot add to until this transaction ends."""
    return _line(connection, key, lock=True)


def _line(connection: sa.Connection, key: str, *, lock: bool = False) -> Any:
    query = sa.select(monitors).where(monitors.c.name == key)
    line = connection.execute(query.with_for_update() if lock else query).first()
    if line is None:
        raise StoreError(
            f"There is no monitor {key!r}. `calib monitor add` with --horizon creates it."
        )
    return line


def _horizon(line: Any) -> int:
    try:
        return int(line.horizon)
    except ValueError as error:
        raise DamagedError(f"The monitor {line.name!r} is damaged: its horizon.") from error


def _columns(line: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(line.columns))
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(f"The monitor {line.name!r} is damaged: its columns.") from error


def _new_calibrators(entries: Sequence[MonitorEntry]) -> list[str]:
    return [entry.fingerprint for entry in entries if entry.kind == CALIBRATOR]


def _entries(
    connection: sa.Connection, key: str, fingerprint: str | None = None, kinds: Sequence[str] = ()
) -> tuple[MonitorEntry, ...]:
    """The entries of a monitor in order, or those with a fingerprint and of some kinds."""
    table = monitor_entries.c
    query = sa.select(monitor_entries).where(table.monitor == key).order_by(table.number)
    if fingerprint is not None:
        query = query.where(table.fingerprint == fingerprint, table.kind.in_(kinds))
    return tuple(
        MonitorEntry(
            row.number,
            row.kind,
            row.fingerprint,
            row.source,
            READERS["moment"](row.added),
            row.person,
        )
        for row in connection.execute(query)
    )


def _effective(
    connection: sa.Connection, key: str, between: tuple[date, date] | None = None
) -> list[tuple[str, int]]:
    """Days and entries that count: of a day, those from its last correction on."""
    days, entries = monitor_days.c, monitor_entries.c
    joined = monitor_days.join(
        monitor_entries, (days.monitor == entries.monitor) & (days.number == entries.number)
    )
    query = sa.select(days.day, days.number, entries.kind).select_from(joined)
    query = query.where(days.monitor == key)
    if between is not None:
        query = query.where(_between(days.day, between))
    rows = connection.execute(query).all()
    first: dict[str, int] = {}
    for day, number, kind in rows:
        if kind == CORRECTION:
            first[day] = max(first.get(day, number), number)
    return [(day, number) for day, number, _ in rows if number >= first.get(day, number)]


def _between(day: sa.ColumnElement[str], ends: tuple[date, date]) -> sa.ColumnElement[bool]:
    first, last = ends
    return day.between(first.isoformat(), last.isoformat())


def _only_counted(
    connection: sa.Connection,
    key: str,
    entries: Sequence[MonitorEntry],
    days: set[str],
    horizon: int,
) -> tuple[MonitorEntry, ...]:
    """Those of some entries that alone count for some days, with outcomes that were final."""
    ends = date.fromisoformat(min(days)), date.fromisoformat(max(days))
    counted = {pair for pair in _effective(connection, key, ends) if pair[0] in days}
    return tuple(
        entry
        for entry in entries
        if counted == {(day, entry.number) for day in days}
        and not any(_is_overdue(day, entry, horizon) for day in days)
    )


def _insert(
    connection: sa.Connection,
    key: str,
    kind: str,
    fingerprint: str,
    source: str,
    by: str,
) -> int:
    table = monitor_entries.c
    highest = sa.select(sa.func.max(table.number)).where(table.monitor == key)
    number = int(connection.scalar(highest) or 0) + 1
    texts = {"kind": kind, "fingerprint": fingerprint, "source": plain(source), "added": now()}
    line = {"monitor": key, "number": number, "person": plain(by)} | texts
    connection.execute(sa.insert(monitor_entries).values(line))
    return number
