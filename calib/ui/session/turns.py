"""Turns and processes: who computes next, how one leaves the queue, and where long work runs."""

from __future__ import annotations

import atexit
import io
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.data.base import Data, Progress, no_progress
from calib.loading.reading.apart import started

# Work that is done sooner needs no button.
CANCEL_AFTER_SECONDS = 2.0
QUEUE_CHECK_SECONDS = 0.25
# More than two sessions computing at once would leave the others' sliders without a core. Files are
# read in separate processes, each of which may take gigabytes.
MAX_COMPUTING, MAX_READING = 2, 2

SAME_ELSEWHERE = "Another session is computing the same result"


class Turns:
    """At most this many sessions work at once, in the order of arrival."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Sessions that are working are first.
        self._line: list[object] = []
        self._moved = threading.Condition()
        # Two sessions that wait for a second turn within their first one would wait forever.
        self._own = threading.local()

    def __len__(self) -> int:
        return len(self._line)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and hold it. While waiting, the page shows the place in line."""
        if self.is_held:
            yield
            return
        ticket = object()
        with self._moved:
            self._line.append(ticket)
        try:
            self._wait(ticket)
            self._own.working = True
            yield
        finally:
            self._own.working = False
            with self._moved:
                self._line.remove(ticket)
                self._moved.notify_all()

    @property
    def is_held(self) -> bool:
        """Whether this session has a turn."""
        return getattr(self._own, "working", False)

    def _wait(self, ticket: object) -> None:
        with waiting_text() as say:
            while (place := self._place(ticket)) > 0:
                say(waiting(place, self._most))

    def _place(self, ticket: object) -> int:
        """The place in line, after a short wait. At 0 or less it is this session's turn."""
        with self._moved:
            self._moved.wait_for(lambda: self._line.index(ticket) < self._most, QUEUE_CHECK_SECONDS)
            return self._line.index(ticket) - self._most + 1


@contextmanager
def waiting_text() -> Iterator[Callable[[str], None]]:
    """A function that shows why the page waits. Its last text is removed at the end."""
    slots = list[DeltaGenerator]()

    def say(text: str) -> None:
        slots.append(slots[0] if slots else st.empty())
        # Streamlit ends an abandoned run when the run draws, which ends the waiting too.
        slots[0].info(text, icon=":material/hourglass_top:")

    yield say
    for slot in slots[:1]:
        slot.empty()


def waiting(place: int, most: int) -> str:
    where = "next" if place == 1 else f"number {place} in line"
    return f"The server is busy with {most} other requests. Yours is {where}."


HEAVY, FILES = Turns(MAX_COMPUTING), Turns(MAX_READING)


class Computation:
    """Work of one session, for whose result other sessions wait."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._done = threading.Event()
        self._last = 0.0, SAME_ELSEWHERE

    def report(self, share: float, text: str) -> None:
        """Report the progress of this work, for the sessions that wait too."""
        self._last = share, text
        if self._progress is not None:
            self._progress(share, text)

    def wait(self, progress: Progress | None) -> None:
        """Wait until the work has ended, well or not. The page shows its progress meanwhile."""
        if progress is not None:
            while not self._done.wait(QUEUE_CHECK_SECONDS):
                progress(*self._last)
            return
        with waiting_text() as say:
            while not self._done.wait(QUEUE_CHECK_SECONDS):
                say(f"{SAME_ELSEWHERE}.")

    def end(self) -> None:
        """Wake the sessions that wait."""
        self._done.set()


@dataclass(slots=True)
class Cancel:
    """A button that cancels the work. Streamlit ends a run when it draws next."""

    key: str  # The key of the button.
    cancel: Callable[[], None]  # Makes the next run skip the work.
    _slot: DeltaGenerator = field(default_factory=st.empty)
    _start: float = field(default_factory=time.monotonic)
    _drawn: bool = False

    def after_a_while(self) -> None:
        """Draw the button if the work takes long, and let an abandoned run end."""
        # Streamlit ends an abandoned run when the run asks for the state.
        st.session_state.get(self.key)
        if not self._drawn and time.monotonic() > self._start + CANCEL_AFTER_SECONDS:
            self._slot.button("Cancel", key=self.key, icon=":material/close:", on_click=self.cancel)
            self._drawn = True

    def withdraw(self) -> None:
        self._slot.empty()


T = TypeVar("T")
# With fewer rows, other sessions hardly notice the work.
MIN_ROWS = 20_000
# An abandoned run ends when it draws its progress.
POLL_SECONDS = 0.25
# The import of the analysis takes a second or two, which a process that is prepared has behind it.
START = "import calib.analysis.run; from calib.ui.session.turns import serve; serve({})"
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
