"""Compressed files, recognised by their first bytes, never unpacked beyond a limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable

import pyarrow as pa

from calib.loading.problems import InputError, refuse

XZ_MEMORY = 256 * 2**20


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
        f"The file starts like a {name} file but cannot be unpacked: it is damaged, cut short or "
        "locked by a password. Save it again, or upload it unpacked.",
    )


def _zip(data: bytes, most: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
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


def _is_content(entry: zipfile.ZipInfo) -> bool:
    return not entry.is_dir() and not entry.filename.startswith("__MACOSX/")


def _xz(data: bytes, most: int) -> bytes:
    unpacker = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
    content = unpacker.decompress(data, max_length=most)
    if len(content) < most and not unpacker.eof:
        raise EOFError
    return content


def _gzip(data: bytes, most: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return stream.read(most)


def _bz2(data: bytes, most: int) -> bytes:
    with bz2.BZ2File(io.BytesIO(data)) as stream:
        return stream.read(most)


def _zstd(data: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read(most))


UNPACKERS: dict[bytes, tuple[str, Callable[[bytes, int], bytes]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"PK\x03\x04": ("zip", _zip),
    b"PK\x05\x06": ("zip", _zip),
    b"BZh": ("bzip2", _bz2),
    b"\xfd7zXZ\x00": ("xz", _xz),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
