"""``monitor``: add days of predictions, and check whether their scores are still calibrated."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import threading
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from calib.cli.check import write_junit
from calib.cli.predictions import is_result_of_query, with_options
from calib.cli.reports import person, printable
from calib.cli.streams import tell, writing
from calib.data.aggregate import Aggregate
from calib.data.file_options import Columns
from calib.features.monitor.result import Monitored, copied
from calib.features.monitor.rows import ROLES, Counts, Days, read_days
from calib.features.monitor.rules import monitored
from calib.loading import InputError
from calib.text import chat, count, joined, listed, percent, plural, quoted

MAX_SECONDS = 5.0
# Libraries disagree about the host of an address with other characters, such as a backslash or @.
HOST = r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?|\[[0-9a-f:.]+\]"
LOCAL_HOST = r"localhost|127\.0\.0\.1|\[::1\]"
ADDRESS = re.compile(
    rf"(https://({HOST})|http://({LOCAL_HOST}))(:[0-9]{{1,5}})?([/?#][!-~]*)?",
    re.IGNORECASE | re.ASCII,
)
MAX_PORT = 65_535
# The address often is a secret, and every user of the computer sees the arguments of a process.
VARIABLE = "CALIB_WEBHOOK"
FORMS = "must begin with https://, or with http:// and localhost, 127.0.0.1 or [::1]."


def webhook(text: str) -> str:
    """The address, if nobody on the way can read or change what is posted to it."""
    parts = ADDRESS.fullmatch(text)
    if parts is None or int((parts[4] or ":1")[1:]) > MAX_PORT or not _is_host(parts[2] or ""):
        # The address itself is not printed, because it often is a secret.
        raise ValueError(FORMS)
    return text


def _is_host(host: str) -> bool:
    """Whether a host in brackets is an address of IPv6; names were checked already."""
    if not host.startswith("["):
        return True
    try:
        ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def chosen(option: str | None, file: Path | None) -> str | None:
    """The address of an option, else of a file, else of the environment; None if there is none.

    Raises ValueError if the file cannot be read or has no address, or the environment has none.
    """
    if option is not None:
        return option
    if file is not None:
        try:
            text, place = file.read_text("utf-8-sig").strip(), f"The address in {file}"
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ValueError(
                f"The file of --webhook-file, {file}, cannot be read: {reason}."
            ) from None
    else:
        text, place = os.environ.get(VARIABLE, "").strip(), f"The address in {VARIABLE}"
        if not text:
            return None
    try:
        return webhook(text)
    except ValueError:
        raise ValueError(f"{place} {FORMS}") from None


class _NoRedirects(HTTPRedirectHandler):
    """Another address could be one that the person did not choose."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(url: str, contents: Mapping[str, Any], seconds: float = MAX_SECONDS) -> str:
    """Post JSON. What went wrong within so many seconds, or ""."""
    outcome = [f"did not answer within {seconds:g} seconds"]

    def send() -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "calib"}
        request = Request(url, json.dumps(contents).encode(), headers, method="POST")
        handlers: list[Any] = [_NoRedirects]
        if url[:5].casefold() == "http:":
            # A proxy is another computer.
            handlers.append(ProxyHandler({}))
        try:
            with build_opener(*handlers).open(request, timeout=seconds):
                outcome[0] = ""
        except HTTPError as error:
            redirects = ", and redirects are not followed" if 300 <= error.code < 400 else ""
            outcome[0] = f"answered {error.code}{redirects}"
        except (OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if not isinstance(reason, TimeoutError):
                outcome[0] = f"cannot be reached: {getattr(reason, 'strerror', None) or reason}"

    # The time-out of a socket begins anew with every byte, so the whole exchange is limited here.
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0]


if TYPE_CHECKING:
    from calib.store import Monitor, Monitors

SUITE = "calib monitor check"


def reset(monitors: Monitors, name: str, first_day: date, by: str) -> int:
    """Start the evidence anew."""
    _refuse_future(first_day, "The first day")
    monitors.add_calibrator(name, first_day, by=person(by))
    print(f"{printable(name)}: a new calibrator from {first_day} on")
    return 0


def remove(monitors: Monitors, name: str, by: str) -> int:
    """Remove a monitor."""
    monitors.remove(name, by=person(by))
    print(f"{printable(name)} removed")
    return 0


def add(
    monitors: Monitors,
    name: str,
    file: str,
    stated: Mapping[str, Any],
    *,
    horizon: int | None,
    correct: bool,
    by: str,
) -> int:
    """Add the rows of a file."""
    stored = monitors.settings(name)
    if stored is None and horizon is None:
        raise ValueError(
            f"The monitor {name!r} is new: say after how many days an outcome is final, such as "
            "--horizon 30d."
        )
    if stored is not None and horizon is None:
        horizon = stored[0]
    assert horizon is not None
    days = _days(file, stated, {} if stored is None else stored[1], horizon)
    _refuse_future(days.last, "The last day")
    columns = {role: getattr(days.columns, role) for role in ROLES}
    columns["slices"] = list(days.columns.slices)
    if stored is not None:
        # Counts have an outcome in every row, so they need no column that says when it arrived.
        columns = stored[1] | {role: value for role, value in columns.items() if value}
    earlier = monitors.add(
        name,
        days.counts,
        fingerprint=days.fingerprint,
        horizon=horizon,
        columns=columns,
        source=days.name,
        by=person(by),
        correct=correct,
    )
    shown = printable(name)
    if earlier is not None:
        when = f"{earlier.moment:%Y-%m-%d}" if earlier.moment else "earlier"
        print(f"{shown}: these rows were added {when} already, nothing was changed")
        return 0
    for note in _notes(monitors.open(name, between=(days.first, days.last)), days, stored is None):
        tell(f"note: {note}")
    print(f"{shown}: {'corrected' if correct else 'added'} {_counted(days)}")
    return 0


def _refuse_future(day: date, what: str) -> None:
    # It may be tomorrow already in another time zone.
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise ValueError(f"{what}, {day}, is in the future.")


def _days(file: str, given: Mapping[str, Any], stored: Mapping[str, Any], horizon: int) -> Days:
    chosen = {role: stored.get(role) if given[role] is None else given[role] for role in ROLES}
    columns = Columns(**chosen | {"slices": tuple(chosen["slices"] or ())})
    if Aggregate.is_saved_at(file):
        return read_days(Aggregate.load(file), columns, horizon)
    try:
        return read_days(file, columns, horizon)
    except InputError as error:
        # To recognise the result of a query takes as long as to read a million rows, because it
        # imports DuckDB. So rows are tried first.
        if not is_result_of_query(file):
            raise with_options(error) from None
        from calib.scanning import scan

        return read_days(scan(file), columns, horizon)


def _notes(monitor: Monitor, days: Days, is_new: bool) -> list[str]:
    """What the person who adds rows should know; one sentence each."""
    notes, columns = [], days.columns
    age = plural(monitor.horizon, "day")
    if is_new:
        notes.append(
            f"Read {quoted(columns.outcome)} as the outcome ({quoted(columns.positive)} is "
            f"positive), {quoted(columns.score)} as the score and {quoted(columns.time)} as the "
            "time of the prediction."
        )
        if columns.arrived is None:
            notes.append(
                "No column says when outcomes arrived (--arrived), so each is taken to have "
                f"arrived within {age}."
            )
    if days.last + timedelta(days=monitor.horizon) >= datetime.now(UTC).date():
        notes.append(
            f"Some rows are not older than {age}. Leave the outcome empty where it is still open, "
            "and add all rows of these days again with --correct when they are older."
        )
    counted = days.counts.rows_by_day()
    total = {} if monitor.counts is None else monitor.counts.rows_by_day()
    if again := [day for day, rows in counted.items() if total.get(day, 0) > rows]:
        notes.append(
            f"{joined([str(day) for day in again[:3]], len(again))} had rows before, and these "
            "come on top. If they are the same predictions, add all rows of these days again "
            "with --correct."
        )
    copies = Counts.of(days.counts.frame(), 0, days.counts.day.max()).copies
    if copies > 1:
        notes.append(copied(copies))
    if days.set_aside:
        reasons = joined([f"{why}: {plural(n, 'row')}" for why, n in days.set_aside.items()])
        notes.append(f"The scan set rows aside, which the monitor does not count ({reasons}).")
    return notes


def _counted(days: Days) -> str:
    totals, n = days.counts.totals(), days.counts.n_rows
    span = f"{days.first}" if days.first == days.last else f"{days.first} to {days.last}"
    parts = [f"{count(totals['positive'])} positive"]
    if totals["missing"]:
        parts.append(f"{percent(totals['missing'] / n)} without an outcome")
    if totals["late"]:
        parts.append(f"{percent(totals['late'] / n)} with a late outcome, which is not used")
    return f"{plural(n, 'row')} of {span} ({joined(parts)})"


def check(
    monitors: Monitors,
    name: str,
    *,
    today: date | None,
    junit: Path | None,
    as_text: bool,
    url: str | None,
) -> int:
    """Print whether an alarm is open, and post it when it opens or closes."""
    monitor = monitors.open(name)
    if monitor.counts is None:
        raise ValueError(f"The monitor {monitor.name!r} has no rows.")
    result = monitored(
        monitor.counts.frame(),
        horizon=monitor.horizon,
        today=today or datetime.now(UTC).date() - timedelta(days=1),
        reset=monitor.new_calibrators,
    )
    failed = result.state == "alarm"
    contents = as_json(monitor, result)
    for note in contents["notes"]:
        tell(f"note: {note}")
    if result.advice != "leave":
        tell(f"advice: {result.advice}")
    if junit is not None:
        kind = "failure" if failed else "system-out"
        facts = {name: str(contents[name]) for name in ("monitor", "today", "state", "advice")}
        with writing(junit):
            case = (f"{monitor.name} is calibrated", kind, result.sentence)
            write_junit(junit, [case], facts, suite=SUITE)
    if as_text:
        print(f"{'fail' if failed else 'pass'}: {result.sentence} ({printable(monitor.name)})")
    else:
        print(json.dumps(contents, indent=2))
    if url is not None:
        _alert(monitors, url, monitor, result, contents)
    return 1 if failed else 0


def as_json(monitor: Monitor, result: Monitored) -> dict[str, Any]:
    """The state of a monitor, for programs."""
    days = {name: getattr(result, name) for name in ("today", "since", "since_low", "since_high")}
    days["raised"] = result.episode.raised if result.episode else None
    days |= {"anew": result.anew, "faster_reached": result.faster_reached}
    names = ("state", "sentence", "advice", "alpha", "horizon", "n_rows", "n_immature")
    return {
        "monitor": monitor.name,
        **{name: getattr(result, name) for name in (*names, "n_missing", "n_late")},
        **{name: None if day is None else day.isoformat() for name, day in days.items()},
        "anew_by": result.anew_by,
        "ever_wrong": result.ever_wrong,
        "wrong_slices": list(result.wrong_slices),
        "notes": [*result.notes, *monitor.notes],
    }


def _alert(
    monitors: Monitors, url: str, monitor: Monitor, result: Monitored, contents: dict[str, Any]
) -> None:
    """Post that the last alarm opened or closed, if neither this nor another check did so.

    Alarms are numbered, because rows that are added to tested days may change the day of an alarm.
    """
    number, last = len(result.episodes), monitor.last_alert
    alert = f"{'closed' if result.episode is None else 'opened'} {number}"
    # Nobody needs to hear that an alarm closed of which nobody heard.
    if alert == last or (result.episode is None and not last.startswith("opened")):
        return
    text = result.sentence
    if result.episode is None:
        text = f"{_closing(result, last)} {text}"
    # Chat programs show the field "text". The others have the names as they are in the data.
    more = {"alert": alert.split()[0], "text": chat(f"{quoted(monitor.name)}: {text}")}
    from calib.store import StoreError

    by, again = "calib monitor check", "note: A later check will post again"
    try:
        claimed = monitors.claim_alert(monitor.name, alert, after=last, by=by)
        if not claimed:
            tell("note: Another check posts this alarm to the webhook.")
            return
    except StoreError as error:
        # A message that is posted twice does less harm than an alarm that nobody hears of.
        claimed = False
        tell(f"{again}: {error}")
    if problem := post(url, contents | more):
        tell(f"note: The webhook {problem}.")
    if claimed:
        try:
            monitors.settle_alert(monitor.name, alert, sent=not problem, by=by)
        except StoreError as error:
            tell(f"{again}: {error}")


def _closing(result: Monitored, opened: str) -> str:
    """Why the alarm about which the last message was sent is no longer open."""
    if opened != f"opened {len(result.episodes)}":
        return "The alarm is withdrawn, because the rows that count now do not raise it."
    episode = result.episodes[-1]
    return f"The alarm of {episode.raised} is closed by a {episode.closed_by}."


def list_all(monitors: Monitors) -> int:
    """Print all monitors."""
    from calib.store import StoreError

    names = monitors.names()
    if not names:
        tell("There are no monitors. `calib monitor add` makes one.")
    for name in names:
        try:
            summary = _summary(monitors.open(name))
        except StoreError as error:
            summary = str(error)
        print(f"{printable(name)}\t{printable(summary)}")
    return 0


def show(monitor: Monitor) -> int:
    """Print what was added to a monitor."""
    print(f"{printable(monitor.name)}: {_summary(monitor)}")
    stored = {role: monitor.columns.get(role) for role in ROLES}
    columns = [
        f"{name} {listed(value if isinstance(value, list) else [value])}"
        for name, value in stored.items()
        if value
    ]
    print(f"columns: {printable(joined(columns))}")
    for entry in monitor.entries:
        moment = f"{entry.moment:%Y-%m-%d %H:%M}" if entry.moment else "?"
        is_rows = entry.kind in ("rows", "correction")
        what = entry.fingerprint[:12] if is_rows else entry.fingerprint
        cells = (str(entry.number), moment, entry.kind, what, entry.person, entry.name)
        print("\t".join(map(printable, cells)))
    return 0


def _summary(monitor: Monitor) -> str:
    horizon = f"horizon {plural(monitor.horizon, 'day')}"
    counts = monitor.counts
    if counts is None:
        return f"no rows, {horizon}"
    totals, n = counts.totals(), counts.n_rows
    return (
        f"{plural(n, 'row')} of {counts.day.min()} to {counts.day.max()}, "
        f"{count(totals['positive'])} positive, {percent(totals['missing'] / n)} without an "
        f"outcome, {percent(totals['late'] / n)} late, {plural(len(counts.names) - 1, 'slice')}, "
        f"{horizon}"
    )
