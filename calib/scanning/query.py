"""The counting query as text, for engines to which calib cannot connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import sqlglot

from calib.data.slicing import singles_and_pairs
from calib.numerics.cell_table import KEYS_PER_CELL
from calib.numerics.score_grid import (
    EDGE_ROUNDING,
    GRID_STEPS,
    KEY_OF_ZERO,
    KEYS_PER_E_FOLD,
    MAX_INNER_KEY,
    MIN_INNER_KEY,
    TAIL_END,
)
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
