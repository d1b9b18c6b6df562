"""Progress: how far a long computation is, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


def no_progress(_share: float, _text: str) -> None:
    """Report no progress."""
