"""A calibrator as a query: one SELECT with the formula, after SELECTs that name its parts."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Literal

import numpy as np

from calib.calibrators.forms import Form, RowsForm
from calib.data.strict_json import added
from calib.exports.condition import Condition
from calib.exports.document import ExportError, Language, Text, polynomial
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces
from calib.sql_names import identifier, quoted, table_of, text_of, unused_prefix
from calib.text import quoted as quotation

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Engine:
    """The differences between databases."""

    name: str
    double: str = "DOUBLE"
    cast: str = "CAST({name} AS {double})"
    # A table of constants is VALUES, VALUES without names of columns, or UNION ALL.
    constants: Literal["values", "unnamed", "union"] = "values"
    log: str = "LN"
    greatest: str = "GREATEST"
    # In a strict engine 1e-3 is a decimal number, and a product that is rounded to 0 is an error.
    strict: bool = False
    # Without MATERIALIZED it copies a named expression to every place of its use, and copies of
    # copies grow exponentially: 2,000 rows of a structured matrix took SQLite 80 s.
    materialized: bool = False


DIALECTS: Mapping[str, Engine] = {
    "duckdb": Engine("DuckDB"),
    "postgres": Engine("PostgreSQL", "FLOAT8", strict=True, materialized=True),
    "sqlite": Engine("SQLite", "REAL", constants="unnamed", greatest="MAX", materialized=True),
    "spark": Engine("Spark SQL"),
    "databricks": Engine("Databricks"),
    "bigquery": Engine("BigQuery", "FLOAT64", constants="union"),
    "snowflake": Engine("Snowflake"),
    "redshift": Engine("Redshift", "FLOAT8", constants="union", strict=True),
    "trino": Engine("Trino"),
    "clickhouse": Engine("ClickHouse", "Nullable(Float64)", "{name}::{double}", constants="union"),
    "tsql": Engine("SQL Server", "FLOAT", log="LOG"),
    "mysql": Engine("MySQL", constants="union"),
}
INSTALLED_DIALECTS = ("duckdb", "sqlite")  # Their engines are always installed.
MAX_LINE_LENGTH = 100
MAX_CASES = 64  # More pieces, and curved ones, are a table that is joined by the piece's number.
MAX_BRANCHES = 10  # Larger CASEs are nested, so that a row passes few comparisons.
MAX_STRICT_ZERO = "1e-300"  # In strict engines scores up to it count as 0.


def e_notation(value: float) -> str:
    """A double in at most 17 digits, always with an exponent: without one it may be a decimal.

    >>> e_notation(0.5), e_notation(-2.0), e_notation(1.0 / 3.0)
    ('5e-1', '-2e0', '3.333333333333333e-1')
    """
    digits, exponent = np.format_float_scientific(abs(value), trim="-", exp_digits=1).split("e")
    text = f"{digits}e{int(exponent)}"
    return f"-{text}" if value < 0.0 else text


@dataclass(frozen=True, slots=True)
class Choices:
    """The dialect, the table and the columns of a query."""

    dialect: str = "duckdb"
    table: str = "scores"  # The query reads this table.
    columns: tuple[str, ...] = ("score",)  # There is one column of scores, or one per class.
    condition: Condition | None = added(None)  # Other rows keep their score.

    def name(self, name: str) -> str:
        """A name in the quotes of the dialect."""
        return quoted(identifier(name, self.dialect), self.dialect)

    @property
    def source(self) -> exp.Table:
        return table_of(self.table, self.dialect)

    @property
    def given(self) -> dict[exp.Identifier, str]:
        """The columns that are read: of scores, and those of the condition with their values."""
        columns = dict.fromkeys(self.columns, "")
        columns |= {} if self.condition is None else self.condition.example
        return {identifier(name, self.dialect): value for name, value in columns.items()}

    @property
    def prefix(self) -> str:
        """The names of steps and helper columns begin with this."""
        return unused_prefix([self.source.name, *(column.name for column in self.given)])

    @property
    def outputs(self) -> list[str]:
        """The names of the calibrated columns, which the query does not read."""
        inputs = [column.name for column in self.given]
        names = [f"calibrated_{name}" for name in inputs[: len(self.columns)]]
        names = names if len(names) > 1 else ["calibrated"]
        while {name.casefold() for name in names} & {name.casefold() for name in inputs}:
            names = [f"{name}_" for name in names]
        return names


class Sql(Language):
    """Each `let` is a SELECT that adds columns to those before it."""

    exp_name = "EXP"

    def __init__(self, choices: Choices) -> None:
        # Queries for classes are long, so they have one line per SELECT or per class.
        self.line = "\n" if len(choices.columns) == 1 else " "
        self.engine = DIALECTS[choices.dialect]
        self.log_name, self.greatest_name = self.engine.log, self.engine.greatest  # type: ignore[misc]
        self.choices, self.prefix = choices, choices.prefix
        self.selects: list[str] = []
        self._source = quoted(choices.source, choices.dialect)
        self._joins: list[str] = []
        self._used: dict[str, int] = {}

    def step(self, number: int) -> str:
        return self.choices.name(f"{self.prefix}{number}")

    def number(self, value: float) -> str:
        return e_notation(value)

    def assign(self, name: str, columns: Sequence[Text]) -> Sequence[Text]:
        aliases = [self._unused(name, only=len(columns) == 1) for _ in columns]
        self.selects.append(self.select(columns, aliases))
        self._source, self._joins = self.step(len(self.selects)), []
        return [self.atom(alias) for alias in aliases]

    def _unused(self, name: str, *, only: bool = True) -> str:
        number = self._used[name] = self._used.get(name, 0) + 1
        unused = name if only and number == 1 else f"{name}{number}"
        return self.choices.name(f"{self.prefix}{unused}")

    def select(self, columns: Sequence[Text], names: Sequence[str]) -> str:
        """All columns of the SELECT before, and new ones."""
        every = f"{self._source}.*" if self._joins else "*"
        aliased = [f"{text} AS {name}" for text, name in zip(columns, names, strict=True)]
        # Long expressions of a matrix are easier to read on separate lines.
        between = ",\n" if len(aliased) > 1 and max(map(len, aliased)) > MAX_LINE_LENGTH else ", "
        source = " ".join([f"FROM {self._source}", *self._joins])
        return f"SELECT {every}, {between.join(aliased)}{self.line}{source}"

    def choose(self, condition: Text, yes: Text | float, no: Text | float) -> Text:
        rest = str(no if isinstance(no, Text) else self.constant(no))
        rest = rest.removeprefix("CASE ") if rest.startswith("CASE WHEN") else f"ELSE {rest} END"
        first = yes if isinstance(yes, Text) else self.constant(yes)
        return self.atom(f"CASE WHEN {condition} THEN {first} {rest}")

    def clip(self, x: Text, low: float, high: float) -> Text:
        return self.choose(x < low, low, self.choose(x > high, high, x))

    def total(self, row: Sequence[Text]) -> Text:
        return self.atom(f"NULLIF({super().total(row)}, 0)")

    def exp(self, x: Text) -> Text:
        power = super().exp(x)
        return self.choose(x < -700, 0, power) if self.engine.strict else power

    def score(self, column: str, limits: tuple[float, float], ends: tuple[float, float]) -> Text:
        """The column as a double within the ends, or NULL if it is not a score."""
        name = self.choices.name(column)
        value = self.engine.cast.format(name=name, double=self.engine.double)
        # SQLite casts text that is not a number to 0, which is not equal to the text.
        branches = [(f"{value} <> {name}", "NULL")] if self.choices.dialect == "sqlite" else []
        low, high = (str(int(end)) if abs(end) < 1000.0 else self.number(end) for end in limits)
        if ends != limits:
            first, last = map(self.number, ends)
            branches += [(f"{value} BETWEEN {low} AND {first}", first)]
            branches += [(f"{value} BETWEEN {last} AND {high}", last)]
        elif self.engine.strict and not limits[0]:
            branches += [(f"{value} BETWEEN 0 AND {MAX_STRICT_ZERO}", "0")]
        branches += [(f"{value} BETWEEN {low} AND {high}", value)]
        cases = " ".join(f"WHEN {condition} THEN {result}" for condition, result in branches)
        return self.atom(f"CASE {cases} END")

    def where(self, condition: Condition, inside: str, outside: str) -> str:
        """The calibrated score of the rows of a condition, and the score of all others."""
        name, dialect = self.choices.name, self.choices.dialect
        first = text_of(condition.since, dialect)
        # SQLite has no dates. Its text of dates has the order of time.
        first = first if dialect == "sqlite" else f"CAST({first} AS DATE)"
        terms = [f"{name(condition.time)} >= {first}"]
        if condition.column:
            terms.append(f"{name(condition.column)} = {text_of(condition.value, dialect)}")
        return f"CASE WHEN {' AND '.join(terms)} THEN {inside} ELSE {outside} END"

    def pieces(self, pieces: Pieces, x: Text) -> Text:
        (x,) = self.let("x", x)
        n, powers = pieces.coefficients.shape
        if n > MAX_CASES or powers > 2:
            return self._joined(pieces, x)
        leaves = [self._leaf(pieces, i, x) for i in range(n)]
        case = f"CASE WHEN {x} IS NOT NULL THEN {self._cases(pieces, x, leaves)} END"
        # In a strict engine a CASE with only decimal numbers gives a decimal number.
        return self.atom(f"CAST({case} AS {self.engine.double})" if self.engine.strict else case)

    def _leaf(self, pieces: Pieces, piece: int, x: Text) -> str:
        """The straight line of one piece."""
        constant, *slope = pieces.coefficients[piece].tolist()
        if not any(slope):
            return self.number(constant)
        return str(slope[0] * (x - pieces.centers[piece].item()) + constant)

    def _cases(self, pieces: Pieces, x: Text, leaves: Sequence[str], first: int = 0) -> str:
        """Nested CASEs of few branches, over pieces that begin with the first."""
        if len(leaves) == 1:
            return leaves[0]
        relation = "<" if pieces.closed == "left" else "<="
        cuts = np.linspace(0, len(leaves), min(MAX_BRANCHES, len(leaves)) + 1).astype(int).tolist()
        parts = [
            self._cases(pieces, x, leaves[start:stop], first + start)
            for start, stop in pairwise(cuts)
        ]
        branches = [
            f"WHEN {x} {relation} {self.number(pieces.edges[first + stop - 1].item())} THEN {part}"
            for stop, part in zip(cuts[1:-1], parts[:-1], strict=True)
        ]
        return f"CASE {' '.join(branches)} ELSE {parts[-1]} END"

    def _joined(self, pieces: Pieces, x: Text) -> Text:
        """Horner's rule with the coefficients of the piece's row in a table."""
        n, powers = pieces.coefficients.shape
        tree = self._cases(pieces, x, [str(i) for i in range(n)])
        (number,) = self.let("piece", self.atom(f"CASE WHEN {x} IS NOT NULL THEN {tree} END"))
        table = self._unused("table")
        names = [*map(self.choices.name, ["piece", "start", *(f"c{d}" for d in range(powers))])]
        rows = np.column_stack([pieces.centers, pieces.coefficients]).tolist()
        constants = [[str(i), *map(self.number, row)] for i, row in enumerate(rows)]
        # The first row sets the types of the columns.
        if self.engine.strict:
            constants[0][1:] = [f"CAST({c} AS {self.engine.double})" for c in constants[0][1:]]
        listed = self._constants(table, names, constants)
        self._joins.append(f"LEFT JOIN {listed}\nON {table}.{names[0]} = {number}")
        start, *coefficients = (self.atom(f"{table}.{name}") for name in names[1:])
        return self.let("y", polynomial(coefficients, x - start if powers > 1 else x))[0]

    def _constants(self, table: str, names: list[str], rows: list[list[str]]) -> str:
        tuples = ",\n".join(f"({', '.join(row)})" for row in rows)
        if self.engine.constants == "values":
            return f"(VALUES\n{tuples}) AS {table}({', '.join(names)})"
        if self.engine.constants == "unnamed":
            renamed = ", ".join(f"column{i} AS {name}" for i, name in enumerate(names, 1))
            return f"(SELECT {renamed} FROM (VALUES\n{tuples})) AS {table}"
        first = ", ".join(f"{c} AS {name}" for c, name in zip(rows[0], names, strict=True))
        others = [f"UNION ALL SELECT {', '.join(row)}" for row in rows[1:]]
        return "\n".join([f"(SELECT {first}", *others]) + f") AS {table}"


def sql_text(form: Form | RowsForm, conversion: Conversion, choices: Choices) -> str:
    """The query in a dialect, without comments."""
    if not (choices.table and all(choices.columns)):
        raise ExportError("SQL needs a name for the table and for every column, got an empty one.")
    if not all(name.isprintable() for name in (choices.table, *choices.columns)):
        raise ExportError("Names in SQL must be of printable characters: name them by columns.")
    n_columns = len(choices.columns) + len(choices.condition.example if choices.condition else ())
    if len({column.name.casefold() for column in choices.given}) < n_columns:
        raise ExportError(
            "SQL does not distinguish upper and lower case: name the columns of the scores by "
            "columns, or on the command line by --column."
        )
    try:
        do, limits = Sql(choices), conversion.limits
    except ValueError as error:
        raise ExportError(str(error)) from None
    if isinstance(form, Form):
        plain = conversion == Conversion()
        ends = form.ends if plain else limits
        (s,) = do.let("s", do.score(choices.columns[0], limits, ends))
        result = form.finish(do, form.of(do, s)) if plain else conversion.calibrated(form, do, s)
        results = [result]
        if choices.condition is not None:
            results = [do.atom(do.where(choices.condition, str(results[0]), str(s)))]
    else:
        given = do.let("s", *(do.score(name, limits, limits) for name in choices.columns))
        results = list(form(do, conversion.of_row(do, given)))
    last = do.select(results, [*map(choices.name, choices.outputs)])
    # One score is a short formula, for which a stored copy of the table would be slower.
    hint = " MATERIALIZED" if do.engine.materialized and len(choices.columns) > 1 else ""
    steps = (f"{do.step(i)} AS{hint} ({text})" for i, text in enumerate(do.selects, 1))
    query = "WITH " + ",\n".join(steps) + f"\n{last};"
    if do.line == " ":
        return query
    return "\n".join(_filled(line, choices.dialect) for line in query.splitlines())


def _filled(line: str, dialect: str) -> str:
    """Break a long line, before the WHEN of a CASE if possible.

    A row of a table stays on one line.
    """
    if line.startswith(("(", "UNION")) or len(line) < MAX_LINE_LENGTH:
        return line
    parts: list[str] = []
    for clause in _split(_words(line, dialect), "WHEN", "ELSE"):
        for tokens in [clause] if _fits(clause) else _split(clause, "THEN"):
            parts += [" ".join(tokens)] if _fits(tokens) else tokens
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < MAX_LINE_LENGTH:
            lines[-1] += f" {part}"
        else:
            lines.append(f"  {part}")
    return "\n".join(lines)


def _words(line: str, dialect: str) -> list[str]:
    """What stands between blanks; a name or a text in quotes is not divided."""
    import sqlglot

    words, end = [""], -1
    for token in sqlglot.tokenize(line, read=dialect):
        if token.start > end + 1:
            words.append("")
        words[-1] += line[token.start : token.end + 1]
        end = token.end
    return words


def _split(tokens: list[str], *words: str) -> list[list[str]]:
    """Parts that begin with one of some words."""
    starts = [i for i, token in enumerate(tokens) if token in words and i]
    return [tokens[i:j] for i, j in pairwise([0, *starts, len(tokens)])]


def _fits(tokens: list[str]) -> bool:
    return len(" ".join(tokens)) <= MAX_LINE_LENGTH - 2


def changed_line(text: str, fresh: str, dialect: str) -> int:
    """The first line of a query with another word than the query that is written now, or 0.

    The layout, and the case and the quotes of names, can differ: earlier versions wrote quotes only
    around some names. Those that left out the quotes of a reserved word do not run.
    """
    from sqlglot import TokenType
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import TokenError

    reserved = {
        word.casefold()
        for name in DIALECTS
        for word in Dialect.get_or_raise(name).generator_class.RESERVED_KEYWORDS
    }
    try:
        words, expected = (Dialect.get_or_raise(dialect).tokenize(query) for query in (text, fresh))
    except TokenError as error:
        raise ExportError(f"The query was changed: {error}. Export it again.") from None
    for word, other in zip_longest(words, expected):
        if word is None or other is None or word.comments != other.comments:
            return int((word or other).line)
        same = (word.token_type, word.text) == (other.token_type, other.text)
        if not same and other.token_type == TokenType.IDENTIFIER:
            name, is_bare = word.text.casefold(), text[word.start : word.end + 1] == word.text
            allowed = word.token_type == TokenType.IDENTIFIER or (is_bare and name not in reserved)
            same = allowed and name == other.text.casefold()
        if not same:
            return int(word.line)
    return 0


def run(text: str, scores: FloatArray, choices: Choices) -> FloatArray:
    """Run the query for each row: SQLite's by SQLite, all others by DuckDB.

    Raises ExportError if the engine cannot run it.
    """
    import duckdb
    import sqlglot

    source, dialect = choices.source, choices.dialect
    if source.db:
        # The table of the test is in no schema.
        whole, alone = (f"FROM {quoted(name, dialect)}" for name in (source, source.this))
        text = text.replace(whole, alone, 1)
    try:
        return (_run_sqlite if dialect == "sqlite" else _run_duckdb)(text, scores, choices)
    except (duckdb.Error, sqlite3.Error, sqlglot.errors.SqlglotError) as error:
        name = "SQLite" if dialect == "sqlite" else "DuckDB"
        reason = str(error).partition("\n")[0]
        raise ExportError(
            f"{name} cannot run the query for {DIALECTS[dialect].name}. It says "
            f"{quotation(reason, 200)}. Choose other names of the table and its columns."
        ) from error


def _run_duckdb(query: str, scores: FloatArray, choices: Choices) -> FloatArray:
    import duckdb
    import pandas as pd

    if choices.dialect != "duckdb":
        query = read_as_duckdb(query, choices.dialect)
    given, n, row = choices.given, len(choices.columns), f"{choices.prefix}row"
    columns = [*np.atleast_2d(scores.T), *[*given.values()][n:]]
    names = [column.name for column in given]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    frame[row] = np.arange(len(frame))
    if choices.condition is not None:
        frame[names[n]] = pd.to_datetime(frame[names[n]])
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.from_df(frame).create(quoted(choices.source.this, "duckdb"))
        rows_of_query = connection.execute(query).df().sort_values(row)
    return rows_of_query.iloc[:, -n:].to_numpy(np.float64).reshape(scores.shape)


def _run_sqlite(query: str, scores: FloatArray, choices: Choices) -> FloatArray:
    given, n, table = choices.given, len(choices.columns), quoted(choices.source.this, "sqlite")
    row, example = choices.name(f"{choices.prefix}row"), [*choices.given.values()][n:]
    names = [quoted(column, "sqlite") for column in given]
    columns = [f"{name} {'REAL' if i < n else 'TEXT'}" for i, name in enumerate(names)]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {table} ({row} INTEGER, {', '.join(columns)})")
        marks = ", ".join("?" * (1 + len(names)))
        filled = [
            [i, *numbers, *example] for i, numbers in enumerate(scores.reshape(-1, n).tolist())
        ]
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", filled)
        rows_of_query = connection.execute(query).fetchall()
    rows_of_query.sort()
    return np.array([row[-n:] for row in rows_of_query], dtype=np.float64).reshape(scores.shape)


def computes_in_sqlite() -> bool:
    """Whether Python's SQLite was compiled with ln and e^x."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("SELECT LN(1), EXP(0)")
        except sqlite3.OperationalError:
            return False
    return True


def read_as_duckdb(text: str, dialect: str) -> str:
    """The query of another database as sqlglot reads it, written for DuckDB."""
    import sqlglot

    query = sqlglot.parse_one(text, read=dialect)
    return query.transform(_wide).sql(dialect="duckdb", comments=False)


def _wide(node: exp.Expression) -> exp.Expression:
    """FLOAT of T-SQL has 53 bits; sqlglot takes it for the FLOAT of others, which has 24."""
    from sqlglot import exp

    if isinstance(node, exp.DataType) and node.is_type("float"):
        return exp.DataType.build("double")
    return node
