"""Processes beside the server, for work that would hold Python's lock for long.

One thread at a time runs Python, so an analysis in this process slows down all other sessions.
These processes run functions of this program on validated inputs, so their answers are unpickled.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from calib.data.base import Data
from calib.data.progress import Progress, no_progress
from calib.loading.reading.apart import started

T = TypeVar("T")
# With fewer rows, other sessions hardly notice the work.
MIN_ROWS = 20_000
# An abandoned run ends when it draws its progress.
POLL_SECONDS = 0.25
# The import of the analysis takes a second or two, which a process that is prepared has behind it.
START = "import calib.analysis.run; from calib.ui.session.workers import serve; serve({})"
# A row of a file has at least an outcome, a score and two separators.
MIN_ROW_BYTES = 6


def in_other_process(
    function: Callable[..., T],
    *inputs: Any,
    n_rows: int,
    progress: Progress = no_progress,
    **options: Any,
) -> T:
    """The result of a function of this program. Another process computes it if there are many rows.

    The result refers to the inputs, and not to copies of them.
    """
    if progress is not no_progress:
        options["progress"] = progress
    if n_rows < MIN_ROWS or os.name == "nt":
        return function(*inputs, **options)
    options.pop("progress", None)
    kind, value = workers().do((function, inputs, options, progress is not no_progress), progress)
    if kind == "failed":
        raise value
    done: T = value
    return done


def prepare(n_rows: int) -> None:
    """Start a process for data that may have so many rows, before it is needed."""
    if n_rows >= MIN_ROWS and os.name != "nt":
        workers().prepare()


class Worker:
    """One process, which does one piece of work after the other."""

    def __init__(self) -> None:
        self._connection, there = Pipe()
        with there:
            number = there.fileno()
            self._process = started(START.format(number), pass_fds=[number])

    def do(self, work: tuple[Any, ...], progress: Progress) -> tuple[str, Any]:
        """Send the work and wait until it is "done" or "failed"."""
        last = 0.0, "Starting"
        try:
            self._connection.send_bytes(pickle.dumps(work, pickle.HIGHEST_PROTOCOL))
            while True:
                while not self._connection.poll(POLL_SECONDS):
                    progress(*last)
                kind, value = _Reader(self._connection.recv_bytes(), work[1]).load()
                if kind != "progress":
                    return kind, value
                last = value
        except (EOFError, ConnectionError) as error:
            status = self._process.wait()
            raise RuntimeError(f"A process of the server ended with status {status}.") from error

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()


class Workers:
    """As many processes as were needed at the same time."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []

    def do(self, work: tuple[Any, ...], progress: Progress) -> tuple[str, Any]:
        worker = self._ready()
        try:
            answer = worker.do(work, progress)
        except BaseException:
            # The run was abandoned, and nobody needs what the process computes.
            worker.end()
            raise
        self._idle.append(worker)
        return answer

    def prepare(self) -> None:
        """Start a process if none waits for work."""
        if not self._idle:
            self._idle.append(Worker())

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()

    def _ready(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.end()
        return Worker()


@cache
def workers() -> Workers:
    """The processes of this server."""
    made = Workers()
    atexit.register(made.close)
    return made


def serve(number: int) -> None:
    """Do the work that arrives at a connection, until the server closes it."""
    # An interrupt is for the server, which then closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)  # The sessions of people who move a slider are more urgent.
    with Connection(number) as connection:
        while True:
            try:
                work = connection.recv_bytes()
            except EOFError:
                return
            _do(work, connection)
            del work


def _do(work: bytes, connection: Connection) -> None:
    def report(share: float, text: str) -> None:
        connection.send_bytes(pickle.dumps(("progress", (share, text))))

    function, inputs, options, reports = pickle.loads(work)
    try:
        value = function(*inputs, **options, **({"progress": report} if reports else {}))
        answer = _written(("done", value), inputs)
    except Exception as error:
        # The server's log has where it failed, as if it had failed there.
        error.add_note(traceback.format_exc())
        answer = pickle.dumps(("failed", error))
    connection.send_bytes(answer)


class _Writer(pickle.Pickler):
    """Writes the position of an input instead of the input."""

    def __init__(self, file: io.BytesIO, inputs: Iterable[Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._places = {id(one): place for place, one in enumerate(_data_of(inputs))}

    def persistent_id(self, value: Any) -> int | None:
        return self._places.get(id(value))


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, inputs: Iterable[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._inputs = _data_of(inputs)

    def persistent_load(self, place: int) -> Any:
        return self._inputs[place]


def _written(answer: tuple[str, Any], inputs: Iterable[Any]) -> bytes:
    file = io.BytesIO()
    _Writer(file, inputs).dump(answer)
    return file.getvalue()


def _data_of(inputs: Iterable[Any]) -> list[Data]:
    """The rows and counts among the inputs."""
    groups = (one.values() if isinstance(one, Mapping) else [one] for one in inputs)
    return [value for group in groups for value in group if isinstance(value, Data)]
