"""Standard input, output and error, and the files that are written: what can go wrong with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO


def prepare() -> None:
    """Standard output and error that are there, and that no name of a file can break."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Python has none where the caller closed it, and prints to the other instead.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # An encoding may lack characters of a path.
        sys.stdout.reconfigure(errors="backslashreplace")


def piped() -> BinaryIO:
    """Bytes of standard input."""
    # Python has no standard input where the caller closed it.
    if sys.stdin is None:
        raise ValueError("Standard input is closed: pipe a file into it, or name the file.")
    return sys.stdin.buffer


def tell(text: str) -> None:
    """A line on standard error. Where it cannot be written, the result must not change."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Write nowhere what a broken stream still holds: at the end it would change the status."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error of what could not be written to it."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}.") from error


def save_each(paths: Iterable[Path], save: Callable[[Path], object]) -> None:
    """Write every file, and print its path when it is complete."""
    for path in paths:
        with writing(path):
            save(path)
        print(path)
