"""A calibrator as a query: a chain of CTEs whose last one has the calibrated column."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from calib.exports.codec import ExportError
from calib.exports.recording import Expressions, Node, Program
from calib.numerics.arrays import FloatArray
from calib.numerics.elementary import LOG2_E
from calib.numerics.splines import Pieces

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal[
    "duckdb", "postgres", "sqlite", "spark", "databricks", "bigquery", "snowflake", "redshift",
    "trino", "clickhouse", "tsql", "mysql",
]  # fmt: skip
DIALECTS: tuple[str, ...] = get_args(Dialect)
# Where a subquery may be merged into the one that reads it, each step would be computed again for
# every place that it is read in.
MATERIALIZED = ("duckdb", "postgres", "sqlite")
# There a number such as 1e-3 is a decimal, not a double.
DECIMAL = ("postgres", "redshift")
TINY = "1e-307"
HERE = ("duckdb", "sqlite")  # engines that are always installed
PLAIN = re.compile("[a-z_][a-z0-9_]{0,62}")
STEP = re.compile(r"(\),|\)) ((?:calib_\d+ AS|SELECT \*,) ?)")
SHORT_DIGITS = 15  # that every reader of numbers reads to the last bit


def e_notation(value: float) -> str:
    """A double in at most 17 digits, always with an exponent.

    >>> e_notation(0.5), e_notation(-2.0), e_notation(1.0 / 3.0)
    ('5e-1', '-2e0', '3.333333333333333e-1')
    """
    digits, exponent = np.format_float_scientific(abs(value), trim="-", exp_digits=1).split("e")
    text = f"{digits}e{int(exponent)}"
    return f"-{text}" if value < 0.0 else text


@dataclass(frozen=True, slots=True)
class Choices:
    dialect: str = "duckdb"  # of SQL
    table: str = "scores"  # table that the query reads
    columns: tuple[str, ...] = ("score",)  # columns of the scores: one, or one per class

    @property
    def outputs(self) -> tuple[str, ...]:
        if len(self.columns) == 1:
            return ("calibrated",)
        return tuple(f"calibrated_{name}" for name in self.columns)


class _Sql(Expressions):
    words: ClassVar[Mapping[str, str]] = {
        "where": "CASE WHEN {0} THEN {1} ELSE {2} END",
        "floor": "FLOOR({0})",
        "exponent": f"FLOOR(LN({{0}}) * {e_notation(LOG2_E)} + 5e-1)",
        "power": "POWER(2e0, {0})",
    }

    def number(self, value: float) -> str:
        return e_notation(value)

    def pieces(self, node: Node, argument: str) -> str:
        assert node.pieces is not None
        return self._halves(node.pieces, argument, 0, len(node.pieces.centers))

    def _halves(self, pieces: Pieces, x: str, first: int, stop: int) -> str:
        """A balanced CASE over the pieces from the first to before the last."""
        if stop - first == 1:
            return self._polynomial(pieces, x, first)
        middle = (first + stop) // 2
        relation = "<" if pieces.closed == "left" else "<="
        edge = self.number(float(pieces.edges[middle - 1]))
        low, high = (self._halves(pieces, x, *part) for part in ((first, middle), (middle, stop)))
        return f"CASE WHEN {x} {relation} {edge} THEN {low} ELSE {high} END"

    def _polynomial(self, pieces: Pieces, x: str, piece: int) -> str:
        powers = np.trim_zeros(pieces.coefficients[piece], "b").tolist() or [0.0]
        text = self.number(powers[-1])
        for coefficient in powers[-2::-1]:
            center = self.number(float(pieces.centers[piece]))
            text = f"({text} * ({x} - {center}) + {self.number(coefficient)})"
        return text


def sql_text(program: Program, choices: Choices) -> str:
    """The query in a dialect, without comments."""
    import sqlglot

    if not (choices.table and all(choices.columns)):
        raise ExportError("SQL needs a name for the table and for every column, got an empty one.")
    if len({column.casefold() for column in choices.columns}) < len(choices.columns):
        raise ExportError(
            "SQL does not distinguish upper and lower case: name the columns of the scores by "
            "columns, or on the command line by --column."
        )
    query, dialect = sqlglot.parse_one(_duckdb(program, choices), read="duckdb"), choices.dialect
    if dialect in DECIMAL:
        query = query.transform(_as_double)
    if dialect == "sqlite":
        query = query.transform(_exact)
    # One step per line; with more line breaks a formula fills pages.
    return STEP.sub(r"\1\n\2", query.sql(dialect=dialect))


def _duckdb(program: Program, choices: Choices) -> str:
    """The query as DuckDB would read it, from which sqlglot writes the others."""
    dialect, columns = choices.dialect, choices.columns
    inputs = tuple(f"calib_s{k}" for k in range(program.n_inputs))
    code = _Sql(program, inputs)
    code._names = {key: f"calib_{name}" for key, name in code._names.items()}
    kept = "MATERIALIZED " if dialect in MATERIALIZED else ""
    given = ", ".join(
        f"{_guarded(quoted(c), dialect)} AS {s}" for c, s in zip(columns, inputs, strict=True)
    )
    steps = [f"calib_0 AS {kept}(SELECT *, {given} FROM {quoted(choices.table)})"]
    for i, level in enumerate(_levels(program), 1):
        made = ", ".join(f"{code.whole(node)} AS {code.name_of(node)}" for node in level)
        steps.append(f"calib_{i} AS {kept}(SELECT *, {made} FROM calib_{i - 1})")
    all_given = " AND ".join(f"{s} IS NOT NULL" for s in inputs)
    results = ", ".join(
        f"CASE WHEN {all_given} THEN {code.of(node)} END AS {quoted(name)}"
        for node, name in zip(program.outputs, choices.outputs, strict=True)
    )
    return f"WITH {', '.join(steps)} SELECT *, {results} FROM calib_{len(steps) - 1}"


def _guarded(column: str, dialect: str) -> str:
    """The column as a double, or NULL if it is no score. NaN fails a comparison or is above 1."""
    value = f"CAST({column} AS DOUBLE)"
    scores = f"{value} >= 0e0 AND {value} <= 1e0"
    if dialect in DECIMAL:
        # These stop with an error where a product is rounded to 0.
        return f"CASE WHEN {scores} THEN CASE WHEN {value} < {TINY} THEN 0e0 ELSE {value} END END"
    return f"CASE WHEN {scores} THEN {value} END"


def _levels(program: Program) -> list[list[Node]]:
    """Named nodes by how many other names they stand on."""
    named, height = {id(node) for node in program.named}, dict[int, int]()
    levels: list[list[Node]] = []
    for node in program.order:
        below = max((height[id(a)] + (id(a) in named) for a in node.args), default=0)
        height[id(node)] = below
        if id(node) in named:
            while len(levels) <= below:
                levels.append([])
            levels[below].append(node)
    return levels


def quoted(name: str) -> str:
    """A table or column name, quoted if it must be.

    >>> quoted("score"), quoted("My score")
    ('score', '"My score"')
    """
    return name if PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _as_double(node: exp.Expression) -> exp.Expression:
    from sqlglot import exp

    if isinstance(node, exp.Literal) and not node.is_string:
        return exp.cast(exp.Literal.string(node.name), "DOUBLE")
    return node


def _exact(node: exp.Expression) -> exp.Expression:
    """SQLite may read 17 digits wrong by the last bit: a whole number over powers of two."""
    from sqlglot import exp

    if not isinstance(node, exp.Literal) or node.is_string:
        return node
    if len(node.name.split("e")[0].replace(".", "")) <= SHORT_DIGITS:
        return node
    mantissa, exponent = np.frexp(float(node.name))
    text, left = f"{int(float(mantissa) * 2**53)}.0", 53 - int(exponent)
    sign = "/" if left > 0 else "*"
    left = abs(left)
    while left:
        step = min(left, 60)
        text, left = f"({text} {sign} {2**step}.0)", left - step
    return exp.maybe_parse(text, dialect="sqlite")


def run(content: bytes, scores: FloatArray, choices: Choices) -> FloatArray:
    """What the query gives for each row, by SQLite in its own dialect, else by DuckDB."""
    query = runnable(content.decode(), choices.dialect)
    run_it = _run_sqlite if choices.dialect == "sqlite" else _run_duckdb
    return run_it(query, scores, choices.columns, quoted(choices.table))


def _run_duckdb(query: str, scores: FloatArray, columns: tuple[str, ...], table: str) -> FloatArray:
    """DuckDB may read and write nothing else."""
    import duckdb
    import pandas as pd

    frame = pd.DataFrame(dict(zip(columns, np.atleast_2d(scores.T), strict=True)))
    frame["calib_row"] = np.arange(len(frame))
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("calib_given", frame)
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM calib_given")
        connection.execute("SET lock_configuration = true")
        made = connection.execute(query).df().sort_values("calib_row")
    return made.iloc[:, -len(columns) :].to_numpy(np.float64).reshape(scores.shape)


def _run_sqlite(query: str, scores: FloatArray, columns: tuple[str, ...], table: str) -> FloatArray:
    with closing(sqlite3.connect(":memory:")) as connection:
        named = ", ".join(f"{quoted(c)} REAL" for c in columns)
        connection.execute(f"CREATE TABLE {table} ({named}, calib_row INTEGER)")
        rows = np.column_stack([scores, np.arange(len(scores))]).tolist()
        marks = ", ".join("?" * (len(columns) + 1))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        made = connection.execute(query).fetchall()
    made.sort(key=lambda row: row[len(columns)])
    values = [row[-len(columns) :] for row in made]
    return np.array(values, dtype=np.float64).reshape(scores.shape)


# All that an exported query consists of.
ALLOWED = (
    "Add", "Alias", "And", "Boolean", "Case", "Cast", "Column", "CTE", "DataType", "DataTypeParam",
    "Div", "Floor", "From", "GT", "GTE", "Identifier", "If", "Is", "LT", "LTE", "Literal",
    "Ln", "Log", "Mul", "Neg", "Not", "Null", "Paren", "Pow", "Select", "Star", "Sub", "Table",
    "TableAlias", "TryCast", "With",
)  # fmt: skip


def runnable(text: str, dialect: str) -> str:
    """The query itself, or as DuckDB reads it, if it is one SELECT of arithmetic over the table."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        # A comment after the last semicolon is a statement of its own kind.
        parsed = [each for each in sqlglot.parse(text, read=dialect) if each is not None]
        queries = [each for each in parsed if type(each).__name__ != "Semicolon"]
    except SqlglotError as error:
        raise ValueError(f"The query must be readable as {dialect}.") from error
    if len(queries) != 1:
        raise ValueError(f"The file must hold one query, got {len(queries)}.")
    for node in queries[0].walk():
        if type(node).__name__ not in ALLOWED:
            raise ValueError(
                f"The query must be made of arithmetic alone, got {type(node).__name__}."
            )
        if type(node).__name__ == "Table" and (node.args.get("db") or node.args.get("catalog")):
            raise ValueError(f"The query must read one table, got {node.sql()}.")
    if dialect in HERE:
        return text
    query = queries[0].transform(_wide) if dialect == "tsql" else queries[0]
    return query.sql(dialect="duckdb", comments=False)


def _wide(node: exp.Expression) -> exp.Expression:
    """FLOAT of T-SQL has 53 bits; sqlglot takes it for the FLOAT of others, which has 24."""
    from sqlglot import exp

    if isinstance(node, exp.DataType) and node.is_type("float"):
        return exp.DataType.build("double")
    return node
