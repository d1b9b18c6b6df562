"""What a list of reports shows, and how a report becomes a row and a row a report."""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Self, cast

from calib.reports import Report, ReportError
from calib.reports.contents.sealing import seal_problem
from calib.reports.report import read_json
from calib.store.engine import StoreError

MAX_TAG_LENGTH = 60
MAX_TAGS = 20
# A list shows this in place of a value that is not a text.
DAMAGED = "(damaged)"


class Line:
    """A line of a list."""

    __slots__ = ()

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        """The line of a database row with any content, because a list also shows damaged rows."""
        names = [field.name for field in fields(cast(Any, cls))]
        return cls(**{name: READERS.get(name, _text)(row[name]) for name in names})


@dataclass(frozen=True, slots=True)
class Entry(Line):
    """A saved report as an entry of a list.

    Attributes
    ----------
    id : str
        An identifier that cannot be guessed. The address of the report ends in ``?report=ID``.
    title : str
        The title of the report, or the last one that an earlier version's list gave it.
    data_name, fingerprint, author, note : str
        Texts of the report, as plain text.
    verdict, sentence : str
        The verdict in a word or two, and in a sentence.
    tags : tuple of str
        Tags in alphabetical order.
    owner : str
        The signed-in user who saved the report, or "" if nobody was signed in.
    created, saved : datetime or None
        Times of creation and of saving in UTC. None if the database is damaged there.
    """

    id: str
    title: str
    data_name: str
    fingerprint: str
    author: str
    note: str
    verdict: str
    sentence: str
    tags: tuple[str, ...]
    owner: str
    created: datetime | None
    saved: datetime | None

    @classmethod
    def damaged(cls, report_id: str) -> Entry:
        """The entry of a report of which nothing else can be read."""
        readable = {"id": report_id, "owner": "", "tags": ()}
        return cls.of({f.name: None for f in fields(cls)} | readable)


@dataclass(frozen=True, slots=True)
class Change(Line):
    """A line of the log: action, report, time and user."""

    report_id: str
    moment: datetime | None
    change: str
    title: str
    person: str


@dataclass(frozen=True, slots=True)
class Deletion(Line):
    """A deleted report, with the time and the user of the deletion."""

    report_id: str
    title: str
    deleted: datetime | None
    deleted_by: str


def _text(value: object) -> str:
    return value if isinstance(value, str) else DAMAGED


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


READERS: Mapping[str, Callable[[Any], Any]] = {
    "tags": lambda tags: tuple(sorted(map(_text, tags))),
    **dict.fromkeys(("created", "saved", "moment", "deleted"), _moment),
}


def moment_words(date: datetime | None) -> str:
    """A moment as lists and messages print it.

    Examples
    --------
    >>> moment_words(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)), moment_words(None)
    ('2026-03-01 09:05 UTC', 'at an unknown time, since its entry is damaged')
    """
    return (
        f"{date:%Y-%m-%d %H:%M} UTC" if date else "at an unknown time, since its entry is damaged"
    )


def now() -> str:
    return moment(datetime.now(UTC))


def moment(date: datetime) -> str:
    """A moment in UTC, in a text that sorts as time does.

    >>> moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    '2026-03-01T09:05:00.000000+00:00'
    """
    return date.astimezone(UTC).isoformat(timespec="microseconds")


def plain(text: str) -> str:
    """Text that every database can hold: PostgreSQL takes no NUL, and UTF-8 no lone surrogate."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def searchable(text: str) -> str:
    """Text in which case, width and ligatures make no difference.

    >>> searchable("STRASSE") == searchable("Straße")
    True
    """
    return unicodedata.normalize("NFKC", plain(text)).casefold()


def row_of(report: Report, report_id: str, tags: tuple[str, ...]) -> dict[str, object]:
    data, verdict = report.analysis.data, report.analysis.verdict
    texts = {
        "title": plain(report.heading),
        "data_name": plain(data.name),
        "author": plain(report.author),
        "note": plain(report.note),
        "verdict": "unknown" if verdict.answer == "inconclusive" else verdict.kind,
    }
    return {
        "id": report_id,
        "saved": now(),
        "created": moment(report.date),
        "fingerprint": data.fingerprint,
        "sentence": plain(verdict.sentence),
        "searched": searchable("\n".join([*texts.values(), *tags])),
        "content": gzip.compress(report.json().encode(), mtime=0),
        **texts,
    }


def report_of(content: bytes, report_id: str) -> Report:
    """The report of a database row. The checksum of gzip shows whether it is complete."""
    return sealed_report_of(content, report_id)[0]


def sealed_report_of(content: bytes, report_id: str) -> tuple[Report, str]:
    """The report of a database row, and what is wrong with its seal, or ""."""
    try:
        data = read_json(gzip.decompress(content))
        report = Report.open_json(data)
        return report, seal_problem(data, report.seal)
    except (OSError, EOFError, TypeError, zlib.error, ReportError) as error:
        reason = str(error) if isinstance(error, ReportError) else "it is damaged."
        raise StoreError(f"The saved report {report_id!r} cannot be opened: {reason}") from error


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without outer and double blanks, each once, sorted.

    Raises StoreError if there are too many, or one is too long.

    >>> checked_tags([" credit  risk", "2026", "2026", ""])
    ('2026', 'credit risk')
    """
    names = sorted({" ".join(plain(tag).split()) for tag in tags} - {""})
    longest = max(names, key=len, default="")
    if len(longest) > MAX_TAG_LENGTH:
        raise StoreError(
            f"A tag must have at most {MAX_TAG_LENGTH} characters, got {len(longest)} in "
            f"{longest[:20] + '…'!r}."
        )
    if len(names) > MAX_TAGS:
        raise StoreError(f"A report must have at most {MAX_TAGS} tags, got {len(names)}.")
    return tuple(names)
