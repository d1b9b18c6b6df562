"""Processes that save, for the tests of what a confirmed save is worth.

A line of standard input says what is asked, as JSON:

    ["together", URL, REPORT, WRITERS, SAVES]
    ["killed", URL, REPORT, ROUNDS, SECONDS]
    ["added", URL, ROUNDS, SECONDS]
    ["nobody", CODE]

Every confirmed save is one line: the id and the title; the last line is "done" and how many
processes failed. Forked from one process that has imported everything, since imports take longer
than all the rest.
"""

import codecs
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from calib.calibrators import CALIBRATORS
from calib.data.day_counts import DayCounts
from calib.reports import Report
from calib.store import Store
from calib.store.engine import checked_url, make_engine

# A process that becomes nobody cannot read Python's folder any more, so all is imported before.
list(CALIBRATORS)

NOBODY = 65534


def save(url: str, report: Report, name: str, saves: int, out: int) -> None:
    with Store(url) as store:
        for number in range(saves):
            title = f"{name}-{number}"
            report_id = store.save(replace(report, title=title), tags=["saver"])
            os.write(out, f"{report_id} {title}\n".encode())


def fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def together(url: str, path: str, writers: int, saves: int) -> int:
    report = opened(url, path)
    children = [
        fork(lambda name=f"w{i}": save(url, report, name, saves, 1)) for i in range(writers)
    ]
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


def killed(url: str, path: str, rounds: int, longest: float) -> int:
    report, chance = opened(url, path), random.Random(0)
    survivors = 0
    for number in range(rounds):
        read_end, write_end = os.pipe()
        child = fork(
            lambda name=f"k{number}", write_end=write_end: save(
                url, report, name, sys.maxsize, write_end
            )
        )
        os.close(write_end)
        # Every other process is killed while it starts, and the others while they save.
        first = os.read(read_end, 1) if number % 2 else b""
        time.sleep(chance.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        survivors += os.WTERMSIG(os.waitpid(child, 0)[1]) != signal.SIGKILL
        with open(read_end, "rb") as rest:
            sys.stdout.buffer.write(first + rest.read())
    return survivors


def add_days(url: str, first: int, out: int) -> None:
    """Add one day after the other, and name each that was new, as long as the process lives."""
    with Store(url) as store:
        for number in range(first, sys.maxsize):
            counts = counts_of_day(number)
            earlier = store.monitors.add("m", counts, fingerprint=str(number), horizon=30, by="x")
            if earlier is None:
                os.write(out, f"{number}\n".encode())


def counts_of_day(number: int) -> DayCounts:
    """A day of rows that follow from its number."""
    rng = np.random.default_rng(number)
    day = np.full(200, np.datetime64("2023-01-01") + number)
    return DayCounts.of_rows(day, rng.random(200), rng.integers(0, 3, 200), {})


def added(url: str, rounds: int, longest: float) -> int:
    """Processes that add the same days, two at once, each killed after some time."""
    make_engine(checked_url(url), 1.0)
    chance, survivors, n_added = random.Random(0), 0, 0
    for number in range(rounds):
        read_end, write_end = os.pipe()
        # The last days are there already, so that they are added again.
        start = max(n_added - 3, 0)
        children = [
            fork(lambda start=start, end=write_end: add_days(url, start, end)) for _ in range(2)
        ]
        os.close(write_end)
        # Every other pair is killed while it starts, and the others after they added a day.
        first = os.read(read_end, 1) if number % 2 else b""
        time.sleep(chance.uniform(0.0, longest))
        for child in children:
            os.kill(child, signal.SIGKILL)
            survivors += os.WTERMSIG(os.waitpid(child, 0)[1]) != signal.SIGKILL
        with open(read_end, "rb") as rest:
            lines = first + rest.read()
        n_added += lines.count(b"\n")
        sys.stdout.buffer.write(lines)
    return survivors


def opened(url: str, path: str) -> Report:
    # This imports the driver without connecting.
    make_engine(checked_url(url), 1.0)
    return Report.open(Path(path))


def nobody(code: str) -> int:
    """Run code as a person who may write nowhere: root may everywhere."""

    def run() -> None:
        # This user may not read the module of the codec, so it is imported first.
        codecs.lookup("utf-8-sig")
        if os.getuid() == 0:
            os.setuid(NOBODY)
        exec(code, {})
        sys.stdout.flush()

    return int(os.waitpid(fork(run), 0)[1] != 0)


if __name__ == "__main__":
    for line in sys.stdin:
        mode, *given = json.loads(line)
        modes = {"together": together, "killed": killed, "added": added, "nobody": nobody}
        failed = modes[mode](*given)
        print("done", failed, flush=True)
