"""Damaged files whose rows are known: none is read with other rows unless that is said.

Text has no checksum, so a changed digit cannot be seen. What a file of text must give is therefore
read from its damaged lines, one after the other, by a reader without quotation marks.
"""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import calib
from calib.exports import describe, verify
from calib.loading import InputError, load
from calib.loading.logs import read_logs
from calib.loading.reading.reader import read
from calib.reports.verify import verify_report
from tests.fuzz.cases import Case
from tests.fuzz.counts import table as counts_table
from tests.fuzz.mutations import frame, zipped
from tests.fuzz.reports import report
from tests.loading.logs import HEADER, stated

Bytes = Callable[[random.Random, bytes], bytes]
Rows = list[tuple[float, float]]
NEWLINE = re.compile(r"\r\n?|\n")
LAST = b"\n"


def flipped(rng: random.Random, data: bytes) -> bytes:
    """One to eight bytes with another bit."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    """Without its end, its beginning, or a piece."""
    first, last = sorted(rng.sample(range(len(data) + 1), 2))
    return rng.choice([data[:last], data[first:], data[:first] + data[last:]])


def _lines(change: Callable[[random.Random, list[bytes]], list[bytes]]) -> Bytes:
    def changed(rng: random.Random, data: bytes) -> bytes:
        return b"".join(change(rng, data.splitlines(keepends=True)))

    changed.__name__ = change.__name__
    return changed


@_lines
def joined(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    """Line breaks are missing."""
    for i in rng.sample(range(len(lines)), min(len(lines), rng.choice([1, 1, 3]))):
        lines[i] = lines[i].rstrip(b"\r\n")
    return lines


@_lines
def mixed(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    """Lines in another encoding, as several files in one have."""
    first, last = sorted(rng.choices(range(1, len(lines) + 1), k=2))
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp1252", "utf-32"])
    text = b"".join(lines[first:last]).decode(errors="replace").replace("o", "ö")
    other = text.encode(encoding, "replace")
    return [*lines[:first], other, *lines[last if rng.random() < 0.7 else len(lines) :]]


@_lines
def headed(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    """The first line once more, alone or with the lines that follow it."""
    place = rng.randrange(1, len(lines) + 1)
    again = lines[: rng.choice([1, 1, len(lines)])]
    return [*lines[:place], *again, *lines[place:]]


def quoted(rng: random.Random, data: bytes) -> bytes:
    """Quotation marks that open and do not close, or the other way round."""
    for _ in range(rng.choice([1, 1, 1, 2])):
        marks = [match.start() for match in re.finditer(rb'"', data)]
        if marks and rng.random() < 0.5:
            place = rng.choice(marks)
            data = data[:place] + data[place + 1 :]
        else:
            cells = [match.end() for match in re.finditer(rb"[,;\t\n{:]|^", data)]
            place = rng.choice(cells)
            data = data[:place] + b'"' + data[place:]
    return data


def swapped(rng: random.Random, data: bytes) -> bytes:
    """Two pieces have changed places."""
    a, b, c, d = sorted(rng.sample(range(len(data) + 1), 4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


OF_TEXT: tuple[Bytes, ...] = (flipped, cut, joined, mixed, headed, quoted, quoted, swapped)
OF_BYTES: tuple[Bytes, ...] = (flipped, cut, swapped)


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: outcomes with scores, and the codes of what was said about them."""

    rows: Rows
    said: tuple[str, ...]
    names: tuple[str, str] = ("y", "p")


def rows_read(data: bytes) -> Read:
    """The rows of a file as `load` gives them, and all that it and the reader say."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        found = load(data)
    notes = [note.code for note in read(data).notes]
    for one in issued:
        if not isinstance(one.message, calib.loading.InputWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    said = (*notes, *(str(one.message)[:60] for one in issued), *found.remarks)
    names = (found.outcome_name, found.score_name)
    scores = found.scores if found.scores.ndim == 1 else found.scores[:, -1]
    return Read(list(zip(map(float, found.outcome), map(float, scores), strict=True)), said, names)


@cache
def csv_of(style: str) -> bytes:
    """The rows as text: plain, with marks around words or all cells, or with cells of lines."""
    quoting = {"plain": 0, "tabs": 0, "words": 2, "all": 1, "lines": 1}[style]
    rows = frame().assign(s=frame()["s"] + ("\nit is" if style == "lines" else ""))
    delimiter = "\t" if style == "tabs" else ","
    return rows.to_csv(index=False, quoting=quoting, sep=delimiter, lineterminator="\n").encode()


def csv_case(rng: random.Random) -> Case:
    """Text with accidents; of its lines none is lost."""
    style = rng.choice(["plain", "tabs", "words", "words", "all", "lines"])
    change = rng.choice(OF_TEXT)
    data = change(rng, csv_of(style))

    def wrong(found: Read) -> str:
        if found.names not in (("y", "p"), ("column 1", "column 2")):
            return ""
        return _unlike_lines(
            found.rows,
            data,
            delimiter="\t" if style == "tabs" else ",",
            per_row=2 if style == "lines" else 1,
        )

    return _said_case(data, csv_of(style), wrong, f"csv {style}, {change.__name__}")


def _said_case(data: bytes, whole: bytes, wrong: Callable[[Read], str], note: str) -> Case:
    usual = _usual(whole)
    return Case(data, rows_read, wrong, note=note, told=lambda found: bool(set(found.said) - usual))


@cache
def _usual(data: bytes) -> frozenset[str]:
    return frozenset(rows_read(data).said)


def _unlike_lines(found: Rows, data: bytes, *, delimiter: str, per_row: int) -> str:
    """What differs from the lines of a text, each of which is read alone."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    lines = [line for line in NEWLINE.split(text) if line.strip()]
    read = [row for line in lines if (row := _row(line, delimiter)) is not None]
    # The header and the other lines of a cell are no rows.
    others = len(lines) - len(read) if per_row == 1 else 1
    if [_near(a, b) for a, b in zip(found, read, strict=False)].count(False) or len(found) != len(
        read
    ):
        return f"{len(found)} rows, {len(read)} lines with rows, {len(lines)} lines"
    return f"{others} lines are no rows" if others > 1 else ""


def _near(found: tuple[float, float], line: tuple[float, float]) -> bool:
    return found[0] == line[0] and abs(found[1] - line[1]) < 1e-12


def _row(line: str, delimiter: str) -> tuple[float, float] | None:
    cells = line.replace('"', "").split(delimiter)
    try:
        return float(cells[0]), float(cells[1])
    except (ValueError, IndexError):
        return None


@cache
def json_lines() -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in frame().to_dict("records")).encode()


def json_case(rng: random.Random) -> Case:
    """JSON Lines: every line is a row with its own values."""
    change = rng.choice((*OF_TEXT, repeated_key))
    data = change(rng, json_lines())

    def wrong(found: Read) -> str:
        lines = [line for line in data.decode("utf-8-sig", "replace").split("\n") if line.strip()]
        rows = [row for line in lines for row in _json_rows(line)]
        if len(found.rows) != len(rows):
            return f"{len(found.rows)} rows of {len(rows)} objects"
        same = all(_near(a, b) for a, b in zip(found.rows, rows, strict=True))
        return "" if same or found.names != ("y", "p") else "other values"

    return _said_case(data, json_lines(), wrong, f"JSON Lines, {change.__name__}")


def repeated_key(rng: random.Random, data: bytes) -> bytes:
    """One object has a key twice."""
    places = [match.start() for match in re.finditer(rb'"[yps]":', data)]
    place = rng.choice(places)
    return data[:place] + rng.choice([b'"p": 0.5, ', b'"y": 1, ', b'"s": "x", ']) + data[place:]


def _json_rows(line: str) -> Rows:
    """The rows of one line, which may have several objects."""
    decoder, place, rows = json.JSONDecoder(), 0, []
    while place < len(line) and (start := line.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(line, start)
        except ValueError:
            return [*rows, (float("nan"), float("nan"))]
        pair = value.get("y"), value.get("p")
        rows.append(tuple(float("nan") if v is None else float(v) for v in pair))
    return rows


def parquet_case(rng: random.Random) -> Case:
    """Parquet whose pages have checksums, as most programs write them."""
    stream = io.BytesIO()
    packing = rng.choice(["snappy", "none", "zstd"])
    pq.write_table(
        pa.Table.from_pandas(frame()),
        stream,
        compression=packing,
        write_page_checksum=True,
        row_group_size=rng.choice([10, 100]),
    )
    change = rng.choice(OF_BYTES)
    data = change(rng, stream.getvalue())
    expected = list(zip(map(float, frame()["y"]), frame()["p"], strict=True))

    def wrong(found: Read) -> str:
        if found.names != ("y", "p"):
            return ""
        return "" if found.rows == expected else f"{len(found.rows)} rows, or other values"

    return _said_case(data, stream.getvalue(), wrong, f"Parquet {packing}, {change.__name__}")


@cache
def counts_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counts.parquet")
        calib.Aggregate.from_arrow(counts_table()).save(path)
        return path.read_bytes()


def counts_case(rng: random.Random) -> Case:
    """Saved counts: the cells are those that were counted."""
    change = rng.choice(OF_BYTES)

    def opened(data: bytes) -> pa.Table:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "counts.parquet")
            path.write_bytes(data)
            try:
                return calib.Aggregate.load(path).to_arrow()
            except (ValueError, OSError) as error:
                raise InputError(
                    [calib.loading.Problem("error", "invalid", {"message": f"{error}"})]
                ) from None

    def wrong(found: pa.Table) -> str:
        return "" if found.equals(counts_table()) else "other cells"

    return Case(change(rng, counts_file()), opened, wrong, note=f"counts, {change.__name__}")


def report_case(rng: random.Random) -> Case:
    """A report.json: whatever verifies is the report that was made."""
    text = report().json().encode()
    change = rng.choice((*OF_TEXT, repeated_member))
    data = change(rng, text)

    def wrong(found: Any) -> str:
        return "" if found.report.json().encode() == text else "another report is verified"

    return Case(data, verify_report, wrong, note=f"report, {change.__name__}")


def repeated_member(rng: random.Random, data: bytes) -> bytes:
    """One name of an object twice, with another value."""
    names = list(re.finditer(rb'"(\w+)": ?(\d[\d.e-]*|"[^"]*")', data))
    name = rng.choice(names)
    return data[: name.start()] + b'"%s": 0, ' % name[1] + data[name.start() :]


@cache
def calibrator_file() -> bytes:
    p, y = frame()["p"], frame()["y"]
    return describe(calib.calibrator("beta").fit(p, y)).json().encode()


def export_case(rng: random.Random) -> Case:
    """An exported JSON: whatever verifies is the calibrator that was exported."""
    change = rng.choice((*OF_TEXT, repeated_member))
    data = change(rng, calibrator_file())

    def opened(data: bytes) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "map.json")
            path.write_bytes(data)
            return verify(path)

    def wrong(found: Any) -> str:
        same = found.exported.json().encode() == calibrator_file()
        return "" if same else "another calibrator is verified"

    return Case(data, opened, wrong, note=f"exported JSON, {change.__name__}")


@cache
def log_members() -> dict[str, bytes]:
    samples = [stated(i, 0.02 * i + 0.01, "CI"[i % 3 == 0]) for i in range(40)]
    files: dict[str, Any] = {"header.json": HEADER}
    files |= {f"samples/{s['id']}_epoch_1.json": s for s in samples}
    return {name: json.dumps(content).encode() for name, content in files.items()}


def log_case(rng: random.Random) -> Case:
    """A zip of an evaluation log: damaged bytes, or members swapped, repeated or left out."""
    members = dict(log_members())
    whole = zipped(members)
    change = rng.choice((*OF_BYTES, None, None, None, None))
    if change is not None:
        data, note = change(rng, whole), change.__name__
    else:
        data, note = _other_members(rng, members)

    def opened(data: bytes) -> list[tuple[Any, ...]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.eval")
            path.write_bytes(data)
            found = read_logs(path)
        return sorted(
            zip(
                found.frame["sample_id"],
                found.frame["confidence"],
                found.frame["correct"],
                strict=True,
            )
        )

    expected = opened(whole)

    def wrong(found: list[tuple[Any, ...]]) -> str:
        return "" if found == expected else f"{len(found)} answers, or other values"

    return Case(data, opened, wrong, note=f"log, {note}")


def _other_members(rng: random.Random, members: dict[str, bytes]) -> tuple[bytes, str]:
    names = list(members)
    first, second = rng.sample(names, 2)
    kind = rng.choice(["swapped", "repeated", "outside", "nested", "key"])
    stream = io.BytesIO(zipped(members))
    if kind == "swapped":
        members[first], members[second] = members[second], members[first]
    elif kind == "key":
        members[first] = repeated_member(rng, members[first])
    if kind in ("swapped", "key"):
        return zipped(members), kind
    name = {"repeated": first, "outside": f"../{first}", "nested": "more.eval"}[kind]
    with zipfile.ZipFile(stream, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(name, zipped(members) if kind == "nested" else members[second])
    return stream.getvalue(), kind


KINDS: tuple[tuple[int, Callable[[random.Random], Case]], ...] = (
    (5, csv_case),
    (2, json_case),
    (2, parquet_case),
    (2, counts_case),
    (2, report_case),
    (2, export_case),
    (2, log_case),
)


def damaged_case(rng: random.Random) -> Case:
    """A damaged file of one of the formats."""
    weights, kinds = zip(*KINDS, strict=True)
    return rng.choices(kinds, weights)[0](rng)
