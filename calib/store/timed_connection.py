"""A connection to PostgreSQL that limits the wait for every answer."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout


class TimedConnection(psycopg.Connection[Any]):
    """A connection that waits at most `max_seconds` for each answer.

    The time-outs of the server and of the network do not end the wait for a server that is frozen,
    because its sockets stay open.
    """

    max_seconds: float = 30.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """The result of an exchange with the server."""
        try:
            return super().wait(gen, interval, self.max_seconds if timeout is None else timeout)
        except _WaitTimeout:
            # The earlier query can still be answered, so this connection cannot be used again.
            self.pgconn.finish()
            raise psycopg.OperationalError(
                f"no answer within {self.max_seconds:g} seconds"
            ) from None

    def probe(self, max_seconds: float) -> None:
        """Ask whether the server answers, and wait at most this number of seconds."""
        usual, self.max_seconds = self.max_seconds, min(max_seconds, self.max_seconds)
        try:
            self.execute("SELECT 1")
            self.rollback()
        finally:
            self.max_seconds = usual
