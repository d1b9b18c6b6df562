"""Searching reports: the same rules in every database, so folded here and not there."""

from __future__ import annotations

import unicodedata

from sqlalchemy import ColumnElement, select

from calib.store.tables import report_tags, reports

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
