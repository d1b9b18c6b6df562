"""What the days of a monitor cost: to add one, to open three years of them, and on the disk.

    python -m benchmarks.monitored_days

The goals: a day of a million rows in Parquet is added in 2 CPU seconds, three years of 20 slices
are opened in half a second and have at most 50 MB. Times are of the processor, after the libraries
are imported.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks._clock import cpu_seconds
from calib.data.day_counts import DayCounts
from calib.data.file_options import Columns
from calib.features.monitor.rows import read_days
from calib.numerics.arrays import FloatArray
from calib.store import Store

FIRST = np.datetime64("2023-01-01")
N_DAYS, N_SLICES, HORIZON = 1096, 20, 30
SLICES = [f"region {number}" for number in range(N_SLICES)]
COLUMNS = Columns(outcome="y", score="p", time="at", slices=("region",))
MISSING_SHARE = 0.05


def day_of(n_rows: int, number: int, score: FloatArray | None = None) -> DayCounts:
    """A day of calibrated rows, of which some have no outcome."""
    rng = np.random.default_rng(number)
    score = rng.beta(1, 6, n_rows) if score is None else score
    kind: NDArray[np.int64] = (rng.random(n_rows) < score).astype(np.int64)
    kind[rng.random(n_rows) < MISSING_SHARE] = 2
    day = np.full(n_rows, FIRST + number)
    return DayCounts.of_rows(day, score, kind, {"region": (rng.integers(0, 20, n_rows), SLICES)})


def print_sizes() -> float:
    """Print megabytes of three years, and return the largest."""
    rng = np.random.default_rng(0)
    days = {f"{n:,} rows a day": day_of(n, 0) for n in (4_000, 50_000, 1_000_000)}
    spread = expit(rng.uniform(-10.0, 10.0, 1_000_000))
    days["1,000,000 rows a day, scores in all ranges"] = day_of(len(spread), 0, spread)
    sizes = {name: N_DAYS * len(*day.by_day().values()) / 1e6 for name, day in days.items()}
    for name, size in sizes.items():
        print(f"three years, {N_SLICES} slices, {name}: {size:.1f} MB")
    return max(sizes.values())


def adding(folder: Path) -> float:
    """CPU seconds of adding a million rows."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    score = rng.beta(1, 6, n)
    at = FIRST.astype("datetime64[s]") + rng.integers(0, 86_400, n)
    rows = {"y": (rng.random(n) < score).astype(np.int8), "p": score, "at": at}
    region = pd.Categorical.from_codes(rng.integers(0, N_SLICES, n), SLICES)
    pd.DataFrame(rows | {"region": region}).to_parquet(folder / "day.parquet")

    def add() -> None:
        days = read_days(folder / "day.parquet", COLUMNS, HORIZON)
        fingerprint = days.fingerprint
        store.monitors.add("m", days.counts, fingerprint=fingerprint, horizon=HORIZON, by="b")

    with Store(f"sqlite:///{folder / 'day.db'}") as store:
        return cpu_seconds(add)


def opening(folder: Path) -> float:
    """CPU seconds of opening three years of 4,000 rows a day."""
    with Store(f"sqlite:///{folder / 'years.db'}") as store:
        for number in range(N_DAYS):
            day = day_of(4_000, number)
            store.monitors.add("m", day, fingerprint=str(number), horizon=HORIZON, by="b")
        return cpu_seconds(lambda: store.monitors.open("m"))


def main() -> int:
    with TemporaryDirectory() as name:
        megabytes, added, opened = print_sizes(), adding(Path(name)), opening(Path(name))
    print(f"a day of 1,000,000 rows added: {added:.2f} CPU s")
    print(f"three years of 4,000 rows a day opened: {opened:.2f} CPU s")
    return int(megabytes > 50.0) + int(added > 2.0) + int(opened > 0.5)


if __name__ == "__main__":
    sys.exit(main())
