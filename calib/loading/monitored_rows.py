"""read_days: the rows of one or several days, counted for a monitor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.aggregate import Aggregate
from calib.data.day_counts import KINDS, DayCounts
from calib.data.file_options import FileFormat, option
from calib.data.slicing import MISSING as MISSING_SLICE
from calib.loading.columns import as_labels, as_numbers, as_outcome
from calib.loading.dates import as_times
from calib.loading.problems import refuse
from calib.loading.reading.reader import Source, read
from calib.loading.table import Table
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.text import count, listed, plural, quoted

MAX_SLICES = 50  # A column with more values is a quantity or an id, and not a slice.
FIRST_DAY, AFTER_LAST_DAY = np.datetime64("1970-01-01"), np.datetime64("2200-01-01")
# Labels of which the second is positive if none is named.
LABELS = (("0", "1"), ("false", "true"), ("no", "yes"))
MISSING, LATE = KINDS.index("missing"), KINDS.index("late")


@dataclass(frozen=True, kw_only=True)
class DayColumns:
    """The meaning of the columns of a monitor's files. Nothing is guessed but the labels."""

    outcome: str | None = option(None, "Column of the labels; empty where none arrived yet.")
    score: str | None = option(None, "Column of the scores of the positive class.")
    time: str | None = option(None, "Column of the time of the prediction.")
    slices: tuple[str, ...] = option((), "Column of slices.", many=True)
    arrived: str | None = option(
        None,
        "Column of the time when the outcome arrived; outcomes that arrived later than the horizon "
        "count as late.",
    )
    group: str | None = option(
        None,
        "Column of clusters: rows of one cluster are not independent, and such rows are refused.",
    )
    positive: str | None = option(None, "The label of positive rows.", metavar="LABEL")
    negative: str | None = option(None, "The label of negative rows.", metavar="LABEL")


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """The rows of a file, counted.

    Attributes
    ----------
    counts : DayCounts
    fingerprint : str
        SHA-256 of the columns that were read. The order of the rows makes no difference.
    columns : DayColumns
        How the file was read, with its labels.
    name : str
    set_aside : mapping of str to int
        Rows that were not counted, by reason. Only counts have some; their days are not known.
    """

    counts: DayCounts
    fingerprint: str
    columns: DayColumns
    name: str
    set_aside: Mapping[str, int] = field(default_factory=dict)

    @property
    def first(self) -> date:
        """The first day."""
        day: date = self.counts.day.min().astype(object)
        return day

    @property
    def last(self) -> date:
        """The last day."""
        day: date = self.counts.day.max().astype(object)
        return day


def read_days(data: Source | Aggregate, columns: DayColumns, horizon: int) -> Days:
    """Read and count rows, or counts by day. A row without an outcome counts as missing.

    Raises
    ------
    InputError
        If a column is not named, does not exist, or cannot be read.
    """
    if columns.group is not None:
        raise refuse(
            "clusters",
            f"Column {quoted(columns.group)} has clusters, but the alarm is for independent rows. "
            "Keep one row per cluster, and leave --group out.",
        )
    if isinstance(data, Aggregate):
        return _counted_days(data, columns)
    table = read(data, given=FileFormat())
    _check_columns(table, columns)
    frame = table.frame
    if not len(frame):
        raise refuse("empty", f"{quoted(table.name)} has no rows.")
    outcome, labels = _outcomes(frame[columns.outcome], columns)
    score = _scores(table, str(columns.score))
    made = _times(table, str(columns.time))
    without = outcome < 0
    kind = np.where(without, MISSING, outcome)
    if columns.arrived is not None:
        kind[~without & _is_late(frame, columns, made, without, horizon)] = LATE
    slices = {column: _slices(frame, column) for column in columns.slices}
    day = made.astype("datetime64[D]")
    counts = DayCounts.of_rows(day, score, kind, slices)
    rows = pd.DataFrame({"time": made, "score": score, "kind": kind})
    for column, (code, _) in slices.items():
        rows[f"slice {column}"] = code
    names = json.dumps({column: values for column, (_, values) in slices.items()})
    hashes = np.sort(pd.util.hash_pandas_object(rows, index=False).to_numpy())
    fingerprint = hashlib.sha256(names.encode() + hashes.tobytes()).hexdigest()
    return Days(counts, fingerprint, replace(columns, **labels), table.name)


def _counted_days(counted: Aggregate, columns: DayColumns) -> Days:
    """Days of counts of rows that all have an outcome."""
    if len(counted.models) > 1:
        models = listed(counted.models, 5)
        raise refuse(
            "models",
            f"{quoted(counted.name)} counts several models ({models}). Scan one at a time.",
        )
    if counted.weighted:
        raise refuse("weights", f"{quoted(counted.name)} has weights. Scan without --weight.")
    if counted.time_kind != "M":
        raise refuse("times", f"{quoted(counted.name)} has no counts by day: scan with --time.")
    if columns.slices or columns.arrived:
        column = [*columns.slices, columns.arrived][0]
        raise refuse("rows", f"Counts do not say {quoted(str(column))} by day. Give rows instead.")
    labels = [name for name in counted.class_names if name != counted.positive_name]
    stated = DayColumns(
        outcome=counted.outcome_name,
        score=counted.score_name,
        time=counted.time_name,
        positive=counted.positive_name,
        negative=labels[0] if len(labels) == 1 else None,
    )
    for name in (one.name for one in fields(DayColumns)):
        wanted, there = getattr(columns, name), getattr(stated, name)
        if wanted and wanted != there:
            raise refuse(
                "other-columns",
                f"{quoted(counted.name)} was counted with {quoted(str(there))} as its "
                f"{name}, not {quoted(str(wanted))}.",
            )
    day, rows = counted.timed(counted.time_name, counted.view_key)
    if rows.group is not None:
        raise refuse(
            "clusters",
            f"{quoted(counted.name)} has rows in clusters, but the alarm is for independent rows. "
            "Scan one row per cluster, without --group.",
        )
    _check_dates(day, counted.time_name, "counts")
    counts = DayCounts.of_rows(
        day, rows.score, rows.outcome.astype(np.int64), {}, np.rint(rows.counts).astype(np.int64)
    )
    return Days(counts, counted.fingerprint, stated, counted.name, counted.set_aside)


def _check_columns(table: Table, columns: DayColumns) -> None:
    needed = {"outcome": columns.outcome, "score": columns.score, "time": columns.time}
    for role, column in needed.items():
        if column is None:
            raise refuse("not-named", f"The column of the {role} must be named: --{role} COLUMN.")
    read_columns = (*needed.values(), *columns.slices, columns.arrived)
    absent = [column for column in read_columns if column and column not in table.columns]
    if absent:
        there = listed(table.columns, 10)
        raise refuse("no-column", f"There is no column {quoted(absent[0])}. There are {there}.")


def _outcomes(column: pd.Series, columns: DayColumns) -> tuple[IntArray, dict[str, Any]]:
    """1, 0, or -1 without an outcome, by row; and the two labels."""
    name = quoted(str(columns.outcome))
    labels, _ = as_outcome(column, [label for label in (columns.positive,) if label])
    names = labels.names
    positive, negative = columns.positive, columns.negative
    if positive is None:
        if not names:
            raise refuse(
                "labels",
                f"Column {name} is empty. Name both labels: --positive and --negative.",
            )
        pairs = [pair for pair in LABELS if {name.casefold() for name in names} <= set(pair)]
        if not pairs:
            there = listed(names, 5)
            raise refuse(
                "labels", f"Column {name} has {there}. Which is positive? --positive LABEL."
            )
        negative, positive = pairs[0]
    one = labels.find(positive)
    others = [number for number in range(len(names)) if number != one]
    zero = others[0] if negative is None and len(others) == 1 else labels.find(negative)
    if odd := [names[number] for number in others if number != zero]:
        raise refuse(
            "labels",
            f"Column {name} has {listed(odd, 5)}, neither positive ({quoted(positive)}) nor "
            "negative. Name both labels: --positive and --negative; leave cells without an outcome "
            "empty.",
        )
    if zero is None and negative is None:
        raise refuse(
            "labels",
            f"Column {name} has {listed(names, 5) or 'no label'}. Name the label of negative rows "
            "too: --negative LABEL.",
        )
    lookup = np.full(len(names) + 1, -1)
    for place, value in ((one, 1), (zero, 0)):
        if place is not None:
            lookup[place] = value
    negative = names[zero] if zero is not None and negative is None else negative
    return lookup[labels.codes], {"positive": positive, "negative": negative}


def _scores(table: Table, name: str) -> FloatArray:
    values = as_numbers(table.frame[name]).values
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
    if len(wrong):
        raise refuse(
            "scores",
            f"Column {quoted(name)} must hold a score from 0 to 1 in every row, but "
            f"{plural(len(wrong), 'row')} {'has' if len(wrong) == 1 else 'have'} none, first row "
            f"{table.number(int(wrong[0]))}.",
        )
    return values


def _times(table: Table, name: str) -> NDArray[Any]:
    values = _in_utc(table.frame[name])
    if values is None or values.dtype.kind != "M":
        raise refuse(
            "times", f"Column {quoted(name)} must hold dates or times, such as 2026-03-01 09:05."
        )
    _check_dates(values, name, "rows", table)
    return values


def _in_utc(column: pd.Series) -> NDArray[Any] | None:
    """Times in UTC, so that one moment has one day, however it is written."""
    times = as_times(column, utc=True)
    if times.zoned:
        raise refuse(
            "zones",
            f"Column {quoted(str(column.name))} has times with the name of a zone. Write the "
            "offset from UTC instead, such as 2026-03-01T09:05-05:00.",
        )
    return times.values


def _check_dates(values: NDArray[Any], name: str, of: str, table: Table | None = None) -> None:
    """Refuse rows without a date, or with one that cannot be that of a prediction."""
    wrong = np.flatnonzero(~((values >= FIRST_DAY) & (values < AFTER_LAST_DAY)))
    if len(wrong):
        first = f", first row {table.number(int(wrong[0]))}" if table is not None else ""
        raise refuse(
            "times",
            f"Column {quoted(name)} must hold a date from 1970 to 2199 in all {of}, but "
            f"{count(len(wrong))} {'has' if len(wrong) == 1 else 'have'} none{first}.",
        )


def _is_late(
    frame: pd.DataFrame,
    columns: DayColumns,
    made: NDArray[Any],
    without: BoolArray,
    horizon: int,
) -> BoolArray:
    name = str(columns.arrived)
    arrived = _in_utc(frame[name])
    # A column of empty cells has no times; no outcome arrived then.
    if frame[name].isna().all():
        arrived = np.full(len(frame), np.datetime64("NaT"))
    if arrived is None or arrived.dtype.kind != "M":
        raise refuse("times", f"Column {quoted(name)} must hold dates or times, or be empty.")
    unknown = int((np.isnat(arrived) & ~without).sum())
    if unknown:
        raise refuse(
            "no-arrival",
            f"Column {quoted(name)} is empty in {plural(unknown, 'row')} with an outcome. Fill in "
            "when each outcome arrived.",
        )
    # All rows of a day have the same deadline, so that a file without a column of arrivals, made
    # when that is over, has the same outcomes.
    age = arrived.astype("datetime64[D]") - made.astype("datetime64[D]")
    wrong = int((age < np.timedelta64(0, "D"))[~without].sum())
    if wrong:
        raise refuse(
            "arrived-before",
            f"In {plural(wrong, 'row')} the outcome arrived (column {quoted(name)}) on a day "
            f"before that of the prediction (column {quoted(str(columns.time))}). Correct them.",
        )
    return np.asarray(age > np.timedelta64(horizon, "D"))


def _slices(frame: pd.DataFrame, column: str) -> tuple[IntArray, list[str]]:
    labels = as_labels(frame[column])
    if len(labels) > MAX_SLICES:
        raise refuse(
            "many-slices",
            f"Column {quoted(column)} has {len(labels):,} values; a monitor has at most "
            f"{MAX_SLICES} slices per column. Write ranges or groups into a column.",
        )
    if (labels.codes < 0).any():
        return np.where(labels.codes < 0, len(labels), labels.codes), [*labels.names, MISSING_SLICE]
    return labels.codes, list(labels.names)
