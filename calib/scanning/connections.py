"""Sources that an operator named: their tables, their first rows, and the rows to scan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from calib.distribution import pip_install
from calib.loading.problems import InputError, refuse
from calib.loading.table import Table, make_table
from calib.scanning.sources import ARROW, DATABASES, PARQUET, opened, suffix_of, tables_of_database

Kind = Literal["files", "duckdb", "spark", "ibis"]
SOURCE_KINDS: tuple[str, ...] = get_args(Kind)
FILES = (*PARQUET, *ARROW, ".csv")
ALL_FILES = "(all files)"
FIRST_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Connection:
    """One source.

    `kind` is one of `SOURCE_KINDS`: files (a folder, a glob or a file), a DuckDB database, Spark
    Connect, or any database to which Ibis connects. `where` is its path or address. `rows` says
    whether people may see rows: those of a bin, and the first rows.
    """

    name: str
    kind: str
    where: str
    rows: bool = True

    @classmethod
    def of(cls, name: str, options: Mapping[str, Any]) -> Connection:
        """The source of one section of secrets.toml.

        Raises ValueError if it names another kind, no path or address, or a `rows` that is neither
        true nor false.
        """
        kind = str(options.get("type", ""))
        if kind not in SOURCE_KINDS:
            raise ValueError(
                f"type of [connections.{name}] must be one of {', '.join(SOURCE_KINDS)}, "
                f"got {kind!r}."
            )
        needed = "path" if kind in ("files", "duckdb") else "url"
        where = str(options.get(needed, ""))
        if not where:
            raise ValueError(f"[connections.{name}] must name its {needed}.")
        rows = options.get("rows", True)
        if not isinstance(rows, bool):
            raise ValueError(f"rows of [connections.{name}] must be true or false, got {rows!r}.")
        return cls(name, kind, where, rows)

    @classmethod
    def of_path(cls, path: str) -> Connection:
        """The source of a path: a folder, a glob, a file or a DuckDB database."""
        database = Path(path).suffix.lower() in DATABASES
        return cls(Path(path).name, "duckdb" if database else "files", path)

    def tables(self) -> tuple[str, ...]:
        """Names of the tables of the source. Raises InputError if it does not answer."""
        try:
            if self.kind == "files":
                return _folder_entries(self.where)
            if self.kind == "duckdb":
                return tables_of_database(self.where)
            if self.kind == "spark":
                return tuple(table.name for table in self._spark().catalog.listTables())
            return tuple(self._ibis().list_tables())
        except InputError:
            raise
        except Exception as error:
            raise self._refused(error) from error

    def source(self, table: str) -> tuple[Any, str | None]:
        """The arguments `source` and `table` of `calib.scan` for a table.

        Raises InputError if the source has no such table, so that nothing else on the server can be
        opened.
        """
        tables = self.tables()
        if table not in tables:
            raise refuse("no-table.connection", name=self.name, wanted=table, tables=tables)
        if self.kind == "files":
            whole = table == ALL_FILES or not os.path.isdir(self.where)
            return (self.where if whole else os.path.join(self.where, table)), None
        if self.kind == "duckdb":
            return self.where, table
        try:
            return (
                self._spark().table(table) if self.kind == "spark" else self._ibis().table(table)
            ), None
        except Exception as error:
            raise self._refused(error) from error

    def first_rows(self, table: str) -> Table:
        """At most 1,000 rows, for a preview of the columns."""
        source, table_name = self.source(table)
        with opened(source, table_name) as (rows, *_):
            arrow = rows.head(FIRST_ROWS).collect(backend="pyarrow").to_native()
        frame: pd.DataFrame = arrow.to_pandas()
        return make_table(frame, list(frame.columns), name=f"{self.name}: {table}")

    def _spark(self) -> Any:
        try:
            from pyspark.sql import SparkSession
        except ModuleNotFoundError:
            install = pip_install("spark")
            raise refuse("no-spark", install=install) from None
        return SparkSession.builder.remote(self.where).getOrCreate()

    def _ibis(self) -> Any:
        try:
            import ibis
        except ModuleNotFoundError:
            install = pip_install("ibis")
            raise refuse("no-ibis", install=install) from None
        return ibis.connect(self.where)

    def _refused(self, error: Exception) -> InputError:
        # An engine may repeat the address, which can contain a password.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        reason = reason.replace(self.where, self.name)[:300]
        return refuse("connection", name=self.name, reason=reason)


def _folder_entries(where: str) -> tuple[str, ...]:
    """The folder as a whole, and each of its files and folders."""
    if not os.path.isdir(where):
        return (Path(where).name,)
    inside = sorted(os.scandir(where), key=lambda entry: entry.name)
    # Folders such as day=2026-11-01 are partitions of one table.
    entries = [
        entry.name
        for entry in inside
        if not entry.name.startswith((".", "_"))
        and ("=" not in entry.name if entry.is_dir() else suffix_of(entry.name) in FILES)
    ]
    return (ALL_FILES, *entries)
