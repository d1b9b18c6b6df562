"""How often `find_segments` confirms a segment of calibrated scores, and finds a planted one.

    python -m benchmarks segments

Prints three tables, which benchmarks/segments.md quotes, in a minute or two. A target is missed if
calibrated sets of any kind have a false segment in more than 5%, if a planted segment of 10% of the
rows, shifted by 0.5 in log-odds, is confirmed in less than 80% of the sets, or if a search takes
more than 20 seconds.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from calib import Predictions, find_segments
from calib.numerics.arrays import BoolArray, FloatArray, single_thread

MAX_FALSE, MIN_FOUND, MAX_SECONDS = 0.05, 0.8, 20.0
SHIFT = 0.5
# Each kind of data changes some of these.
KINDS: dict[str, dict[str, object]] = {
    "plain": {},
    "rare positives": {"mean": -4.0},
    "ten scores": {"ties": True},
    "weights": {"weighted": True},
    "clusters of 5": {"clustered": True},
}


def columns_of(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Eight columns: words of few and of many values, numbers, dates, missing values."""
    age = rng.normal(45.0, 12.0, n)
    age[rng.random(n) < 0.1] = np.nan
    return {
        "device": rng.choice(np.array(["web", "phone", "tablet"], dtype=object), n),
        # The planted segment is 10% of the rows: half of them by a fifth of them.
        "plan": rng.choice(np.array(["basic", "plus"], dtype=object), n),
        "region": rng.choice(np.array(list("ABCDE"), dtype=object), n),
        "shop": rng.choice(np.array([f"s{i}" for i in range(40)], dtype=object), n),
        "age": age,
        "amount": rng.lognormal(3.0, 1.0, n),
        "visits": rng.poisson(3.0, n),
        "day": np.datetime64("2025-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]"),
    }


def drawn(
    n: int,
    rng: np.random.Generator,
    *,
    mean: float = -0.5,
    ties: bool = False,
    weighted: bool = False,
    clustered: bool = False,
    shift: float = 0.0,
    place: str = "",
) -> tuple[Predictions, BoolArray]:
    """A data set, and which of its rows are in the planted segment."""
    columns = columns_of(n, rng)
    group = np.arange(n) // 5 if clustered else None
    score = expit(mean + 1.2 * rng.normal(size=n))
    if ties:
        score = (np.floor(10.0 * score) + 0.5) / 10.0
    if clustered:
        # The rows of a cluster share some columns, and their outcomes go together.
        columns |= {name: columns[name][group * 5] for name in ("plan", "region", "age")}
    if place == "range":
        planted = np.asarray(columns["amount"] > np.quantile(columns["amount"], 0.9))
    else:
        planted = np.asarray((columns["plan"] == "plus") & (columns["region"] == "C"))
    truth = expit(logit(score) + shift * planted)
    y = uniform(n, clustered, rng) < truth
    weight = rng.exponential(size=n) + 0.05 if weighted else None
    rows = Predictions.from_arrays(y, score, weight, group=group, columns=columns)
    return rows, planted


def uniform(n: int, clustered: bool, rng: np.random.Generator) -> FloatArray:
    """Uniform numbers, which correlate within clusters of five."""
    if not clustered:
        return rng.random(n)
    common = rng.normal(size=n // 5)[np.arange(n) // 5]
    mixed = math.sqrt(0.3) * common + math.sqrt(0.7) * rng.normal(size=n)
    return np.asarray(norm.cdf(mixed))


def false_segments(kind: str, n: int, repetitions: int) -> tuple[float, float]:
    """Share of calibrated sets with a confirmed segment, and the mean number searched."""
    wrong, searched = 0, 0
    for seed in range(repetitions):
        rows, _ = drawn(n, np.random.default_rng([n, seed]), **KINDS[kind])  # type: ignore[arg-type]
        result = find_segments(rows, seed=seed)
        wrong += len(result) > 0
        searched += result.n_searched
    return wrong / repetitions, searched / repetitions


def found_segments(
    place: str, n: int, repetitions: int, **kind: bool
) -> tuple[float, float, float]:
    """Shares of sets in which the planted segment is first, or confirmed; and of other segments.

    A confirmed segment that shares no row with the planted one, by its columns, is false.
    """
    first = confirmed = other = 0
    wanted = {"pair": ("plan", "region"), "range": ("amount",)}[place]
    for seed in range(repetitions):
        rng = np.random.default_rng([n, seed, 1])
        rows, _ = drawn(n, rng, shift=SHIFT, place=place, **kind)  # type: ignore[arg-type]
        result = find_segments(rows, seed=seed)
        first += bool(len(result)) and result.columns[0] == wanted
        confirmed += wanted in result.columns
        other += any(not set(columns) & set(wanted) for columns in result.columns)
    return first / repetitions, confirmed / repetitions, other / repetitions


def seconds(n: int) -> tuple[float, int]:
    """Seconds for n rows and 20 columns, and the number of segments."""
    rng = np.random.default_rng(0)
    columns = columns_of(n, rng)
    for i in range(12):
        columns[f"number {i}"] = rng.normal(size=n)
    score = expit(rng.normal(-0.5, 1.2, n))
    rows = Predictions.from_arrays(rng.random(n) < score, score, columns=columns)
    start = time.perf_counter()
    result = find_segments(rows)
    return time.perf_counter() - start, result.n_searched


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks segments")
    parser.add_argument("--repetitions", type=int, default=500)
    repetitions = parser.parse_args(arguments).repetitions
    missed = 0
    print("| calibrated scores, 5,000 rows | segments searched | sets with a false segment |")
    print("| --- | --- | --- |")
    for kind in KINDS:
        share, searched = false_segments(kind, 5_000, repetitions)
        missed += share > MAX_FALSE
        print(f"| {kind} | {searched:,.0f} | {share:.1%} |", flush=True)
    print("\n| planted segment, 20,000 rows | first | confirmed | a false one beside it |")
    print("| --- | --- | --- | --- |")
    for name, place, kind in (
        ("two columns", "pair", {}),
        ("two columns, clusters of 5", "pair", {"clustered": True}),
        ("two columns, weights", "pair", {"weighted": True}),
        ("the upper half of a range of one number", "range", {}),
    ):
        first, confirmed, other = found_segments(place, 20_000, max(1, repetitions // 5), **kind)
        missed += confirmed < MIN_FOUND
        print(f"| {name} | {first:.0%} | {confirmed:.0%} | {other:.0%} |", flush=True)
    print("\n| rows | columns | segments | seconds |\n| --- | --- | --- | --- |")
    for n in (100_000, 1_000_000):
        took, searched = seconds(n)
        missed += took > MAX_SECONDS
        print(f"| {n:,} | 20 | {searched:,} | {took:.1f} |", flush=True)
    return missed


if __name__ == "__main__":
    with single_thread():
        sys.exit(main(sys.argv[1:]))
