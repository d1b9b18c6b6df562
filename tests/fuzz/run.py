"""Run: seeds on several processes, which may hang or die without taking the others along."""

from __future__ import annotations

import multiprocessing as mp
import resource
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait

from tests.fuzz.cases import Result, judged
from tests.fuzz.seeds import case_of

MAX_SECONDS_PER_INPUT = 10.0
# Seconds in which a process imports everything and makes the files that inputs are made of.
MAX_START_SECONDS = 120.0
MAX_MEMORY = 8 * 2**30
BAD = ("wrong", "raw", "hang")


def run(seeds: range, jobs: int, source: str = "") -> Iterator[tuple[int, Result]]:
    """The results of seeds, as they come."""
    workers = [_Worker(seeds[i::jobs], source) for i in range(min(jobs, len(seeds)))]
    try:
        while any(worker.seeds for worker in workers):
            wait([worker.pipe for worker in workers if worker.seeds], timeout=1.0)
            for worker in workers:
                if worker.seeds:
                    yield from worker.results()
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that works off its seeds; started anew behind one that it did not survive."""

    def __init__(self, seeds: range, source: str) -> None:
        self.seeds, self.source = seeds, source
        self._start()

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, other = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_work, args=(self.seeds, self.source, other), daemon=True
        )
        self.process.start()
        other.close()
        self.until = time.monotonic() + MAX_START_SECONDS

    def results(self) -> Iterator[tuple[int, Result]]:
        """What has come since the last time; seeds without a result are no longer waited for."""
        try:
            while self.seeds and self.pipe.poll():
                result = self.pipe.recv()
                self.until = time.monotonic() + MAX_SECONDS_PER_INPUT
                if result is not None:
                    yield self.seeds[0], result
                    self.seeds = self.seeds[1:]
        except EOFError:
            yield from self._lost("the process died")
        else:
            if self.seeds and time.monotonic() > self.until:
                yield from self._lost(f"no answer within {MAX_SECONDS_PER_INPUT:g} s")

    def _lost(self, why: str) -> Iterator[tuple[int, Result]]:
        yield self.seeds[0], Result("hang", why, why)
        self.stop()
        self.seeds = self.seeds[1:]
        if self.seeds:
            self._start()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(seeds: range, source: str, pipe: Connection) -> None:
    # A file that declares terabytes must fail in this process without harm to the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    for seed in range(10):
        case_of(seed, source)
    pipe.send(None)
    for seed in seeds:
        case = case_of(seed, source)
        # The clock runs from here: making an input is no part of reading it.
        pipe.send(None)
        pipe.send(judged(case))
