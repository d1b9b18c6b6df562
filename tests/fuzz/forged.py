"""Forged files: made by hand to mislead a reader, not damaged by chance."""

from __future__ import annotations

import io
import pickle
import random
import struct
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from calib.loading import load, read
from calib.loading.reading.budget import Budget
from tests.fuzz.cases import Case, plausible
from tests.fuzz.mutations import PACKERS, frame, valid, zipped

LIMIT = 2**20
unpickled: list[str] = []


class Bomb:
    """Says so if it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return unpickled.append, ("boom",)


def forged_case(rng: random.Random) -> Case:
    """A forged archive, table or weight column."""
    made = rng.choice(
        [_npz, _npz, _npz, _npz_values, _pickle, _bomb, _sizes, _nested, _parquet, _weights]
    )
    data = made(rng)

    def wrong(found: Any) -> str:
        return "a pickle was loaded" if unpickled else plausible(found)

    return Case(data, _small if made is _bomb else load, wrong, note=made.__name__)


def _small(data: bytes) -> Any:
    read(data, budget=Budget(size=LIMIT))
    return load(data)


DESCR = [
    *("<f8", ">f4", "<i8", "|b1", "|O", "<U3", "|S0", "<U0", "<M8[D]", "<c16", "|V8", "", "("),
    *("<f", "f8,i4", "<U999999999", "<f999", "[('a','<f8')]", "\\N{", "<M8[", "\xff", "'", "O"),
]
SHAPES = [
    *("(40,)", "(40, 1)", "(40, 3)", "()", "(0,)", "(-1,)", "(40", "40", "(40L,)", "(1e9,)"),
    *(f"({'9' * 30},)", "(True,)", "('40',)", "(None,)", "((40,),)", "(2**9,)", "(40,)}}"),
    *("(" * 40, "(4_0,)", "(0x28,)"),
]
FORMS = [
    "{{'descr': '{d}', 'fortran_order': {f}, 'shape': {s}, }}",
    "{{'descr': '{d}', 'shape': {s}}}",
    "{{'descr': {d!r}, 'fortran_order': {f}, 'shape': {s}, 'x': 1}}",
    *("({d}, {f}, {s})", "", "{{{{", "\0\0"),
]


def _npz(rng: random.Random) -> bytes:
    """Headers of arrays that promise what is not there, or are no header."""
    text = rng.choice(FORMS).format(
        d=rng.choice(DESCR),
        f=rng.choice(["False", "True", "0", "maybe", "False"]),
        s=rng.choice(SHAPES),
    )
    length = rng.choice([len(text) + 1, len(text) + 1, 0, 65535, len(text) // 2])
    version = rng.choice([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"])
    size = struct.pack("<H" if version[:1] == b"\x01" else "<I", length)
    content = b"\x93NUMPY" + version + size + text.encode("latin-1") + b"\n" + _bytes(rng)
    return zipped({"y.npy": _saved(frame()["y"]), "p.npy": content})


def _bytes(rng: random.Random) -> bytes:
    return rng.choice(
        [b"", bytes(40 * 8), rng.randbytes(40 * 8), frame()["p"].to_numpy().tobytes()]
    )


def _npz_values(rng: random.Random) -> bytes:
    """Arrays of a kind that few expect."""
    n = 40
    raw = np.frombuffer(rng.randbytes(n * 16), np.uint8)
    kinds = [
        "<U4",
        ">U4",
        "|S16",
        "<f8",
        ">f8",
        "<c16",
        "<M8[s]",
        "<m8[D]",
        "<f2",
        "<u8",
        "|b1",
        "V16",
        "<f4",
        "<f16",
    ]
    values = {key: raw.view(rng.choice(kinds))[:n] for key in ("p", "extra")}
    values |= {"y": rng.choice([frame()["y"].to_numpy(), raw.view(rng.choice(kinds))[:n]])}
    return zipped({f"{key}.npy": _saved(value) for key, value in values.items()})


def _pickle(rng: random.Random) -> bytes:
    hostile = np.array([Bomb()] * 40, dtype=object)
    content = rng.choice([_saved(hostile), pickle.dumps(Bomb()), pickle.dumps([Bomb()], 0)])
    alone = rng.choice([_saved(hostile), pickle.dumps(Bomb()), pickle.dumps({"y": Bomb()}, 2)])
    return rng.choice([zipped({"y.npy": content, "p.npy": _saved(frame()["p"])}), alone])


def _bomb(rng: random.Random) -> bytes:
    """A few kilobytes that unpack to megabytes."""
    return _bomb_of(rng.choice([*PACKERS, "npz"]))


@cache
def _bomb_of(name: str) -> bytes:
    if name == "npz":
        return zipped({"y.npy": _saved(np.zeros(2**18)), "p.npy": _saved(np.zeros(2**18))})
    return PACKERS[name](b"0,0.1\n" * 2**18)


def _sizes(rng: random.Random) -> bytes:
    """Zip archives whose directory lies about sizes, places and flags."""
    data = bytearray(valid(rng.choice(["zip", "npz", "npz packed"])))
    directory = data.rfind(b"PK\x05\x06") if rng.random() < 0.3 else data.find(b"PK\x01\x02")
    for _ in range(rng.choice([1, 2])):
        place = directory + rng.randrange(4, 46 if data[directory + 2] == 1 else 22)
        data[place] = rng.choice([0, 1, 0x7F, 0xFF, rng.randrange(256)])
    return bytes(data)


def _nested(rng: random.Random) -> bytes:
    """Archives in archives, under names that lead elsewhere."""
    data = valid(rng.choice(["csv", "npz", "gzip", "zip", "parquet"]))
    for _ in range(rng.choice([1, 2, 3])):
        names = rng.sample(
            ["rows.csv", "rows.npy", "../rows.csv", "/rows.csv"], rng.choice([1, 1, 2])
        )
        other = dict.fromkeys(names, data)
        data = zipped(other) if rng.random() < 0.5 else rng.choice(list(PACKERS.values()))(data)
    return data


def _parquet(rng: random.Random) -> bytes:
    """Tables of odd types, or with metadata that do not fit them."""
    table = pa.Table.from_pandas(frame()).select(["y", "p"])
    odd = rng.choice(
        [
            lambda: table.replace_schema_metadata({"pandas": "{", "ARROW:schema": "no"}),
            lambda: table.append_column("p", table["p"]),
            lambda: table.append_column("n", pa.array([[1]] * 40)),
            lambda: table.set_column(1, "p", pa.array([None] * 40)),
            lambda: table.set_column(1, "p", table["p"].cast(pa.decimal128(20, 10), safe=False)),
            lambda: table.set_column(1, "p", pa.array([2**62] * 40)),
            lambda: table.set_column(0, "y", table["y"].cast(pa.string()).dictionary_encode()),
            lambda: table.append_column("t", pa.array([2**62] * 40, pa.timestamp("us"))),
            lambda: table.append_column("t", pa.array([2**40] * 40, pa.duration("s"))),
            lambda: table.append_column("\0`<b>\n", table["p"]),
            lambda: table.slice(0, 0),
            lambda: table.select([]),
        ]
    )()
    stream = io.BytesIO()
    pq.write_table(odd, stream)
    return stream.getvalue()


def _weights(rng: random.Random) -> bytes:
    decades = rng.choice([300, 200, 100, 40, 18])
    w = [10.0 ** rng.uniform(-decades, decades) for _ in range(40)]
    made: pd.DataFrame = frame().assign(weight=w)
    return made.to_csv(index=False).encode()


def _saved(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values), allow_pickle=True)
    return stream.getvalue()
