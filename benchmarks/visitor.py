"""One visitor who uploads a file of their own and leaves, again and again: memory of the server.

``python -m benchmarks.visitor [--visits 40] [--rows 30000]``. Every visit is a session of its own,
which Streamlit keeps for two minutes in case that its browser comes back.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks._person import Person
from benchmarks._timed_server import PAGE
from benchmarks.soak import FORGOTTEN_SECONDS, pasted
from benchmarks.team import cpu_seconds, server

VISITS, ROWS = 40, 30_000


def resident_mb(process: int) -> float:
    """Megabytes of memory that a process holds now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6


def visit(url: str, seed: int, n_rows: int) -> None:
    """Drop a file, look at its diagram, and leave."""
    person = Person(url)
    person.open("data")
    person.drop("data_file", "visit.csv", pasted(seed, n_rows).encode())
    person.open("reliability")
    assert not person.errors, person.errors
    person.close()


def main() -> int:
    """Run the benchmark; it promises nothing by itself, because a budget is the operator's."""
    options = argparse.ArgumentParser()
    options.add_argument("--visits", type=int, default=VISITS)
    options.add_argument("--rows", type=int, default=ROWS)
    given = options.parse_known_args()[0]
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{given.visits} visits, {given.rows:,} rows each, load {load}")
    with server(1) as team:
        process = team.servers[0].pid
        visit(team.url, 0, given.rows)  # Modules that the first visit imports stay.
        start, first, before = time.monotonic(), resident_mb(process), cpu_seconds(team)
        held = []
        for seed in range(1, given.visits + 1):
            visit(team.url, seed, given.rows)
            held.append(resident_mb(process))
        seconds = time.monotonic() - start
        each = (cpu_seconds(team) - before) / given.visits
        print(f"after the first visit {first:6.0f} MB")
        print(f"after the last one    {held[-1]:6.0f} MB, at most {max(held):.0f} MB")
        print(f"a visit               {(held[-1] - first) / given.visits:6.1f} MB")
        print(f"a visit               {each:6.2f} s of the processor, {seconds:.0f} s for all")
        time.sleep(FORGOTTEN_SECONDS)
        print(f"when all are forgotten{resident_mb(process):6.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
