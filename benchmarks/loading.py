"""Time to load CSV files, against pandas and DuckDB in the same run.

``python -m benchmarks.loading`` writes the files into a folder that it removes, and reads each
in turn: `pandas.read_csv`, DuckDB into a table in memory, the reader of a dropped file, and
`calib.load`, which also guesses and checks. Times are of the processor, medians of three.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from benchmarks._clock import cpu_seconds
from calib import load
from calib.loading import read

REPEATS = 3
MAX_SECONDS = 3.0  # For the file of 101 MB.
WORDS = np.array(["the", "answer", "follows", "because", "each", "step", "holds", "so", "we"])


def with_text(rng: np.random.Generator) -> Iterator[str]:
    """1,000,000 rows with ids and words."""
    yield "id,y,p,text\n"
    n = 1_000_000
    words = WORDS[rng.integers(0, len(WORDS), (n, 2))].tolist()
    for i, (y, p, pair) in enumerate(zip(*_predictions(n, 6, rng), words, strict=True)):
        yield f"{i},{y},{p!r},{' '.join(pair)}\n"


def long(rng: np.random.Generator) -> Iterator[str]:
    """4,900,000 rows with ids, 101 MB. Some scores have an exponent, such as 3e-05."""
    yield "id,y,p\n"
    for i, (y, p) in enumerate(zip(*_predictions(4_900_000, 8, rng), strict=True)):
        yield f"{i},{y},{p!r}\n"


def with_floats(rng: np.random.Generator) -> Iterator[str]:
    """1,000,000 rows whose outcome is 0.0 or 1.0, and an amount with two decimals."""
    yield "y,p,amount\n"
    n = 1_000_000
    amounts = np.round(rng.gamma(2.0, 500.0, n), 2).tolist()
    for y, p, amount in zip(*_predictions(n, 8, rng), amounts, strict=True):
        yield f"{y:.1f},{p!r},{amount!r}\n"


def _predictions(n: int, digits: int, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    scores = rng.random(n)
    return (rng.random(n) < scores).astype(int).tolist(), scores.round(digits).tolist()


# The file of floats has no goal: its outcome is compared with its text, and kept as text.
FILES: dict[str, tuple[Callable[[np.random.Generator], Iterator[str]], float]] = {
    "ids and words": (with_text, 4.0),
    "101 MB": (long, 4.0),
    "floats": (with_floats, float("inf")),
}


def seconds(path: Path) -> tuple[float, ...]:
    """What pandas, DuckDB, the reader of files and `calib.load` need."""
    data = path.read_bytes()
    runs: tuple[Callable[[], object], ...] = (
        lambda: pd.read_csv(path),
        lambda: duckdb.connect().execute(f"create table t as from '{path}'"),
        lambda: read(data, path.name),
        lambda: load(data),
    )
    return tuple(cpu_seconds(run, REPEATS) for run in runs)


def main() -> int:
    """Print seconds and ratios; return how many targets are missed."""
    missed = 0
    print(f"{'file':16s}{'pandas':>8s}{'DuckDB':>8s}{'read':>8s}{'load':>8s}  times pandas")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "predictions.csv")
        for name, (lines, most) in FILES.items():
            with path.open("w") as stream:
                stream.writelines(lines(np.random.default_rng(0)))
            pandas, duck, ours, loaded = seconds(path)
            print(
                f"{name:16s}{pandas:8.2f}{duck:8.2f}{ours:8.2f}{loaded:8.2f}"
                f"  {ours / pandas:.1f}, {loaded / pandas:.1f}, at most {most:g}"
            )
            missed += loaded > most * pandas
            missed += path.stat().st_size > 10**8 and loaded > MAX_SECONDS
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
