"""Progress: how a long computation reports what share of it is done."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


def no_progress(_share: float, _text: str) -> None:
    """Report no progress."""
