"""Compressed files, recognised by their first bytes, never unpacked beyond a limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from calib.loading.problems import InputError, refuse

XZ_MEMORY = 256 * 2**20
# Bytes of a zip archive's last record, without its comment.
END_RECORD = 22
FIRST_PIECE, LARGEST_PIECE = 2**10, 2**20


def unpack(data: bytes, limit: int) -> bytes:
    """Return the content of a compressed file; other bytes as they are.

    Parameters
    ----------
    data : bytes
    limit : int
        Largest number of unpacked bytes.

    Raises
    ------
    InputError
        If the file is damaged, larger than the limit, or an archive of several files.
    """
    for magic, (name, opened) in UNPACKERS.items():
        if data.startswith(magic):
            return _unpack(name, opened, data, limit)
    return data


def _unpack(name: str, opened: Callable[[bytes, int], bytes], data: bytes, limit: int) -> bytes:
    try:
        content = opened(data, limit + 1)
    except InputError:
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError):
        raise _damaged(name) from None
    # An encrypted or exotically packed member.
    except (RuntimeError, NotImplementedError, MemoryError):
        raise _damaged(name) from None
    if len(content) > limit:
        raise refuse(
            "too-large",
            f"The {name} file holds more than {limit / 2**20:,.0f} MB when unpacked. Upload fewer "
            "rows, or only the columns that are needed.",
        )
    return content


def _damaged(name: str) -> InputError:
    return refuse(
        "damaged",
        f"This {name} file cannot be unpacked: it is damaged, cut short, "
        "locked by a password, or has other bytes before or behind it. Save it again, or upload it "
        "unpacked.",
    )


def _zip(data: bytes, most: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_whole(archive, data)
        members = [entry for entry in archive.infolist() if _is_content(entry)]
        names = [entry.filename for entry in members]
        if "xl/workbook.xml" in names:
            raise refuse(
                "spreadsheet",
                "This is an Excel workbook. In Excel choose Save as, CSV UTF-8, and upload that.",
            )
        if len(members) != 1:
            raise refuse(
                "many-members",
                f"The zip archive must hold exactly one file, got {len(members):,}. Upload the "
                "table alone; a test table has its own place.",
            )
        with archive.open(members[0]) as stream:
            return stream.read(most)


def check_whole(archive: zipfile.ZipFile, data: bytes) -> None:
    """Refuse bytes that a zip archive does not account for; zeros may pad its end.

    Raises
    ------
    BadZipFile
        If something stands before the archive, such as another archive, or behind it.
    """
    first = min((entry.header_offset for entry in archive.infolist()), default=0)
    end = data.rfind(b"PK\x05\x06") + END_RECORD + len(archive.comment)
    if first or data[end:].strip(b"\0"):
        raise zipfile.BadZipFile


def _is_content(entry: zipfile.ZipInfo) -> bool:
    # Not by `is_dir`, which a member without a name does not survive.
    return not entry.filename.endswith("/") and not entry.filename.startswith("__MACOSX/")


def _gzip(data: bytes, most: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return _in_pieces(stream, most)


def _xz(data: bytes, most: int) -> bytes:
    return _streams(lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY), data, most)


def _bz2(data: bytes, most: int) -> bytes:
    return _streams(bz2.BZ2Decompressor, data, most)


def _streams(
    unpacker: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], data: bytes, most: int
) -> bytes:
    """Every stream of a file, since `cat a.xz b.xz` has two; zeros may pad its end.

    The modules' own files take whatever follows a stream, if it is none, for nothing.
    """
    parts: list[bytes] = []
    room, place = most, 0
    end = len(data.rstrip(b"\0"))
    while room and (place < end or not parts):
        part, place = _one_stream(unpacker(), data, place, room)
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _one_stream(
    unpacker: lzma.LZMADecompressor | bz2.BZ2Decompressor, data: bytes, place: int, room: int
) -> tuple[bytes, int]:
    """A stream's content, up to `room` bytes of it, and where the next one begins."""
    parts: list[bytes] = []
    # Growing pieces: what an unpacker leaves unused is a copy, and streams may be tiny and many.
    size = FIRST_PIECE
    while room and not unpacker.eof:
        piece = data[place : place + size]
        if not piece:
            raise EOFError
        part = unpacker.decompress(piece, max_length=room)
        parts.append(part)
        room -= len(part)
        place += len(piece)
        size = min(2 * size, LARGEST_PIECE)
    return b"".join(parts), place - len(unpacker.unused_data)


def _zstd(data: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return _in_pieces(stream, most)


def _in_pieces(stream: Any, most: int) -> bytes:
    """What a stream holds, up to `most` bytes; asked for at once, that many would be allocated."""
    parts: list[bytes] = []
    while most and (part := bytes(stream.read(min(most, LARGEST_PIECE)))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


UNPACKERS: dict[bytes, tuple[str, Callable[[bytes, int], bytes]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"PK\x03\x04": ("zip", _zip),
    b"PK\x05\x06": ("zip", _zip),
    b"BZh": ("bzip2", _bz2),
    b"\xfd7zXZ\x00": ("xz", _xz),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
