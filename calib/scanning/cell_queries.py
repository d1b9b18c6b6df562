"""The counting queries: one GROUP BY per column, and their cells as an Aggregate has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calib.data.aggregate import Aggregate
from calib.data.aggregating import joined_pieces
from calib.data.predictions import MAX_FOLDS
from calib.data.slicing import (
    MAX_VALUES,
    MISSING,
    crossed,
    cut_distinct,
    days_or_values,
    range_levels,
    range_names,
    too_many,
)
from calib.data.strata import NONE, Part, Strata, crossed_name
from calib.loading.building.from_rows import slice_values
from calib.loading.checking.rows import (
    local_days,
    no_dates,
    no_test_value,
    not_times,
    one_part,
    split_values,
    unclear_dates,
    wrong_folds,
)
from calib.loading.columns import as_labels, folded
from calib.loading.dates import Times, as_times
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import shortened
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, Problem, refuse
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.cell_table import KEYS_PER_CELL, CellTable, heavy_cells
from calib.numerics.sorting import run_starts
from calib.scanning.expressions import KEY, SCORE, sums_of, with_keys, with_whole_numbers
from calib.scanning.quantiles import VALUE, quantiles
from calib.scanning.screening import (
    FOLD_NAME,
    GROUP,
    POSITIVE,
    PROBED,
    SPLIT,
    Description,
    collected,
    n_distinct,
    whether,
)
from calib.scanning.watching import Steps
from calib.text import quoted

MAX_TIMES = 100_000
OTHER = "calib_other"
TEST_WORDS = ("test", "testing", "holdout", "true", "1")

# What a query returns is a table of entries, one per value, split, fold and cluster, cell and
# outcome: these codes, in order of which they are, counts and whole numbers; of the first query on
# the grid also least and largest scores.
KEYS = (VALUE, SPLIT, FOLD_NAME, GROUP, KEY, POSITIVE)
ENDS = {"low": np.minimum, "high": np.maximum}


@dataclass(frozen=True, slots=True)
class _Known:
    """The values of a column, which the first query of the column tells all others."""

    names: tuple[str, ...]  # of slices, times and folds
    codes: Mapping[Any, int]
    kind: str = ""  # of times, as NumPy's ``dtype.kind``


class Counter:
    """Asks an engine for the cells of all rows, and apart by each column.

    `pairs` are columns of the mapping to count by together. A column of many numbers is cut into
    `n_ranges` ranges. `steps` is told how far the work is.
    """

    def __init__(
        self,
        found: Description,
        mapping: ColumnMapping,
        pairs: Sequence[tuple[str, str]],
        n_ranges: int,
        steps: Steps,
    ) -> None:
        self.found, self.mapping, self.n_ranges, self.steps = found, mapping, n_ranges, steps
        self.pairs = pairs
        # By code: the split is met in the query of every column.
        self.warnings: dict[str, Problem] = {}
        self.known: dict[str, _Known] = {}

    def count(self, **named: Any) -> Aggregate:
        """Ask for all that was named, part by part.

        `named` are attributes of the Aggregate that do not follow from the rows.
        """
        mapping = self.mapping
        places = [f"calib_by_{i}" for i in range(len(mapping.slices))]
        distinct = n_distinct(self.found.rows, *places, among=PROBED) if places else []
        own = {name: _Query.of(self, i, name, distinct[i]) for i, name in enumerate(mapping.slices)}
        queries = own | {
            crossed_name(pair): replace(own[pair[0]], other=own[pair[1]]) for pair in self.pairs
        }
        if mapping.time:
            queries[mapping.time] = _Query(self, len(own), mapping.time)
        asked = list(queries.values()) or [_Query(self, None, None)]
        answers = self._asked(asked, 0.2, 0.8)
        # Cells add up without rounding: all rows need no query where a column has been counted.
        whole = _joined(answers[0].assign(**{VALUE: 0}))
        if not self.found.exact and len(cut := heavy_cells(self._table(whole, _ends(whole)))):
            parted = self._asked(asked, 0.8, 1.0, cut)
            whole = _replaced(whole, cut, parted[0].assign(**{VALUE: 0}))
            answers = [_replaced(one, cut, more) for one, more in zip(answers, parted, strict=True)]
        ends = None if self.found.exact else _ends(whole)
        parts, pieces = [Part()], [self._piece(whole, ends, 0)]
        for column, query in queries.items():
            # Answers take as much memory as what is made of them.
            one = answers.pop(0)
            names, codes = query.named(one[VALUE].to_numpy())
            pieces.append(self._piece(one.assign(**{VALUE: codes}), ends, len(parts)))
            parts += [Part("", column, name) for name in names]
        return joined_pieces(
            parts,
            pieces,
            score_name=shortened(mapping.score_columns),
            outcome_name=str(mapping.outcome),
            positive_name=self.found.positive_name,
            class_names=self.found.class_names,
            time_name=mapping.time or "",
            time_kind=self.known[f"calib_by_{len(own)}"].kind if mapping.time else "",
            weighted=mapping.weight is not None,
            set_aside=dict(self.found.set_aside),
            fold_names=self.known[FOLD_NAME].names if mapping.fold else (),
            transform=mapping.transform,
            swap=mapping.swap,
            **named,
        )

    def _asked(
        self,
        queries: Sequence[_Query],
        low: float,
        high: float,
        cut: IntArray | None = None,
    ) -> list[pd.DataFrame]:
        """The answers of all queries, which take the work from one share to another."""
        answers: list[pd.DataFrame] = []
        each = (high - low) / len(queries)
        keyed = _Keyed.of(self.found, cut)
        for i, query in enumerate(queries):
            by = f" by {query.called}" if query.column else ""
            text = f"Counting{by}" if cut is None else f"Counting crowded cells{by}"
            self.steps(low + i * each, low + (i + 1) * each, text)
            if cut is None:
                query.check()
            answers.append(query.run(keyed, ends=i == 0 and not self.found.exact))
        return answers

    def _piece(
        self, entries: pd.DataFrame, ends: pd.DataFrame | None, first_part: int
    ) -> tuple[Strata, CellTable]:
        kept = [entries[name].to_numpy() for name in KEYS[:4]]
        code = _packed(kept)
        starts = run_starts(code)
        part, *apart = (codes[starts].astype(np.int64) for codes in kept)
        stratum = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(code)))
        return Strata(part + first_part, *apart), self._table(entries, ends, stratum)

    def _table(
        self, entries: pd.DataFrame, ends: pd.DataFrame | None, stratum: IntArray | None = None
    ) -> CellTable:
        """Entries in order of stratum, cell and outcome, as they have been merged."""
        own = {name: values.to_numpy() for name, values in entries.items()}
        key, exact = own[KEY], self.found.exact
        if ends is None:
            own["low"] = own["high"] = key.view(np.float64)
        else:
            place = ends.index.get_indexer(key)
            own |= {name: ends[name].to_numpy()[place] for name in ends}
        return CellTable(
            exact,
            np.zeros_like(key) if stratum is None else stratum,
            key,
            own[POSITIVE] == 1,
            own["rows"],
            low=own["low"],
            high=own["high"],
            **sums_of(own, key, exact=exact, largest=self.found.largest),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Keyed:
    """Rows with their cells and what is summed, made once for the queries of all columns."""

    rows: nw.LazyFrame[Any]
    sums: tuple[str, ...]
    stride: int

    @classmethod
    def of(cls, found: Description, cut: IntArray | None) -> _Keyed:
        """Make it of all cells, or of the cells that are cut into parts."""
        rows = with_keys(found.rows, exact=found.exact, cut=cut)
        rows, sums = with_whole_numbers(rows, exact=found.exact, largest=found.largest)
        rows = rows.with_columns(nw.col(SCORE).alias("low"), nw.col(SCORE).alias("high"))
        return cls(rows, tuple(sums), 1 if found.exact or cut is not None else KEYS_PER_CELL)


@dataclass(frozen=True, slots=True)
class _Query:
    """One GROUP BY: by cells, or also by a column, which can be cut into ranges.

    With `other`, by the columns of both.
    """

    counter: Counter
    number: int | None
    column: str | None
    edges: tuple[float, ...] | None = None
    other: _Query | None = None

    @classmethod
    def of(cls, counter: Counter, number: int, column: str, distinct: int) -> _Query:
        """By a column, which is cut if its first rows have too many distinct values."""
        rows, name = counter.found.rows, f"calib_by_{number}"
        query = cls(counter, number, column)
        if distinct <= MAX_VALUES:
            return query
        if not rows.collect_schema()[name].is_numeric():
            raise refuse("many-values", too_many([column], distinct))
        known = rows.select(nw.col(name).cast(nw.Float64).alias(VALUE))
        edges = quantiles(known, range_levels(counter.n_ranges).tolist())
        return replace(query, edges=tuple(sorted(set(edges))))

    @property
    def called(self) -> str:
        """Name of the column, or of two that are crossed."""
        own = str(self.column)
        return own if self.other is None else crossed_name((own, str(self.other.column)))

    @property
    def place(self) -> str:
        """What the column is called in the described rows."""
        return f"calib_by_{self.number}"

    def check(self) -> None:
        """Refuse to cross two columns if too many combinations of their values have rows."""
        if self.other is None:
            return
        one, other = (self.counter.known[each.place] for each in (self, self.other))
        # Of cities and their countries, most combinations have no rows.
        if len(one.names) * len(other.names) > MAX_VALUES:
            rows = self._with_value(self.counter.found.rows)
            found = collected(rows.select(VALUE, OTHER).unique())
            codes = _packed([self._codes(name, found[name]) for name in (VALUE, OTHER)])
            if (n := len(np.unique(codes))) > MAX_VALUES:
                pair = (str(self.column), str(self.other.column))
                raise refuse("many-values", too_many(pair, n))

    def named(self, value: IntArray) -> tuple[tuple[str, ...], IntArray]:
        """Names of the values that have rows, and which one each entry has."""
        names = self.counter.known[self.place].names
        if self.other is None:
            return names, value
        others = self.counter.known[self.other.place].names
        return crossed((names, value // len(others)), (others, value % len(others)))

    def run(self, keyed: _Keyed, *, ends: bool) -> pd.DataFrame:
        """Ask, and read the answer."""
        mapping = self.counter.mapping
        kept = {"split": SPLIT, "fold": FOLD_NAME, "group": GROUP}
        apart = [name for role, name in kept.items() if getattr(mapping, role) is not None]
        by = [VALUE] if self.column else []
        by += [*([OTHER] if self.other else []), *apart, KEY, POSITIVE]
        answer = collected(
            self._with_value(keyed.rows)
            .group_by(*by)
            .agg(
                nw.len().alias("rows"),
                *(nw.col(name).sum() for name in keyed.sums),
                *((nw.col("low").min(), nw.col("high").max()) if ends else ()),
            )
            # DuckDB's sums have 128 bits, Polars' counts 32.
            .with_columns(*(nw.col(name).cast(nw.Int64) for name in ("rows", *keyed.sums)))
        )
        return self._read(answer, keyed)

    def _with_value(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        if self.number is not None:
            rows = rows.with_columns(self._value().alias(VALUE))
        return rows.with_columns(self.other._value().alias(OTHER)) if self.other else rows

    def _value(self) -> nw.Expr:
        if self.edges is None:
            return nw.col(self.place)
        value = nw.col(self.place).cast(nw.Float64)
        code = nw.lit(0)
        for edge in self.edges:
            code = code + whether(value > edge)
        missing = value.is_null() | value.is_nan()
        none = nw.lit(len(self.edges) + 1)
        return nw.when(missing).then(none).otherwise(code)

    def _read(self, answer: pa.Table, keyed: _Keyed) -> pd.DataFrame:
        n = answer.num_rows
        values = {name: _numbers(answer[name]) for name in ("rows", *keyed.sums)}
        ends = {n: _scores(answer[n]) for n in ("low", "high") if n in answer.column_names}
        exact = self.counter.found.exact
        key = _scores(answer[KEY]).view(np.int64) if exact else _numbers(answer[KEY])
        none = np.full(n, NONE, dtype=np.int8)
        keys = {VALUE: np.zeros(n, dtype=np.int64), SPLIT: none, FOLD_NAME: none, GROUP: none}
        keys |= {KEY: key * keyed.stride, POSITIVE: _numbers(answer[POSITIVE]).astype(np.int8)}
        for name in (VALUE, OTHER, SPLIT, FOLD_NAME, GROUP):
            if name in answer.column_names:
                keys[name] = self._codes(name, answer[name], values["rows"])
        if self.other is not None:
            width = len(self.counter.known[self.other.place].names)
            keys[VALUE] = keys[VALUE] * width + keys.pop(OTHER)
        return _joined(pd.DataFrame({**keys, **values, **ends}, copy=False))

    def _codes(self, name: str, values: pa.ChunkedArray, rows: IntArray | None = None) -> IntArray:
        """The code of each entry's value. `rows` are counted where the column is new."""
        coded = pc.dictionary_encode(values.combine_chunks(), null_encoding="encode")
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        # Missing values are one or two of them.
        distinct = coded.dictionary.to_pandas()
        if pa.types.is_date(coded.dictionary.type):
            distinct = pd.to_datetime(distinct)
        at = np.array(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        hashable = [None if pd.isna(value) else value for value in distinct]
        query = self.other if name == OTHER and self.other else self
        known, place = self.counter.known, query.place if name in (VALUE, OTHER) else name
        if place not in known:
            counts = np.bincount(at, rows, minlength=len(distinct)).astype(np.int64)
            names, codes, kind = self._coded(name, distinct, counts)
            known[place] = _Known(names, dict(zip(hashable, codes.tolist(), strict=True)), kind)
        return np.array([known[place].codes[value] for value in hashable])[at]

    def _coded(
        self, name: str, distinct: pd.Series, counts: IntArray
    ) -> tuple[tuple[str, ...], IntArray, str]:
        """What codes are called, the code of each distinct value, and the kind of times."""
        mapping = self.counter.mapping
        if name == SPLIT:
            codes, noticed = _test(distinct, mapping)
            self.counter.warnings |= {problem.code: problem for problem in noticed}
            return (), codes, ""
        if name == GROUP:
            return (), as_labels(distinct).codes, ""
        if name == FOLD_NAME:
            return *_folds(distinct, mapping), ""
        return self._named(distinct, counts)

    def _named(
        self, distinct: pd.Series, counts: IntArray
    ) -> tuple[tuple[str, ...], IntArray, str]:
        """Names of a column's values, which one each value as it was grouped has, their kind."""
        counter = self.counter
        column = str(self.column)
        if column == counter.mapping.time:
            if len(distinct) > MAX_TIMES:
                raise refuse(
                    "many-times",
                    f"The time column {quoted(column)} holds {len(distinct):,} different values; "
                    f"at most {MAX_TIMES:,} are counted. Use a column of dates.",
                )
            read = as_times(distinct, day_first=counter.mapping.day_first)
            times = read_times(distinct, read, counter.mapping)
            # The engine has cut times of a type with a zone to days; those in text still have it.
            if read.zoned or counter.found.zoned:
                problem = local_days(counter.mapping)
                counter.warnings[problem.code] = problem
            if len(read.unread):
                odd = quoted(str(distinct.iloc[int(read.unread[0])]))
                problem = no_dates(counter.mapping, int(counts[read.unread].sum()), odd)
                counter.warnings[problem.code] = problem
            return *days_or_values(times), times.dtype.kind
        if self.edges is not None:
            names = (*range_names(np.array(self.edges)), MISSING)
            codes = distinct.to_numpy(np.int64)
            present = np.unique(codes)
            return tuple(names[i] for i in present), np.searchsorted(present, codes), ""
        return *named_slices(distinct, counts, column, counter.n_ranges), ""


def read_times(distinct: pd.Series, read: Times, mapping: ColumnMapping) -> NDArray[np.generic]:
    """The times of distinct values; refused if these are not dates, or in an unclear order."""
    if read.values is None:
        known = distinct.dropna()
        example = quoted(str(known.iloc[0])) if len(known) else "an empty cell"
        make = unclear_dates if read.unclear else not_times
        raise with_arguments([make(mapping, example)], mapping)
    return read.values


def named_slices(
    distinct: pd.Series, counts: IntArray, column: str, n_ranges: int = 5
) -> tuple[tuple[str, ...], IntArray]:
    """Names of the slices of a column, and the slice of each of its distinct values."""
    codes, unique = pd.factorize(slice_values(distinct, slice(None)), use_na_sentinel=False)
    own = np.bincount(codes, counts, minlength=len(unique)).astype(np.int64)
    names, of_unique = cut_distinct(np.asarray(unique), own, n_ranges)
    if len(names) > MAX_VALUES:
        raise refuse("many-values", too_many([column], len(names)))
    return names, of_unique[codes]


def _numbers(column: pa.ChunkedArray) -> IntArray:
    return np.array(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def _scores(column: pa.ChunkedArray) -> FloatArray:
    """Of two zeros one."""
    return column.to_numpy().astype(np.float64) + 0.0


def _test(distinct: pd.Series, mapping: ColumnMapping) -> tuple[IntArray, tuple[Problem, ...]]:
    """1 for test rows, 0 for calibration rows; and what may mislead."""
    labels = folded(as_labels(distinct))
    words = TEST_WORDS if mapping.test_value is None else (mapping.test_value,)
    code = next((found for word in words if (found := labels.find(word)) is not None), None)
    if code is None:
        raise InputError([no_test_value(mapping, labels.names)])
    test = (labels.codes == code).astype(np.int64)
    if test.all():
        raise InputError([one_part(mapping, test=True)])
    named = replace(mapping, test_value=labels.name(code))
    return test, tuple(split_values(named, labels.names))


def _folds(distinct: pd.Series, mapping: ColumnMapping) -> tuple[tuple[str, ...], IntArray]:
    labels = as_labels(distinct)
    if not 2 <= len(labels) <= MAX_FOLDS:
        raise InputError([wrong_folds(mapping, len(labels))])
    names = np.array(labels.names)
    order = np.argsort(names, kind="stable")
    return tuple(names[order].tolist()), np.argsort(order)[labels.codes]


def _packed(columns: Sequence[IntArray]) -> IntArray:
    """One number per combination of codes, in the order of the columns."""
    packed = np.zeros_like(columns[0])
    for codes in columns:
        low = int(codes.min())
        packed = packed * (int(codes.max()) - low + 1) + (codes - low)
    return packed


def _joined(entries: pd.DataFrame) -> pd.DataFrame:
    """The entries in order; those whose codes have become the same are added up."""
    columns = [entries[name].to_numpy() for name in KEYS]
    if math.prod(int(np.ptp(codes)) + 1 for codes in columns) >= 2**63:
        # The bits of a score leave no room beside them.
        columns[-2] = np.unique(columns[-2], return_inverse=True)[1]
    code = _packed(columns)
    order = np.argsort(code)
    starts = run_starts(code[order])
    joined = {
        name: values.to_numpy()[order[starts]]
        if name in KEYS
        else ENDS.get(name, np.add).reduceat(values.to_numpy()[order], starts)
        for name, values in entries.items()
    }
    return pd.DataFrame(joined, copy=False)


def _replaced(entries: pd.DataFrame, cells: IntArray, parts: pd.DataFrame) -> pd.DataFrame:
    """The entries, with the parts of these cells in place of the cells."""
    return _joined(pd.concat([entries[~entries[KEY].isin(cells)], parts]))


def _ends(entries: pd.DataFrame) -> pd.DataFrame:
    """Least and largest score of each cell of the grid, whatever the entry.

    They take a third of a query's time, and no analysis reads them by entry: one query asks.
    """
    return entries.groupby(KEY).agg({"low": "min", "high": "max"})
