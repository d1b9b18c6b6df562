"""A connection to PostgreSQL with a limit on the wait for every answer."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout


class ImpatientConnection(psycopg.Connection[Any]):
    """A server that is frozen, or behind a network that lost it, keeps its sockets open: neither
    its own time-outs nor those of the network end the waiting.
    """

    patience: float = 30.0  # seconds

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """The result of an exchange with the server."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except _WaitTimeout:
            # The earlier query can still be answered, so this connection cannot be used again.
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {self.patience:g} seconds") from None

    def glance(self, at_most: float) -> None:
        """Ask whether the server answers, and wait at most this number of seconds."""
        patience, self.patience = self.patience, min(at_most, self.patience)
        try:
            self.execute("SELECT 1")
            self.rollback()
        finally:
            self.patience = patience
