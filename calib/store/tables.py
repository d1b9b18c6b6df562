"""The tables of saved reports, and how they are searched."""

from __future__ import annotations

import unicodedata
from typing import Any

from sqlalchemy import Column, ColumnElement, Integer, LargeBinary, MetaData, Table, Text, select

metadata = MetaData()


def _table(name: str, keys: str, texts: str = "", *others: Column[Any]) -> Table:
    """A table of texts, none of them null: those of its primary key, and the others."""
    columns = [Column(each, Text, primary_key=True) for each in keys.split()]
    columns += [Column(each, Text, nullable=False) for each in texts.split()]
    return Table(f"calib_{name}", metadata, *columns, *others)


# Moments are texts of one width in UTC, which sort as time does in every database.
reports = _table(
    "reports",
    "id",
    "saved created title data_name fingerprint author note verdict sentence searched",
    Column("content", LargeBinary, nullable=False),
)
report_tags = _table("report_tags", "report_id tag")
# A report that is named here and still there rests: it can be restored.
deletions = _table("deletions", "report_id", "title deleted deleted_by")
# Who saved a report, as a sign-in verified it; anonymous reports have none.
owners = _table("owners", "report_id", "owner")
changes = _table("changes", "report_id moment change", "title person")
schema = Table(
    "calib_schema",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("applied", Text, nullable=False),
)


# SQLite refuses patterns of 50,000 bytes.
LONGEST_SEARCH = 1000


def plain(text: str) -> str:
    """Text that every database can hold: PostgreSQL takes no NUL, and UTF-8 no lone surrogate."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def searchable(text: str) -> str:
    """Text in which case, width and ligatures make no difference.

    >>> searchable("STRASSE") == searchable("Straße")
    True
    """
    return unicodedata.normalize("NFKC", plain(text)).casefold()


def conditions(
    search: str, tag: str | None, author: str | None, verdict: str | None
) -> list[ColumnElement[bool]]:
    """What a listed report fulfils: every word of the search, and every filter that is set."""
    # autoescape: % and _ are looked for as they are.
    found: list[ColumnElement[bool]] = [
        reports.c.searched.contains(word, autoescape=True)
        for word in searchable(search[:LONGEST_SEARCH]).split()
    ]
    if tag is not None:
        tagged = select(report_tags.c.report_id).where(report_tags.c.tag == plain(tag))
        found.append(reports.c.id.in_(tagged))
    if author is not None:
        found.append(reports.c.author == plain(author))
    if verdict is not None:
        found.append(reports.c.verdict == plain(verdict))
    return found
