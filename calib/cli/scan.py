"""``scan`` and ``sql``: count predictions where they are stored, or print the query for it."""

from __future__ import annotations

import argparse
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from calib.cli.options import TABLE, Commands, add_columns, add_command, add_output
from calib.cli.predictions import doubts_printed, with_options
from calib.cli.streams import save_each, tell
from calib.data.aggregate import Aggregate
from calib.data.file_options import ColumnOptions
from calib.data.origin import Origin, read_as
from calib.loading.name_patterns import PLAIN_PAIRS
from calib.loading.problems import InputError

SCAN = """examples:
  calib scan predictions/ --outcome y --score p --slice region -o cells.parquet
  calib scan scores.duckdb --table scores --outcome y --score p -o cells.parquet
  calib report cells.parquet -o report.html
  calib scan predictions/ --outcome y --score p --cross region plan -o cells.parquet
  calib scan predictions/ --outcome y --models p_old --models p_new -o cells.parquet
  calib report cells.parquet --model-value p_new -o report.html
"""
SQL = """examples:
  calib sql --dialect snowflake --table scores --outcome y --score p --slice region
  calib report cells.csv -o report.html     (the result of the query, saved)
"""
DIALECTS = (
    *("snowflake", "bigquery", "databricks", "spark", "postgres"),
    *("redshift", "trino", "duckdb", "clickhouse", "tsql"),
)
OF_QUERY = ("outcome", "score", "slices", "cross", "time", "weight")
OF_SCAN = (*(field.name for field in fields(ColumnOptions)), "cross", "models", "name", "strict")


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "scan",
        run_scan,
        help="count predictions of any size into a small file of cells",
        description="Count predictions where they are stored, in bounded memory: Parquet, CSV or "
        "Arrow files, a folder of them, or a table of a DuckDB database. The cells, without "
        "rows, are written to a file that report and check read.",
        epilog=SCAN,
    )
    parser.add_argument(
        "sources", nargs="+", metavar="FILE", help="file, glob or folder, or - for standard input"
    )
    parser.add_argument("--table", metavar="NAME", help="table of a DuckDB database")
    add_columns(parser, OF_SCAN)
    parser.add_argument(
        "--view", default="", help="with one score column per class: top:1 (the default) or class:k"
    )
    add_output(parser, (".parquet",), help="file of cells to write, ending in .parquet")
    query = add_command(
        commands,
        "sql",
        run_sql,
        help="print the query that counts predictions in a warehouse",
        description="Print the query that counts predictions into cells. Run it in the warehouse, "
        "save its result as CSV or Parquet, and give that to report or check. No row leaves the "
        "warehouse.",
        epilog=SQL,
    )
    query.add_argument(
        "--dialect", choices=DIALECTS, required=True, help="SQL dialect of the warehouse"
    )
    query.add_argument("--table", metavar="NAME", required=True, help=TABLE)
    add_columns(query, OF_QUERY)


def run_scan(given: argparse.Namespace) -> int:
    _check_engine()
    from calib.scanning import scan

    arguments = _arguments(given, OF_SCAN)
    try:
        with doubts_printed():
            counted = scan(given.sources, table=given.table, view=given.view, **arguments)
    except InputError as error:
        raise with_options(error) from None
    save_each(given.output, counted.save)
    tell(_read_as(counted, arguments))
    rows = f"{counted.n_rows:,} rows in {len(counted.table):,} entries"
    aside = "".join(f"; set aside: {why}, {n:,}" for why, n in counted.set_aside.items())
    tell(f"{rows}{aside}")
    for model, noticed in counted.noticed.items():
        for sentence in noticed:
            tell(f"{model}: {sentence}" if model else sentence)
    return 0


def _read_as(counted: Aggregate, arguments: dict[str, Any]) -> str:
    """What the columns were read as, and which of outcome, score and positive were guessed."""
    plain = {name.casefold() for name in counted.class_names} in PLAIN_PAIRS
    stated = plain or arguments.get("positive") or counted.view_key != "class:1"
    return read_as(
        Origin(guessed=(*_not_named(arguments), *(() if stated else ("positive",)))),
        outcome=counted.outcome_name,
        score=counted.score_name or " and ".join(arguments.get("models", ())),
        positive=counted.positive_name,
    )


def _not_named(arguments: dict[str, Any]) -> list[str]:
    options = {"outcome": "outcome", "score": "models" if arguments.get("models") else "score"}
    return [role for role, name in options.items() if not arguments.get(name)]


def run_sql(given: argparse.Namespace) -> int:
    _check_engine()
    from calib.scanning import scan_sql

    arguments = _arguments(given, OF_QUERY)
    if not arguments.get("outcome"):
        raise ValueError("--outcome must name the column of the outcome.")
    if len(arguments.get("score", ())) != 1:
        count = len(arguments.get("score", ()))
        raise ValueError(f"--score must name the column of the score, one in all, got {count}.")
    (arguments["score"],) = arguments["score"]
    query = scan_sql(given.dialect, table=given.table, **arguments)
    print(query, end="")
    return 0


def _arguments(given: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    arguments = {name: value for name, value in vars(given).items() if name in names}
    arguments["slices"] = [*(arguments.get("slices") or ()), *map(tuple, arguments.pop("cross"))]
    return arguments


def _check_engine() -> None:
    for name in ("duckdb", "sqlglot"):
        if find_spec(name) is None:
            raise ValueError(f"Scanning needs {name}, which is not installed: pip install {name}.")
