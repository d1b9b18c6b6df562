"""Mutations: valid files of every format with flipped, cut, inserted, moved or doubled bytes."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from calib.data.predictions import Predictions
from calib.loading import InputError, assess, guess, load, read
from tests.fuzz.cases import Case, plausible

PIECES = (
    b"\0",
    b"\xff",
    b'"',
    b",",
    b";",
    b"\n",
    b"\r",
    b"\t",
    b"%",
    b"-",
    b"1e999",
    b"nan",
    b"9" * 20,
)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to three accidents, more often near the ends, where formats keep their directories."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        place = _place(rng, len(data))
        length = rng.choice([1, 1, 2, 4, 8, rng.randint(1, 200)])
        piece = data[place : place + length]
        other = _place(rng, len(data))
        data = rng.choice(
            [
                data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :],
                data[:place]
                + bytes(b ^ (1 << rng.randrange(8)) for b in piece[:1])
                + data[place + 1 :],
                data[:place] + data[place + length :],
                data[:place] + rng.choice(PIECES) + data[place:],
                data[:other] + piece + data[other:],
                data[:other] + piece + data[other + len(piece) :],
                data[:place] + bytes(len(piece)) + data[place + length :],
                data[:place],
                data[place:],
                data + data,
                data + data[:place],
                data + rng.randbytes(length),
            ]
        )
    return data


def _place(rng: random.Random, length: int) -> int:
    near = rng.randint(0, min(120, length))
    return rng.choice([near, length - near, rng.randint(0, length), rng.randint(0, length)])


@cache
def frame() -> pd.DataFrame:
    """The rows of all valid files."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 40).round(4)
    y = (rng.random(40) < p).astype(np.int64)
    return pd.DataFrame({"y": y, "p": p, "s": rng.choice(["north", "south", "east"], 40)})


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def _csv(delimiter: str = ",") -> bytes:
    return frame().to_csv(index=False, sep=delimiter, lineterminator="\n").encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip archive; the same members give the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            # The date would be that of writing, so there is none.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _arrow_stream(stream: io.BytesIO) -> None:
    table = pa.Table.from_pandas(frame())
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)


def _matrix() -> dict[str, Any]:
    p = frame()["p"].to_numpy()
    return {"probs": np.column_stack([p / 2, p / 2, 1 - p]).astype(np.float32), "y": frame()["y"]}


TEXTS = {"csv": ",", "tsv": "\t", "semicolon": ";"}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    "zip": lambda data: zipped({"rows.csv": data}),
}
TABLES: dict[str, Callable[[], bytes]] = {
    "parquet": lambda: _written(lambda s: frame().to_parquet(s)),
    "parquet plain": lambda: _written(
        lambda s: frame().to_parquet(s, compression=None, use_dictionary=False)
    ),
    "parquet gzip": lambda: _written(
        lambda s: frame().to_parquet(
            s, compression="gzip", data_page_version="2.0", row_group_size=16
        )
    ),
    "feather": lambda: _written(lambda s: frame().to_feather(s, compression="uncompressed")),
    "feather lz4": lambda: _written(lambda s: frame().to_feather(s, compression="lz4")),
    "arrow stream": lambda: _written(_arrow_stream),
    "npz": lambda: _written(lambda s: np.savez(s, **{k: frame()[k] for k in "yp"})),
    "npz packed": lambda: _written(lambda s: np.savez_compressed(s, **_matrix())),
}
FORMATS: Mapping[str, Callable[[], bytes]] = {
    **{name: (lambda mark=mark: _csv(mark)) for name, mark in TEXTS.items()},
    **{name: (lambda pack=pack: pack(_csv())) for name, pack in PACKERS.items()},
    **TABLES,
}


@cache
def valid(name: str) -> bytes:
    """The valid file of a format."""
    return FORMATS[name]()


def mutation_case(rng: random.Random) -> Case:
    """A mutated file of some format, loaded by a program or assessed by an upload."""
    name = rng.choice(list(TEXTS if rng.random() < 0.4 else FORMATS))
    data = mutated(rng, valid(name))
    drop = rng.random() < 0.3

    def wrong(found: Predictions) -> str:
        if name in TEXTS:
            return plausible(found) or _unlike_text(found, data, TEXTS[name], drop=drop)
        # Checksums show every change; zstd has none by default.
        if name in PACKERS and name != "zstd":
            return plausible(found) or _unlike_rows(found, frame()["y"], frame()["p"])
        return plausible(found)

    opened = _assessed if rng.random() < 0.3 else _loaded
    return Case(data, lambda data: opened(data, drop), wrong, note=f"{name}, {drop=}")


def streams_case(rng: random.Random) -> Case:
    """A packed file of one stream or of several, and perhaps what does not belong behind them."""
    pack = PACKERS[rng.choice(["gzip", "bzip2", "xz", "zstd"])]
    lines = _csv().splitlines(keepends=True)
    places = [0, *sorted(rng.choices(range(len(lines)), k=rng.choice([0, 1, 2, 30]))), len(lines)]
    parts = [b"".join(lines[a:b]) for a, b in pairwise(places)]
    data = b"".join(map(pack, parts))
    behind = rng.choice([b"", b"", rng.randbytes(rng.randint(1, 60)), data[:9], lines[-1]])
    return Case(
        data + behind,
        load,
        lambda found: _unlike_rows(found, frame()["y"], frame()["p"]),
        plain=not behind,
        note=f"{len(parts)} streams, behind them {behind!r}",
    )


def _loaded(data: bytes, drop: bool) -> Predictions:
    return load(data, drop_missing=drop)


def _assessed(data: bytes, drop: bool) -> Predictions:
    """As the dashboard reads a file: guessed, assessed, its repairs tried."""
    table = read(data)
    found = assess([table], guess(table))
    for problem in found.problems:
        if problem.repair is not None:
            assess([table], problem.repair)
    if not found.models:
        raise InputError([one for one in found.problems if one.severity == "error"])
    return next(iter(found.models.values()))


def _unlike_rows(found: Predictions, outcome: Any, score: Any) -> str:
    same = len(found.outcome) == len(outcome) and (
        np.array_equal(found.outcome, outcome) and np.allclose(found.scores, score, rtol=1e-12)
    )
    return "" if same else f"{len(found.outcome)} rows are not those of the file"


def _unlike_text(found: Predictions, data: bytes, delimiter: str, *, drop: bool) -> str:
    """Compare with a plain reading by Python's own csv; rows that it cannot read are left out."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    last = text.replace("\r", "\n").rpartition("\n")[2]
    # A quoted cell may run over many lines.
    if last.replace(delimiter, "").strip() and '"' not in last and last.count(delimiter) < 2:
        return "it ends in the middle of a row"
    rows = [
        r
        for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        if any(map(str.strip, r))
    ]
    if (found.outcome_name, found.score_name) not in (tuple(rows[0][:2]), ("column 1", "column 2")):
        # Without its header a table may be read in other columns.
        return ""
    values = [_values(row) for row in rows]
    read = [value for value in values if value is not None]
    if len(read) < len(values) - 1 and not drop:
        unread = [r for r, v in zip(rows, values, strict=True) if v is None]
        return f"rows that cannot be read were accepted: {unread[:3]}"
    return _unlike_rows(found, [y for y, _ in read], [p for _, p in read])


def _values(row: list[str]) -> tuple[int, float] | None:
    """Outcome and score of a row of three cells; None where it has no such."""
    while len(row) > 3 and not row[-1]:
        row = row[:-1]
    try:
        # Python's own numbers may stand between spaces, but not between all that `strip` removes.
        first, second = (cell.strip() for cell in row[:2])
        outcome, score = float(first), float(second.removesuffix("%").replace(",", "."))
    except (ValueError, IndexError):
        return None
    score = score / 100.0 if second.endswith("%") else score
    # A row may end before its empty cells.
    whole = outcome in (0.0, 1.0) and 0.0 <= score <= 1.0 and len(row) <= 3
    return (int(outcome), score) if whole else None
