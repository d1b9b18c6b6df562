"""The counting queries: one GROUP BY per column, quantiles, and their cells as an Aggregate."""

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
from calib.data.aggregating import joined_pieces, with_clusters_by_content
from calib.data.file_options import Columns
from calib.data.slicing import (
    MAX_VALUES,
    MISSING,
    NO_SLICE,
    Part,
    Strata,
    crossed,
    crossed_name,
    cut_distinct,
    days_or_values,
    range_levels,
    range_names,
    too_many,
)
from calib.loading.building.from_rows import slice_values
from calib.loading.checking.rows import fold_problems, no_dates, no_times, split_problems
from calib.loading.columns import as_labels, folded
from calib.loading.dates import Times, as_times
from calib.loading.guessing.class_columns import shortened
from calib.loading.problems import Problem, note, refuse
from calib.numerics.arrays import FloatArray, IntArray, run_starts
from calib.numerics.cells import KEYS_PER_CELL, CellTable, heavy_cells
from calib.scanning.expressions import KEY, SCORE, sums_of, with_keys, with_whole_numbers
from calib.scanning.screening import (
    FOLD_NAME,
    GROUP,
    MAX_PROBED_ROWS,
    POSITIVE,
    SPLIT,
    ScreenedRows,
    collected,
    n_distinct,
    raise_errors,
    whether,
)
from calib.scanning.watching import Steps

VALUE, PLACE = "calib_value", "calib_range"
RANGES = 65_536
# Once a range has at most this many rows, their values are fetched and sorted here.
MAX_FETCHED_ROWS = 100_000


def quantiles(rows: nw.LazyFrame[Any], levels: Sequence[float]) -> list[float]:
    """Quantiles of the finite values of the column `VALUE`, as `numpy.quantile` gives them."""
    values = rows.select(VALUE).filter(nw.col(VALUE).is_finite())
    ranges = _counted_ranges(values)
    total = int(ranges["rows"].sum())
    result = []
    for place in (level * (total - 1) for level in levels if total):
        below = int(np.floor(place))
        low, high = _pair(values, ranges, below)
        share, step = place - below, high - low
        result.append(float(high - step * (1.0 - share) if share >= 0.5 else low + step * share))
    return result


def _counted_ranges(
    rows: nw.LazyFrame[Any], low: float = np.nan, high: float = np.nan
) -> pd.DataFrame:
    """Rows, least and largest value of equal ranges between two values, in increasing order."""
    value = nw.col(VALUE)
    if np.isnan(low):
        ends = collected(rows.select(value.min().alias("low"), value.max().alias("high")))
        low, high = ends["low"][0].as_py(), ends["high"][0].as_py()
        if low is None:
            return pd.DataFrame({"rows": [], "low": [], "high": []})
    else:
        rows = rows.filter((value >= low) & (value <= high))
    # The values are halved, because the difference of two numbers can overflow.
    width = max(high / 2.0 - low / 2.0, 5e-324)
    place = ((value / 2.0 - low / 2.0) / width * float(RANGES)).floor()
    ranges = (
        rows.with_columns(place.alias(PLACE), value.alias("calib_high"))
        .group_by(PLACE)
        .agg(
            nw.len().alias("rows"),
            nw.col(VALUE).min().alias("low"),
            nw.col("calib_high").max().alias("high"),
        )
    )
    return collected(ranges).to_pandas().sort_values("low", ignore_index=True)


def _pair(rows: nw.LazyFrame[Any], ranges: pd.DataFrame, rank: int) -> tuple[float, float]:
    """The values of a rank and of the next one."""
    after = np.inf
    while True:
        up_to = ranges["rows"].to_numpy().cumsum()
        at = int(np.searchsorted(up_to, rank, "right"))
        if at + 1 < len(ranges):
            after = float(ranges["low"][at + 1])
        rank -= int(up_to[at - 1]) if at else 0
        n, low, high = int(ranges["rows"][at]), float(ranges["low"][at]), float(ranges["high"][at])
        if low == high or n <= MAX_FETCHED_ROWS:
            break
        ranges = _counted_ranges(rows, low, high)
    if low < high:
        inside = rows.filter((nw.col(VALUE) >= low) & (nw.col(VALUE) <= high))
        values = np.sort(collected(inside)[VALUE].to_numpy())
        low, after = values[rank], values[rank + 1] if rank + 1 < n else after
    elif rank + 1 < n:
        after = low
    return float(low), float(after if np.isfinite(after) else low)


MAX_TIMES = 100_000
OTHER = "calib_other"
TEST_WORDS = ("test", "testing", "holdout", "true", "1")

# A query returns one entry per combination of these codes, in their order, with counts and sums of
# whole numbers. The first query on the grid also returns least and largest scores.
KEYS = (VALUE, SPLIT, FOLD_NAME, GROUP, KEY, POSITIVE)
ENDS = {"low": np.minimum, "high": np.maximum}


@dataclass(frozen=True, slots=True)
class _ColumnCodes:
    """The codes of a column's values, made by its first query and used by all later ones.

    `names` are those of slices, times or folds, and `kind` is NumPy's ``dtype.kind`` of times.
    """

    names: tuple[str, ...]
    codes: Mapping[Any, int]
    kind: str = ""


class CellCounter:
    """Counts cells in an engine: of all rows, and separately by the values of each column.

    `pairs` are columns of the mapping to count by together. A column of many numbers is cut into
    `n_ranges` ranges. `steps` receives the progress.
    """

    def __init__(
        self,
        screened: ScreenedRows,
        mapping: Columns,
        pairs: Sequence[tuple[str, str]],
        n_ranges: int,
        steps: Steps,
    ) -> None:
        self.screened, self.mapping, self.n_ranges, self.steps = screened, mapping, n_ranges, steps
        self.pairs = pairs
        # The query of every column reads the split, so its warnings are kept once per code.
        self.warnings: dict[str, Problem] = {}
        self.codes: dict[str, _ColumnCodes] = {}

    def count(self, **attributes: Any) -> Aggregate:
        """Run all queries.

        `attributes` are those of the Aggregate that do not follow from the rows.
        """
        mapping = self.mapping
        places = [f"calib_by_{i}" for i in range(len(mapping.slices))]
        distinct = n_distinct(self.screened.rows, *places, among=MAX_PROBED_ROWS) if places else []
        slices = {
            name: _Query.of(self, i, name, distinct[i]) for i, name in enumerate(mapping.slices)
        }
        queries = slices | {
            crossed_name((first, second)): replace(slices[first], other=slices[second])
            for first, second in self.pairs
        }
        if mapping.time:
            queries[mapping.time] = _Query(self, len(slices), mapping.time)
        to_run = list(queries.values()) or [_Query(self, None, None)]
        answers = self._answers(to_run, 0.2, 0.8)
        # Sums of cells are not rounded, so the counts of all rows follow from those by a column.
        whole = _joined(answers[0].assign(**{VALUE: 0}))
        if not self.screened.exact and len(cut := heavy_cells(self._table(whole, _ends(whole)))):
            cut_answers = self._answers(to_run, 0.8, 1.0, cut)
            whole = _replaced(whole, cut, cut_answers[0].assign(**{VALUE: 0}))
            answers = [
                _replaced(entries, cut, parts)
                for entries, parts in zip(answers, cut_answers, strict=True)
            ]
        ends = None if self.screened.exact else _ends(whole)
        parts, pieces = [Part()], [self._piece(whole, ends, 0)]
        for column, query in queries.items():
            # An answer takes as much memory as its cells, so it is freed once they are made.
            entries = answers.pop(0)
            names, codes = query.names_and_codes(entries[VALUE].to_numpy())
            pieces.append(self._piece(entries.assign(**{VALUE: codes}), ends, len(parts)))
            parts += [Part("", column, name) for name in names]
        counted = joined_pieces(
            parts,
            pieces,
            score_name=shortened(mapping.score_columns),
            outcome_name=str(mapping.outcome),
            positive_name=self.screened.positive_name,
            class_names=self.screened.class_names,
            time_name=mapping.time or "",
            time_kind=self.codes[f"calib_by_{len(slices)}"].kind if mapping.time else "",
            weighted=mapping.weight is not None,
            set_aside=dict(self.screened.set_aside),
            fold_names=self.codes[FOLD_NAME].names if mapping.fold else (),
            transform=mapping.transform,
            swap=mapping.swap,
            **attributes,
        )
        return with_clusters_by_content(counted)

    def _answers(
        self,
        queries: Sequence[_Query],
        low: float,
        high: float,
        cut: IntArray | None = None,
    ) -> list[pd.DataFrame]:
        """Run the queries. Meanwhile the progress goes from `low` to `high`."""
        answers: list[pd.DataFrame] = []
        width = (high - low) / len(queries)
        # The cells of the rows, and the numbers to sum, are made once for all queries.
        exact = self.screened.exact
        rows = with_keys(self.screened.rows, exact=exact, cut=cut)
        rows, sums = with_whole_numbers(rows, exact=exact, largest=self.screened.largest)
        rows = rows.with_columns(nw.col(SCORE).alias("low"), nw.col(SCORE).alias("high"))
        for i, query in enumerate(queries):
            by = f" by {query.name}" if query.column else ""
            text = f"Counting{by}" if cut is None else f"Counting crowded cells{by}"
            self.steps(low + i * width, low + (i + 1) * width, text)
            if cut is None:
                query.check()
            answer = query.run(rows, sums, ends=i == 0 and not exact)
            # Keys of the grid are narrow numbers in the engine; those of exact cells are scores.
            if not exact and cut is None:
                answer[KEY] *= KEYS_PER_CELL
            answers.append(_joined(answer))
        return answers

    def _piece(
        self, entries: pd.DataFrame, ends: pd.DataFrame | None, first_part: int
    ) -> tuple[Strata, CellTable]:
        columns = [entries[name].to_numpy() for name in KEYS[:4]]
        code = _packed(columns)
        starts = run_starts(code)
        part, split, fold, group = (codes[starts].astype(np.int64) for codes in columns)
        stratum = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(code)))
        strata = Strata(part + first_part, split, fold, group)
        return strata, self._table(entries, ends, stratum)

    def _table(
        self, entries: pd.DataFrame, ends: pd.DataFrame | None, stratum: IntArray | None = None
    ) -> CellTable:
        """Make cells of entries, which are in order of stratum, cell and outcome."""
        columns = {name: values.to_numpy() for name, values in entries.items()}
        key, exact = columns[KEY], self.screened.exact
        if ends is None:
            columns["low"] = columns["high"] = key.view(np.float64)
        else:
            place = ends.index.get_indexer(key)
            columns |= {name: ends[name].to_numpy()[place] for name in ends}
        return CellTable(
            exact,
            np.zeros_like(key) if stratum is None else stratum,
            key,
            columns[POSITIVE] == 1,
            columns["rows"],
            low=columns["low"],
            high=columns["high"],
            **sums_of(columns, key, exact=exact, largest=self.screened.largest),
        )


@dataclass(frozen=True, slots=True)
class _Query:
    """One GROUP BY: by cells, or also by a column, which can be cut into ranges.

    With `other`, rows are grouped by the columns of both queries.
    """

    counter: CellCounter
    number: int | None
    column: str | None
    edges: tuple[float, ...] | None = None
    other: _Query | None = None

    @classmethod
    def of(cls, counter: CellCounter, number: int, column: str, distinct: int) -> _Query:
        """Group by a column, which is cut if its first rows have too many distinct values."""
        rows, name = counter.screened.rows, f"calib_by_{number}"
        query = cls(counter, number, column)
        if distinct <= MAX_VALUES:
            return query
        if not rows.collect_schema()[name].is_numeric():
            raise refuse("many-values", message=too_many([column], distinct))
        values = rows.select(nw.col(name).cast(nw.Float64).alias(VALUE))
        edges = quantiles(values, range_levels(counter.n_ranges).tolist())
        return replace(query, edges=tuple(sorted(set(edges))))

    @property
    def name(self) -> str:
        """Name of the column, or of two that are crossed."""
        column = str(self.column)
        return column if self.other is None else crossed_name((column, str(self.other.column)))

    @property
    def alias(self) -> str:
        """Name of the column in the screened rows."""
        return f"calib_by_{self.number}"

    def check(self) -> None:
        """Refuse to cross two columns if too many combinations of their values have rows."""
        if self.other is None:
            return
        first, second = (self.counter.codes[query.alias] for query in (self, self.other))
        # Most combinations of two columns, such as city and country, may have no rows.
        if len(first.names) * len(second.names) > MAX_VALUES:
            rows = self._with_value(self.counter.screened.rows)
            present = collected(rows.select(VALUE, OTHER).unique())
            codes = _packed([self._codes(name, present[name]) for name in (VALUE, OTHER)])
            if (n := len(np.unique(codes))) > MAX_VALUES:
                pair = (str(self.column), str(self.other.column))
                raise refuse("many-values", message=too_many(pair, n))

    def names_and_codes(self, value: IntArray) -> tuple[tuple[str, ...], IntArray]:
        """Names of the values that have rows, and which one each entry has."""
        names = self.counter.codes[self.alias].names
        if self.other is None:
            return names, value
        others = self.counter.codes[self.other.alias].names
        return crossed((names, value // len(others)), (others, value % len(others)))

    def run(self, rows: nw.LazyFrame[Any], sums: Sequence[str], *, ends: bool) -> pd.DataFrame:
        """Run the query, and read its answer."""
        mapping = self.counter.mapping
        aliases = {"split": SPLIT, "fold": FOLD_NAME, "group": GROUP}
        strata = [name for role, name in aliases.items() if getattr(mapping, role) is not None]
        by = [VALUE] if self.column else []
        by += [*([OTHER] if self.other else []), *strata, KEY, POSITIVE]
        answer = collected(
            self._with_value(rows)
            .group_by(*by)
            .agg(
                nw.len().alias("rows"),
                *(nw.col(name).sum() for name in sums),
                *((nw.col("low").min(), nw.col("high").max()) if ends else ()),
            )
            # Sums of DuckDB have 128 bits, and counts of Polars 32.
            .with_columns(*(nw.col(name).cast(nw.Int64) for name in ("rows", *sums)))
        )
        n = answer.num_rows
        values = {name: _numbers(answer[name]) for name in ("rows", *sums)}
        extremes = {n: _scores(answer[n]) for n in ("low", "high") if n in answer.column_names}
        exact = self.counter.screened.exact
        key = _scores(answer[KEY]).view(np.int64) if exact else _numbers(answer[KEY])
        none = np.full(n, NO_SLICE, dtype=np.int8)
        keys = {VALUE: np.zeros(n, dtype=np.int64), SPLIT: none, FOLD_NAME: none, GROUP: none}
        keys |= {KEY: key, POSITIVE: _numbers(answer[POSITIVE]).astype(np.int8)}
        for name in (VALUE, OTHER, SPLIT, FOLD_NAME, GROUP):
            if name in answer.column_names:
                keys[name] = self._codes(name, answer[name], values["rows"])
        if self.other is not None:
            width = len(self.counter.codes[self.other.alias].names)
            keys[VALUE] = keys[VALUE] * width + keys.pop(OTHER)
        return pd.DataFrame({**keys, **values, **extremes}, copy=False)

    def _with_value(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        if self.number is not None:
            rows = rows.with_columns(self._value().alias(VALUE))
        return rows.with_columns(self.other._value().alias(OTHER)) if self.other else rows

    def _value(self) -> nw.Expr:
        if self.edges is None:
            return nw.col(self.alias)
        value = nw.col(self.alias).cast(nw.Float64)
        code = nw.lit(0)
        for edge in self.edges:
            code = code + whether(value > edge)
        missing = value.is_null() | value.is_nan()
        none = nw.lit(len(self.edges) + 1)
        return nw.when(missing).then(none).otherwise(code)

    def _codes(self, name: str, values: pa.ChunkedArray, rows: IntArray | None = None) -> IntArray:
        """The code of each entry's value. The first query of a column needs the numbers of rows."""
        encoded = pc.dictionary_encode(values.combine_chunks(), null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        distinct = encoded.dictionary.to_pandas()
        if pa.types.is_date(encoded.dictionary.type):
            distinct = pd.to_datetime(distinct)
        at = np.array(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        # Null and NaN are both missing values, and a NaN is not found in a dictionary.
        hashable = [None if pd.isna(value) else value for value in distinct]
        query = self.other if name == OTHER and self.other else self
        by_alias, alias = self.counter.codes, query.alias if name in (VALUE, OTHER) else name
        if alias not in by_alias:
            counts = np.bincount(at, rows, minlength=len(distinct)).astype(np.int64)
            # An engine returns groups in any order, and a message names the first of them.
            order = pc.sort_indices(encoded.dictionary).to_numpy()
            ordered = distinct.iloc[order].reset_index(drop=True)
            names, codes, kind = self._new_codes(name, ordered, counts[order])
            code_of = {hashable[i]: code for i, code in zip(order, codes.tolist(), strict=True)}
            by_alias[alias] = _ColumnCodes(names, code_of, kind)
        return np.array([by_alias[alias].codes[value] for value in hashable])[at]

    def _new_codes(
        self, name: str, distinct: pd.Series, counts: IntArray
    ) -> tuple[tuple[str, ...], IntArray, str]:
        """Names of the codes, the code of each distinct value, and the kind of times."""
        counter, column = self.counter, str(self.column)
        if name == SPLIT:
            codes, problems = _test(distinct, counter.mapping)
            counter.warnings |= {problem.code: problem for problem in problems}
            return (), codes, ""
        if name == GROUP:
            return (), as_labels(distinct).codes, ""
        if name == FOLD_NAME:
            return *_folds(distinct, counter.mapping), ""
        if column == counter.mapping.time:
            if len(distinct) > MAX_TIMES:
                raise refuse("many-times", column=column, n=len(distinct), most=MAX_TIMES)
            read = as_times(distinct, day_first=counter.mapping.day_first)
            times = read_times(distinct, read, counter.mapping)
            # The engine cuts times whose type has a zone to days. Times in text still have theirs.
            zone = note("time-zone", column=column) if read.zoned else counter.screened.zone_note
            notes = [] if zone is None else [zone]
            if len(read.unread):
                example, n = distinct.iloc[int(read.unread[0])], int(counts[read.unread].sum())
                notes.append(no_dates(counter.mapping, n, example))
            counter.warnings |= {problem.code: problem for problem in notes}
            return *days_or_values(times), times.dtype.kind
        if self.edges is not None:
            names = (*range_names(np.array(self.edges)), MISSING)
            codes = distinct.to_numpy(np.int64)
            present = np.unique(codes)
            return tuple(names[i] for i in present), np.searchsorted(present, codes), ""
        return *named_slices(distinct, counts, column, counter.n_ranges), ""


def read_times(distinct: pd.Series, read: Times, mapping: Columns) -> NDArray[np.generic]:
    """Times of distinct values. Raises InputError if they are not dates, or in unclear order."""
    if read.values is None:
        raise_errors([no_times(mapping, distinct, unclear=read.unclear)], mapping)
    assert read.values is not None
    return read.values


def named_slices(
    distinct: pd.Series, counts: IntArray, column: str, n_ranges: int = 5
) -> tuple[tuple[str, ...], IntArray]:
    """Names of the slices of a column, and the slice of each of its distinct values."""
    codes, unique = pd.factorize(slice_values(distinct, slice(None)), use_na_sentinel=False)
    rows = np.bincount(codes, counts, minlength=len(unique)).astype(np.int64)
    names, slice_of = cut_distinct(np.asarray(unique), rows, n_ranges)
    if len(names) > MAX_VALUES:
        raise refuse("many-values", message=too_many([column], len(names)))
    return names, slice_of[codes]


def _numbers(column: pa.ChunkedArray) -> IntArray:
    return np.array(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def _scores(column: pa.ChunkedArray) -> FloatArray:
    # Adding 0 turns -0.0 into 0.0, whose bits differ.
    return column.to_numpy().astype(np.float64) + 0.0


def _test(distinct: pd.Series, mapping: Columns) -> tuple[IntArray, tuple[Problem, ...]]:
    """1 for test rows, 0 for calibration rows; and warnings about the values."""
    labels = folded(as_labels(distinct))
    words = TEST_WORDS if mapping.test_value is None else (mapping.test_value,)
    code = next((code for word in words if (code := labels.find(word)) is not None), None)
    test = (labels.codes == code).astype(np.int64)
    if code is not None:
        mapping = replace(mapping, test_value=labels.name(code))
    n_test = None if code is None else int(test.sum())
    problems = tuple(split_problems(mapping, labels.names, n_test, len(test)))
    raise_errors(problems, mapping)
    return test, problems


def _folds(distinct: pd.Series, mapping: Columns) -> tuple[tuple[str, ...], IntArray]:
    labels = as_labels(distinct)
    raise_errors(fold_problems(mapping, len(labels)), mapping)
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
    """Sort the entries, and add up those whose codes are now equal."""
    columns = [entries[name].to_numpy() for name in KEYS]
    if math.prod(int(np.ptp(codes)) + 1 for codes in columns) >= 2**63:
        # The key of an exact cell has all 64 bits of its score, so it is replaced by its rank.
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
    """Replace the entries of these cells by those of their parts."""
    return _joined(pd.concat([entries[~entries[KEY].isin(cells)], parts]))


def _ends(entries: pd.DataFrame) -> pd.DataFrame:
    """Least and largest score of each cell of the grid, over all entries.

    They take a third of a query's time, and no analysis reads them by entry, so only the first
    query computes them.
    """
    return entries.groupby(KEY).agg({"low": "min", "high": "max"})
