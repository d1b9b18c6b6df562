"""Counts of predictions by day, slice and score, checked; and the days that are mature."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
