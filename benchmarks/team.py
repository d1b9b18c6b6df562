"""A team at one server: answers about the same data, and sliders that all move at once.

    python -m benchmarks.team [--people 10] [--replicas 1] [--seconds 20]

First all open the data that the operator named. Then all drop the same file, and then a file of
their own, while somebody moves the slider of an example. At last one of them, and then all, move
the bin slider. Two replicas are behind nginx, as in the container. A wait is compared with the time
that the processor needed for all, because other programs change the clock and not this time.
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
from contextlib import contextmanager, suppress
from itertools import count, repeat
from pathlib import Path

import numpy as np

from benchmarks._person import Person
from benchmarks.soak import PAUSE_SECONDS, move, pasted, step
from tests import replicas
from tests.browser import harness

PEOPLE, SECONDS, N_ALONE = 10, 20.0, 15
# The slowest of ten people who ask at once waits at most this many times as long as the first.
MAX_RATIO = 1.5
# The slowest of ten people with files of their own waits at most this many times as long as all
# cores need for the files, and a slider of an example meanwhile as long as without them.
MAX_OF_PROCESSOR, MAX_OF_SLIDER = 2.0, 3.0


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
    """Processor time that the servers and the processes that they started have taken."""
    total, servers = 0, {server.pid for server in team.servers}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # A process may end meanwhile.
            # The name of the program is in parentheses, and may contain spaces.
            fields = stat.read_text().rpartition(")")[2].split()
            if servers & {int(stat.parent.name), int(fields[1])}:
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


def moved_meanwhile(url: str, act: Callable[[], list[float]]) -> tuple[list[float], float]:
    """What people waited, and how many times as long a slider of an example took meanwhile."""
    light = Person(url)
    light.open("reliability")
    edits = count(1)

    def look() -> float:
        time.sleep(PAUSE_SECONDS[0])
        edit = next(edits)
        return step(light, 5 + 7 * edit % 50, edit)

    alone = [look() for _ in range(N_ALONE)]
    with ThreadPoolExecutor(1) as pool:
        acting, steps = pool.submit(act), [look()]
        while not acting.done():
            steps.append(look())
    light.close()
    half, before = 1000 * np.median(steps), 1000 * np.median(alone)
    words = "a slider of an example meanwhile"
    print(f"{words:34} alone {before:5.0f} ms, median {half:5.0f} ms, ratio {half / before:4.2f}")
    return acting.result(), half / before


def came(url: str, n_people: int) -> list[Person]:
    """People who look at the page of the data."""
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
        before = cpu_seconds(team)
        waited, of_slider = moved_meanwhile(
            team.url, lambda: at_once(n_people, lambda i: dropped(people[i], texts[i]))
        )
        said("a file of their own", waited, alone)
        needed = (cpu_seconds(team) - before) / (os.cpu_count() or 1)
        of_processor = waited[-1] / needed
        print(f"all cores need {needed:.1f} s for it, ratio of the slowest {of_processor:4.2f}")
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
    missed = ratio > MAX_RATIO or of_processor > MAX_OF_PROCESSOR or of_slider > MAX_OF_SLIDER
    return int(n_people == PEOPLE and given.replicas == 1 and missed)


if __name__ == "__main__":
    sys.exit(main())
