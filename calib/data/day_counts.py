"""Counts of predictions by day, slice and score, which can be added up and kept for years."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray, IntArray, Locked

# Scores are counted in cells of a tenth in log-odds between 0.000045 and 0.999955, in one cell on
# either side, and in cells of exactly 0 and exactly 1.
FARTHEST, WIDTH = 10.0, 0.1
_LOG_ODDS = np.linspace(-FARTHEST, FARTHEST, round(2 * FARTHEST / WIDTH) + 1)
EDGES = np.array([np.nextafter(0.0, 1.0), *(1.0 / (1.0 + np.exp(-_LOG_ODDS))), 1.0])
N_CELLS = len(EDGES) + 1
LOW, HIGH = np.array([0.0, *EDGES]), np.array([*EDGES, 1.0])
# The mean score of a cell is kept to this share of its width.
STEPS = 65_535
# Places of rows within their cell are whole numbers, so that their sum is exact in any order.
PLACES = 2**28
ALL_ROWS = ""  # The name of the slice of all rows.
DAY_OUTCOMES = ("negative", "positive", "missing", "late")
COLUMNS = ("slice", "cell", "place", *DAY_OUTCOMES)
KEPT = dict(zip(COLUMNS, ("<u2", "u1", "<u2", *["<u4"] * len(DAY_OUTCOMES)), strict=True))
MAX_COUNT = 2**32 - 1
MAX_BYTES = 64_000_000  # A damaged day must not fill the memory.


@dataclass(frozen=True, slots=True, eq=False)
class DayCounts(Locked):
    """Cells of one or several days. Arrays have one entry per cell.

    Attributes
    ----------
    day : ndarray of datetime64[D]
    slice : ndarray of int
        Position of the slice in `names`.
    cell : ndarray of int
        Number of the cell of scores, 0 to `N_CELLS` - 1.
    place : ndarray of int
        Mean score of the cell's rows whose outcome arrived in time, from 0, the lower end of the
        cell, to `STEPS`, its upper end. If there are none, that of all its rows.
    negative, positive, missing, late : ndarray of int
        Rows by outcome: arrived in time, missing, or arrived later than the horizon.
    names : tuple of str
        Names of the slices. The name of all rows is "".
    """

    day: NDArray[np.datetime64]
    slice: IntArray
    cell: IntArray
    place: IntArray
    negative: IntArray
    positive: IntArray
    missing: IntArray
    late: IntArray
    names: tuple[str, ...]

    @classmethod
    def of_rows(
        cls,
        day: NDArray[np.datetime64],
        score: FloatArray,
        kind: IntArray,
        slices: Mapping[str, tuple[IntArray, Sequence[str]]],
        rows: IntArray | None = None,
    ) -> DayCounts:
        """Count rows.

        Parameters
        ----------
        day : ndarray of datetime64[D], shape (n,)
        score : ndarray of shape (n,), in [0, 1]
        kind : ndarray of int, shape (n,)
            Position in `DAY_OUTCOMES`.
        slices : mapping of str to (ndarray of int, names)
            By column, the slice of each row as a position in the names of its slices.
        rows : ndarray of int, shape (n,), optional
            Number of rows that each entry stands for, at least 1. Default: 1.
        """
        cell = np.searchsorted(EDGES, score, side="right")
        width = HIGH[cell] - LOW[cell]
        part = np.divide(score - LOW[cell], width, out=np.zeros_like(score), where=width > 0.0)
        place = np.rint(part * PLACES)
        whole = (np.zeros(len(score), dtype=np.int64), (ALL_ROWS,))
        cells = [
            _count(day, code, cell, place, kind, tuple(names), rows)
            for code, names in (whole, *_with_column_names(slices))
        ]
        names, joined = _joined(cells)
        order = np.lexsort([joined["cell"], joined["slice"], joined["day"]])
        return cls(**{name: values[order] for name, values in joined.items()}, names=names)

    @classmethod
    def sum(cls, parts: Sequence[DayCounts]) -> DayCounts:
        """All counts together, at least one; equal days, slices and cells are added up."""
        names, joined = _joined(parts)
        # The cells of different days, in order, are already those of the sum.
        firsts = [part.day[0] for part in parts]
        one_each = all(part.day[0] == part.day[-1] for part in parts)
        if one_each and all(a < b for a, b in itertools.pairwise(firsts)):
            return cls(**joined, names=names)
        day = joined["day"].astype("datetime64[D]").astype(np.int64)
        key = (day * len(names) + joined["slice"]) * N_CELLS + joined["cell"]
        unique, first, at = np.unique(key, return_index=True, return_inverse=True)
        if len(unique) == len(key):
            return cls(**{name: values[first] for name, values in joined.items()}, names=names)
        counts: dict[str, Any] = {
            kind: _sums(at, joined[kind], len(unique)) for kind in DAY_OUTCOMES
        }
        place = _mean_place(at, joined, len(unique))
        same = {name: joined[name][first] for name in ("day", "slice", "cell")}
        return cls(**same, place=place, **counts, names=names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.totals().values())

    def rows_by_day(self) -> dict[date, int]:
        """Rows of each day, with any outcome or none."""
        days, at = np.unique(self.day, return_inverse=True)
        whole = self.slice == self.names.index(ALL_ROWS)
        rows = sum(
            (getattr(self, kind) for kind in DAY_OUTCOMES), np.zeros(len(at), dtype=np.int64)
        )
        sums = np.bincount(at, rows * whole).astype(np.int64)
        return dict(zip(days.astype(object).tolist(), sums.tolist(), strict=True))

    def totals(self) -> dict[str, int]:
        """Rows by outcome."""
        if ALL_ROWS not in self.names:
            return dict.fromkeys(DAY_OUTCOMES, 0)
        whole = self.slice == self.names.index(ALL_ROWS)
        return {kind: int(getattr(self, kind)[whole].sum()) for kind in DAY_OUTCOMES}

    def without_outcomes(self) -> DayCounts:
        """The same rows, all without an outcome."""
        none = np.zeros(len(self.missing), dtype=np.int64)
        missing = none + self.missing + self.positive + self.negative
        return replace(self, missing=missing, positive=none, negative=none)

    def frame(self) -> pd.DataFrame:
        """One row per cell: day, slice, score (the mean), positive, negative, missing and late."""
        score = LOW[self.cell] + (HIGH - LOW)[self.cell] * (self.place / STEPS)
        slices = pd.Categorical.from_codes(self.slice, categories=list(self.names))
        counts = {name: getattr(self, name) for name in ("positive", "negative", "missing", "late")}
        parts = {"day": self.day, "slice": slices}
        return pd.DataFrame(parts | {"score": np.clip(score, 0.0, 1.0)} | counts)

    def by_day(self) -> dict[str, bytes]:
        """The counts of each day, as bytes, by the day in ISO 8601."""
        days, start = np.unique(self.day, return_index=True)
        ends = [*start[1:], len(self.day)]
        return {
            str(day): self._bytes(first, last)
            for day, first, last in zip(days, start, ends, strict=True)
        }

    def _bytes(self, first: int, last: int) -> bytes:
        used, code = np.unique(self.slice[first:last], return_inverse=True)
        columns = {name: getattr(self, name)[first:last] for name in COLUMNS} | {"slice": code}
        if max(columns[kind].max() for kind in DAY_OUTCOMES) > MAX_COUNT:
            raise ValueError(f"A day can have {MAX_COUNT:,} rows with about the same score.")
        head = json.dumps([self.names[number] for number in used]).encode() + b"\n"
        return zlib.compress(
            head + b"".join(columns[name].astype(kind).tobytes() for name, kind in KEPT.items())
        )

    @classmethod
    def of_bytes(cls, day: str, content: bytes) -> DayCounts:
        """The counts of a day, from `by_day`. ValueError if they are damaged.

        The arrays are the bytes themselves, in narrow types: years of them are opened in half the
        time, and `sum` widens them all at once.
        """
        opened = zlib.decompressobj()
        try:
            text = opened.decompress(content, MAX_BYTES)
            head, _, body = text.partition(b"\n")
            names = tuple(map(str, json.loads(head)))
            n = len(body) // sum(np.dtype(kind).itemsize for kind in KEPT.values())
            columns, start = {}, 0
            for name, kind in KEPT.items():
                columns[name] = np.frombuffer(body, kind, n, start)
                start += n * np.dtype(kind).itemsize
            days = np.full(n, np.datetime64(day, "D"))
        except (zlib.error, ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"The counts of {day:.20} are damaged.") from error
        whole = start == len(body) and opened.eof and n > 0
        if not whole or columns["cell"].max() >= N_CELLS or columns["slice"].max() >= len(names):
            raise ValueError(f"The counts of {day:.20} are damaged.")
        return cls(day=days, **columns, names=names)


def _joined(parts: Sequence[DayCounts]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of all slices, and the arrays of all parts one after the other."""
    names = tuple(sorted({name for part in parts for name in part.names}))
    code = {name: number for number, name in enumerate(names)}
    columns: dict[str, list[Any]] = {name: [] for name in ("day", *COLUMNS)}
    for part in parts:
        new = np.array([code[name] for name in part.names], dtype=np.int64)
        for name, values in columns.items():
            values.append(new[part.slice] if name == "slice" else getattr(part, name))
    return names, {
        name: np.concatenate(values, dtype=None if name == "day" else np.int64)
        for name, values in columns.items()
    }


def _with_column_names(
    slices: Mapping[str, tuple[IntArray, Sequence[str]]],
) -> list[tuple[IntArray, tuple[str, ...]]]:
    """Slices whose names contain that of their column."""
    return [
        (code, tuple(f"{_unambiguous(column)}={name}" for name in names))
        for column, (code, names) in slices.items()
    ]


def _unambiguous(column: str) -> str:
    """The name of a column, quoted if its end could be taken for the beginning of a slice."""
    return json.dumps(column, ensure_ascii=False) if column[:1] == '"' or "=" in column else column


def _count(
    day: NDArray[np.datetime64],
    code: IntArray,
    cell: IntArray,
    place: FloatArray,
    kind: IntArray,
    names: tuple[str, ...],
    rows: IntArray | None,
) -> DayCounts:
    number = day.astype("datetime64[D]").astype(np.int64)
    at, key = pd.factorize((number * len(names) + code) * N_CELLS + cell)
    n = len(key)
    sums = np.bincount(at * len(DAY_OUTCOMES) + kind, rows, minlength=n * len(DAY_OUTCOMES))
    counts = sums.reshape(n, len(DAY_OUTCOMES)).astype(np.int64)
    in_time, total = kind < 2, place if rows is None else place * rows
    timely_rows = counts[:, :2].sum(axis=1)
    timely = np.bincount(at[in_time], total[in_time], minlength=n)
    every = np.bincount(at, total, minlength=n)
    mean = np.where(
        timely_rows > 0, timely / np.maximum(timely_rows, 1), every / counts.sum(axis=1)
    )
    rest, cells = np.divmod(np.asarray(key, dtype=np.int64), N_CELLS)
    days, slices = np.divmod(rest, len(names))
    return DayCounts(
        day=days.astype("datetime64[D]"),
        slice=slices,
        cell=cells,
        place=np.rint(mean / PLACES * STEPS).astype(np.int64),
        **{name: counts[:, place] for place, name in enumerate(DAY_OUTCOMES)},
        names=names,
    )


def _sums(at: IntArray, values: IntArray, n: int) -> IntArray:
    return np.bincount(at, values, minlength=n).astype(np.int64)


def _mean_place(at: IntArray, joined: Mapping[str, Any], n: int) -> IntArray:
    """Mean places of cells that are added up: of rows in time, or of all if there are none."""
    timely = joined["negative"] + joined["positive"]
    every = timely + joined["missing"] + joined["late"]
    in_time, rows = _sums(at, timely, n), _sums(at, every, n)
    sums = _sums(at, joined["place"] * timely, n), _sums(at, joined["place"] * every, n)
    mean = np.where(in_time > 0, sums[0] / np.maximum(in_time, 1), sums[1] / np.maximum(rows, 1))
    return np.rint(mean).astype(np.int64)
