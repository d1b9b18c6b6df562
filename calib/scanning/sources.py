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
from calib.sql_names import in_quotes, text_of
from calib.text import quoted

MEMORY_LIMIT = "400MB"  # DuckDB writes to disk what does not fit.
PARQUET = (".parquet", ".pq", ".parq")
ARROW = (".arrow", ".feather", ".ipc")
DATABASES = (".duckdb", ".db", ".ddb")
# DuckDB and Arrow use these words for files that are cut off or were changed.
DAMAGED = re.compile(
    "No magic bytes|too small to be|TProtocolException|ecompression failure|Unexpected end of|"
    "not a GZIP stream|not a valid DuckDB database|Not an Arrow file"
)
# Spark Connect uses these words if its server does not answer any more.
LOST = re.compile(r"RETRIES_EXCEEDED|StatusCode\.UNAVAILABLE|failed to connect to all addresses")
NAMED_FILE = re.compile(r"""['"]([^'"]+\.\w+)['"]|: (\S+\.\w+)$""")
SPARK_MESSAGE = re.compile(r"\[[A-Z][A-Z_.]+\] .*")
# A number is unusually written with a plus sign, an exponent, infinity, a zero at the end of its
# fraction, or no digit on one side of its point.
UNUSUAL = r"^[+]|[eEiI]|[.][0-9]*0$|[.]$|^-?[.]"
# Boolean is not among the types, so that "yes" stays "yes".
CSV_TYPES = ["NULL", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]


@contextmanager
def opened(
    source: Any, table: str | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[tuple[nw.LazyFrame[Any], str, Engine]]:
    """Rows as a lazy frame, their name, and their engine, whose errors become sentences.

    The source is a path, a glob, a folder, several paths, or a frame; `table` is one of a DuckDB
    database. Columns of a CSV file that name groups, slices, folds or models are read as they are
    written: those with such a role in `roles`, or without `roles` all columns.
    """
    with tempfile.TemporaryDirectory(prefix="calib-scan-") as scratch:
        limits = {"memory_limit": MEMORY_LIMIT, "temp_directory": scratch}
        connection = duckdb.connect(config={**limits, "preserve_insertion_order": False})
        try:
            connection.execute("SET enable_progress_bar = false")
            engine = DuckEngine(connection)
            rows, by_duckdb = _frame(engine, source, table, roles)
            yield rows, _name(source, table), engine if by_duckdb else engine_of(rows)
        except Exception as error:
            if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
                raise
            code = "damaged" if DAMAGED.search(str(error)) else "engine"
            raise refuse(code, message=_error_sentence(error, source)) from error
        finally:
            connection.close()


def is_file_of_rows(path: str) -> bool:
    """Whether a path is one file and not a database; it need not exist."""
    several = os.path.isdir(path) or (not os.path.exists(path) and bool(set(path) & set("*?[")))
    return not several and Path(path).suffix.lower() not in DATABASES


def rows_of(source: str, table: str | None = None) -> tuple[pa.Table, str]:
    """All rows of a folder, glob or table of a database, in memory, and their name."""
    with opened(source, table) as (rows, name, _):
        n_rows = int(rows.select(nw.len()).collect().item())
        Budget().check_cells(n_rows, len(rows.collect_schema()))
        return rows.collect(backend="pyarrow").to_native(), name


def _frame(
    engine: DuckEngine,
    source: Any,
    table: str | None,
    roles: Mapping[str, str] | None,
) -> tuple[nw.LazyFrame[Any], bool]:
    """Rows as a lazy frame, and whether DuckDB reads them."""
    if isinstance(source, str | Path):
        source = [source]
    if isinstance(source, list | tuple) and all(isinstance(path, str | Path) for path in source):
        frames = [nw.from_native(_read_path(engine, str(path), table, roles)) for path in source]
        return frames[0] if len(frames) == 1 else nw.concat(frames), True
    if isinstance(source, pd.DataFrame):
        source = pa.Table.from_pandas(source, preserve_index=False)
    if isinstance(source, pa.Table | pa.RecordBatchReader | ds.Dataset):
        _set_zone(engine, source.schema, roles)
        return nw.from_native(engine.connection.from_arrow(source)), True
    try:
        return nw.from_native(source).lazy(), False
    except TypeError:
        raise refuse("no-source", kind=type(source).__name__) from None


def _read_path(
    engine: DuckEngine,
    path: str,
    table: str | None,
    roles: Mapping[str, str] | None,
) -> duckdb.DuckDBPyRelation:
    connection, suffix = engine.connection, suffix_of(path)
    if suffix in DATABASES:
        return _read_table(connection, path, table)
    if table is not None:
        raise refuse("no-table.no-database", path=path)
    if os.path.isdir(path):
        path, suffix = _pattern_of_folder(path)
    elif not any(mark in path for mark in "*?["):
        _check_readable(path)
    if suffix in PARQUET:
        with suppress(pa.ArrowException, OSError, StopIteration):
            first = next(glob.iglob(path, recursive=True))
            _set_zone(engine, pq.read_schema(first), roles)
        return connection.sql(f"SELECT * FROM read_parquet({text_of(path, 'duckdb')})")
    if suffix in ARROW:
        dataset = ds.dataset(path, format="ipc")
        _set_zone(engine, dataset.schema, roles)
        return connection.from_arrow(dataset)
    return _read_csv(connection, path, roles)


def _set_zone(engine: DuckEngine, schema: pa.Schema, roles: Mapping[str, str] | None) -> None:
    """Count times to the day in their own zone, not in that of this machine.

    If DuckDB does not know the zone, such as "+02:00", the days are those of UTC.
    """
    column = next((name for name, role in (roles or {}).items() if role == "time"), "")
    zone = getattr(schema.field(column).type, "tz", None) if column in schema.names else None
    if zone is not None:
        try:
            engine.connection.execute(f"SET TimeZone = {text_of(zone, 'duckdb')}")
            engine.data_zone = True
        except duckdb.Error:
            engine.connection.execute("SET TimeZone = 'UTC'")


def suffix_of(path: str) -> str:
    """The suffix of a file, beneath that of its compression."""
    return Path(path.removesuffix(".gz").removesuffix(".zst")).suffix.lower()


def _read_csv(
    connection: duckdb.DuckDBPyConnection, path: str, roles: Mapping[str, str] | None
) -> duckdb.DuckDBPyRelation:
    """A CSV file. A column of names is read as text if one is an unusual number: 007, 1.10, 1e1."""
    typed = connection.read_csv(path, auto_type_candidates=CSV_TYPES, comment="")
    types = dict(zip(typed.columns, map(str, typed.types), strict=True))
    role_of = dict.fromkeys(typed.columns, "") if roles is None else roles
    # DuckDB takes "inf" for a date, so columns of dates are read as text.
    texts = [name for name in role_of if types.get(name) in ("DATE", "TIMESTAMP")]
    numbers = [
        name
        for name, role in role_of.items()
        if types.get(name) == "BIGINT" or (types.get(name) == "DOUBLE" and role != "outcome")
    ]

    def with_texts(columns: Sequence[str]) -> duckdb.DuckDBPyRelation:
        kinds = dict.fromkeys(columns, "VARCHAR")
        return connection.read_csv(path, auto_type_candidates=CSV_TYPES, comment="", dtype=kinds)

    if numbers:
        facts = (fact for name in numbers for fact in _spelling_facts(in_quotes(name, "duckdb")))
        [answer] = with_texts(numbers).aggregate(", ".join(facts)).fetchall()
        facts_by_column = zip(numbers, answer[0::3], answer[1::3], answer[2::3], strict=True)
        texts += [name for name, *facts in facts_by_column if _is_text(role_of[name], *facts)]
    rows = with_texts(texts) if texts else typed
    days = ", ".join(_day(in_quotes(name, "duckdb")) for name in texts if role_of[name] == "time")
    return rows.project(f"* REPLACE ({days})") if days else rows


def _day(column: str) -> str:
    """The written day of a time in ISO 8601, with T00:00Z if it has a zone. Other texts stay."""
    iso = f"regexp_matches(trim({column}), '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ].*)?$')"
    zoned = f"regexp_matches(trim({column}), '[T ].*([Zz]|[+-][0-9:]+)$')"
    day = f"left(trim({column}), 10) || CASE WHEN {zoned} THEN 'T00:00Z' ELSE '' END"
    return f"CASE WHEN {iso} THEN {day} ELSE {column} END AS {column}"


def _spelling_facts(column: str) -> tuple[str, str, str]:
    """Whether a column has a code, or an unusual number, and how many cells are distinct."""
    cell = f"trim({column})"
    return (
        f"bool_or(regexp_matches({cell}, '^[-+]?0[0-9]'))",
        f"bool_or(regexp_matches({cell}, '{UNUSUAL}'))",
        f"approx_count_distinct({column})",
    )


def _is_text(role: str, code: bool, unusual: bool, distinct: int) -> bool:
    if code:
        return True
    # A file that is loaded is read in the same way: many numbers are a quantity, and the outcome
    # 1.0 is 1.
    max_names = {"slice": MAX_CODES, "": MAX_NAMES, "outcome": 0}.get(role, distinct)
    return unusual and distinct <= max_names


def _read_table(
    connection: duckdb.DuckDBPyConnection, path: str, table: str | None
) -> duckdb.DuckDBPyRelation:
    _check_readable(path)
    connection.execute(f"ATTACH {text_of(path, 'duckdb')} AS source (READ_ONLY)")
    names = _tables_in(connection)
    if table is None or table not in names:
        there = [name for name in names if not name.startswith("main.")]
        key = "no-table.none" if not there else "no-table" if table else "no-table.unnamed"
        raise refuse(key, path=path, tables=there, wanted=table)
    return connection.table(
        ".".join(in_quotes(part, "duckdb") for part in ("source", *names[table]))
    )


def _tables_in(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Schema and name of each table and view of the attached database, by all names for it."""
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
        "WHERE database_name = 'source' AND NOT internal ORDER BY ALL"
    ).fetchall()
    names = {f"{schema}.{name}": (schema, name) for schema, name in tables}
    return {name: (schema, name) for schema, name in tables if schema == "main"} | names


def tables_of_database(path: str) -> tuple[str, ...]:
    """Names of the tables and views of a DuckDB database."""
    _check_readable(path)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH {text_of(path, 'duckdb')} AS source (READ_ONLY)")
        return tuple(name for name in _tables_in(connection) if not name.startswith("main."))


def _pattern_of_folder(path: str) -> tuple[str, str]:
    """A glob of all files below a folder, and their suffix."""
    _check_readable(path)
    suffixes = sorted(
        {
            file.suffix.lower()
            for file in Path(path).rglob("*")
            if file.is_file() and not file.name.startswith(("_", "."))
        }
        & {*PARQUET, ".csv"}
    )
    if not suffixes:
        raise refuse("empty-folder", path=path)
    pattern = os.path.join(path, "**", "*" + suffixes[0])
    if len(suffixes) > 1:
        raise refuse("mixed-folder", path=path, suffixes=suffixes, pattern=pattern)
    return pattern, suffixes[0]


def _check_readable(path: str) -> None:
    if not os.path.exists(path):
        raise refuse("no-file", path=path)
    if not os.access(path, os.R_OK):
        raise refuse("permission", path=path)


def _error_sentence(error: Exception, source: Any) -> str:
    """The error of an engine as a sentence that names the source."""
    path = isinstance(source, str | Path)
    where = quoted(source, 200) if path else f"The {type(source).__name__}"
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # Spark prints the place first; its message begins with a code in brackets.
    of_spark = (match.group() for line in lines if (match := SPARK_MESSAGE.search(line)))
    message = next(of_spark, lines[0])
    if LOST.search(str(error)):
        return (
            f"{where} lost the connection to its server. Nothing was kept. When the server runs "
            "again, open a new session and scan again."
        )
    if damage := next(filter(DAMAGED.search, lines), None):
        match = NAMED_FILE.search(damage)
        which = quoted(match[1] or match[2], 200) if match else where
        return (
            f"{which} is cut off or damaged, so it cannot be read. Copy it again from where it was "
            "made, write it again, or leave it out."
        )
    if "permission denied" in str(error).lower():
        return f"{where} cannot be read: permission denied. Ask for the right to read it."
    sentence = f"{where} could not be scanned. The engine says {quoted(message, 200)}."
    single_file = path and os.path.isfile(source)
    if (isinstance(error, duckdb.Error) and not single_file) or "TYPE_MISMATCH" in message:
        return f"{sentence} All files must have the same columns of the same types."
    return sentence


def _name(source: Any, table: str | None) -> str:
    if table is not None:
        return table
    if isinstance(source, list | tuple) and source:
        source = source[0]
    if not isinstance(source, str | Path):
        return "predictions"
    parts = [part for part in Path(source).parts if not set(part) & set("*?[")]
    return stem(parts[-1]) if parts else "predictions"
