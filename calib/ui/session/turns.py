"""Turns: the queue of sessions that compute or read, and the button by which one leaves it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.data.progress import Progress

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
