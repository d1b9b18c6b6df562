"""Where rows are stored: files and databases, read by DuckDB, and frames, read by their engine."""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from calib.loading.building.from_rows import MAX_CODES
from calib.loading.columns import MAX_NAMES
from calib.loading.problems import refuse
from calib.loading.reading.budget import Budget
from calib.loading.reading.reader import stem
from calib.scanning.watching import DuckEngine, Engine, engine_of
from calib.text import joined, listed, quoted

# DuckDB writes to disk what does not fit.
MEMORY = "400MB"
PARQUET = (".parquet", ".pq", ".parq")
ARROW = (".arrow", ".feather", ".ipc")
DATABASES = (".duckdb", ".db", ".ddb")
# What DuckDB and Arrow say of files that are cut off or have other bytes than were written.
DAMAGED = re.compile(
    "No magic bytes|too small to be|TProtocolException|ecompression failure|Unexpected end of|"
    "not a GZIP stream|not a valid DuckDB database|Not an Arrow file"
)
# And Spark Connect of a server that is gone.
LOST = re.compile(r"RETRIES_EXCEEDED|StatusCode\.UNAVAILABLE|failed to connect to all addresses")
NAMED_FILE = re.compile(r"""['"]([^'"]+\.\w+)['"]|: (\S+\.\w+)$""")
# Without Boolean: "yes" stays "yes".
SPARK_SAYS = re.compile(r"\[[A-Z][A-Z_.]+\] .*")
# A sign, an exponent, infinity, and a zero or nothing behind or before the point.
UNUSUAL = r"^[+]|[eEiI]|[.][0-9]*0$|[.]$|^-?[.]"
CSV_TYPES = ["NULL", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]


@contextmanager
def opened(
    source: Any, table: str | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[tuple[nw.LazyFrame[Any], str, Engine]]:
    """Rows as a lazy frame, what they are called, and their engine, whose errors become sentences.

    The source is a path, a glob, a folder, several paths, or a frame; `table` is one of a DuckDB
    database. `roles` says what columns are for, or None that each may be for anything: columns of a
    CSV file that name groups, slices, folds or models are read as they are written.
    """
    with tempfile.TemporaryDirectory(prefix="calib-scan-") as scratch:
        limits = {"memory_limit": MEMORY, "temp_directory": scratch}
        connection = duckdb.connect(config={**limits, "preserve_insertion_order": False})
        try:
            connection.execute("SET enable_progress_bar = false")
            rows, own = _frame(connection, source, table, roles)
            engine = DuckEngine(connection) if own else engine_of(rows)
            yield rows, _name(source, table), engine
        except Exception as error:
            if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
                raise
            code = "damaged" if DAMAGED.search(str(error)) else "engine"
            raise refuse(code, _said(error, source)) from error
        finally:
            connection.close()


def is_file_of_rows(path: str) -> bool:
    """Whether a path is one file and not a database; it need not exist."""
    several = os.path.isdir(path) or (not os.path.exists(path) and bool(set(path) & set("*?[")))
    return not several and Path(path).suffix.lower() not in DATABASES


def rows_of(source: str, table: str | None = None) -> tuple[pa.Table, str]:
    """All rows of a folder, glob or table of a database, in memory, and what they are called."""
    with opened(source, table) as (rows, called, _):
        n_rows = int(rows.select(nw.len()).collect().item())
        Budget().check_cells(n_rows, len(rows.collect_schema()))
        return rows.collect(backend="pyarrow").to_native(), called


def _frame(
    connection: duckdb.DuckDBPyConnection,
    source: Any,
    table: str | None,
    roles: Mapping[str, str] | None,
) -> tuple[nw.LazyFrame[Any], bool]:
    """Rows as a lazy frame, and whether the connection reads them."""
    if isinstance(source, str | Path):
        source = [source]
    if isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source):
        found = [nw.from_native(_of_path(connection, str(one), table, roles)) for one in source]
        return found[0] if len(found) == 1 else nw.concat(found), True
    if isinstance(source, pd.DataFrame):
        source = pa.Table.from_pandas(source, preserve_index=False)
    if isinstance(source, pa.Table | pa.RecordBatchReader | ds.Dataset):
        _set_zone(connection, source.schema, roles)
        return nw.from_native(connection.from_arrow(source)), True
    try:
        return nw.from_native(source).lazy(), False
    except TypeError:
        raise refuse(
            "no-source",
            f"A {type(source).__name__} cannot be scanned. Give a path, a glob, a folder, or a "
            "frame of DuckDB, Polars, PyArrow, pandas, Dask, Ibis or PySpark.",
        ) from None


def _of_path(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    table: str | None,
    roles: Mapping[str, str] | None,
) -> duckdb.DuckDBPyRelation:
    suffix = suffix_of(path)
    if suffix in DATABASES:
        return _of_database(connection, path, table)
    if table is not None:
        raise refuse("no-table", f"{quoted(path)} is not a DuckDB database: leave out `table`.")
    if os.path.isdir(path):
        path, suffix = _pattern_of_folder(path)
    elif not any(mark in path for mark in "*?["):
        _check_readable(path)
    if suffix in PARQUET:
        with suppress(pa.ArrowException, OSError, StopIteration):
            first = next(glob.iglob(path, recursive=True))
            _set_zone(connection, pq.read_schema(first), roles)
        return connection.sql(f"SELECT * FROM read_parquet({_text(path)})")
    if suffix in ARROW:
        found = ds.dataset(path, format="ipc")
        _set_zone(connection, found.schema, roles)
        return connection.from_arrow(found)
    return _of_csv(connection, path, roles)


def _set_zone(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, roles: Mapping[str, str] | None
) -> None:
    """Count times to the day in their own zone, not in that of this machine."""
    column = next((name for name, role in (roles or {}).items() if role == "time"), "")
    zone = getattr(schema.field(column).type, "tz", None) if column in schema.names else None
    if zone is not None:
        try:
            connection.execute(f"SET TimeZone = {_text(zone)}")
        except duckdb.Error:
            connection.execute("SET TimeZone = 'UTC'")


def suffix_of(path: str) -> str:
    """The suffix of a file, beneath that of its compression."""
    return Path(path.removesuffix(".gz").removesuffix(".zst")).suffix.lower()


def _of_csv(
    connection: duckdb.DuckDBPyConnection, path: str, roles: Mapping[str, str] | None
) -> duckdb.DuckDBPyRelation:
    """A CSV file. Columns of names stay text if one of them is no usual number: 007, 1.10, 1e1."""
    found = connection.read_csv(path, auto_type_candidates=CSV_TYPES, comment="")
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    known = dict.fromkeys(found.columns, "") if roles is None else roles
    # To DuckDB "inf" is a date.
    kept = [name for name in known if types.get(name) in ("DATE", "TIMESTAMP")]
    numbers = [
        name
        for name, role in known.items()
        if types.get(name) == "BIGINT" or (types.get(name) == "DOUBLE" and role != "outcome")
    ]

    def with_texts(texts: Sequence[str]) -> duckdb.DuckDBPyRelation:
        kinds = dict.fromkeys(texts, "VARCHAR")
        return connection.read_csv(path, auto_type_candidates=CSV_TYPES, comment="", dtype=kinds)

    if numbers:
        facts = (fact for name in numbers for fact in _written(_identifier(name)))
        [answer] = with_texts(numbers).aggregate(", ".join(facts)).fetchall()
        each = zip(numbers, answer[0::3], answer[1::3], answer[2::3], strict=True)
        kept += [name for name, *facts in each if _as_text(known[name], *facts)]
    rows = with_texts(kept) if kept else found
    days = ", ".join(_day(_identifier(name)) for name in kept if known[name] == "time")
    return rows.project(f"* REPLACE ({days})") if days else rows


def _day(column: str) -> str:
    """The day of a time in ISO 8601 as it is written, and whether it has a zone; others stay."""
    iso = f"regexp_matches(trim({column}), '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ].*)?$')"
    zoned = f"regexp_matches(trim({column}), '[T ].*([Zz]|[+-][0-9:]+)$')"
    day = f"left(trim({column}), 10) || CASE WHEN {zoned} THEN 'T00:00Z' ELSE '' END"
    return f"CASE WHEN {iso} THEN {day} ELSE {column} END AS {column}"


def _written(column: str) -> tuple[str, str, str]:
    """Whether a column has a code, or an unusual number, and how many cells are distinct."""
    cell = f"trim({column})"
    return (
        f"bool_or(regexp_matches({cell}, '^[-+]?0[0-9]'))",
        f"bool_or(regexp_matches({cell}, '{UNUSUAL}'))",
        f"approx_count_distinct({column})",
    )


def _as_text(role: str, code: bool, unusual: bool, distinct: int) -> bool:
    if code:
        return True
    # As in a file that is loaded: many numbers are a quantity, and 1.0 is the outcome 1.
    most = {"slice": MAX_CODES, "": MAX_NAMES, "outcome": 0}.get(role, distinct)
    return unusual and distinct <= most


def _of_database(
    connection: duckdb.DuckDBPyConnection, path: str, table: str | None
) -> duckdb.DuckDBPyRelation:
    _check_readable(path)
    connection.execute(f"ATTACH {_text(path)} AS source (READ_ONLY)")
    names = _tables_in(connection)
    if table is None or table not in names:
        shown = listed([name for name in names if not name.startswith("main.")], 10)
        got = "none was named" if table is None else f"got {quoted(table)}"
        raise refuse(
            "no-table",
            f"`table` must be one of the tables of {quoted(path)}: "
            f"{shown or 'it has none'}; {got}.",
        )
    schema, name = names[table]
    return connection.table(f"source.{_identifier(schema)}.{_identifier(name)}")


def _tables_in(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Tables and views of the database that is attached, by the names that may be given."""
    known = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
        "WHERE database_name = 'source' AND NOT internal ORDER BY ALL"
    ).fetchall()
    names = {f"{schema}.{name}": (schema, name) for schema, name in known}
    return {name: (schema, name) for schema, name in known if schema == "main"} | names


def tables_of_database(path: str) -> tuple[str, ...]:
    """Names of the tables and views of a DuckDB database."""
    _check_readable(path)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {_text(path)} AS source (READ_ONLY)")
        return tuple(name for name in _tables_in(connection) if not name.startswith("main."))


def _pattern_of_folder(path: str) -> tuple[str, str]:
    """A glob of all files below a folder, and their suffix."""
    _check_readable(path)
    found = sorted(
        {
            each.suffix.lower()
            for each in Path(path).rglob("*")
            if each.is_file() and not each.name.startswith(("_", "."))
        }
        & {*PARQUET, ".csv"}
    )
    if not found:
        raise refuse(
            "empty-folder",
            f"The folder {quoted(path)} holds no Parquet and no CSV file. Choose another folder.",
        )
    if len(found) > 1:
        raise refuse(
            "mixed-folder",
            f"The folder {quoted(path)} holds files that end in {joined(found)}. Name those to "
            f"read, such as {quoted(os.path.join(path, '**', '*' + found[0]))}.",
        )
    return os.path.join(path, "**", "*" + found[0]), found[0]


def _check_readable(path: str) -> None:
    if not os.path.exists(path):
        raise refuse("no-file", f"There is no file {quoted(path)}. Check the path.")
    if not os.access(path, os.R_OK):
        raise refuse(
            "permission",
            f"{quoted(path)} cannot be read by this user: permission denied. Ask its owner for "
            "the right to read it.",
        )


def _said(error: Exception, source: Any) -> str:
    """The message of an engine as a sentence, with the place."""
    path = isinstance(source, str | Path)
    where = quoted(source, 200) if path else f"The {type(source).__name__}"
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # Spark prints the place before the message, which has a code.
    coded = (found.group() for line in lines if (found := SPARK_SAYS.search(line)))
    first = next(coded, lines[0])
    if LOST.search(str(error)):
        return (
            f"{where} lost the connection to its server. Nothing was kept. When the server runs "
            "again, open a new session and scan again."
        )
    if damage := next(filter(DAMAGED.search, lines), None):
        named = NAMED_FILE.search(damage)
        which = quoted(named[1] or named[2], 200) if named else where
        return (
            f"{which} is cut off or damaged, so it cannot be read. Copy it again from where it was "
            "made, write it again, or leave it out."
        )
    if "permission denied" in str(error).lower():
        return f"{where} cannot be read: permission denied. Ask for the right to read it."
    told = f"{where} could not be scanned. The engine says {quoted(first, 200)}."
    alone = path and os.path.isfile(source)
    if (isinstance(error, duckdb.Error) and not alone) or "TYPE_MISMATCH" in first:
        return f"{told} All files must have the same columns of the same types."
    return told


def _name(source: Any, table: str | None) -> str:
    if table is not None:
        return table
    if isinstance(source, list | tuple) and source:
        source = source[0]
    if not isinstance(source, str | Path):
        return "predictions"
    parts = [part for part in Path(source).parts if not set(part) & set("*?[")]
    return stem(parts[-1]) if parts else "predictions"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
