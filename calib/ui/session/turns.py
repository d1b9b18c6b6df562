"""Turns: the queue of sessions that compute or read; first come, first served."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

TICK = 0.25  # seconds between two looks at the line
# More than two sessions computing at once would leave the others' sliders without a core; files are
# read in processes of their own, each of which may take gigabytes.
COMPUTING, READING = 2, 2


class Turns:
    """At most this many sessions work at once, in the order of arrival.

    Work within work has its turn already.
    """

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
        """Wait for a turn, and have it. While waiting, the page shows the place in line."""
        if getattr(self._own, "working", False):
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

    def _wait(self, ticket: object) -> None:
        slot = None
        while (place := self._place(ticket)) > 0:
            # Streamlit ends an abandoned run when it draws, which gives the place up.
            slot = slot or st.empty()
            slot.info(waiting(place, self._most), icon=":material/hourglass_top:")
        if slot is not None:
            slot.empty()

    def _place(self, ticket: object) -> int:
        """The place in line after a moment's patience; 0 or less has its turn."""
        with self._moved:
            self._moved.wait_for(lambda: self._line.index(ticket) < self._most, TICK)
            return self._line.index(ticket) - self._most + 1


def waiting(place: int, most: int) -> str:
    where = "next" if place == 1 else f"number {place} in line"
    return f"The server is busy with {most} other requests. Yours is {where}."


HEAVY, FILES = Turns(COMPUTING), Turns(READING)
