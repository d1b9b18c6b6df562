"""``monitor``: add days of predictions, and check whether their scores are still calibrated."""

from __future__ import annotations

import argparse
import getpass
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib.analysis.monitor import Monitored, monitored
from calib.analysis.monitor.days import Counts
from calib.analysis.monitor.result import copied
from calib.cli.check import write_junit
from calib.cli.options import Commands, add_command, option_of
from calib.cli.predictions import is_result_of_query, with_options
from calib.cli.streams import tell, writing
from calib.cli.webhook import VARIABLE, chosen, post, webhook
from calib.data.aggregate import Aggregate
from calib.data.file_options import Columns
from calib.distribution import pip_install
from calib.loading import InputError
from calib.loading.monitored_rows import ROLES, Days, read_days
from calib.text import chat, count, joined, listed, percent, plural, quoted

if TYPE_CHECKING:
    from calib.store import Monitor, Monitors, Store

EXAMPLES = """examples:
  calib monitor add --name churn day.parquet --outcome y --score p --time predicted_at --horizon 30d
  calib monitor add --name churn next.parquet
  calib monitor check --name churn --junit monitor.xml
  calib monitor reset --name churn --from 2026-05-01
  calib monitor show --name churn

Add the rows of each day once, when they are older than the horizon. The same rows twice count once.
Rows must be independent: keep one row per cluster. CALIB_HOME or CALIB_DATABASE_URL names where the
counts are kept, as for reports.

exit status of check:
  0  no alarm, or too early to tell   1  an alarm is open
  2  the input cannot be used         3  an internal error of calib, with a traceback
"""
MEANINGS = {
    "outcome": "Column of the labels; empty where none arrived yet.",
    "score": "Column of the scores of the positive class.",
    "time": "Column of the time of the prediction.",
    "slices": "Column of slices.",
    "arrived": "Column of the time when the outcome arrived; outcomes that arrived later than the "
    "horizon count as late.",
    "group": "Column of clusters: rows of one cluster are not independent, and such rows are "
    "refused.",
    "positive": "The label of positive rows.",
    "negative": "The label of negative rows.",
}
SUITE = "calib monitor check"
MAX_HORIZON_DAYS = 3650


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "monitor",
        run,
        help="monitor calibration by day, with an alarm that may be looked at every day",
        description="Add days of predictions to a monitor, and check it as often as you like: a "
        "calibrated model raises a false alarm with probability 5% over its whole life.".replace(
            "%", "%%"
        ),
        epilog=EXAMPLES,
    )
    acts = parser.add_subparsers(dest="act", metavar="ACT", required=True)
    adding = acts.add_parser("add", help="add the rows of one or several days", allow_abbrev=False)
    adding.add_argument(
        "file",
        help="CSV, JSON Lines, Parquet or Arrow; counts by day of calib scan; or - for standard "
        "input",
    )
    _add_columns(adding)
    checking = acts.add_parser(
        "check", help="exit with status 1 if an alarm is open", allow_abbrev=False
    )
    _add_outputs(checking)
    checking.set_defaults(suite=SUITE)
    resetting = acts.add_parser(
        "reset", help="start the evidence anew for a new calibrator", allow_abbrev=False
    )
    resetting.add_argument(
        "--from",
        dest="first_day",
        required=True,
        type=_day,
        metavar="DATE",
        help="first day whose predictions the new calibrator made, such as 2026-05-01",
    )
    showing = acts.add_parser("show", help="what was added to a monitor", allow_abbrev=False)
    removing = acts.add_parser("remove", help="remove a monitor for good", allow_abbrev=False)
    for one in (adding, checking, resetting, showing, removing):
        one.add_argument("--name", required=True, metavar="NAME", help="name of the monitor")
    for one in (adding, resetting, removing):
        one.add_argument(
            "--by",
            metavar="NAME",
            default="",
            help="name for the log (default: the user who is logged in)",
        )
    acts.add_parser("list", help="all monitors", allow_abbrev=False)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "columns", "Needed for the first file of a monitor; later ones are read in the same way."
    )
    for role in ROLES:
        many = role == "slices"
        group.add_argument(
            option_of(role),
            dest=role,
            metavar="LABEL" if role in ("positive", "negative") else "COLUMN",
            action="append" if many else "store",
            help=MEANINGS[role] + " May be repeated." * many,
        )
    group.add_argument(
        "--horizon",
        type=_horizon,
        metavar="DAYS",
        help="days after which an outcome is final, such as 30 or 30d",
    )
    parser.add_argument(
        "--correct",
        action="store_true",
        help="the file has all rows of its days: earlier counts of these days no longer count",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write JUnit XML")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a sentence")
    address = parser.add_mutually_exclusive_group()
    address.add_argument(
        "--webhook",
        metavar="URL",
        type=webhook,
        help="post the same JSON to this https address when an alarm opens and when it closes, "
        "once each; the check waits at most 5 seconds. Other users of the computer see arguments: "
        f"{VARIABLE} or --webhook-file keep the address secret",
    )
    address.add_argument(
        "--webhook-file",
        metavar="FILE",
        type=Path,
        help=f"file with this address (default: the address in {VARIABLE}, if it is set)",
    )
    parser.add_argument(
        "--today",
        metavar="DATE",
        type=_day,
        help="the last complete day, such as 2026-03-01 (default: yesterday in UTC)",
    )


def run(given: argparse.Namespace) -> int:
    if find_spec("sqlalchemy") is None:
        raise ValueError(f"Monitors need SQLAlchemy: {pip_install('app')}.")
    from calib.store import Store, StoreError

    try:
        with Store.from_environment() as store:
            return _act(store, given)
    except StoreError as error:
        raise ValueError(str(error)) from error


def _act(store: Store, given: argparse.Namespace) -> int:
    if given.act == "check":
        return _check(store.monitors, given)
    if given.act == "add":
        _add(store.monitors, given)
    elif given.act == "reset":
        _refuse_future(given.first_day, "The first day")
        store.monitors.add_calibrator(given.name, given.first_day, by=_person(given))
        print(f"{_printable(given.name)}: a new calibrator from {given.first_day} on")
    elif given.act == "remove":
        store.monitors.remove(given.name, by=_person(given))
        print(f"{_printable(given.name)} removed")
    elif given.act == "show":
        _show(store.monitors.open(given.name))
    else:
        _list(store.monitors)
    return 0


def _add(monitors: Monitors, given: argparse.Namespace) -> None:
    stored = monitors.settings(given.name)
    if stored is None and given.horizon is None:
        raise ValueError(
            f"The monitor {given.name!r} is new: say after how many days an outcome is final, such "
            "as --horizon 30d."
        )
    horizon = given.horizon if stored is None or given.horizon is not None else stored[0]
    days = _days(given, {} if stored is None else stored[1], horizon)
    _refuse_future(days.last, "The last day")
    columns = {role: getattr(days.columns, role) for role in ROLES}
    columns["slices"] = list(days.columns.slices)
    if stored is not None:
        # Counts have an outcome in every row, so they need no column that says when it arrived.
        columns = stored[1] | {name: value for name, value in columns.items() if value}
    earlier = monitors.add(
        given.name,
        days.counts,
        fingerprint=days.fingerprint,
        horizon=horizon,
        columns=columns,
        source=days.name,
        by=_person(given),
        correct=given.correct,
    )
    name = _printable(given.name)
    if earlier is not None:
        when = f"{earlier.moment:%Y-%m-%d}" if earlier.moment else "earlier"
        print(f"{name}: these rows were added {when} already, nothing was changed")
        return
    for note in _notes(monitors, given, days, is_new=stored is None):
        tell(f"note: {note}")
    print(f"{name}: {'corrected' if given.correct else 'added'} {_counted(days)}")


def _refuse_future(day: date, what: str) -> None:
    # It may be tomorrow already in another time zone.
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise ValueError(f"{what}, {day}, is in the future.")


def _days(given: argparse.Namespace, stored: Mapping[str, Any], horizon: int) -> Days:
    stated = {role: getattr(given, role) for role in ROLES}
    chosen = {role: stored.get(role) if value is None else value for role, value in stated.items()}
    columns = Columns(**chosen | {"slices": tuple(chosen["slices"] or ())})
    if Aggregate.is_saved_at(given.file):
        return read_days(Aggregate.load(given.file), columns, horizon)
    try:
        return read_days(given.file, columns, horizon)
    except InputError as error:
        # To recognise the result of a query takes as long as to read a million rows, because it
        # imports DuckDB. So rows are tried first.
        if not is_result_of_query(given.file):
            raise with_options(error) from None
        from calib.scanning import scan

        return read_days(scan(given.file), columns, horizon)


def _notes(monitors: Monitors, given: argparse.Namespace, days: Days, *, is_new: bool) -> list[str]:
    """What the person who adds rows should know; one sentence each."""
    notes, columns = [], days.columns
    monitor = monitors.open(given.name, between=(days.first, days.last))
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


def _check(monitors: Monitors, given: argparse.Namespace) -> int:
    url = chosen(given.webhook, given.webhook_file)
    monitor = monitors.open(given.name)
    if monitor.counts is None:
        raise ValueError(f"The monitor {monitor.name!r} has no rows.")
    result = monitored(
        monitor.counts.frame(),
        horizon=monitor.horizon,
        today=given.today or datetime.now(UTC).date() - timedelta(days=1),
        reset=monitor.new_calibrators,
    )
    failed = result.state == "alarm"
    contents = as_json(monitor, result)
    for note in contents["notes"]:
        tell(f"note: {note}")
    if result.advice != "leave":
        tell(f"advice: {result.advice}")
    if given.junit is not None:
        kind = "failure" if failed else "system-out"
        facts = {name: str(contents[name]) for name in ("monitor", "today", "state", "advice")}
        with writing(given.junit):
            case = (f"{monitor.name} is calibrated", kind, result.sentence)
            write_junit(given.junit, [case], facts, suite=SUITE)
    if given.json:
        print(json.dumps(contents, indent=2))
    else:
        print(f"{'fail' if failed else 'pass'}: {result.sentence} ({_printable(monitor.name)})")
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


def _list(monitors: Monitors) -> None:
    from calib.store import StoreError

    names = monitors.names()
    if not names:
        tell("There are no monitors. `calib monitor add` makes one.")
    for name in names:
        try:
            summary = _summary(monitors.open(name))
        except StoreError as error:
            summary = str(error)
        print(f"{_printable(name)}\t{_printable(summary)}")


def _show(monitor: Monitor) -> None:
    print(f"{_printable(monitor.name)}: {_summary(monitor)}")
    stored = {role: monitor.columns.get(role) for role in ROLES}
    columns = [
        f"{name} {listed(value if isinstance(value, list) else [value])}"
        for name, value in stored.items()
        if value
    ]
    print(f"columns: {_printable(joined(columns))}")
    for entry in monitor.entries:
        moment = f"{entry.moment:%Y-%m-%d %H:%M}" if entry.moment else "?"
        is_rows = entry.kind in ("rows", "correction")
        what = entry.fingerprint[:12] if is_rows else entry.fingerprint
        cells = (str(entry.number), moment, entry.kind, what, entry.person, entry.name)
        print("\t".join(map(_printable, cells)))


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


def _person(given: argparse.Namespace) -> str:
    return given.by or f"the operator ({getpass.getuser()})"


def _printable(text: str) -> str:
    # Names may contain characters that steer a terminal.
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _horizon(text: str) -> int:
    number = text.strip().removesuffix("d")
    if not (number.isascii() and number.isdigit()) or int(number) > MAX_HORIZON_DAYS:
        raise argparse.ArgumentTypeError(
            f"must be a whole number of days, 0 to {MAX_HORIZON_DAYS}, such as 30d, got {text!r}."
        )
    return int(number)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a day such as 2026-03-01, got {text!r}."
        ) from None
