"""The command `calib monitor`: a function for each of its commands.

The functions are imported for every help text, so each imports what it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from calib.cli.commands import By
from calib.cli.parameters import Words

Monitor = Annotated[str, Words("name of the monitor", "NAME")]
MAX_HORIZON_DAYS = 3650


def _horizon(text: str) -> int:
    number = text.strip().removesuffix("d")
    if not (number.isascii() and number.isdigit()) or int(number) > MAX_HORIZON_DAYS:
        raise ValueError(
            f"must be a whole number of days, 0 to {MAX_HORIZON_DAYS}, such as 30d, got {text!r}."
        )
    return int(number)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a day such as 2026-03-01, got {text!r}.") from None


def _webhook(text: str) -> str:
    from calib.features.monitor.acts import webhook

    return webhook(text)


Horizon = Annotated[int, Words(convert=_horizon)]
Day = Annotated[date, Words(convert=_day)]
Webhook = Annotated[str, Words(convert=_webhook)]


@dataclass(frozen=True, kw_only=True)
class MonitorColumns:
    """Columns.

    Needed for the first file of a monitor; later ones are read in the same way.

    outcome COLUMN: column of the labels; empty where none arrived yet
    score COLUMN: column of the scores of the positive class
    time COLUMN: column of the time of the prediction
    slices COLUMN: column of slices
    arrived COLUMN: column of the time when the outcome arrived; outcomes that arrived later than
        the horizon count as late
    group COLUMN: column of clusters: rows of one cluster are not independent, and such rows are
        refused
    positive LABEL: the label of positive rows
    negative LABEL: the label of negative rows
    """

    outcome: str | None = None
    score: str | None = None
    time: str | None = None
    slices: Sequence[str] | None = None
    arrived: str | None = None
    group: str | None = None
    positive: str | None = None
    negative: str | None = None


def monitor() -> None:
    """Monitor calibration by day, with an alarm that may be looked at every day.

    Add days of predictions to a monitor, and check it as often as you like: a calibrated model
    raises a false alarm with probability 5% over its whole life.

    examples:
      calib monitor add --name churn day.parquet --outcome y --score p --time predicted_at \\
          --horizon 30d
      calib monitor add --name churn next.parquet
      calib monitor check --name churn --junit monitor.xml
      calib monitor reset --name churn --from 2026-05-01
      calib monitor show --name churn

    Add the rows of each day once, when they are older than the horizon. The same rows twice count
    once. Rows must be independent: keep one row per cluster. CALIB_HOME or CALIB_DATABASE_URL names
    where the counts are kept, as for reports.

    exit status of check:
      0  no alarm, or too early to tell   1  an alarm is open
      2  the input cannot be used         3  an internal error of calib, with a traceback
    """


def monitor_add(
    file: str,
    columns: MonitorColumns,
    *,
    name: Monitor,
    by: By = "",
    horizon: Horizon | None = None,
    correct: bool = False,
) -> int:
    """Add the rows of one or several days.

    file FILE: CSV, JSON Lines, Parquet or Arrow; counts by day of calib scan; or - for standard
        input
    horizon DAYS: days after which an outcome is final, such as 30 or 30d; needed for the first file
    correct: the file has all rows of its days: earlier counts of these days no longer count
    """
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import add

    with opened_store("Monitors") as store:
        return add(
            store.monitors, name, file, vars(columns), horizon=horizon, correct=correct, by=by
        )


def monitor_check(
    *,
    name: Monitor,
    junit: Path | None = None,
    json: bool = False,
    webhook: Webhook | None = None,
    webhook_file: Path | None = None,
    today: Day | None = None,
) -> int:
    """Exit with status 1 if an alarm is open.

    junit: also write JUnit XML
    json: print JSON instead of a sentence
    webhook URL: post the same JSON to this https address when an alarm opens and when it closes,
        once each; the check waits at most 5 seconds. Other users of the computer see arguments:
        CALIB_WEBHOOK or --webhook-file keep the address secret
    webhook_file: file with this address (default: the address in CALIB_WEBHOOK, if it is set)
    today: the last complete day, such as 2026-03-01 (default: yesterday in UTC)
    """
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import check as check_monitor
    from calib.features.monitor.acts import chosen

    if webhook is not None and webhook_file is not None:
        raise ValueError("--webhook and --webhook-file both name the address: give one of them.")
    url = chosen(webhook, webhook_file)
    with opened_store("Monitors") as store:
        return check_monitor(
            store.monitors, name, today=today, junit=junit, as_text=not json, url=url
        )


def monitor_reset(
    *,
    name: Monitor,
    first_day: Annotated[date, Words(flags=("--from",), convert=_day)],
    by: By = "",
) -> int:
    """Start the evidence anew for a new calibrator.

    first_day: first day whose predictions the new calibrator made, such as 2026-05-01
    """
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import reset

    with opened_store("Monitors") as store:
        return reset(store.monitors, name, first_day, by)


def monitor_show(*, name: Monitor) -> int:
    """What was added to a monitor."""
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import show

    with opened_store("Monitors") as store:
        return show(store.monitors.open(name))


def monitor_remove(*, name: Monitor, by: By = "") -> int:
    """Remove a monitor for good."""
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import remove

    with opened_store("Monitors") as store:
        return remove(store.monitors, name, by)


def monitor_list() -> int:
    """All monitors."""
    from calib.cli.reports import opened_store
    from calib.features.monitor.acts import list_all

    with opened_store("Monitors") as store:
        return list_all(store.monitors)


COMMAND = (
    *(monitor, monitor_add, monitor_check, monitor_reset, monitor_show, monitor_remove),
    monitor_list,
)
