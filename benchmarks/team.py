"""A team at one server: answers about the same data, and sliders that all move at once.

    python -m benchmarks.team [--people 10] [--replicas 1] [--seconds 20]

First all open the data that the operator named. Then all drop the same file, and then a file of
their own. At last one of them, and then all, move the bin slider. Two replicas are behind nginx, as
in the container.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, repeat
from pathlib import Path

import numpy as np

from benchmarks._person import Person
from benchmarks.soak import move, pasted
from tests import replicas
from tests.browser import harness

PEOPLE, SECONDS = 10, 20.0
# The slowest of ten people who ask at once waits at most this many times as long as the first.
MAX_RATIO = 1.5


@contextmanager
def server(n_replicas: int, *sources: str) -> Iterator[replicas.Replicas]:
    """A team's server, which has no results yet."""
    with tempfile.TemporaryDirectory() as name:
        folder, environment = Path(name), {"STREAMLIT_LOGGER_ENABLE_RICH": "false"}
        port = harness.free_port()
        with replicas.running(folder, port, environment, *sources, count=n_replicas) as team:
            yield team
            for log in team.logs:
                assert "Traceback" not in log.read_text(errors="replace")


def cpu_seconds(team: replicas.Replicas) -> float:
    """Processor time that the servers and the processes that read their files have taken."""
    total = 0
    for server in team.servers:
        # The name of the program is in parentheses, and may contain spaces.
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def at_once(n_people: int, act: Callable[[int], float]) -> list[float]:
    """Seconds that each of several people waits who do the same at once, sorted."""
    with ThreadPoolExecutor(n_people) as pool:
        return sorted(pool.map(act, range(n_people)))


def opened(url: str) -> float:
    """Seconds until the answer about the operator's data is drawn."""
    start = time.perf_counter()
    person = Person(url)
    waited = time.perf_counter() - start
    assert not person.errors, person.errors
    person.close()
    return waited


def dropped(person: Person, text: str) -> float:
    """Seconds from the drop of a file until the diagram is drawn."""
    start = time.perf_counter()
    person.drop("data_file", "team.csv", text.encode())
    person.open("reliability")
    assert not person.errors, person.errors
    return time.perf_counter() - start


def came(url: str, n_people: int) -> list[Person]:
    """People who look at the Data page."""
    people = [Person(url) for _ in range(n_people)]
    for person in people:
        person.open("data")
    return people


def said(what: str, waited: Sequence[float], alone: float) -> float:
    """Print how long people waited; the slowest as a ratio to the first."""
    ratio = waited[-1] / waited[0]
    print(
        f"{what:34} alone {alone:5.2f} s, first {waited[0]:5.2f}, median "
        f"{statistics.median(waited):5.2f}, slowest {waited[-1]:5.2f} s, ratio {ratio:4.2f}"
    )
    return ratio


def main() -> int:
    """Run the benchmark; return 1 if the promise for ten people at one server is missed."""
    options = argparse.ArgumentParser()
    options.add_argument("--people", type=int, default=PEOPLE)
    options.add_argument("--replicas", type=int, default=1)
    options.add_argument("--seconds", type=float, default=SECONDS)
    given = options.parse_known_args()[0]
    n_people = given.people
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{n_people} people, replicas: {given.replicas}, cores: {os.cpu_count()}, load {load}")
    texts = [pasted(seed) for seed in range(n_people)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "served.csv"
        source.write_text(texts[0])
        with server(given.replicas, str(source)) as team:
            alone = opened(team.url)
        with server(given.replicas, str(source)) as team:
            waited = at_once(n_people, lambda _: opened(team.url))
            ratio = said("the operator's data", waited, alone)
    with server(given.replicas) as team:
        (one,) = came(team.url, 1)
        alone = dropped(one, texts[-1])
        one.close()
        people = came(team.url, n_people)
        said("the same file", at_once(n_people, lambda i: dropped(people[i], texts[0])), alone)
        for person in people:
            person.open("data")
        said(
            "a file of their own", at_once(n_people, lambda i: dropped(people[i], texts[i])), alone
        )
        for what, movers in (("one", people[:1]), ("all", people)):
            before = cpu_seconds(team)
            with ThreadPoolExecutor(n_people) as pool:
                moves = list(pool.map(move, movers, count(), repeat(given.seconds)))
            steps = [wait for waits in moves for wait in waits]
            each = 1000 * (cpu_seconds(team) - before) / len(steps)
            half, slow = 1000 * np.percentile(steps, [50, 95])
            words = f"{what} of them move the slider"
            print(
                f"{words:34} median {half:5.0f} ms, 95th percentile {slow:5.0f} ms; "
                f"{each:3.0f} ms of the processor each"
            )
        for person in people:
            person.close()
    return int(n_people == PEOPLE and given.replicas == 1 and ratio > MAX_RATIO)


if __name__ == "__main__":
    sys.exit(main())
