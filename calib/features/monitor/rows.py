"""Days: the rows of one or several days, read and counted for a monitor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.aggregate import Aggregate
from calib.data.day_counts import DAY_OUTCOMES, DayCounts
from calib.data.file_options import Columns, FileFormat, Source
from calib.data.slicing import MISSING as MISSING_SLICE
from calib.loading.checking.inspection import examine, refuse_errors
from calib.loading.checking.rows import no_times
from calib.loading.columns import as_labels, as_outcome
from calib.loading.dates import Times, as_times
from calib.loading.guessing.evidence import POSITIVE_OF_PAIRS
from calib.loading.name_patterns import COMMON_PAIRS
from calib.loading.problems import InputError, refuse
from calib.loading.reading.reader import read
from calib.loading.table import Table
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked

COLUMNS = ("day", "slice", "score", "positive", "negative", "missing", "late")
COUNTS = COLUMNS[3:]
ALL_ROWS = ""  # The name of the slice of all rows.
# The largest number of copies of each row that is looked for.
MAX_COPIES = 20
# By chance, half of the numbers of rows are even at most. Of 40 numbers, 95% are multiples of the
# same k by chance in less than 1 of 1e9 files.
MIN_NUMBERS, MIN_MULTIPLES = 40, 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Counts(Locked):
    """Cells of days, of one slice or of all. Arrays have one entry per cell.

    Attributes
    ----------
    days : ndarray of datetime64[D], shape (t,)
        All days in the data, in order.
    n_mature : int
        Number of days that are old enough to be tested; the first ones.
    day, slice : ndarray of int
        Position of each cell's day in `days`, and of its slice in `names`.
    score, positive, negative, missing, late : ndarray
    names : tuple of str
        Names of the slices, in alphabetical order. The name of all rows is "".
    """

    days: NDArray[np.datetime64]
    n_mature: int
    day: IntArray
    slice: IntArray
    score: FloatArray
    positive: FloatArray
    negative: FloatArray
    missing: FloatArray
    late: FloatArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, horizon: int, today: np.datetime64) -> Counts:
        """Check a frame of counts, and sort its days."""
        absent = [name for name in COLUMNS if name not in frame.columns]
        if absent:
            raise ValueError(
                f"days must have the columns {', '.join(COLUMNS)}; `{absent[0]}` is missing."
            )
        if horizon < 0:
            raise ValueError(f"horizon must be at least 0 days, got {horizon}.")
        day = pd.to_datetime(frame["day"]).to_numpy().astype("datetime64[D]")
        if np.isnat(day).any():
            raise ValueError(f"day must be a date in every row, got {np.isnat(day).sum()} without.")
        score = _numbers(frame, "score")
        if not ((score >= 0.0) & (score <= 1.0)).all():
            raise ValueError("score must fulfil 0 <= score <= 1 in every row.")
        counts = {name: _numbers(frame, name) for name in COUNTS}
        for name, values in counts.items():
            if not ((values >= 0.0) & (values % 1.0 == 0.0)).all():
                raise ValueError(f"{name} must hold whole numbers of rows, at least 0.")
        days, at = np.unique(day, return_inverse=True)
        slices = frame["slice"].astype(object).where(frame["slice"].notna(), ALL_ROWS).astype(str)
        code, names = pd.factorize(slices, sort=True)
        mature = int((days + np.timedelta64(horizon, "D") <= today).sum())
        number = np.asarray(code, dtype=np.int64)
        # Cells in an order of their own make sums independent of the order of the entries.
        order = np.lexsort([*counts.values(), score, number, at])
        parts = {name: values[order] for name, values in counts.items()}
        place = at[order].astype(np.int64)
        return cls(days, mature, place, number[order], score[order], **parts, names=tuple(names))

    @property
    def slice_names(self) -> tuple[str, ...]:
        """The names of the slices, without that of all rows."""
        return tuple(name for name in self.names if name != ALL_ROWS)

    @property
    def _in_all(self) -> BoolArray:
        """Cells that together count every row once."""
        if ALL_ROWS in self.names:
            return np.asarray(self.slice == self.names.index(ALL_ROWS))
        return np.ones(len(self.day), dtype=np.bool_)

    def all_rows(self) -> Counts:
        """The cells that count every row once."""
        return self._pick(self._in_all)

    def of_slice(self, name: str) -> Counts:
        """The cells of one slice, on the same days."""
        return self._pick(np.asarray(self.slice == self.names.index(name)))

    def position(self, day: date | None) -> int:
        """The position of the first day from a day on; 0 without a day."""
        return 0 if day is None else int(np.searchsorted(self.days, np.datetime64(day, "D")))

    def from_to(self, first: int, last: int) -> Counts:
        """The cells of the days from one position up to another, which is not included."""
        return self._pick((self.day >= first) & (self.day < last))

    def _pick(self, chosen: BoolArray) -> Counts:
        names = ("day", "slice", "score", *COUNTS)
        parts = {name: getattr(self, name)[chosen] for name in names}
        return Counts(days=self.days, n_mature=self.n_mature, names=self.names, **parts)

    @property
    def rows(self) -> FloatArray:
        """Rows of each cell whose outcome arrived in time."""
        return self.positive + self.negative

    @property
    def copies(self) -> int:
        """How often nearly every row occurs on its day with the same score and outcome; 1 is once.

        Scores may be ranges: then nearly all numbers of rows are multiples of it.
        """
        whole = self.all_rows()
        if not len(whole.day):
            return 1
        changes = (np.diff(whole.day) != 0) | (np.diff(whole.score) != 0.0)
        starts = np.append(0, np.flatnonzero(changes) + 1)
        sums = [np.add.reduceat(values, starts) for values in (whole.positive, whole.negative)]
        numbers = np.concatenate(sums)
        numbers = numbers[numbers > 0.0]
        # Most rows occur once, and then no multiple needs to be looked for.
        if len(numbers) < MIN_NUMBERS or np.mean(numbers > 1.0) < MIN_MULTIPLES:
            return 1
        copies = (k for k in range(MAX_COPIES, 1, -1) if np.mean(numbers % k == 0) >= MIN_MULTIPLES)
        return next(copies, 1)

    def by_day(self, values: FloatArray) -> FloatArray:
        """Sums of the cells' values by day."""
        sums = np.bincount(self.day, values, minlength=len(self.days))
        return np.asarray(sums, dtype=np.float64)


def _numbers(frame: pd.DataFrame, name: str) -> FloatArray:
    return frame[name].to_numpy(dtype=np.float64, na_value=np.nan)


MAX_SLICES = 50  # A column with more values is a quantity or an id, and not a slice.
FIRST_DAY, AFTER_LAST_DAY = np.datetime64("1970-01-01"), np.datetime64("2200-01-01")
MISSING, LATE = DAY_OUTCOMES.index("missing"), DAY_OUTCOMES.index("late")
# A monitor keeps these fields of its mapping. Nothing is guessed but the labels.
ROLES = ("outcome", "score", "time", "slices", "arrived", "group", "positive", "negative")


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """The rows of a file, counted.

    Attributes
    ----------
    counts : DayCounts
    fingerprint : str
        SHA-256 of the columns that were read. The order of the rows makes no difference.
    columns : Columns
        How the file was read, with its labels.
    name : str
    set_aside : mapping of str to int
        Rows that were not counted, by reason. Only counts have some; their days are not known.
    """

    counts: DayCounts
    fingerprint: str
    columns: Columns
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


def read_days(data: Source | Aggregate, columns: Columns, horizon: int) -> Days:
    """Read and count rows, or counts by day. A row without an outcome counts as missing.

    Raises
    ------
    InputError
        If a column is not named, does not exist, or cannot be read.
    """
    if columns.group is not None:
        raise refuse("clusters", column=columns.group)
    if isinstance(data, Aggregate):
        return _counted_days(data, columns)
    for role in ("outcome", "score", "time"):
        if getattr(columns, role) is None:
            raise refuse("not-named", role=role)
    table = read(data, given=FileFormat())
    if not len(table):
        raise refuse("empty.days", file=table.name)
    columns = _with_labels(table, columns)
    problems, rows = examine(table, columns, partly=True)
    refuse_errors(problems, columns, ROLES)
    assert rows is not None
    assert columns.time is not None
    assert rows.times is not None
    made = _moments(rows.times, table.frame[columns.time], columns)
    _check_dates(made, columns.time, "rows", table)
    score, without = np.asarray(rows.score, dtype=np.float64), rows.outcome < 0
    kind = np.where(without, MISSING, rows.outcome)
    if columns.arrived is not None:
        kind[~without & _is_late(table.frame, columns, made, without, horizon)] = LATE
    slices = {column: _slices(table.frame, column) for column in columns.slices}
    counts = DayCounts.of_rows(made.astype("datetime64[D]"), score, kind, slices)
    read_cells = pd.DataFrame({"time": made, "score": score, "kind": kind})
    for column, (code, _) in slices.items():
        read_cells[f"slice {column}"] = code
    names = json.dumps({column: values for column, (_, values) in slices.items()})
    hashes = np.sort(pd.util.hash_pandas_object(read_cells, index=False).to_numpy())
    fingerprint = hashlib.sha256(names.encode() + hashes.tobytes()).hexdigest()
    return Days(counts, fingerprint, columns, table.name)


def _counted_days(counted: Aggregate, columns: Columns) -> Days:
    """Days of counts of rows that all have an outcome."""
    if len(counted.models) > 1:
        raise refuse("models.counts", file=counted.name, models=counted.models)
    if counted.weighted:
        raise refuse("weights.counts", file=counted.name)
    if counted.time_kind != "M":
        raise refuse("times.counts", file=counted.name)
    if columns.slices or columns.arrived:
        column = [*columns.slices, columns.arrived][0]
        raise refuse("rows", column=column)
    labels = [name for name in counted.class_names if name != counted.positive_name]
    stated = Columns(
        outcome=counted.outcome_name,
        score=counted.score_name,
        time=counted.time_name,
        positive=counted.positive_name,
        negative=labels[0] if len(labels) == 1 else None,
    )
    for name in ROLES:
        wanted, there = getattr(columns, name), getattr(stated, name)
        if wanted and wanted != there:
            given = {"role": name, "column": str(there), "wanted": str(wanted)}
            raise refuse("other-columns", file=counted.name, **given)
    day, rows = counted.timed(counted.time_name, counted.view_key)
    if rows.group is not None:
        raise refuse("clusters.counts", file=counted.name)
    _check_dates(day, counted.time_name, "counts")
    counts = DayCounts.of_rows(
        day, rows.score, rows.outcome.astype(np.int64), {}, np.rint(rows.counts).astype(np.int64)
    )
    return Days(counts, counted.fingerprint, stated, counted.name, counted.set_aside)


def _with_labels(table: Table, columns: Columns) -> Columns:
    """The columns with both labels, as far as they are common ones, or the only ones.

    Both are kept for later days, which may have only one of them.
    """
    if columns.outcome not in table.columns:
        return columns
    labels, _ = as_outcome(table.frame[columns.outcome], columns.positives)
    positive, negative = columns.positive, columns.negative
    if not len(labels) and None in (positive, negative):
        raise refuse("no-labels.days", column=columns.outcome)
    if positive is None:
        words = {name.casefold() for name in labels.names}
        pair = next((pair for pair in COMMON_PAIRS if words <= pair), set())
        ordered = sorted(pair, key=lambda word: word in POSITIVE_OF_PAIRS)
        common: dict[str, Any] = dict(zip(("negative", "positive"), ordered, strict=False))
        return replace(columns, **common)
    if negative is None:
        stated = {labels.find(name) for name in columns.positives}
        others = [name for code, name in enumerate(labels.names) if code not in stated]
        if not others:
            raise refuse("no-negative.days", column=columns.outcome, labels=labels.names)
        negative = others[0] if len(others) == 1 else None
    return replace(columns, negative=negative)


def _moments(times: Times, cells: pd.Series, columns: Columns) -> NDArray[Any]:
    """Times in UTC, so that one moment has one day, however it is written."""
    if times.zoned:
        raise refuse("zones", column=cells.name)
    if times.values is None or times.values.dtype.kind != "M":
        of_cells = replace(columns, time=str(cells.name))
        raise InputError([no_times(of_cells, cells, unclear=times.unclear)])
    return times.values


def _check_dates(values: NDArray[Any], name: str, of: str, table: Table | None = None) -> None:
    """Refuse rows without a date, or with one that cannot be that of a prediction."""
    wrong = np.flatnonzero(~((values >= FIRST_DAY) & (values < AFTER_LAST_DAY)))
    if len(wrong):
        first = 0 if table is None else table.number(int(wrong[0]))
        raise refuse("times", column=name, of=of, n=len(wrong), first=first)


def _is_late(
    frame: pd.DataFrame,
    columns: Columns,
    made: NDArray[Any],
    without: BoolArray,
    horizon: int,
) -> BoolArray:
    name = str(columns.arrived)
    # A column of empty cells has no times; no outcome arrived then.
    if frame[name].isna().all():
        arrived = np.full(len(frame), np.datetime64("NaT", "us"))
    else:
        arrived = _moments(as_times(frame[name], utc=True), frame[name], columns)
    unknown = int((np.isnat(arrived) & ~without).sum())
    if unknown:
        raise refuse("no-arrival", column=name, n=unknown)
    # All rows of a day have the same deadline, so that a file without a column of arrivals, made
    # when that is over, has the same outcomes.
    age = arrived.astype("datetime64[D]") - made.astype("datetime64[D]")
    wrong = int((age < np.timedelta64(0, "D"))[~without].sum())
    if wrong:
        raise refuse("arrived-before", n=wrong, column=name, time=columns.time)
    return np.asarray(age > np.timedelta64(horizon, "D"))


def _slices(frame: pd.DataFrame, column: str) -> tuple[IntArray, list[str]]:
    labels = as_labels(frame[column])
    if len(labels) > MAX_SLICES:
        raise refuse("many-slices", column=column, n=len(labels), most=MAX_SLICES)
    if (labels.codes < 0).any():
        return np.where(labels.codes < 0, len(labels), labels.codes), [*labels.names, MISSING_SLICE]
    return labels.codes, list(labels.names)
