"""Files that hold far more than their size tells, dropped into the app while others work in it.

``python -m benchmarks.bombs`` prints, per bomb: what became of it, in how many seconds, the memory
of the process that read it and of the server, and how long the others' moved sliders took. With
``--fits`` two people fit slow calibrators to a large matrix of scores instead.
"""

from __future__ import annotations

import io
import itertools
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks._person import Person
from benchmarks.soak import arrive, step
from tests.browser import harness
from tests.loading.bombs import BOMBS

# These limits are promised. The ratio is to the usual median time of a moved slider.
MAX_RATIO, MAX_HEALTH_SECONDS = 3.0, 1.0
HEALTH_PAUSE_SECONDS = 0.2
EDITS = itertools.count(1)
# People work this long without a bomb, and at least this long with each.
USUAL_SECONDS, MIN_BOMB_SECONDS = 15.0, 3.0
# Each of two people fits such methods to a matrix of this many rows and classes.
MATRIX_SHAPE = 1_000_000, 20
SLOW_METHODS = ("splinecalib", "temperature.vector.dirichlet.isotonic.beta")


@dataclass
class Seen:
    """What was seen for a while: seconds of health and of moves, megabytes."""

    health: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    reader: float = 0.0
    server: float = 0.0


def memory(process: int) -> float:
    """Megabytes that a process holds; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS")), 0.0)


def server_of(url: str) -> int:
    """The process that listens, by its command line."""
    words = f"--server.port={urlsplit(url).port}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if words in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            continue
    raise RuntimeError(f"no process listens at {url}.")


@contextmanager
def watched(url: str, process: int, neighbour: Person) -> Iterator[Seen]:
    """Look at everything over and over, while a person moves the slider."""
    seen, done = Seen(), threading.Event()
    jobs = [
        threading.Thread(target=work, args=(seen, done))
        for work in (
            lambda seen, done: _ask_health(url, seen, done),
            lambda seen, done: _weigh(process, seen, done),
            lambda seen, done: _move(neighbour, seen, done),
        )
    ]
    for job in jobs:
        job.start()
    try:
        yield seen
    finally:
        done.set()
        for job in jobs:
            job.join()


def _ask_health(url: str, seen: Seen, done: threading.Event) -> None:
    while not done.wait(0.1):
        start = time.perf_counter()
        urllib.request.urlopen(f"{url}/_stcore/health", timeout=60).close()
        seen.health.append(time.perf_counter() - start)


def _weigh(process: int, seen: Seen, done: threading.Event) -> None:
    while not done.wait(0.02):
        seen.server = max(seen.server, memory(process))
        listed = Path(f"/proc/{process}/task").glob("*/children")
        for child in [
            child for listed_process in listed for child in listed_process.read_text().split()
        ]:
            seen.reader = max(seen.reader, memory(int(child)))


def _move(neighbour: Person, seen: Seen, done: threading.Event) -> None:
    rng = np.random.default_rng(0)
    while not done.wait(HEALTH_PAUSE_SECONDS):
        edit = next(EDITS)
        seen.moves.append(step(neighbour, int(rng.integers(5, 60)), edit))


def main() -> int:
    """Drop every bomb, or fit; return 1 where a promise is missed."""
    work = fit if "--fits" in sys.argv[1:] else explode
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "server.log"
        with harness.serve(log) as url:
            missed = work(url)
        missed += log.read_text(errors="replace").count("Traceback")
    print(f"promises missed: {missed}")
    return min(missed, 1)


def explode(url: str) -> int:
    """Drop every bomb while a neighbour works; print the table, return how often it was felt."""
    process = server_of(url)
    neighbour, _ = arrive(url, 0)
    with watched(url, process, neighbour) as usual:
        time.sleep(USUAL_SECONDS)
    median = statistics.median(usual.moves)
    print(f"without a bomb: median move {1000 * median:.0f} ms, server {usual.server:.0f} MB")
    print(
        f"{'bomb':42}{'kB':>8}{'s':>6}{'reader':>8}{'server':>8}{'health':>8}{'move':>7}{'ratio':>7}"
    )
    missed = 0
    for name, make in BOMBS.items():
        data, thief = make(), Person(url)
        thief.open("data")
        with watched(url, process, neighbour) as seen:
            start = time.perf_counter()
            thief.drop("data_file", name, data)
            seconds = time.perf_counter() - start
            # A median of two moves says little, so a few more moves follow.
            time.sleep(max(0.0, MIN_BOMB_SECONDS - seconds))
        ratio, slow = statistics.median(seen.moves) / median, max(seen.health)
        missed += (ratio > MAX_RATIO) + (slow > MAX_HEALTH_SECONDS)
        print(
            f"{name:42}{len(data) / 1e3:8.1f}{seconds:6.1f}{seen.reader:8.0f}{seen.server:8.0f}"
            f"{slow:8.2f}{1000 * statistics.median(seen.moves):7.0f}{ratio:7.2f}  {thief.said()}",
            flush=True,
        )
        thief.close()
    neighbour.close()
    return missed


def matrix() -> bytes:
    """Overconfident scores of many classes, as NumPy's file."""
    rng = np.random.default_rng(0)
    odds = np.exp(1.5 * rng.normal(size=MATRIX_SHAPE).astype(np.float32))
    true = odds / odds.sum(axis=1, keepdims=True)
    drawn = (rng.random(MATRIX_SHAPE[0])[:, None] > np.cumsum(true, axis=1)).sum(axis=1)
    sure = true**1.3
    content = io.BytesIO()
    probs = (sure / sure.sum(axis=1, keepdims=True)).astype(np.float32)
    np.savez(content, probs=probs, y=drawn.clip(0, MATRIX_SHAPE[1] - 1))
    return content.getvalue()


def fit(url: str) -> int:
    """Fit slow calibrators in two sessions at once while a neighbour works; as `explode`."""
    process, data = server_of(url), matrix()
    neighbour, _ = arrive(url, 0)
    with watched(url, process, neighbour) as usual:
        time.sleep(USUAL_SECONDS)
    people = [Person(url, f"v=1&m=uncalibrated.{methods}") for methods in SLOW_METHODS]
    for person in people:
        person.open("data")
        person.drop("data_file", "matrix.npz", data)
    start = time.perf_counter()
    with watched(url, process, neighbour) as seen, ThreadPoolExecutor() as pool:
        list(pool.map(lambda person: person.open("calibrators"), people))
        seconds = time.perf_counter() - start
    moves = [statistics.median(someone.moves) for someone in (usual, seen)]
    ratio, slow = moves[1] / moves[0], max(seen.health)
    print(
        f"{seconds:.0f} s; server {seen.server:.0f} MB; health {slow:.2f} s; median move "
        f"{1000 * moves[0]:.0f} ms without, {1000 * moves[1]:.0f} ms with: {ratio:.2f}; "
        f"the longest {1000 * max(seen.moves):.0f} ms; errors {[one.errors for one in people]}"
    )
    for person in (*people, neighbour):
        person.close()
    return (ratio > MAX_RATIO) + (slow > MAX_HEALTH_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
