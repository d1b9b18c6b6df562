"""Bytes to UTF-8: byte order marks, UTF-16 without one, and the Western fallback with a note."""

from __future__ import annotations

import codecs
import re

from calib.loading.problems import Guess, InputError, Problem, quoted, refuse

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
PEEK = 4096


def to_utf8(
    data: bytes, encoding: str | None = None
) -> tuple[bytes, tuple[Problem, ...], tuple[Guess, ...]]:
    """Return text as UTF-8 without a byte order mark, and what of its encoding was guessed.

    Parameters
    ----------
    data : bytes
    encoding : str, optional
        As a person named it; by the bytes if None.

    Raises
    ------
    InputError
        If the bytes are not text.
    """
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    guessed = None if marked or encoding else _utf16_by_its_zeros(data)
    if encoding is not None and marked is None:
        data = _decoded(data, encoding)
    elif name := marked or guessed:
        try:
            data = data.decode(name).encode()
        except UnicodeError:
            raise _not_text() from None
    guesses = () if guessed is None else (_guess(guessed),)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise _zero_bytes(line) if _mostly_text(data) else _not_text()
    if not _mostly_text(data):
        raise _not_text()
    # Nearly every large table is ASCII: no need to make a text of it.
    if data.isascii():
        return data, (), guesses
    try:
        data.decode()
    except UnicodeDecodeError:
        return _western(data)
    return data, (), guesses


def _decoded(data: bytes, encoding: str) -> bytes:
    try:
        # A byte order mark that such an encoding keeps is no part of the first name.
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError:
        raise refuse(
            "encoding",
            f"The file cannot be read as {quoted(encoding)}. Name its encoding, or save it as "
            "UTF-8.",
        ) from None


def _guess(encoding: str) -> Guess:
    return Guess("encoding", encoding, f"The text was read as {encoding}.")


def _western(data: bytes) -> tuple[bytes, tuple[Problem, ...], tuple[Guess, ...]]:
    try:
        text, name, codec = data.decode("cp1252"), "Windows-1252", "cp1252"
    except UnicodeDecodeError:
        text, name, codec = data.decode("latin-1"), "Latin-1", "latin-1"
    sentence = (
        f"The file is not UTF-8; it was read as {name}. If names or labels look wrong, save it as "
        "UTF-8."
    )
    return text.encode(), (Problem("encoding", "note", sentence),), (_guess(codec),)


def _utf16_by_its_zeros(data: bytes) -> str | None:
    head = data[:PEEK]
    half = len(head) // 2
    if half < 4:
        return None
    # Latin text in UTF-16 has a zero in nearly every other byte, and nowhere else.
    first, second = head[0::2].count(0), head[1::2].count(0)
    if second > 0.7 * half and not first:
        return "utf-16-le"
    if first > 0.7 * half and not second:
        return "utf-16-be"
    return None


def _mostly_text(data: bytes) -> bool:
    head = data[:PEEK]
    return len(NOT_TEXT.findall(head)) <= 0.01 * len(head) + 1


def _not_text() -> InputError:
    return refuse(
        "not-a-table",
        "The file is neither text nor Parquet or Arrow, so it is not a table that can be read. "
        "Upload CSV, TSV, Parquet or Arrow.",
    )


def _zero_bytes(line: int) -> InputError:
    return refuse(
        "zero-bytes",
        f"Line {line:,} of the file holds a zero byte (NUL), which text never has: the file is "
        "damaged. Write it again.",
    )
