"""Read untrusted files in separate processes, with limits of memory and time.

A file of 2 kB can contain 10 GB, and a reader written in C can crash. Neither must stop the
program that serves all other users.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from calib.data.file_options import FileFormat
from calib.loading.problems import InputError, refuse
from calib.loading.reading.budget import (
    CELL_BYTES,
    MAX_BYTES,
    MAX_CELLS,
    Budget,
    InArrow,
    read_back,
    write,
)
from calib.loading.reading.programs import STATISTICS
from calib.loading.reading.reader import PACKED, read
from calib.loading.table import Table

try:
    import resource
except ModuleNotFoundError:  # Windows has no `resource`, so only time and content are limited.
    resource = None  # type: ignore[assignment]

# A text within both limits is read in this process. Its cells are counted as if every line were as
# long as the longest.
MAX_HARMLESS_BYTES, MAX_HARMLESS_CELLS = 2**22, 2**25
# Scores hardly repeat, so a compressed table of predictions does not grow more than this when it is
# unpacked. Small files may hold the given numbers of bytes in any case.
MAX_GROWTH, MIN_CONTENT_BYTES, MIN_WORD_BYTES = 100, 2**28, 2**26
POLL_SECONDS = 0.05
# On a busy machine a process may wait for others, so the clock may show this multiple of its limit
# of processor time.
MAX_CLOCK_RATIO = 10
START = "from {} import serve_one; serve_one()"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for reading one file: processor time, and bytes of memory beside those of the file."""

    memory: int = 2 * 2**30
    seconds: float = 60.0

    @classmethod
    def from_environment(cls) -> Limits:
        """The limits that CALIB_READ_MEMORY_GB and CALIB_READ_SECONDS set."""
        default = cls()
        memory = _positive("CALIB_READ_MEMORY_GB", default.memory / 2**30)
        return cls(int(memory * 2**30), _positive("CALIB_READ_SECONDS", default.seconds))

    def budget(self, size: int) -> Budget:
        """The largest allowed content of a file of this size."""
        content = min(MAX_BYTES, max(MIN_CONTENT_BYTES, MAX_GROWTH * size))
        words = min(MAX_BYTES, max(MIN_WORD_BYTES, MAX_GROWTH * size))
        return Budget(content, min(MAX_CELLS, content // CELL_BYTES), words)


def _positive(name: str, default: float) -> float:
    value = os.environ.get(name, "").strip() or str(default)
    if not re.fullmatch(r"\d+(\.\d+)?", value) or float(value) <= 0.0:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


@dataclass(slots=True)
class FileReader:
    """Reads each file in a separate process. Threads can share it.

    One process is always kept ready, because to start one takes about a second. The `serve_one` of
    `module` reads a file in the process; that of `calib.scanning.rows_or_counts` also reads counts.
    `back` makes a value of what the process wrote.
    """

    limits: Limits = field(default_factory=Limits)
    module: str = __name__
    back: Callable[[Path], Any] = read_back
    _spare: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that is kept ready."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            _end(spare)

    def prepare(self) -> None:
        """Start the process that is kept ready, if there is none."""
        with self._lock:
            if self._spare is not None and self._spare.poll() is not None:
                # The system may end a process that waits for a long time.
                _end(self._spare)
                self._spare = None
            self._spare = self._spare or _reader(self.module)

    def read(
        self,
        data: bytes,
        name: str,
        given: FileFormat | None = None,
        watch: Callable[[], None] = lambda: None,
        others: Sequence[bytes] = (),
    ) -> Any:
        """Read the bytes of a file, as `calib.loading.read` does.

        `others` are files without which it cannot be read. `watch` is called several times per
        second; an error that it raises ends the reading. Raises InputError if the file cannot be
        read, or if it exceeds the limits.
        """
        given = given or FileFormat()
        size = len(data) + sum(map(len, others))
        budget = self.limits.budget(size)
        budget.check_file(size)
        with tempfile.TemporaryDirectory(prefix="calib-", ignore_cleanup_errors=True) as folder:
            source, result = Path(folder, "file"), Path(folder, "table")
            sources = [source, *(Path(folder, f"{i}") for i in range(len(others)))]
            for path, content in zip(sources, (data, *others), strict=True):
                path.write_bytes(content)
            job = {
                "sources": [*map(str, sources)],
                "result": str(result),
                "name": name,
                "given": asdict(given),
                "limits": asdict(self.limits),
                "budget": asdict(budget),
            }
            status = self._run(json.dumps(job).encode() + b"\n", watch)
            if status != 0:
                raise self._error(status)
            return self.back(result)

    def _run(self, job: bytes, watch: Callable[[], None]) -> int | None:
        """Do the job in a process, and return its exit status, or None if it takes too long."""
        self.prepare()
        with self._lock:
            worker, self._spare = self._spare or _reader(self.module), None
        try:
            assert worker.stdin is not None
            # Writing to a process that has died fails. Its status then shows that it died.
            with suppress(OSError), worker.stdin:
                worker.stdin.write(job)
            self.prepare()
            until = time.monotonic() + MAX_CLOCK_RATIO * self.limits.seconds
            while time.monotonic() < until:
                with suppress(subprocess.TimeoutExpired):
                    return worker.wait(POLL_SECONDS)
                watch()
            return None
        finally:
            _end(worker)

    def _error(self, status: int | None) -> InputError:
        memory = self.limits.memory
        if status is None or (resource is not None and status == -signal.SIGXCPU):
            return refuse("too-slow", seconds=round(self.limits.seconds))
        if status == -signal.SIGABRT:
            return no_memory(memory)
        return refuse("reader-died", status=status, memory=memory)


def is_harmless(data: bytes, given: FileFormat) -> bool:
    """Whether these bytes are a text that needs at most some hundred megabytes when it is read."""
    is_binary = data.startswith(PACKED) or STATISTICS.match(data) is not None
    if len(data) > MAX_HARMLESS_BYTES or is_binary or given.encoding is not None:
        return False
    # Every cell needs a delimiter, so no row has more cells than the longest line has bytes.
    lines = data.splitlines()
    n_cells = (len(lines) + 1) * (max(map(len, lines), default=0) + 1)
    return n_cells <= MAX_HARMLESS_CELLS


def no_memory(memory: float) -> InputError:
    """An error about a file that needs more memory than it may take."""
    return refuse("memory", memory=memory)


def _reader(module: str) -> subprocess.Popen[bytes]:
    return started(START.format(module), stdin=subprocess.PIPE)


def started(code: str, **options: Any) -> subprocess.Popen[bytes]:
    """A process of this program, which uses one thread for each computation."""
    # A process that reads untrusted files must not know the address and password of the reports.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CALIB_", "STREAMLIT_"))
    }
    path = {"PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        env=environment | path | ONE_THREAD,
        **options,
    )


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    if worker.stdin is not None:
        with suppress(OSError):
            worker.stdin.close()


def serve_one(reads: Callable[..., Table | InArrow] = read) -> None:
    """Wait for one job on standard input, do it and exit. Exit too if the input ends."""
    if os.name != "nt":
        os.nice(5)  # The sessions of people who move a slider are more urgent.
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    limits, result = Limits(**job["limits"]), Path(job["result"])
    source, *others = (Path(source) for source in job["sources"])
    _limit_itself(limits, sum(one.stat().st_size for one in (source, *others)))
    try:
        try:
            content = reads(
                source.read_bytes(),
                job["name"],
                given=FileFormat(**job["given"]),
                budget=Budget(**job["budget"]),
                **({"others": [source.read_bytes() for source in others]} if others else {}),
            )
            write(content, result)
        except InputError as error:
            # The error for exceeded memory is written below, with the limit.
            if error.problems[0].code == "memory":
                raise MemoryError from None
            write(error, result)
    except MemoryError:
        write(no_memory(limits.memory), result)
    # A normal exit waits for threads of libraries, which could crash and change the exit status.
    os._exit(0)


def _limit_itself(limits: Limits, size: int) -> None:
    if resource is None:
        return
    pages = Path("/proc/self/statm")
    used = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 2**32
    limit_of = {
        resource.RLIMIT_AS: used + size + limits.memory,
        resource.RLIMIT_FSIZE: limits.memory,
        # The imports before the job do not count.
        resource.RLIMIT_CPU: ceil(time.process_time() + limits.seconds),
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limit_of.items():
        _, hard = resource.getrlimit(kind)
        # The system kills at the hard limit of processor time. The signal at the soft one says why.
        upper = limit + (kind == resource.RLIMIT_CPU)
        upper = upper if hard == resource.RLIM_INFINITY else min(upper, hard)
        resource.setrlimit(kind, (min(limit, upper), upper))
