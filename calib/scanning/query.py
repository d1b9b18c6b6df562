"""The counting query as text, for engines to which calib cannot connect, and its saved result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot

from calib.data.aggregate import Aggregate
from calib.data.aggregating import joined_pieces
from calib.data.file_options import Columns
from calib.data.slicing import (
    MAX_VALUES,
    NO_SLICE,
    Part,
    Strata,
    crossed,
    crossed_name,
    days_or_values,
    singles_and_pairs,
    too_many,
)
from calib.loading.building.from_rows import class_names
from calib.loading.checking.mapped_rows import NEITHER
from calib.loading.dates import as_times
from calib.loading.loader import as_label_texts
from calib.loading.problems import refuse
from calib.loading.reading.reader import stem
from calib.numerics.arrays import IntArray
from calib.numerics.cells import KEYS_PER_CELL, CellTable, add_tables
from calib.numerics.score_grid import (
    EDGE_ROUNDING,
    GRID_STEPS,
    KEY_OF_ZERO,
    KEYS_PER_E_FOLD,
    MAX_INNER_KEY,
    MIN_INNER_KEY,
    TAIL_END,
)
from calib.scanning.cell_queries import named_slices, read_times
from calib.scanning.screening import meaning_of, outcome_facts
from calib.sql_names import identifier, quoted, table_of, text_of, unused_prefix

Dialect = Literal[
    "snowflake",
    "bigquery",
    "databricks",
    "spark",
    "postgres",
    "redshift",
    "trino",
    "duckdb",
    "clickhouse",
    "tsql",
]
VERSION = 1
COLUMNS = (
    *("calib_version", "calib_role", "calib_column", "calib_value", "calib_key", "calib_outcome"),
    *("calib_rows", "calib_weight", "calib_weight_sq", "calib_score_sum"),
    *("calib_low", "calib_high"),
)
# The result has these columns only if two columns are crossed.
CROSSED = ("calib_column2", "calib_value2")


def scan_sql(
    dialect: Dialect,
    *,
    table: str,
    outcome: str,
    score: str,
    slices: Sequence[str | tuple[str, str]] = (),
    time: str | None = None,
    weight: str | None = None,
) -> str:
    """Print the SQL query that counts predictions into cells, to be run in a database.

    The result of the query is small and contains no rows of the table. Save it as CSV or Parquet:
    `calib.scan`, ``calib report`` and ``calib check`` read it. It counts rows that cannot be used
    by reason. Cells with many rows are not cut into parts, as `calib.scan` does; the effect on each
    metric is at most its `Estimate.resolution`.

    Parameters
    ----------
    dialect : str
        One of snowflake, bigquery, databricks, spark, postgres, redshift, trino, duckdb,
        clickhouse and tsql.
    table : str
        Name of the table with its schema, as in a query: ``"scoring.predictions"``. A part with a
        dot is written in double quotes.
    outcome, score : str
        Columns of the labels, and of the scores of the positive class in [0, 1]. A name of letters,
        digits and underscores has the case that the dialect gives it without quotation marks. Any
        other name, and a name in double quotes, keeps its case.
    slices : sequence of str or pair of str
        Slice columns. Two columns in a tuple are crossed, and also counted one by one.
    time : str, optional
        Column of dates or times, which are counted by day.
    weight : str, optional
        Column of row weights.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the dialect is unknown, the table has more than three parts, or a pair does not name two
        slices.

    Examples
    --------
    >>> query = scan_sql("snowflake", table="scores", outcome="y", score="p", slices=["region"])
    >>> "GROUP BY" in query, '"REGION"' in query
    (True, True)
    """
    if dialect not in get_args(Dialect):
        raise ValueError(f"dialect must be one of {', '.join(get_args(Dialect))}, got {dialect!r}.")
    source = table_of(table, dialect)
    step = unused_prefix([source.name])
    singles, pairs = singles_and_pairs(slices, time)
    by = [(name, "{}") for name in singles] + ([(time, "CAST({} AS DATE)")] if time else [])
    roles = [("slice", name) for name in singles] + ([("time", time)] if time else [])
    chosen = [
        f"CAST({_column(outcome, dialect)} AS TEXT) AS calib_outcome",
        f"{_number(score, dialect)} AS calib_score",
        f"{_number(weight, dialect) if weight else '1e0'} AS calib_w",
        *(
            f"CAST({day.format(_column(name, dialect))} AS TEXT) AS calib_by_{i}"
            for i, (name, day) in enumerate(by)
        ),
    ]
    aliases = [f"calib_by_{i}" for i in range(len(roles))]
    columns = ", ".join(["calib_outcome", "calib_score", "calib_w", *aliases])
    alias_of = {name: alias for (_, name), alias in zip(roles, aliases, strict=True)}
    cuts = [("all", ()), *((role, (name,)) for role, name in roles)]
    cuts += [("crossing", pair) for pair in pairs]
    query = TEMPLATE.format(
        chosen=", ".join(chosen),
        step=step,
        table=quoted(source, "duckdb"),
        columns=columns,
        names_row=f"SELECT {VERSION} AS calib_version, 'names' AS calib_role, "
        f"{text_of(score, 'duckdb')} AS calib_column, {text_of(outcome, 'duckdb')} AS calib_value, "
        + NO_CELLS.format(rows="CAST(0 AS BIGINT)"),
        none=NOT_CROSSED if pairs else "",
        groups=" UNION ALL ".join(
            _group(role, {name: alias_of[name] for name in cut}, step, crossed=bool(pairs))
            for role, cut in cuts
        ),
    )
    tree = sqlglot.parse_one(query, dialect="duckdb")
    return tree.sql(dialect=dialect, pretty=True, identify=True) + "\n"


NO_CELLS = (
    "CAST(NULL AS BIGINT) AS calib_key, CAST(NULL AS TEXT) AS calib_outcome, {rows} AS calib_rows, "
    "CAST(NULL AS DOUBLE) AS calib_weight, CAST(NULL AS DOUBLE) AS calib_weight_sq, "
    "CAST(NULL AS DOUBLE) AS calib_score_sum, CAST(NULL AS DOUBLE) AS calib_low, "
    "CAST(NULL AS DOUBLE) AS calib_high"
)
NOT_CROSSED = ", CAST(NULL AS TEXT) AS calib_column2, CAST(NULL AS TEXT) AS calib_value2"
# Every step is a SELECT, because not all engines can use an alias in the SELECT that defines it.
TEMPLATE = (
    f"""
WITH {{step}}source AS (SELECT {{chosen}} FROM {{table}} AS calib_rows_of),
{{step}}sorted AS (
    SELECT {{columns}}, CASE
        WHEN calib_outcome IS NULL OR TRIM(calib_outcome) = '' THEN 'outcome missing'
        WHEN calib_score IS NULL THEN 'score missing'
        WHEN NOT (calib_score >= 0e0 AND calib_score <= 1e0) THEN 'score outside'
        WHEN calib_w IS NULL THEN 'weight missing'
        WHEN NOT (calib_w > 0e0 AND calib_w < 1e300) THEN 'weight not positive'
        ELSE '' END AS calib_reason FROM {{step}}source
),
{{step}}usable AS (
    SELECT {{columns}},
        CASE WHEN calib_score > 5e-1 THEN 1e0 - calib_score ELSE calib_score END AS calib_near,
        FLOOR({GRID_STEPS:e} * calib_score + {EDGE_ROUNDING:e})
            + CEIL({GRID_STEPS:e} * calib_score - {EDGE_ROUNDING:e}) AS calib_inner
    FROM {{step}}sorted WHERE calib_reason = ''
),
{{step}}folds AS (
    SELECT {{columns}}, calib_inner, CASE
        WHEN calib_inner >= {MIN_INNER_KEY:e} AND calib_inner <= {MAX_INNER_KEY:e} THEN 0e0
        WHEN calib_near > 0e0 THEN CEIL({KEYS_PER_E_FOLD:e}
            * LN((CASE WHEN calib_near > 0e0 THEN calib_near ELSE {TAIL_END:e} END) / {TAIL_END:e}))
        ELSE {KEY_OF_ZERO - MIN_INNER_KEY + 1:e} END AS calib_fold FROM {{step}}usable
),
{{step}}keys AS (
    SELECT {{columns}}, CAST(CASE
        WHEN calib_inner >= {MIN_INNER_KEY:e} AND calib_inner <= {MAX_INNER_KEY:e} THEN calib_inner
        WHEN calib_score > 5e-1 THEN {2 * GRID_STEPS - MIN_INNER_KEY + 1:e}
            - (CASE WHEN calib_fold > 0e0 THEN 0e0 ELSE calib_fold END)
        ELSE {MIN_INNER_KEY - 1:e} + (CASE WHEN calib_fold > 0e0 THEN 0e0 ELSE calib_fold END)
        END AS BIGINT) * {KEYS_PER_CELL} AS calib_key FROM {{step}}folds
)
{{names_row}}{{none}} UNION ALL SELECT {VERSION}, 'set aside', calib_reason, CAST(NULL AS TEXT), """
    + NO_CELLS.format(rows="COUNT(*)")
    + """{none}
FROM {step}sorted WHERE calib_reason <> '' GROUP BY calib_reason UNION ALL {groups}
"""
)


def _group(role: str, cut: Mapping[str, str], step: str, *, crossed: bool) -> str:
    """Count cells by one or two columns. `cut` maps each column to the alias of its values."""
    columns, values = (
        [text_of(name, "duckdb") for name in cut] or ["''"],
        [*cut.values()] or ["CAST(NULL AS TEXT)"],
    )
    more = f", {columns[1]}, {values[1]}" if len(cut) > 1 else NOT_CROSSED if crossed else ""
    return (
        f"SELECT {VERSION}, '{role}', {columns[0]}, {values[0]}, calib_key, calib_outcome, "
        "COUNT(*), SUM(calib_w), SUM(calib_w * calib_w), SUM(calib_w * calib_score), "
        f"MIN(calib_score), MAX(calib_score){more} FROM {step}keys "
        f"GROUP BY {', '.join([*cut.values(), 'calib_key', 'calib_outcome'])}"
    )


def _number(name: str, dialect: str) -> str:
    return f"CAST({_column(name, dialect)} AS DOUBLE)"


def _column(name: str, dialect: str) -> str:
    return f"calib_rows_of.{quoted(identifier(name, dialect), 'duckdb')}"


SUMS = {"weight": "calib_weight", "weight_sq": "calib_weight_sq", "score_sum": "calib_score_sum"}
ROLES = ("all", "slice", "crossing", "time")
ENDS = {"low": "calib_low", "high": "calib_high"}


def is_result(path: Any) -> bool:
    """Whether a file is a saved result of the query of `scan_sql`."""
    if not isinstance(path, BufferedIOBase) and not (
        isinstance(path, str | Path) and Path(path).is_file()
    ):
        return False
    with _opened(path) as file:
        try:
            names = pq.read_schema(file).names
        except (pa.ArrowException, OSError):
            file.seek(0)
            first = file.readline(4096).decode("utf-8-sig", "replace")
            names = [name.strip(' "\r\n') for name in first.split(",")]
    return {name.casefold() for name in names} >= set(COLUMNS)


def _opened(path: str | Path | BufferedIOBase) -> AbstractContextManager[BufferedIOBase]:
    return nullcontext(path) if isinstance(path, BufferedIOBase) else open(path, "rb")


def read_result(
    path: str | Path | BufferedIOBase,
    positive: object = None,
    negative: object = None,
    others_negative: bool = False,
) -> Aggregate:
    """Read a saved result of the query of `scan_sql` as an Aggregate.

    The file is CSV with commas and a header, or Parquet. The positive label is guessed if it is not
    given. Raises InputError if scores are outside [0, 1], it is unclear which label is positive, or
    the file is from another version.
    """
    file_name = Path(path).name if isinstance(path, str | Path) else "The file"
    frame = _frame(path)
    versions = set(frame["calib_version"])
    if versions != {VERSION}:
        raise refuse("version", file=file_name, versions=sorted(map(str, versions)), own=VERSION)
    names = frame[frame["calib_role"] == "names"].iloc[0]
    reasons = frame[frame["calib_role"] == "set aside"]
    set_aside = dict(zip(reasons["calib_column"], map(int, reasons["calib_rows"]), strict=True))
    if outside := set_aside.get("score outside", 0):
        raise refuse("outside.counted", column=names["calib_column"], count=outside)
    mapping = Columns(
        outcome=names["calib_value"],
        score=names["calib_column"],
        positive=as_label_texts(positive),
        negative=as_label_texts(negative),
        others_negative=others_negative,
    )
    cells, class_names, unused = _with_outcomes(frame, mapping)
    set_aside |= unused
    # If no cell holds two scores, each can have its score as its key.
    ends = cells.groupby("calib_key").agg(low=("calib_low", "min"), high=("calib_high", "max"))
    cells = cells.assign(exact=bool((ends["low"] == ends["high"]).all()))
    parts: list[Part] = []
    pieces, time_kind = [], ""
    groups = dict(iter(cells.groupby(["calib_role", "calib_column", "calib_column2"], sort=False)))
    for role, *columns in sorted(groups, key=lambda names: ROLES.index(names[0])):
        entries, column = groups[role, *columns], crossed_name(filter(None, columns))
        values, codes, kind = _values(entries, role, columns)
        time_kind = kind or time_kind
        pieces.append(_piece(entries, codes, len(parts)))
        parts += [Part("", column if values else "", value) for value in (values or ("",))]
    time = next((column for role, column, _ in groups if role == "time"), "")
    return joined_pieces(
        parts,
        pieces,
        name=stem(file_name),
        score_name=names["calib_column"],
        outcome_name=names["calib_value"],
        positive_name=class_names[1],
        class_names=class_names,
        time_name=time,
        time_kind=time_kind,
        weighted=bool((cells["calib_weight"] != cells["calib_rows"]).any()),
        set_aside=set_aside,
    )


def _frame(path: str | Path | BufferedIOBase) -> pd.DataFrame:
    texts = ["calib_role", "calib_column", "calib_value", "calib_outcome"]
    with _opened(path) as file:
        file.seek(0)
        packed = file.read(4) == b"PAR1"
        file.seek(0)
        # Pandas must not convert texts, because a slice can be called 007 or NA.
        frame = (
            pd.read_parquet(file)
            if packed
            else pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        )
    frame.columns = frame.columns.str.casefold()
    frame = frame.reindex(columns=[*COLUMNS, *CROSSED])
    numbers = [name for name in COLUMNS if name not in texts]
    frame = frame.replace("", None)
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    names = frame[["calib_column", "calib_column2"]].astype(object).fillna("").astype(str)
    return frame.assign(**names)


def _with_outcomes(
    frame: pd.DataFrame, mapping: Columns
) -> tuple[pd.DataFrame, tuple[str, str], dict[str, int]]:
    """Cells with usable outcomes, names of the classes, and numbers of other rows by reason."""
    cells = frame[frame["calib_key"].notna()]
    if cells.empty:
        raise refuse("no-rows.query")
    all_rows = cells[cells["calib_role"] == "all"]
    counts = all_rows.groupby("calib_outcome")["calib_rows"].sum().sort_values(kind="stable")
    facts, codes, _ = outcome_facts(counts.index.to_series(), counts, mapping)
    mapping, meaning = facts.mapping, meaning_of(facts, codes)
    meaning_of_cell = cells["calib_outcome"].map(dict(zip(counts.index, meaning, strict=True)))
    usable = meaning_of_cell >= 0
    cells = cells[usable].assign(positive=meaning_of_cell[usable] == 1)
    reasons = {"unknown": codes < 0, NEITHER: (codes >= 0) & (meaning < 0)}
    unused = {f"outcome {why}": int(counts[rows].sum()) for why, rows in reasons.items()}
    return cells, class_names(facts.labels, mapping), {why: n for why, n in unused.items() if n}


def _values(
    cells: pd.DataFrame, role: str, columns: Sequence[str]
) -> tuple[tuple[str, ...], IntArray, str]:
    """Names of the values of a column or of two, the code of each entry, and the kind of times."""
    if role == "all":
        return (), np.zeros(len(cells), dtype=np.int64), ""
    rows = cells["calib_rows"]
    names, codes, kind = _column_values(cells["calib_value"], rows, role, columns[0])
    if role != "crossing":
        return names, codes, kind
    others, other_codes, _ = _column_values(cells["calib_value2"], rows, role, columns[1])
    names, codes = crossed((names, codes), (others, other_codes))
    if len(names) > MAX_VALUES:
        raise refuse("many-values", message=too_many(columns, len(names)))
    return names, codes, kind


def _column_values(
    values: pd.Series, rows: pd.Series, role: str, column: str
) -> tuple[tuple[str, ...], IntArray, str]:
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    series = pd.Series(distinct)
    if role == "time":
        times = read_times(series, as_times(series), Columns(time=column))
        names, code_of = days_or_values(times)
        return names, code_of[codes], times.dtype.kind
    counts = np.bincount(codes, rows, minlength=len(distinct)).astype(np.int64)
    names, code_of = named_slices(series, counts, column)
    return names, code_of[codes], ""


def _piece(cells: pd.DataFrame, codes: IntArray, first_part: int) -> tuple[Strata, CellTable]:
    exact = bool(cells["exact"].iloc[0])
    low = cells["calib_low"].to_numpy(np.float64) + 0.0
    columns = {name: cells[column].to_numpy(np.float64) for name, column in (SUMS | ENDS).items()}
    table = CellTable(
        exact,
        codes,
        low.view(np.int64) if exact else cells["calib_key"].to_numpy(np.int64),
        cells["positive"].to_numpy(np.bool_),
        cells["calib_rows"].to_numpy(np.int64),
        **columns,
    )
    # Spellings of one label, and values of one range, may leave several entries to be joined.
    table = add_tables(table, table.pick(np.zeros(0, dtype=np.int64)))
    present, stratum = np.unique(table.stratum, return_inverse=True)
    not_counted = np.full(len(present), NO_SLICE, dtype=np.int64)
    return Strata(present + first_part, not_counted, not_counted, not_counted), replace(
        table, stratum=stratum
    )
