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
    """Make sure that standard output and error exist, and can print any name of a file."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # A stream that the caller closed is None, and Python then prints to the other one.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # The encoding of the output may lack characters of a path.
        sys.stdout.reconfigure(errors="backslashreplace")


def piped() -> BinaryIO:
    """Bytes of standard input."""
    # Standard input that the caller closed is None.
    if sys.stdin is None:
        raise ValueError("Standard input is closed: pipe a file into it, or name the file.")
    return sys.stdin.buffer


def tell(text: str) -> None:
    """Print a line on standard error. If it cannot be written, the result stays the same."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard the buffer of a broken stream, which would change the exit status at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error if it cannot be written."""
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
