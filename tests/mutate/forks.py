"""Runs of pytest, each in a fork of this process, which has imported the heavy packages once."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

BROKEN = 70  # Pytest does not use this exit code.
NO_TESTS = 5  # Pytest ends with this code for a module without examples.


def in_forks(items: Sequence[T], run: Callable[[T], int], jobs: int) -> Iterator[tuple[T, int]]:
    """Each item, and how its run in a process of its own ended, as they end."""
    waiting = list(items)
    running: dict[int, T] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            item = waiting.pop(0)
            running[_start(run, item)] = item
        child, status = os.wait()
        print(f"{len(waiting) + len(running)} to go ", end="\r", file=sys.stderr, flush=True)
        yield running.pop(child), os.waitstatus_to_exitcode(status)


def _start(run: Callable[[Any], int], item: Any) -> int:
    """Call `run` in a fork without output; return the fork's number."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            code = run(item)
        finally:
            os._exit(code)
    return child


def run_pytest(tests: Sequence[str], *plugins: object) -> int:
    """How pytest ends; 0 where there are no tests."""
    # With rewritten assertions pytest would import the modules itself, without the mutant.
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = int(pytest.main([*options, *tests], plugins=plugins))
    return 0 if code == NO_TESTS else code
