"""Names of tables and columns in SQL: sqlglot writes all of them, in the quotes of their dialect.

A name in quotes can be a reserved word, and its characters mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# These dialects change the case of a name without quotes. Quotes would keep it.
CASE_OF_PLAIN: Mapping[str, Callable[[str], str]] = {
    "postgres": str.lower,
    "redshift": str.lower,
    "snowflake": str.upper,
}
# The other dialects also have catalogs above schemas.
WITHOUT_CATALOGS = ("sqlite", "mysql", "clickhouse")
PARTS = re.compile(r'"(?:[^"]|"")+"|[^".`\[\]]+')


def identifier(name: str, dialect: str) -> exp.Identifier:
    """The name of a column, or one part of the name of a table, in quotes.

    A name of letters, digits and underscores has the case that the dialect gives it without quotes.
    Any other name, and one that is given in double quotes, keeps its case.

    >>> identifier("order", "snowflake").name, identifier('"order"', "snowflake").name
    ('ORDER', 'order')
    """
    from sqlglot import exp

    if len(name) > 2 and name[0] == name[-1] == '"':
        name = name[1:-1].replace('""', '"')
    elif PLAIN_NAME.fullmatch(name):
        name = CASE_OF_PLAIN.get(dialect, str)(name)
    return exp.to_identifier(name, quoted=True)


def table_of(name: str, dialect: str) -> exp.Table:
    """A table by its name, which can have two parts before it: catalog.schema.table.

    Raises ValueError if the name has more parts, or a quotation mark that is not part of a pair.

    >>> table = table_of('lake."2026.scores"', "duckdb")
    >>> table.db, table.name
    ('lake', '2026.scores')
    """
    from sqlglot import exp

    parts, most = PARTS.findall(name), 2 if dialect in WITHOUT_CATALOGS else 3
    if ".".join(parts) != name or not 0 < len(parts) <= most:
        raise ValueError(
            f"table must be a name of at most {most} parts, such as lake.scores, got {name!r}. "
            "Write a part with a dot, a bracket or a quotation mark in double quotes, such as "
            '"my.scores", and a double quote in it twice.'
        )
    identifiers = [identifier(part, dialect) for part in reversed(parts)]
    this, schema, catalog = [*identifiers, None, None][:3]
    table = exp.table_(this, schema, catalog)
    # BigQuery reads a dot within quotes as one between two parts.
    return exp.to_table(table.sql(dialect), dialect) if dialect == "bigquery" else table


def quoted(name: exp.Identifier | exp.Table, dialect: str) -> str:
    """The name in a query.

    >>> quoted(identifier("order", "duckdb"), "duckdb"), quoted(table_of("a.b", "tsql"), "tsql")
    ('"order"', '[a].[b]')
    """
    # SQLite reads a name in double quotes as text if there is no such column. Between the quotes of
    # MySQL, which it knows too, such a name is an error.
    return name.sql("mysql" if dialect == "sqlite" else dialect)


def in_quotes(name: str, dialect: str) -> str:
    """A name that a database or a file gave, as it is.

    >>> in_quotes('a"b', "duckdb")
    '"a""b"'
    """
    from sqlglot import exp

    return quoted(exp.to_identifier(name, quoted=True), dialect)


def unused_prefix(names: Iterable[str]) -> str:
    """A beginning for the names of steps and helper columns, which none of the names has.

    Otherwise a step could read itself instead of the table.

    >>> unused_prefix(["scores", "p"]), unused_prefix(["Calib_1", "p"])
    ('calib_', 'calib__')
    """
    prefix, used = "calib_", [name.casefold() for name in names]
    while any(name.startswith(prefix) for name in used):
        prefix += "_"
    return prefix


def text_of(value: str, dialect: str) -> str:
    """A text between quotes.

    >>> text_of("it's", "duckdb"), text_of("it's", "bigquery")
    ("'it''s'", "'it\\\\'s'")
    """
    from sqlglot import exp

    return exp.Literal.string(value).sql(dialect)
