"""Ten people at once, each moving the bin slider on 200,000 rows of their own.

``python -m benchmarks.soak 300`` is the soak test of five minutes; without an argument it is short.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks._person import Person
from tests.browser import harness

N_ROWS, N_PEOPLE = 200_000, 10
SHORT = 20.0  # seconds
# A moved slider is looked at: a person moves it about twice a second.
PAUSE = (0.3, 0.7)
RATIO, LEFT = 3.0, 0.25  # promised: times one session's median; share of the memory that may stay
FORGOTTEN = 130.0  # seconds until Streamlit forgets a session that does not come back
CHART = "chart_reliability"


def pasted(seed: int) -> str:
    """Rows of one person, as text."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-1.0, 1.5, N_ROWS)
    outcome = rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-log_odds))
    score = (1.0 / (1.0 + np.exp(-1.3 * log_odds))).round(6)
    table = pd.DataFrame({"outcome": outcome.astype(int), "score": score})
    text = io.StringIO()
    table.to_csv(text, index=False)
    return text.getvalue()


def arrive(url: str, seed: int) -> Person:
    """A person with rows of their own, on the Reliability page."""
    person = Person(url)
    person.open("data")
    person.set("data_paste", "string_value", pasted(seed))
    person.set("use_paste", "trigger_value", True)
    person.open("reliability")
    return person


def move(person: Person, seed: int, seconds: float) -> list[float]:
    """Move the slider and look, over and over; seconds until each diagram came."""
    rng = np.random.default_rng(seed)
    waited, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        bins = float(rng.integers(5, 60))
        waited.append(person.set("n_bins", "double_array_value", [bins], until=CHART))
        time.sleep(rng.uniform(*PAUSE))
    return waited


def memory(runs: Path) -> float:
    """Megabytes that the server held at its last script run."""
    return float(json.loads(runs.read_text().splitlines()[-1])["memory"])


def soak(url: str, runs: Path, seconds: float) -> dict[str, float]:
    """One person alone, then ten at once, then an empty room."""
    alone = arrive(url, 0)
    one = move(alone, 0, min(seconds, 60.0))
    alone.close()
    before = memory(runs)
    people = [arrive(url, seed) for seed in range(1, N_PEOPLE + 1)]
    with ThreadPoolExecutor(N_PEOPLE) as pool:
        moves = list(pool.map(lambda p: move(p, id(p) % 1000, seconds), people))
    full = memory(runs)
    for person in people:
        person.close()
    time.sleep(FORGOTTEN)
    # Streamlit drops them when another leaves, and the app collects them when another comes.
    for _ in range(3):
        Person(url).close()
        time.sleep(1.0)
    return {
        "one": statistics.median(one),
        "ten": statistics.median(wait for waited in moves for wait in waited),
        "slowest": max(max(waited) for waited in moves),
        "moves": sum(map(len, moves)),
        "errors": sum(len(person.errors) for person in people),
        "before": before,
        "full": full,
        "after": memory(runs),
    }


def report(found: dict[str, float], log: str) -> int:
    """Print the table; return how many promises are missed."""
    ratio = found["ten"] / found["one"]
    kept = (found["after"] - found["before"]) / (found["full"] - found["before"])
    errors = int(found["errors"]) + log.count("Traceback")
    print(f"{N_PEOPLE} sessions, {N_ROWS:,} rows each, {found['moves']:,.0f} moves")
    print(f"load of the machine                   {os.getloadavg()[0]:8.1f}")
    print(f"median, one session                   {1000 * found['one']:8.1f} ms")
    print(f"median, ten at once                   {1000 * found['ten']:8.1f} ms")
    print(f"ratio                                 {ratio:8.2f}  promised {RATIO:g}")
    print(f"slowest of all moves                  {1000 * found['slowest']:8.1f} ms")
    print(f"errors                                {errors:8d}  promised 0")
    held = ", ".join(f"{name} {found[name]:.0f} MB" for name in ("before", "full", "after"))
    print(f"memory of the server: {held}")
    print(f"share of it that stays                {kept:8.2f}  promised {LEFT:g}")
    return sum((ratio > RATIO, errors > 0, kept > LEFT))


def main() -> int:
    """Run the soak test; return how many promises are missed."""
    seconds = float(sys.argv[1]) if len(sys.argv) == 2 and sys.argv[1][0].isdigit() else SHORT
    with tempfile.TemporaryDirectory() as name:
        runs, log = Path(name) / "runs.jsonl", Path(name) / "server.log"
        with harness.serve(log, "app.py", "benchmarks._timed_server", str(runs)) as url:
            found = soak(url, runs, seconds)
        return report(found, log.read_text(errors="replace"))


if __name__ == "__main__":
    sys.exit(min(main(), 1))
