"""Names that people give tables and columns, which SQL can take for something else."""

import duckdb
from sqlglot.dialects.dialect import Dialect

from calib.exports import DIALECTS

# This list is that of https://sqlite.org/lang_keywords.html.
SQLITE = """
abort action add after all alter always analyze and as asc attach autoincrement before begin between
by cascade case cast check collate column commit conflict constraint create cross current
current_date current_time current_timestamp database default deferrable deferred delete desc detach
distinct do drop each else end escape except exclude exclusive exists explain fail filter first
following for foreign from full generated glob group groups having if ignore immediate in index
indexed initially inner insert instead intersect into is isnull join key last left like limit match
materialized natural no not nothing notnull null nulls of offset on or order others outer over
partition plan pragma preceding primary query raise range recursive references regexp reindex
release rename replace restrict returning right rollback row rows savepoint select set table temp
temporary then ties to transaction trigger unbounded union unique update using vacuum values view
virtual when where window with without
"""
HOSTILE = (
    *("My score", "two  blanks", " before", "after ", "1st", "007", "1e5", "-1", "0x1F", "*", "?"),
    *("a-b", "a.b", "a,b", "a;b", "a:b", ":a", "@a", "$1", "%s", "{a}", "{0}", "(a)", "a/b", "#a"),
    *("a'b", "''", "a`b", "``", "[a]", "a]b", "]]", "a\\b", "\\", "\\'", '\\"', "a\\`b", "a\\nb"),
    *("-- a", "/* a */", "a*/b", "p); DROP TABLE scores; --", "' OR 1=1 --", "naïve", "得点", "😀"),
    *('a"b', '"', 'a""b'),
    *("calib_1", "calib_s", "calib_0", "calib_row", "CALIB_X", "calib__1", "calibrated"),
    *("Calibrated", "calibrated_", "start", "piece", "c0", "column1", "rowid", "NaN", "true"),
)  # fmt: skip


def reserved() -> list[str]:
    """All reserved words of DuckDB, SQLite and PostgreSQL, and those that sqlglot knows of others.

    DuckDB's parser is that of PostgreSQL. Its list has the other words of PostgreSQL's grammar too.
    """
    rows = duckdb.sql("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    words = {*SQLITE.split(), *(word for (word,) in rows)}
    for name in DIALECTS:
        dialect = Dialect.get_or_raise(name)
        words |= {word.strip().lower() for word in dialect.generator_class.RESERVED_KEYWORDS}
        words |= {word.lower() for word in dialect.tokenizer_class.KEYWORDS if word.isidentifier()}
    return sorted(words)
