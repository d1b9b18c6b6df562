"""Files that are read in a process of their own: limits that hold, reasons that are true."""

import gzip
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import calib
from calib.loading import FileFormat, InputError, read
from calib.loading.reading.apart import FileReader, Limits, is_harmless
from calib.loading.reading.budget import read_back, write
from calib.loading.table import Table
from tests.fuzz.seeds import case_of
from tests.loading.bombs import BOMBS, MB, parquet, zeros
from tests.loading.workbooks import xlsx
from tests.rare import common_first, rare

LIMITS = Limits(memory=512 * MB, seconds=30.0)
ROWS = pd.DataFrame({"y": [0, 1] * 50, "p": np.linspace(0.01, 0.99, 100), "s": ["é", "b"] * 50})
CODES = {"too-large", "too-wide", "memory", "damaged", "empty", "long-cell"}
# Files that take seconds to make are tested by `python -m benchmarks.bombs`.
QUICK = [
    name
    for name in BOMBS
    if name.startswith(
        (
            *("Parquet: a word of 1 MB", "Arrow: cat", "gzip", "xz", "zstd", "text"),
            *("counts: 19", "query", "Excel: two"),
        )
    )
]
# Another compression of the same rows, or the same rows again.
LIKE_OTHERS = {
    "gzip: 250 MB of short rows",
    "bzip2: 1 GB of short rows",
    "xz: 1 GB of short rows",
    "zstd: 1 GB of short rows",
    "gzip: 20,000 columns above short rows",
    # These are a text, a Parquet file, and the counts of a query.
    "gzip: 250 MB of quotation marks",
    "Arrow: categories of 1 MB in 100,000 rows",
    "counts: 19 million entries",
}


@pytest.fixture(scope="module")
def reader() -> Iterator[FileReader]:
    with FileReader(LIMITS) as opened:
        yield opened


@pytest.fixture(scope="module")
def counts_reader() -> Iterator[FileReader]:
    """The one of the pages, which knows counts too and takes twice as long to start."""
    with FileReader(LIMITS, "calib.scanning.rows_or_counts") as opened:
        yield opened


@rare
@pytest.mark.parametrize("name", common_first(QUICK, set(QUICK) - LIKE_OTHERS))
def test_a_bomb_is_refused_in_a_sentence(
    name: str, reader: FileReader, counts_reader: FileReader
) -> None:
    chosen = counts_reader if name.startswith(("counts", "query")) else reader
    with pytest.raises(InputError) as caught:
        chosen.read(BOMBS[name](), "bomb")
    (problem,) = caught.value.problems
    assert problem.code in CODES, problem
    assert problem.sentence.endswith(".")


@rare
def test_what_needs_more_memory_than_it_may_take_is_told_so(texts) -> None:
    data = parquet(zeros(3_000_000))
    with FileReader(Limits(memory=30 * MB)) as reader:
        with texts.raises(InputError) as caught:
            reader.read(data, "zeros.parquet")
        assert caught.value.problems[0].code == "memory"
        assert caught.value.problems[0].code == "memory"
    assert len(read(data)) == 3_000_000


def test_what_takes_too_long_is_stopped_and_told_so(reader: FileReader) -> None:
    data = gzip.compress(b"y,p\n" + b"0,0.5\n" * 5_000_000)
    with FileReader(Limits(seconds=0.2)) as impatient:
        start = time.monotonic()
        with pytest.raises(InputError, match=r"stopped after 0 seconds"):
            impatient.read(data, "zeros.csv.gz")
        assert time.monotonic() - start < 5.0


@rare
def test_a_reader_that_died_while_it_waited_is_replaced(reader: FileReader) -> None:
    reader.prepare()
    assert reader._spare is not None
    reader._spare.kill()
    reader._spare.wait()
    assert len(reader.read(gzip.compress(b"y,p\n0,0.5\n1,0.7\n"), "f.csv.gz")) == 2


@rare
def test_a_reader_that_dies_is_no_traceback_and_the_next_file_is_read(
    reader: FileReader, texts
) -> None:
    def kill() -> None:
        for process in children():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    data = gzip.compress(b"y,p\n" + b"0,0.5\n" * 5_000_000)
    with texts.raises(InputError) as caught:
        reader.read(data, "f.csv.gz", watch=kill)
    assert caught.value.problems[0].code == "reader-died"
    assert len(reader.read(gzip.compress(b"y,p\n0,0.5\n1,0.7\n"), "f.csv.gz")) == 2


def test_whoever_leaves_ends_the_reading(reader: FileReader) -> None:
    class Left(Exception):
        pass

    def leave() -> None:
        raise Left

    data = gzip.compress(b"y,p\n" + b"0,0.5\n" * 5_000_000)
    reader.prepare()
    before = len(children())
    with pytest.raises(Left):
        reader.read(data, "zeros.csv.gz", watch=leave)
    assert len(children()) <= before  # The reader keeps one process ready.


def children() -> list[int]:
    """The processes of ours that read files."""
    listed = subprocess.run(
        ["ps", "-ww", "--ppid", str(os.getpid()), "-o", "pid=", "-o", "args="],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in listed.stdout.splitlines() if "serve_one" in line]
    return [int(line.split()[0]) for line in lines]


@rare
def test_others_go_on_while_a_bomb_is_read(reader: FileReader) -> None:
    """A thread of this process is never kept waiting as long as a page would notice."""
    bomb, done, longest = BOMBS["gzip: 250 MB of short rows"](), threading.Event(), 0.0

    def explode() -> None:
        with pytest.raises(InputError):
            reader.read(bomb, "bomb.gz")
        done.set()

    thread = threading.Thread(target=explode)
    thread.start()
    while not done.is_set():
        start = time.perf_counter()
        time.sleep(0.005)
        longest = max(longest, time.perf_counter() - start)
    thread.join()
    assert longest < 0.5


def test_the_same_table_comes_back(tmp_path: Path, reader: FileReader) -> None:
    rows = pd.DataFrame(
        {"y": [0, 1] * 50, "p": np.linspace(0.01, 0.99, 100), "s": ["a", None] * 50}
    )
    data = gzip.compress(rows.to_csv(index=False).encode())
    same(reader.read(data, "f.csv.gz"), read(data, "f.csv.gz"))


def test_the_same_counts_come_back(tmp_path: Path, counts_reader: FileReader) -> None:
    counted = calib.scan(ROWS, outcome="y", score="p", slices=["s"], name="march")
    counted.save(tmp_path / "saved.parquet")
    found = counts_reader.read((tmp_path / "saved.parquet").read_bytes(), "saved.parquet")
    assert isinstance(found, calib.Aggregate)
    assert found.to_json() == counted.to_json()


@rare
def test_the_same_counts_of_models_come_back(tmp_path: Path, counts_reader: FileReader) -> None:
    both = calib.scan(ROWS.assign(q=ROWS.p**2), outcome="y", models=["p", "q"])
    both.save(tmp_path / "models.parquet")
    found = counts_reader.read((tmp_path / "models.parquet").read_bytes(), "models.parquet")
    assert found.models == ("p", "q")


@rare
@pytest.mark.parametrize("name", common_first(["cells.parquet", "cells.csv"], ["cells.csv"]))
def test_the_same_counts_of_a_query_come_back(
    name: str, tmp_path: Path, counts_reader: FileReader
) -> None:
    query = calib.scan_sql("duckdb", table="rows", outcome="y", score="p", slices=["s"])
    result, path = duckdb.from_df(ROWS).query("rows", query), tmp_path / name
    if path.suffix == ".parquet":
        result.write_parquet(str(path))
    else:
        result.write_csv(str(path), header=True)
    found = counts_reader.read(path.read_bytes(), name)
    pd.testing.assert_frame_equal(found.frame(), calib.scan(path).frame())


def test_every_kind_of_column_comes_back(tmp_path: Path) -> None:
    kinds = pd.DataFrame(
        {
            "whole": np.array([1, 2], np.uint64) + np.uint64(2**63),
            "gap": pd.array([1, None], dtype="Int8"),
            "small": np.array([0.1, np.nan], np.float32),
            "day": pd.to_datetime(["2026-03-01", None]),
            "moment": pd.to_datetime(["2026-03-01 09:05", "2026-03-02 00:00"]).tz_localize(
                "Europe/Rome"
            ),
            "while": pd.to_timedelta([1, 2], unit="s"),
            "label": pd.Categorical(["b", None], categories=["b", "a"], ordered=True),
            "text": pd.Series(["é", None], dtype="str"),
            "mixed": pd.Series([True, float("nan")], dtype=object),
            "half": pd.Series(["\ud800", 2**80], dtype=object),
            "exact": pd.Series([Decimal("0.10"), datetime(2026, 3, 1, 9, 5)], dtype=object),
            "part": pd.Series([clock(9, 5), timedelta(days=1, microseconds=2)], dtype=object),
            "none": pd.Series([None, date(2026, 3, 1)], dtype=object),
        }
    )
    table = Table(kinds, "t", commas=True, file="t.csv")
    write(table, tmp_path / "t")
    same(read_back(tmp_path / "t"), table)


@pytest.mark.parametrize("first", common_first(range(0, 400, 40), [0, 200]))
def test_what_was_read_apart_is_what_is_read_here(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 40):
        try:
            table = read(case_of(seed).data)
        except Exception:
            continue
        write(table, tmp_path / "t")
        same(read_back(tmp_path / "t"), table)


def same(one: Table, other: Table) -> None:
    pd.testing.assert_frame_equal(one.frame, other.frame, check_exact=True)
    fields = ("name", "first_row", "notes", "file", "guesses", "format", "commas")
    for name in (*fields, "header", "sheets"):
        assert getattr(one, name) == getattr(other, name)


def test_only_text_whose_cells_are_few_is_read_here() -> None:
    assert is_harmless(b"y,p\n" + b"0,0.5\n" * 100_000, FileFormat())
    assert is_harmless(b"\x89PNG", FileFormat())
    assert not is_harmless(b"," * 20_000 + b"\n" + b"1\n" * 10_000, FileFormat())
    assert not is_harmless(parquet(zeros(2)), FileFormat())
    assert not is_harmless(gzip.compress(b"y,p\n0,0.5\n"), FileFormat())
    assert not is_harmless(xlsx({"Rows": [["y", "p"], [0, 0.5]]}), FileFormat())
    assert not is_harmless(b"<stata_dta><header>", FileFormat())


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, texts) -> None:
    monkeypatch.setenv("CALIB_READ_MEMORY_GB", "0.5")
    assert Limits.from_environment() == Limits(2**29, 60.0)
    monkeypatch.setenv("CALIB_READ_MEMORY_GB", "4")
    monkeypatch.setenv("CALIB_READ_SECONDS", "90")
    assert Limits.from_environment() == Limits(4 * 2**30, 90.0)
    for wrong in ("0", "-1", "much", "nan"):
        monkeypatch.setenv("CALIB_READ_SECONDS", wrong)
        with texts.raises(ValueError):
            Limits.from_environment()


@rare
def test_a_reader_knows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIB_DATABASE_URL", "postgresql://ada:secret@db/team")
    with FileReader() as reader:
        reader.prepare()
        assert reader._spare is not None
        known = Path(f"/proc/{reader._spare.pid}/environ")
        if not known.exists():
            pytest.skip("This system does not tell a process's environment.")
        time.sleep(0.2)
        assert b"secret" not in known.read_bytes()
