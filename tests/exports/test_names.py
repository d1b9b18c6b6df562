"""Reserved words and hostile characters in names: queries run in engines, and parse in dialects."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import duckdb
import psycopg
import pytest
import sqlglot
from psycopg import sql
from sqlglot import exp

import calib
from calib.cli.main import main
from calib.exports import DIALECTS, Condition, ExportError, describe, export, offer, verify
from calib.exports.sql import Choices, sql_text
from calib.sql_names import identifier, table_of
from tests.exports.names import HOSTILE, reserved
from tests.rare import common_first, rare
from tests.store import postgres

COMMON = (*HOSTILE, "order", "user", "end", "select", "group", "all", "table", "window", "lateral")
NAMES = {
    "every sixth": COMMON[::6],
    "common": COMMON,
    "all": tuple(dict.fromkeys((*HOSTILE, *reserved()))),
}
SCORES = (0.25, 0.75)
# Engines have schemas of these names.
SCHEMAS = ("main", "memory", "system", "temp")


def in_quotes(name: str) -> str:
    """Names in double quotes, in the SQL of the tests and on the command line."""
    return '"' + name.replace('"', '""') + '"'


def schema_of(name: str) -> str:
    return "lake" if name in SCHEMAS else name


@pytest.fixture(scope="module")
def platt(fit):
    return describe(fit("platt"))


@pytest.fixture(scope="module")
def query(platt):
    """The query of a column, a table and a schema that all have one name."""

    def written(dialect: str, name: str) -> str:
        table = f"{in_quotes(schema_of(name))}.{in_quotes(name)}"
        choices = Choices(dialect, table, (in_quotes(name),))
        return sql_text(platt.form, platt.conversion, choices)

    return written


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    with (
        postgres.cluster(binaries) as folder,
        psycopg.connect(host=str(folder), user="calib", dbname="postgres", autocommit=True) as made,
    ):
        yield made


@contextmanager
def schema_in_duckdb(name: str) -> Iterator[str]:
    schema = in_quotes(schema_of(name))
    duckdb.execute(f"CREATE SCHEMA {schema}")
    try:
        yield schema
    finally:
        duckdb.execute(f"DROP SCHEMA {schema} CASCADE")


def in_duckdb(text: str, name: str) -> list[tuple]:
    with schema_in_duckdb(name) as schema:
        table, column = f"{schema}.{in_quotes(name)}", in_quotes(name)
        duckdb.execute(f"CREATE TABLE {table} ({column} DOUBLE)")
        duckdb.execute(f"INSERT INTO {table} VALUES (?), (?)", SCORES)
        return duckdb.execute(text).fetchall()


def in_sqlite(text: str, name: str) -> list[tuple]:
    schema, quoted = in_quotes(schema_of(name)), in_quotes(name)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"ATTACH ':memory:' AS {schema}")
        connection.execute(f"CREATE TABLE {schema}.{quoted} ({quoted} REAL)")
        connection.execute(f"INSERT INTO {schema}.{quoted} VALUES (?), (?)", SCORES)
        return connection.execute(text).fetchall()


def in_postgres(server: psycopg.Connection, text: str, name: str) -> list[tuple]:
    schema, quoted = sql.Identifier(schema_of(name)), sql.Identifier(name)
    server.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    try:
        parts = {"schema": schema, "name": quoted}
        made = "CREATE TABLE {schema}.{name} AS SELECT p::FLOAT8 AS {name} FROM (VALUES {p}) t(p)"
        parts["p"] = sql.SQL("(0.25), (0.75)")
        # With arguments, psycopg would read the name %s as the place of one.
        server.execute(sql.SQL(made).format(**parts))
        return server.execute(text).fetchall()
    finally:
        server.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


@pytest.mark.parametrize("names", common_first(["common", "all"], ["common"]))
@pytest.mark.parametrize(("dialect", "run"), [("duckdb", in_duckdb), ("sqlite", in_sqlite)])
def test_a_name_is_a_name_in_the_engines_that_are_installed(dialect, run, names, query, platt):
    expected = dict(zip(SCORES, platt.predict(SCORES), strict=True))
    for name in NAMES[names]:
        rows = {row[0]: row[-1] for row in run(query(dialect, name), name)}
        assert rows == pytest.approx(expected, rel=1e-12), name


@rare
def test_a_name_is_a_name_in_postgresql(query, platt, server):
    expected = dict(zip(SCORES, platt.predict(SCORES), strict=True))
    words = [word for (word,) in server.execute("SELECT word FROM pg_get_keywords()").fetchall()]
    assert len(words) > 400
    for name in dict.fromkeys((*NAMES["all"], *words)):
        rows = {row[0]: row[-1] for row in in_postgres(server, query("postgres", name), name)}
        assert rows == pytest.approx(expected, rel=1e-12), name


@pytest.mark.parametrize("names", common_first(["every sixth", "all"], ["every sixth"]))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_a_name_as_it_was_given(dialect, names, query):
    for name in NAMES[names]:
        # In BigQuery a dot within quotes is one between two parts, and columns have none. A number
        # sign begins the name of a temporary table in T-SQL.
        if (dialect, "." in name) == ("bigquery", True) or (dialect, name[0]) == ("tsql", "#"):
            continue
        tree = sqlglot.parse_one(query(dialect, name), read=dialect)
        (table,) = (table for table in tree.find_all(exp.Table) if table.db)
        steps = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        columns = {column.name for column in tree.find_all(exp.Column)}
        assert [part.name for part in table.parts] == [schema_of(name), name]
        assert name in columns
        assert name.casefold() not in steps
        assert len(columns) == 2  # The other one is calib_s.
        assert all(each.args["quoted"] for each in tree.find_all(exp.Identifier)), name
        assert tree.named_selects[-1].casefold() not in (name.casefold(), "*")


@pytest.mark.parametrize("names", common_first(["every sixth", "all"], ["every sixth"]))
def test_the_counting_query_has_any_names_in_duckdb(names):
    for name in NAMES[names]:
        score, outcome = in_quotes(f"{name} p"), in_quotes(name)
        with schema_in_duckdb(name) as schema:
            table = f"{schema}.{in_quotes(name)}"
            duckdb.execute(f"CREATE TABLE {table} ({outcome} TEXT, {score} DOUBLE)")
            duckdb.execute(f"INSERT INTO {table} VALUES ('yes', 0.2), ('no', 0.7)")
            columns = {"outcome": outcome, "score": score, "slices": [outcome]}
            rows = duckdb.execute(calib.scan_sql("duckdb", table=table, **columns)).df()
        counted = rows[rows["calib_role"] == "all"]
        assert sorted(counted["calib_outcome"]) == ["no", "yes"], name
        assert counted["calib_rows"].tolist() == [1, 1]


@rare
def test_the_counting_query_has_any_names_in_postgresql(server):
    for name in NAMES["all"]:
        schema, table = sql.Identifier(schema_of(name)), sql.Identifier(name)
        parts = {"schema": schema, "table": table, "p": sql.Identifier(f"{name} p")}
        table_name = f"{in_quotes(schema_of(name))}.{in_quotes(name)}"
        columns = {"outcome": in_quotes(name), "score": in_quotes(f"{name} p")}
        server.execute(sql.SQL("CREATE SCHEMA {schema}").format(**parts))
        made = "CREATE TABLE {schema}.{table} ({table} TEXT, {p} FLOAT8)"
        server.execute(sql.SQL(made).format(**parts))
        filled = "INSERT INTO {schema}.{table} VALUES ('yes', 0.2), ('no', 0.7)"
        server.execute(sql.SQL(filled).format(**parts))
        rows = server.execute(calib.scan_sql("postgres", table=table_name, **columns)).fetchall()
        server.execute(sql.SQL("DROP SCHEMA {schema} CASCADE").format(**parts))
        assert sorted(row[5] for row in rows if row[1] == "all") == ["no", "yes"], name


@pytest.mark.parametrize(("dialect", "plain", "upper"), [
    ("snowflake", "SCORE", "SCORE"),
    ("postgres", "score", "score"),
    ("redshift", "score", "score"),
    ("bigquery", "score", "Score"),
    ("clickhouse", "score", "Score"),
])  # fmt: skip
def test_a_plain_name_has_the_case_that_the_dialect_gives_it(dialect, plain, upper):
    assert identifier("score", dialect).name == plain
    assert identifier("Score", dialect).name == upper
    assert identifier('"Score"', dialect).name == "Score"


@pytest.mark.parametrize("name", [
    "", ".", "a.", ".a", "a..b", 'a"b', '"a"b', '"a', "a.b.c.d", "`a`", "[dbo].[t]",
])  # fmt: skip
def test_a_table_name_that_can_be_read_in_two_ways_is_refused(name, texts):
    with texts.raises(ValueError):
        table_of(name, "duckdb")


def test_the_command_line_names_tables_with_their_parts(platt, tmp_path, capsys):
    source, path = tmp_path / "map.json", tmp_path / "map.sql"
    source.write_text(platt.json() + "\n")
    names = {
        ("bigquery", "ds.scored"): "`ds`.`scored`",
        ("postgres", "public.Scored"): '"public"."scored"',
        ("snowflake", "db.public.scored"): '"DB"."PUBLIC"."SCORED"',
        ("tsql", 'dbo."2026.scores"'): "[dbo].[2026.scores]",
        ("sqlite", "calib_1"): "`calib_1`",
    }
    for (dialect, table), written in names.items():
        options = ["--dialect", dialect, "--table", table, "--column", "end"]
        assert main(["export", str(source), "-o", str(path), *options]) == 0
        assert f"FROM {written})" in path.read_text()
        assert main(["verify", str(path)]) == 0
    options = ["--dialect", "duckdb", "--table", "a.b.c.d"]
    assert main(["export", str(source), "-o", str(path), *options]) == 2
    capsys.readouterr()
    given = ["--table", "ds.scored", "--outcome", "end", "--score", "order"]
    assert main(["sql", "--dialect", "bigquery", *given]) == 0
    query = capsys.readouterr().out
    assert "`ds`.`scored`" in query
    assert "`calib_rows_of`.`order`" in query


def test_the_error_of_an_engine_is_a_sentence(platt, texts):
    with texts.raises(ExportError):
        offer(platt, ".sql", "sqlite", table="sqlite_master")
    with texts.raises(ExportError, "three parts in SQLite"):
        offer(platt, ".sql", "sqlite", table="a.b.c")
    with texts.raises(ExportError, "a dot in a column of BigQuery"):
        offer(platt, ".sql", "bigquery", columns=["a.b"])


def test_sqlite_does_not_read_the_name_of_a_missing_column_as_text(platt):
    text = offer(platt, ".sql", "sqlite", columns=["p"]).code
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE scores (score REAL)")
        with pytest.raises(sqlite3.OperationalError, match="no such column: p"):
            connection.execute(text)


@pytest.mark.parametrize("dialect", common_first(DIALECTS, ["sqlite", "bigquery"]))
def test_a_condition_has_any_names_and_values(dialect, platt):
    for value in ("it's", "a\\", 'a"b', "a`]", "-- a", "order"):
        condition = Condition("the day", "2026-05-01", f"{value} ", value)
        assert offer(platt, ".sql", dialect, condition=condition).run.deviation <= 1e-12


def bare(text: str, name: str) -> str:
    """As version 0.1 wrote it: without quotes around its own names, and around this one."""
    return re.sub(rf'"(calib\w*|{name})"', r"\1", text)


@pytest.mark.parametrize(("dialect", "name", "passes"), [
    ("duckdb", "p", True), ("postgres", "p", True),
    ("duckdb", "order", False), ("postgres", "user", False), ("trino", "end", False),
])  # fmt: skip
def test_a_file_of_an_earlier_version_passes_if_it_runs(
    dialect, name, passes, platt, tmp_path, texts
):
    path = export(platt, tmp_path / "map.sql", dialect, columns=[name])
    before, last = path.read_text().split("-- calib-file", 1)
    assert bare(before, name) != before
    path.write_text(f"{bare(before, name)}-- calib-file{last}")
    if passes:
        assert verify(path).deviation <= 1e-12
    else:
        with texts.raises(ExportError):
            verify(path)


@pytest.mark.parametrize(("old", "new"), [
    ('"score"', '"other"'), ('"score"', "'score'"), ('"score"', "E'score'"), ("EXP(", "ABS("),
    ("\nSELECT", " /* x */\nSELECT"), (";", "; SELECT 1;"), (";", ""), ("BETWEEN 0", "BETWEEN 0.1"),
])  # fmt: skip
def test_another_word_in_a_query_is_found(old, new, platt, tmp_path):
    path = export(platt, tmp_path / "map.sql")
    before, last = path.read_text().split("-- calib-file", 1)
    assert old in before
    path.write_text(f"{before.replace(old, new, 1)}-- calib-file{last}")
    with pytest.raises(ExportError, match=r"was changed"):
        verify(path)
