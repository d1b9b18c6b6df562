"""The tables of saved reports, and how they are searched."""

from __future__ import annotations

import unicodedata

from sqlalchemy import Column, ColumnElement, Integer, LargeBinary, MetaData, Table, Text, select

metadata = MetaData()

# Moments are texts of one width in UTC, which sort as time does in every database.
reports = Table(
    "calib_reports",
    metadata,
    Column("id", Text, primary_key=True),
    Column("saved", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("data_name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("sentence", Text, nullable=False),
    Column("searched", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

report_tags = Table(
    "calib_report_tags",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("tag", Text, primary_key=True),
)

# A report that is named here and still there rests: it can be restored.
deletions = Table(
    "calib_deletions",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("deleted", Text, nullable=False),
    Column("deleted_by", Text, nullable=False),
)

# Who saved a report, as a sign-in verified it; anonymous reports have none.
owners = Table(
    "calib_owners",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
)

changes = Table(
    "calib_changes",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("moment", Text, primary_key=True),
    Column("change", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("person", Text, nullable=False),
)

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

    Examples
    --------
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
