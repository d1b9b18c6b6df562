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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from calib.loading.file_options import TextFormat
from calib.loading.problems import InputError, refuse
from calib.loading.reading.budget import CELL, MAX_BYTES, MAX_CELLS, Budget
from calib.loading.reading.handover import Read, read_back, write
from calib.loading.reading.reader import PACKED, read
from calib.text import number

try:
    import resource
except ModuleNotFoundError:  # Windows: there the time is limited, and what a file may hold
    resource = None  # type: ignore[assignment]

# Text up to this size is read here, if even its longest line in every row would be few cells.
SMALL, FEW = 2**22, 2**25
# No table of predictions shrinks more than this when it is packed: scores hardly repeat.
GROWTH, ALWAYS, ALWAYS_WORDS = 100, 2**28, 2**26
TICK = 0.05  # seconds between two looks at whether it is done
START = "from {} import serve_one; serve_one()"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take."""

    memory: int = 2 * 2**30  # bytes, beside those of the file
    seconds: float = 60.0

    @classmethod
    def from_environment(cls) -> Limits:
        """The limits that CALIB_READ_MEMORY_GB and CALIB_READ_SECONDS set."""
        usual = cls()
        memory = _positive("CALIB_READ_MEMORY_GB", usual.memory / 2**30)
        return cls(int(memory * 2**30), _positive("CALIB_READ_SECONDS", usual.seconds))

    def budget(self, size: int) -> Budget:
        """The largest allowed content of a file of this size."""
        most = min(MAX_BYTES, max(ALWAYS, GROWTH * size))
        words = min(MAX_BYTES, max(ALWAYS_WORDS, GROWTH * size))
        return Budget(most, min(MAX_CELLS, most // CELL), words)


def _positive(name: str, usual: float) -> float:
    given = os.environ.get(name, "").strip() or str(usual)
    if not re.fullmatch(r"\d+(\.\d+)?", given) or float(given) <= 0.0:
        raise ValueError(f"{name} must be a positive number, got {given!r}.")
    return float(given)


@dataclass(slots=True)
class FileReader:
    """Reads each file in a separate process. Threads can share it.

    One process is always kept ready: to start one takes about a second.
    """

    limits: Limits = field(default_factory=Limits)
    # Its `serve_one` reads a file in the process. That of `calib.scanning.rows_or_counts` also
    # reads counts.
    module: str = __name__
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
        """Have a process ready."""
        with self._lock:
            if self._spare is not None and self._spare.poll() is not None:
                # It waited long, and the system ended it.
                _end(self._spare)
                self._spare = None
            self._spare = self._spare or _started(self.module)

    def read(
        self,
        data: bytes,
        name: str,
        given: TextFormat | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> Read:
        """Read the bytes of a file, as `calib.loading.read` does.

        `watch` is called several times a second; what it raises ends the reading. Raises InputError
        if it cannot be read, or holds more than the limits let be read.
        """
        given = given or TextFormat()
        budget = self.limits.budget(len(data))
        budget.check_file(len(data))
        with tempfile.TemporaryDirectory(prefix="calib-", ignore_cleanup_errors=True) as folder:
            source, result = Path(folder, "file"), Path(folder, "table")
            source.write_bytes(data)
            job = {
                "source": str(source),
                "result": str(result),
                "name": name,
                "given": asdict(given),
                "limits": asdict(self.limits),
                "budget": asdict(budget),
            }
            status = self._work(json.dumps(job).encode() + b"\n", watch)
            if status != 0:
                raise self._stopped(status)
            return read_back(result)

    def _work(self, job: bytes, watch: Callable[[], None]) -> int | None:
        """Exit status of a process that does the job; None where its time was up."""
        self.prepare()
        with self._lock:
            worker, self._spare = self._spare or _started(self.module), None
        try:
            assert worker.stdin is not None
            # A process that died while it waited has no more input. Its status shows this.
            with suppress(OSError), worker.stdin:
                worker.stdin.write(job)
            self.prepare()
            until = time.monotonic() + self.limits.seconds
            while time.monotonic() < until:
                with suppress(subprocess.TimeoutExpired):
                    return worker.wait(TICK)
                watch()
            return None
        finally:
            _end(worker)

    def _stopped(self, status: int | None) -> InputError:
        memory = f"{number(self.limits.memory / 2**30, 1)} GB"
        if status is None:
            return refuse(
                "too-slow",
                f"Reading the file was stopped after {number(self.limits.seconds, 0)} seconds. "
                "Upload fewer rows, only the columns that are needed, or Parquet.",
            )
        if status == -signal.SIGABRT:
            return no_memory(memory)
        return refuse(
            "reader-died",
            "The program that read the file ended before it was done (status "
            f"{status}); it may use {memory} of memory. The file is damaged or holds too much: "
            "upload it as plain CSV.",
        )


def is_harmless(data: bytes, given: TextFormat) -> bool:
    """Whether these bytes are a text that cannot become more than some hundred megabytes."""
    if len(data) > SMALL or data.startswith(PACKED) or given.encoding is not None:
        return False
    # A cell takes at least its delimiter, and no row has more cells than the longest.
    lines = data.splitlines()
    return (len(lines) + 1) * (max(map(len, lines), default=0) + 1) <= FEW


def no_memory(memory: str) -> InputError:
    """An error about a file that needs more memory than it may take."""
    return refuse(
        "memory",
        f"Reading this file needs more than {memory} of memory, which is the most that a file may "
        "take here: it holds much more than its size tells. Upload fewer rows, or only the columns "
        "that are needed.",
    )


def _started(module: str) -> subprocess.Popen[bytes]:
    # A process that reads untrusted files gets neither the address nor the password of reports.
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CALIB_", "STREAMLIT_"))
    }
    path = {"PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))}
    return subprocess.Popen(
        [sys.executable, "-c", START.format(module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=known | path | ONE_THREAD,
    )


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    if worker.stdin is not None:
        with suppress(OSError):
            worker.stdin.close()


def serve_one(reads: Callable[..., Read] = read) -> None:
    """Wait for one job on standard input, do it and end; end too if there will be none."""
    if os.name != "nt":
        os.nice(5)  # those who move a slider come first
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    limits, result = Limits(**job["limits"]), Path(job["result"])
    source = Path(job["source"])
    _limit_itself(limits, source.stat().st_size)
    try:
        try:
            found = reads(
                source.read_bytes(),
                job["name"],
                given=TextFormat(**job["given"]),
                budget=Budget(**job["budget"]),
            )
            write(found, result)
        except InputError as error:
            # An error from too little memory is reported by the caller, who knows the limit.
            if error.problems[0].code == "memory":
                raise MemoryError from None
            write(error, result)
    except MemoryError:
        write(no_memory(f"{number(limits.memory / 2**30, 1)} GB"), result)
    # The work is done. Running threads of libraries would make a normal end look like a crash.
    os._exit(0)


def _limit_itself(limits: Limits, size: int) -> None:
    if resource is None:
        return
    pages = Path("/proc/self/statm")
    used = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 2**32
    most = {
        resource.RLIMIT_AS: used + size + limits.memory,
        resource.RLIMIT_FSIZE: limits.memory,
        resource.RLIMIT_CPU: int(limits.seconds) + 5,
        resource.RLIMIT_CORE: 0,
    }
    for kind, wanted in most.items():
        _, hard = resource.getrlimit(kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))
