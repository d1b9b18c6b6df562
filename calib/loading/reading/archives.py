"""Compressed files and NumPy archives, never unpacked beyond a limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from calib.loading.name_patterns import NAMES_OF_CLASSES, OUTCOME_NAMES, SCORE_ARRAYS, plain_name
from calib.loading.problems import InputError, refuse
from calib.loading.reading.budget import Budget
from calib.loading.table import Table, left_out_columns, make_table

# Unpackers raise these errors for damaged files, and for archives that are encrypted or compressed
# in a rare way.
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, NotImplementedError),
    *(zlib.error, struct.error, lzma.LZMAError, zipfile.BadZipFile),
)
XZ_MEMORY_BYTES = 256 * 2**20
UTF8_NAME, LOCAL_HEADER_BYTES = 0x800, 30
END_RECORD_BYTES = 22  # The last record of a zip archive also has a comment.
FIRST_PIECE_BYTES, MAX_PIECE_BYTES = 2**10, 2**20


def unpack(data: bytes, budget: Budget) -> bytes:
    """Return the content of a compressed file. Other bytes are returned unchanged."""
    for magic, (name, opened) in UNPACKERS.items():
        if data.startswith(magic):
            return _unpack(name, opened, data, budget)
    return data


def _unpack(name: str, opened: Callable[[bytes, int], bytes], data: bytes, budget: Budget) -> bytes:
    try:
        content = opened(data, budget.size + 1)
    except InputError:
        raise
    except DAMAGE:
        raise refuse("damaged.packed", kind=name) from None
    budget.check_unpacked(len(content), name)
    return content


def _zip(data: bytes, max_bytes: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_whole(archive, data)
        members = [name for name in members_of(archive) if not name.startswith("__MACOSX/")]
        if len(members) != 1:
            raise refuse("many-members", n=len(members))
        with archive.open(members[0]) as stream:
            content = stream.read(max_bytes)
        if content.startswith(tuple(UNPACKERS)):
            raise refuse("members.archive", member=members[0])
        return content


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive by name. Those that programs may read in two ways are refused."""
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name in members:
            raise refuse("members.repeated", member=name)
        if ".." in re.split(r"[/\\]", name):
            raise refuse("members.outside", member=name)
        # `is_dir` raises an IndexError for a member without a name.
        if not name.endswith("/"):
            members[name] = entry
    return members


def check_whole(archive: zipfile.ZipFile, data: bytes) -> None:
    """Refuse bytes before or after a zip archive, and members with two names.

    Zeros may pad its end. Checksums do not cover names, so each is compared with its copy.
    """
    first = min((entry.header_offset for entry in archive.infolist()), default=0)
    if not all(_is_named_alike(entry, data) for entry in archive.infolist()):
        raise zipfile.BadZipFile
    end = data.rfind(b"PK\x05\x06") + END_RECORD_BYTES + len(archive.comment)
    if first or data[end:].strip(b"\0"):
        raise zipfile.BadZipFile


def _is_named_alike(entry: zipfile.ZipInfo, data: bytes) -> bool:
    """Whether a member has the same name in its own header and in the directory."""
    name = entry.orig_filename.encode("utf-8" if entry.flag_bits & UTF8_NAME else "cp437")
    start = entry.header_offset + LOCAL_HEADER_BYTES
    length = int.from_bytes(data[start - 4 : start - 2], "little")
    return length == len(name) and data[start : start + length] == name


def _streams(
    unpacker: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], data: bytes, max_bytes: int
) -> bytes:
    """All streams of a file, such as the two of `cat a.xz b.xz`. Zeros may pad its end.

    The file classes of `lzma` and `bz2` are not used, because they ignore other bytes after a
    stream.
    """
    parts: list[bytes] = []
    room, place = max_bytes, 0
    end = len(data.rstrip(b"\0"))
    while room and (place < end or not parts):
        part, place = _one_stream(unpacker(), data, place, room)
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _one_stream(
    unpacker: lzma.LZMADecompressor | bz2.BZ2Decompressor, data: bytes, place: int, room: int
) -> tuple[bytes, int]:
    """The content of a stream, up to `room` bytes, and the position of the next stream."""
    parts: list[bytes] = []
    # The pieces grow, because an unpacker copies its unused bytes, and there may be many tiny
    # streams.
    size = FIRST_PIECE_BYTES
    while room and not unpacker.eof:
        piece = data[place : place + size]
        if not piece:
            raise EOFError
        part = unpacker.decompress(piece, max_length=room)
        parts.append(part)
        room -= len(part)
        place += len(piece)
        size = min(2 * size, MAX_PIECE_BYTES)
    return b"".join(parts), place - len(unpacker.unused_data)


def in_pieces(stream: Any, max_bytes: int) -> bytes:
    """The first bytes of a stream, then closed. One read would allocate `max_bytes` at once."""
    parts: list[bytes] = []
    with stream:
        while max_bytes and (part := bytes(stream.read(min(max_bytes, MAX_PIECE_BYTES)))):
            parts.append(part)
            max_bytes -= len(part)
    return b"".join(parts)


UNPACKERS: dict[bytes, tuple[str, Callable[[bytes, int], bytes]]] = {
    b"\x1f\x8b": ("gzip", lambda data, n: in_pieces(gzip.GzipFile(fileobj=io.BytesIO(data)), n)),
    b"PK\x03\x04": ("zip", _zip),
    b"PK\x05\x06": ("zip", _zip),
    b"BZh": ("bzip2", partial(_streams, bz2.BZ2Decompressor)),
    b"\xfd7zXZ\x00": (
        "xz",
        partial(_streams, partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY_BYTES)),
    ),
    b"\x28\xb5\x2f\xfd": (
        "zstd",
        lambda data, n: in_pieces(pa.CompressedInputStream(pa.BufferReader(data), "zstd"), n),
    ),
}


Arrays = Mapping[str, NDArray[Any]]
LEFT_OUT_REASON = "of the NumPy archive do not have one value per row"


def names_in_zip(data: bytes) -> list[str]:
    """Names of the members of a zip archive. Other bytes, and a damaged archive, have none."""
    if data.startswith(b"PK\x03\x04"):
        with suppress(*DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    return []


def read_numpy_archive(data: bytes, name: str, budget: Budget) -> Table:
    """Arrays of one value per row, and one matrix of scores, as columns.

    Objects are never unpickled: an array that holds them is refused.
    """
    arrays = _arrays(data, budget)
    matrix = _matrix(arrays)
    lengths = [len(values) for values in arrays.values() if values.ndim > 0]
    commonest = max(lengths, key=lengths.count, default=0)
    n_rows = len(arrays[matrix]) if matrix else commonest
    columns: dict[str, Any] = {}
    left_out = []
    for key, values in arrays.items():
        if values.dtype.kind not in "biufUSM":
            left_out.append(key)
        elif key == matrix or values.shape == (n_rows,):
            columns[key] = values
        elif values.shape == (n_rows, 1):
            columns[key] = values[:, 0]
        elif _one_hot(key, values, n_rows):
            columns[key] = values.argmax(axis=1)
        elif not re.fullmatch(NAMES_OF_CLASSES, plain_name(key)):
            left_out.append(key)
    class_names = _class_names(arrays, matrix)
    if class_names is not None:
        columns |= _named_labels(columns, class_names)
    if not columns or not n_rows:
        raise refuse("empty.numpy")
    budget.check_cells(n_rows, sum(values[:1].size for values in columns.values()))
    return _table(columns, class_names, name, left_out)


def _arrays(data: bytes, budget: Budget) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_whole(archive, data)
            members = {
                member.filename.removesuffix(".npy"): member for member in archive.infolist()
            }
            if len(members) < len(archive.infolist()):
                raise _damaged_arrays()
            budget.check_unpacked(sum(member.file_size for member in members.values()), "NumPy")
            return {key: _array(key, archive.open(member)) for key, member in members.items()}
    except InputError:
        raise
    except DAMAGE:
        raise _damaged_arrays() from None


def _array(key: str, stream: IO[bytes]) -> NDArray[Any]:
    try:
        values = npy.read_array(stream, allow_pickle=False)
    except Exception as error:
        # Headers are read by Python's tokenizer, whose errors on damaged ones are of many types.
        if "Object arrays" in str(error):
            raise refuse("pickled", array=key) from None
        raise _damaged_arrays() from None
    # Reading beyond the last value makes the archive compare its checksum.
    damaged = bool(stream.read(1))
    if values.dtype.kind == "U":
        # NumPy does not check that all code points are characters.
        points = values.astype(values.dtype.newbyteorder("=")).view(np.uint32)
        damaged |= not ((points < 0xD800) | ((points > 0xDFFF) & (points <= 0x10FFFF))).all()
    if damaged:
        raise _damaged_arrays()
    return values


def _damaged_arrays() -> InputError:
    return refuse("damaged.numpy")


def _matrix(arrays: Arrays) -> str | None:
    """The array with one score per class and row, found by its name, or the largest."""
    wide = {
        key: values
        for key, values in arrays.items()
        if values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind == "f"
    }
    plain = {key: plain_name(key) for key in wide}
    for pattern in SCORE_ARRAYS:
        for key, name in plain.items():
            if re.fullmatch(pattern, name):
                return key
    return max(wide, key=lambda key: wide[key].size, default=None)


def _one_hot(key: str, values: NDArray[Any], n_rows: int) -> bool:
    """Whether these are one-hot labels: rows of zeros with a single 1."""
    if not _is_outcome(key) or values.ndim != 2 or len(values) != n_rows:
        return False
    if values.dtype.kind in "USM":
        return False
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all())


def _is_outcome(key: str) -> bool:
    return any(re.fullmatch(pattern, plain_name(key)) for pattern in OUTCOME_NAMES[:2])


def _named_labels(columns: Arrays, class_names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Replace labels 0, 1, ... by the names of the classes, which the archive has in that order."""
    with_names = {}
    for key, values in columns.items():
        if not _is_outcome(key) or values.ndim != 1 or values.dtype.kind not in "iu":
            continue
        # If no label is 0, labels may count from 1.
        if values.min() == 0 and values.max() < len(class_names):
            with_names[key] = np.array(class_names)[values]
    return with_names


def _class_names(arrays: Arrays, matrix: str | None) -> Sequence[str] | None:
    if matrix is None:
        return None
    shape = (arrays[matrix].shape[1],)
    for key, values in arrays.items():
        if re.fullmatch(NAMES_OF_CLASSES, plain_name(key)) and values.shape == shape:
            texts = values.astype(str).tolist() if values.dtype.kind in "USiu" else None
            if texts is not None and len(set(texts)) == len(texts):
                return texts
    return None


def _table(
    columns: Arrays, class_names: Sequence[str] | None, name: str, left_out: Sequence[str]
) -> Table:
    frames, names = [], []
    for key, values in columns.items():
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        if native.dtype == np.float16:
            native = native.astype(np.float32)
        if native.dtype == np.longdouble:
            with np.errstate(over="ignore", invalid="ignore"):
                native = native.astype(np.float64)
        if native.dtype.kind == "S":
            native = np.char.decode(native, "utf-8", "replace")
        try:
            # The frame is a view of the array, so that a large matrix is not copied.
            frames.append(pd.DataFrame(native, copy=False))
        except pd.errors.OutOfBoundsDatetime:
            raise refuse("dates.numpy", array=key) from None
        classes = class_names or range(native.shape[1] if native.ndim == 2 else 0)
        names += [f"{key}_{class_name}" for class_name in classes] if native.ndim == 2 else [key]
    together = pd.concat(frames, axis=1)
    return make_table(together, names, name=name, notes=left_out_columns(left_out, LEFT_OUT_REASON))
